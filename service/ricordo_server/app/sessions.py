"""Sessions: their rules and transactions."""

from collections.abc import Sequence
from dataclasses import dataclass

from ricordo_server.app.declarations import check_filter_declared, check_written
from ricordo_server.app.forgetting import Forgotten, forget_turns
from ricordo_server.app.permissions import check_may_read_as, check_may_write_in
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_store, write_store
from ricordo_server.db import sessions as sessions_db
from ricordo_server.db import turns as turns_db
from ricordo_server.db import usage as usage_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.paging import OrderBy, Page, PageRequest
from ricordo_server.domain.scope import Exactly, Scope
from ricordo_server.domain.session import Session, SessionDraft, SessionQuery


async def create_session(services: Services, call: Call, store_id: str, draft: SessionDraft) -> Session:
    """Writes a new session.

    Raises:
        DomainError: ID_TAKEN, PERMISSION_DENIED, STORE_NOT_FOUND.
    """
    check_may_write_in(call.principal, draft.scope, "session.scope")

    async def work(connection: TenantConnection) -> Session:
        await check_written(connection, {"session.metadata": draft.metadata})
        created = await sessions_db.create_session(connection, draft)
        if created is None:
            message = "this user and these labels have a session of this id: choose another, or none"
            raise DomainError(Reason.ID_TAKEN, message, "session.scope.session_id")
        return created

    return await write_store(services.database, call, store_id, work)


async def get_session(services: Services, call: Call, store_id: str, scope: Scope) -> Session:
    """Reads the session of an exact scope.

    Raises:
        DomainError: SESSION_NOT_FOUND, PERMISSION_DENIED.
    """
    check_may_read_as(call.principal, Exactly(scope))
    async with in_store(services.database, call, store_id) as connection:
        found = await sessions_db.get_session(connection, scope)
    if found is None:
        raise not_found(scope)
    return found


def not_found(scope: Scope) -> DomainError:
    message = f"there is no session {scope.session_id!r} of exactly this scope to be seen here"
    return DomainError(Reason.SESSION_NOT_FOUND, message, "scope")


async def list_sessions(
    services: Services,
    call: Call,
    store_id: str,
    query: SessionQuery,
    order_by: Sequence[OrderBy],
    page: PageRequest,
) -> Page[Session]:
    check_may_read_as(call.principal, query.scope)
    async with in_store(services.database, call, store_id) as connection:
        check_filter_declared(connection, query.filter)
        return await sessions_db.list_sessions(connection, query, order_by, page)


@dataclass(frozen=True)
class DeletedSession:
    """How many turns went with it, and what became of the memories that were learned from them."""

    turn_count: int
    forgotten: Forgotten


async def delete_session(services: Services, call: Call, store_id: str, scope: Scope) -> DeletedSession:
    """Removes a session with its turns, and what was learned from these alone.

    Raises:
        DomainError: SESSION_NOT_FOUND, PERMISSION_DENIED.
    """
    check_may_write_in(call.principal, scope)

    async def work(connection: TenantConnection) -> DeletedSession:
        # Held first, so that a turn recorded meanwhile is counted or starts the session anew.
        if not await sessions_db.lock_known_session(connection, scope):
            raise not_found(scope)
        await usage_db.discount_turns(connection, scope)
        turn_ids = await turns_db.delete_turns(connection, scope)
        await sessions_db.delete_session(connection, scope)
        return DeletedSession(len(turn_ids), await forget_turns(connection, turn_ids))

    return await write_store(services.database, call, store_id, work)
