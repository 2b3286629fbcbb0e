"""Turns: their rules and transactions."""

from collections.abc import Sequence
from dataclasses import dataclass

from uuid_utils.compat import uuid7

from ricordo_server.app import embeddings
from ricordo_server.app.declarations import check_filter_declared, check_written
from ricordo_server.app.forgetting import Forgotten, remove_turns
from ricordo_server.app.operations import read_operation
from ricordo_server.app.permissions import check_may_read_as, check_may_write, check_may_write_in
from ricordo_server.app.promotion import enter_stream, leave_stream, note_turns, topic_vector
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_store, write_store
from ricordo_server.app.usage import count_turns
from ricordo_server.db import embeddings as vectors_db
from ricordo_server.db import sessions as sessions_db
from ricordo_server.db import turns as turns_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.turns import NumberedTurn
from ricordo_server.domain.call import Call
from ricordo_server.domain.embedding_model import VectorsByModel
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.operation import Operation
from ricordo_server.domain.paging import OrderBy, Page, PageRequest
from ricordo_server.domain.promotion import Stream
from ricordo_server.domain.scope import Scope
from ricordo_server.domain.session import RecordedTurn, Turn, TurnDraft, TurnQuery
from ricordo_server.domain.shared_loop import in_slices


@dataclass(frozen=True)
class RecordedBatch:
    """`operation` is what makes memories of the turns, where they do not belong to the project's policy alone."""

    turns: Sequence[RecordedTurn]
    operation: Operation | None = None


async def record_turn(
    services: Services, call: Call, store_id: str, scope: Scope, draft: TurnDraft
) -> RecordedTurn:
    """Writes a turn at the end of its session.

    Raises:
        DomainError: PERMISSION_DENIED, STORE_NOT_FOUND.
    """
    check_may_write_in(call.principal, scope)
    vectors = await embeddings.embed_documents(services, call, [draft.content])

    async def work(connection: TenantConnection) -> RecordedTurn:
        await check_written(connection, {"turn.metadata": draft.metadata})
        [recorded] = await _record(connection, scope, [draft], vectors)
        return recorded

    return await write_store(services.database, call, store_id, work)


async def batch_record_turns(
    services: Services,
    call: Call,
    store_id: str,
    scope: Scope,
    drafts: Sequence[TurnDraft],
    stream: Stream,
) -> RecordedBatch:
    """Writes turns at the end of one session, in the given order, all or nothing; and does as the stream says."""
    check_may_write_in(call.principal, scope)
    vectors = await embeddings.embed_documents(services, call, [draft.content for draft in drafts])

    async def work(connection: TenantConnection) -> RecordedBatch:
        written = {f"turns[{number}].metadata": draft.metadata for number, draft in enumerate(drafts)}
        await check_written(connection, {**written, "generation.metadata": stream.metadata})
        operation_id = await enter_stream(connection, scope, stream)
        recorded = await _record(connection, scope, drafts, vectors) if drafts else []
        if operation_id is None and not stream.sets_rule:
            return RecordedBatch(recorded)
        await leave_stream(connection, scope, stream)
        operation = await read_operation(connection, operation_id) if operation_id else None
        return RecordedBatch(recorded, operation)

    return await write_store(services.database, call, store_id, work)


async def _record(
    connection: TenantConnection,
    scope: Scope,
    drafts: Sequence[TurnDraft],
    vectors: Sequence[VectorsByModel],
) -> list[RecordedTurn]:
    """A draft with the idempotency key of an earlier one stands for the same turn, and creates nothing."""
    firsts = _first_of_each_key(drafts)
    distinct = sorted(set(firsts))
    async with connection.pipeline():
        await sessions_db.lock_session(connection, scope)
        named = [(str(uuid7()), drafts[number]) for number in distinct]
        compared = topic_vector(connection, scope, vectors[distinct[0]])
        numbered, backlog = await turns_db.record_turns(connection, scope, named, compared)
    given = [(drafts[number], vectors[number]) for number in distinct]
    turns = dict(zip(distinct, await _complete(connection, scope, numbered, given), strict=True))
    if new := [place.turn_seq for place in numbered if place.created]:
        await note_turns(connection, scope, new[0], backlog)
    created = {number for number, place in zip(distinct, numbered, strict=True) if place.created}
    return [
        RecordedTurn(turns[first], created=first == number and first in created)
        for number, first in enumerate(firsts)
    ]


