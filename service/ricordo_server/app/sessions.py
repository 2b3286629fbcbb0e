"""Sessions: their rules and transactions."""

from collections.abc import Sequence
from dataclasses import dataclass

from ricordo_server.app.declarations import check_filter_declared, check_written
from ricordo_server.app.forgetting import Forgotten, RemovedTurns, remove_turns
from ricordo_server.app.permissions import check_may_read_as, check_may_write_in
from ricordo_server.app.services import Services
from ricordo_server.app.session_operations import settle_operation
from ricordo_server.app.transactions import in_store, write_store
from ricordo_server.db import sessions as sessions_db
from ricordo_server.db import turns as turns_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.metadata import Metadata
from ricordo_server.domain.paging import OrderBy, Page, PageRequest
from ricordo_server.domain.scope import Exactly, Scope
from ricordo_server.domain.session import Session, SessionDraft, SessionQuery, Turn


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
            raise id_taken("session.scope.session_id")
        return created

    return await write_store(services.database, call, store_id, work)


def id_taken(field: str) -> DomainError:
    message = "this user and these labels have a session of this id: choose another, or none"
    return DomainError(Reason.ID_TAKEN, message, field)


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


async def update_session(
    services: Services, call: Call, store_id: str, scope: Scope, metadata: Metadata
) -> Session:
    """Gives a session other metadata.

    Raises:
        DomainError: SESSION_NOT_FOUND, PERMISSION_DENIED, INVALID_FIELD (the project declares it otherwise).
    """
    check_may_write_in(call.principal, scope, "session.scope")

    async def work(connection: TenantConnection) -> Session:
        await check_written(connection, {"session.metadata": metadata})
        updated = await sessions_db.update_metadata(connection, scope, metadata)
        if updated is None:
            raise not_found(scope)
        return updated

    return await write_store(services.database, call, store_id, work)


@dataclass(frozen=True)
class DeletedSessions:
    """How many sessions went, and what went with them."""

    count: int
    turns: RemovedTurns


async def delete_session(
    services: Services, call: Call, store_id: str, scope: Scope, *, cascade: bool
) -> DeletedSessions:
    """Removes a session with its turns, and what was learned from these alone; with `cascade` its descendants too.

    Raises:
        DomainError: SESSION_NOT_FOUND, PERMISSION_DENIED.
    """
    check_may_write_in(call.principal, scope)

    async def work(connection: TenantConnection) -> DeletedSessions:
        await _hold(connection, scope)
        going = await _with_descendants(connection, scope) if cascade else [scope]
        removed = RemovedTurns()
        for each in going:
            removed += await remove_turns(connection, each)
            await sessions_db.delete_session(connection, each)
            await settle_operation(connection, each)
        return DeletedSessions(len(going), removed)

    return await write_store(services.database, call, store_id, work)


async def _hold(connection: TenantConnection, scope: Scope) -> None:
    """Until the transaction ends, so that a turn recorded meanwhile is counted or starts the session anew."""
    if not await sessions_db.lock_known_session(connection, scope):
        raise not_found(scope)


async def _with_descendants(connection: TenantConnection, scope: Scope) -> list[Scope]:
    """Each once, whatever circle parents make."""
    found = {scope.key: scope}
    parents = [scope]
    while parents:
        children = await sessions_db.lock_children(connection, parents)
        parents = [child for child in children if child.key not in found]
        found |= {child.key: child for child in parents}
    return list(found.values())


async def clear_session(services: Services, call: Call, store_id: str, scope: Scope) -> RemovedTurns:
    """Removes every turn of a session, and what was learned from these alone.

    Raises:
        DomainError: SESSION_NOT_FOUND, PERMISSION_DENIED.
    """
    check_may_write_in(call.principal, scope)

    async def work(connection: TenantConnection) -> RemovedTurns:
        await _hold(connection, scope)
        return await remove_turns(connection, scope)

    return await write_store(services.database, call, store_id, work)


@dataclass(frozen=True)
class PoppedTurn:
    turn: Turn
    forgotten: Forgotten


async def pop_turn(services: Services, call: Call, store_id: str, scope: Scope) -> PoppedTurn:
    """Removes the last turn of a session, and what was learned from it alone.

    Raises:
        DomainError: SESSION_NOT_FOUND, TURN_NOT_FOUND (it has none), PERMISSION_DENIED.
    """
    check_may_write_in(call.principal, scope)

    async def work(connection: TenantConnection) -> PoppedTurn:
        await _hold(connection, scope)
        last = await turns_db.get_last_turn(connection, scope)
        if last is None:
            raise DomainError(Reason.TURN_NOT_FOUND, "the session has no turn to remove", "scope")
        removed = await remove_turns(connection, scope, [last.turn_id])
        return PoppedTurn(last, removed.forgotten)

    return await write_store(services.database, call, store_id, work)
