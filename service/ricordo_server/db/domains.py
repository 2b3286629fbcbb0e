"""Statements on the domains of taxonomic memories."""

from sqlalchemy import func, select

from ricordo_server.db.conditions import in_scope, in_tenant, is_live
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.paging import fetch_page, text_key
from ricordo_server.db.tables import memory
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.paging import Page, PageRequest
from ricordo_server.domain.taxonomy import Domain, DomainQuery

NAME = memory.c.details["domain"].astext.collate("C")


async def list_domains(connection: TenantConnection, query: DomainQuery, page: PageRequest) -> Page[Domain]:
    """By code point, with the number of live terms that may be seen."""
    statement = (
        select(NAME.label("name"), func.count().label("term_count"))
        .where(in_tenant(memory, connection), memory.c.kind == MemoryKind.TAXONOMIC)
        .where(in_scope(memory, query.scope), is_live(memory))
        .group_by(NAME)
    )
    if query.visibility is not None:
        statement = statement.where(memory.c.visibility == query.visibility)
    return await fetch_page(
        connection, statement, [text_key(NAME)], page, lambda row: Domain(row["name"], row["term_count"])
    )
