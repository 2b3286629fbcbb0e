"""Request ids: the first answer of each, for 24 hours."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import ARRAY, Text, and_, bindparam, func, literal, not_, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from ricordo_server.db.connection import ProjectConnection
from ricordo_server.db.tables import idempotency
from ricordo_server.domain.call import Once
from ricordo_server.domain.principal import Principal

LIFETIME = timedelta(hours=24)

KEY_COLUMNS = ("project_id", "principal_id", "user_id", "method", "request_id")
THIS_REQUEST = and_(*(idempotency.c[name] == bindparam(f"the_{name}") for name in KEY_COLUMNS))
EXPIRED = idempotency.c.create_time < func.now() - LIFETIME

# A request id past its 24 hours is claimed anew; a live one waits here for the transaction that holds it.
CLAIM = (
    upsert(idempotency)
    .values({name: bindparam(f"the_{name}") for name in KEY_COLUMNS})
    .values(payload_digest=bindparam("digest"))
    .on_conflict_do_update(
        index_elements=KEY_COLUMNS,
        set_={"payload_digest": bindparam("digest"), "answer": None, "create_time": func.now()},
        where=EXPIRED,
    )
    .returning(idempotency.c.request_id)
)
READ = select(idempotency.c.payload_digest, idempotency.c.answer).where(THIS_REQUEST)
KEEP = update(idempotency).where(THIS_REQUEST).values(answer=bindparam("kept_answer"))


def _key(connection: ProjectConnection, principal: Principal, once: Once) -> dict[str, object]:
    return {
        "the_project_id": connection.project_id,
        "the_principal_id": principal.principal_id,
        "the_user_id": principal.user_ids[0] if principal.user_ids else "",
        "the_method": once.method,
        "the_request_id": once.request_id,
    }


async def claim_request(
    connection: ProjectConnection, principal: Principal, once: Once
) -> tuple[bytes, bytes] | None:
    """Takes the request id (None), or answers the digest and the answer of who had it before."""
    key = _key(connection, principal, once)
    if await connection.fetch_one(CLAIM, {**key, "digest": once.payload_digest}):
        return None
    row = await connection.fetch_one(READ, key)
    assert row is not None  # noqa: S101 - the claim met it, and nothing deletes a live request id
    return bytes(row["payload_digest"]), bytes(row["answer"])


async def find_answer(
    connection: ProjectConnection, principal: Principal, once: Once
) -> tuple[bytes, bytes] | None:
    """The digest and the answer of who had the request id before, if anybody."""
    row = await connection.fetch_one(READ.where(not_(EXPIRED)), _key(connection, principal, once))
    return (bytes(row["payload_digest"]), bytes(row["answer"])) if row else None


async def keep_answer(connection: ProjectConnection, principal: Principal, once: Once, answer: bytes) -> None:
    await connection.execute(KEEP, {**_key(connection, principal, once), "kept_answer": answer})


async def forget_answers(connection: ProjectConnection, item_id: str) -> None:
    """Empties the kept answers that hold an item: what is purged is not to be had again by a repeat."""
    await connection.execute(select(func.ricordo.forget_answers(item_id)))


async def forget_answers_of_turns(connection: ProjectConnection, turn_ids: Sequence[str]) -> None:
    """The same for turns, in one pass."""
    if turn_ids:
        gone = literal(list(turn_ids), ARRAY(Text))
        await connection.execute(select(func.ricordo.forget_answers_of_turns(gone)))


async def delete_expired_answers(connection: ProjectConnection, *, most: int) -> int:
    """Removes everyone's request ids past their 24 hours; answers how many."""
    deleted = func.ricordo.delete_expired_answers(LIFETIME, most).label("deleted")
    row = await connection.fetch_one(select(deleted))
    return int(row["deleted"]) if row else 0
