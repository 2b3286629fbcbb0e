"""A session's copy: independent from then on."""

from dataclasses import dataclass, replace

from uuid_utils.compat import uuid7

from ricordo_server.app.declarations import check_written
from ricordo_server.app.permissions import check_may_write_in
from ricordo_server.app.promotion import note_turns
from ricordo_server.app.services import Services
from ricordo_server.app.sessions import id_taken, not_found
from ricordo_server.app.transactions import write_store
from ricordo_server.app.usage import count_turns
from ricordo_server.db import sessions as sessions_db
from ricordo_server.db import snapshots as snapshots_db
from ricordo_server.db import turn_copies
from ricordo_server.db import turns as turns_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.extraction import EXTRACTED_KINDS
from ricordo_server.domain.promotion import Backlog
from ricordo_server.domain.scope import Scope
from ricordo_server.domain.session import Session, SessionDraft
from ricordo_server.domain.snapshot import ExtractionState, PromotionCause


@dataclass(frozen=True)
class ForkedSession:
    """The copy, and how many turns are in it."""

    session: Session
    turn_count: int


async def fork_session(
    services: Services, call: Call, store_id: str, scope: Scope, up_to_turn_id: str, copy: SessionDraft
) -> ForkedSession:
    """Copies a session up to a turn ("": all) into a new one of the same user and labels.

    Raises:
        DomainError: SESSION_NOT_FOUND, TURN_NOT_FOUND, ID_TAKEN, PERMISSION_DENIED, QUOTA_EXCEEDED.
    """
    check_may_write_in(call.principal, scope)

    async def work(connection: TenantConnection) -> ForkedSession:
        await check_written(connection, {"metadata": copy.metadata})
        original = await _hold(connection, scope)
        through_seq = await _through(connection, original, up_to_turn_id)
        draft = replace(copy, parent_session_id=scope.session_id or "")
        if await sessions_db.create_session(connection, draft) is None:
            raise id_taken("session_id")
        count = await _copy(connection, scope, draft.scope, through_seq)
        promoted_seq = min(original.promoted_seq, through_seq)
        await _mark_extracted(connection, draft.scope, promoted_seq)
        session = await sessions_db.move_behind(connection, draft.scope, through_seq)
        if through_seq > promoted_seq:
            backlog = Backlog(promoted_seq, through_seq, False, session.last_activity_time)
            await note_turns(connection, draft.scope, promoted_seq + 1, backlog)
        return ForkedSession(session, count)

    return await write_store(services.database, call, store_id, work)


async def _hold(connection: TenantConnection, scope: Scope) -> Session:
    """Until the transaction ends, so that what is recorded or taken back meanwhile comes after."""
    held = await sessions_db.lock_known_session(connection, scope)
    original = await sessions_db.get_session(connection, scope) if held else None
    if original is None:
        raise not_found(scope)
    return original


async def _through(connection: TenantConnection, original: Session, turn_id: str) -> int:
    """The number of the last turn that is copied."""
    if not turn_id:
        return original.last_turn_seq
    turn = (await turns_db.get_turns(connection, [turn_id])).get(turn_id)
    if turn is None or turn.scope != original.scope:
        message = f"the session has no turn {turn_id!r}"
        raise DomainError(Reason.TURN_NOT_FOUND, message, "up_to_turn_id")
    return turn.turn_seq


async def _copy(connection: TenantConnection, scope: Scope, into: Scope, through_seq: int) -> int:
    originals = await turn_copies.list_turn_ids(connection, scope, through_seq)
    copies = {turn_id: str(uuid7()) for turn_id in originals}
    if copies:
        await turn_copies.copy_turns(connection, copies, into)
        await count_turns(connection, list(copies.values()))
    return len(copies)


async def _mark_extracted(connection: TenantConnection, scope: Scope, through_seq: int) -> None:
    """What is in snapshots of the original is not extracted a second time."""
    if through_seq:
        await snapshots_db.insert_snapshots(
            connection,
            scope,
            [(str(uuid7()), 1, through_seq)],
            overlap=0,
            cause=PromotionCause.FORK,
            kinds=EXTRACTED_KINDS,
            state=ExtractionState.DONE,
        )