def _first_of_each_key(drafts: Sequence[TurnDraft]) -> list[int]:
    """For each draft the number of the first one with its idempotency key; its own without a key."""
    numbers: dict[str, int] = {}
    return [
        number if draft.idempotency_key is None else numbers.setdefault(draft.idempotency_key, number)
        for number, draft in enumerate(drafts)
    ]


async def _complete(
    connection: TenantConnection,
    scope: Scope,
    numbered: Sequence[NumberedTurn],
    given: Sequence[tuple[TurnDraft, VectorsByModel]],
) -> list[Turn]:
    """The turns as stored: the new ones as given, now with their vectors, the others as they were."""
    new = {
        place.turn_id: (_as_stored(connection, scope, place, draft, vectors), vectors)
        async for place, (draft, vectors) in in_slices(zip(numbered, given, strict=True))
        if place.created
    }
    await vectors_db.store_turn_vectors(connection, list(new.values()))
    await count_turns(connection, list(new))
    known = [place.turn_id for place in numbered if not place.created]
    stored = await turns_db.get_turns(connection, known)
    return [new[place.turn_id][0] if place.created else stored[place.turn_id] for place in numbered]


def _as_stored(
    connection: TenantConnection,
    scope: Scope,
    place: NumberedTurn,
    draft: TurnDraft,
    vectors: VectorsByModel,
) -> Turn:
    fields = {**vars(draft), "event_time": draft.event_time or place.create_time}
    return Turn(
        turn_id=place.turn_id,
        store_id=connection.store_name,
        scope=scope,
        turn_seq=place.turn_seq,
        create_time=place.create_time,
        has_embedding=bool(vectors.get(connection.embedding_model.model_id)),
        **fields,
    )


async def get_turn(services: Services, call: Call, store_id: str, turn_id: str) -> Turn:
    """Reads by id.

    Raises:
        DomainError: TURN_NOT_FOUND.
    """
    async with in_store(services.database, call, store_id) as connection:
        return await _get_turn(connection, turn_id)


async def _get_turn(connection: TenantConnection, turn_id: str) -> Turn:
    found = await turns_db.get_turns(connection, [turn_id])
    if turn_id not in found:
        message = f"there is no turn {turn_id!r} to be seen here"
        raise DomainError(Reason.TURN_NOT_FOUND, message, "turn_id")
    return found[turn_id]


async def delete_turn(services: Services, call: Call, store_id: str, turn_id: str) -> Forgotten:
    """Removes a turn, and what was learned from it alone.

    Raises:
        DomainError: TURN_NOT_FOUND, PERMISSION_DENIED.
    """
    check_may_write(call.principal)

    async def work(connection: TenantConnection) -> Forgotten:
        scope = (await _get_turn(connection, turn_id)).scope
        # Held as whoever deletes the session holds it, so that what goes is discounted once.
        await sessions_db.lock_known_session(connection, scope)
        await _get_turn(connection, turn_id)
        return (await remove_turns(connection, scope, [turn_id])).forgotten

    return await write_store(services.database, call, store_id, work)


async def list_turns(
    services: Services,
    call: Call,
    store_id: str,
    query: TurnQuery,
    order_by: Sequence[OrderBy],
    page: PageRequest,
) -> Page[Turn]:
    check_may_read_as(call.principal, query.scope)
    async with in_store(services.database, call, store_id) as connection:
        check_filter_declared(connection, query.filter)
        return await turns_db.list_turns(connection, query, order_by, page)
