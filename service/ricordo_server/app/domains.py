"""Domains: what they read."""

from ricordo_server.app.permissions import check_may_read_as
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_store
from ricordo_server.db import domains as domains_db
from ricordo_server.domain.call import Call
from ricordo_server.domain.paging import Page, PageRequest
from ricordo_server.domain.taxonomy import Domain, DomainQuery


async def list_domains(
    services: Services, call: Call, store_id: str, query: DomainQuery, page: PageRequest
) -> Page[Domain]:
    check_may_read_as(call.principal, query.scope)
    async with in_store(services.database, call, store_id) as connection:
        return await domains_db.list_domains(connection, query, page)
