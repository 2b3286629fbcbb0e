"""Statements on candidates that are held back for review."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from psycopg.types.json import Jsonb
from sqlalchemy import ARRAY, ColumnElement, Text, and_, bindparam, delete, literal, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from uuid_utils.compat import uuid7

from ricordo_server.db.conditions import in_scope, in_tenant
from ricordo_server.db.connection import Row, TenantConnection
from ricordo_server.db.memory_rows import decode_details, encode_details
from ricordo_server.db.paging import bytes_of, fetch_page, text_key, time_key
from ricordo_server.db.rows import scope_columns, scope_from
from ricordo_server.db.tables import held_memory
from ricordo_server.domain.consolidation import MergeStrategy
from ricordo_server.domain.extraction import Candidate, Quote, Utterance
from ricordo_server.domain.generation import GenerationRules, Learned, Origin
from ricordo_server.domain.held_memory import HeldCandidate, HeldState, alone, digest_of
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.metadata import decode_metadata, encode_metadata
from ricordo_server.domain.paging import Page, PageRequest
from ricordo_server.domain.retention import RevisionOptions
from ricordo_server.domain.scope import ScopeFilter

WRITTEN = (
    "project_id", "store_id", "held_memory_id", "scope_key", "user_id", "session_id", "labels",
    "kind", "digest", "turn_ids", "candidate",
)  # fmt: skip
# What waits already, or was decided, is not asked about again.
INSERT = (
    upsert(held_memory)
    .values({name: bindparam(f"new_{name}", type_=held_memory.c[name].type) for name in WRITTEN})
    .on_conflict_do_nothing(index_elements=["project_id", "store_id", "scope_key", "kind", "digest"])
)
SAID = ("content", "title", "description", "key")
WEIGHT = bytes_of(held_memory.c.candidate)


async def hold_candidates(connection: TenantConnection, learned: Learned, rules: GenerationRules) -> int:
    """Keeps what is held back of what was learned; answers how many of them are new."""
    rows = [_row(connection, alone(learned, candidate), rules) for candidate in learned.held]
    return sum([(await connection.execute(INSERT, row)).rowcount for row in rows])


def _row(connection: TenantConnection, learned: Learned, rules: GenerationRules) -> Row:
    [candidate] = learned.candidates
    values = {
        **connection.key,
        **scope_columns(learned.scope),
        "held_memory_id": str(uuid7()),
        "labels": Jsonb(dict(learned.scope.labels)),
        "kind": learned.kind,
        "digest": digest_of(candidate),
        "turn_ids": sorted({each.turn_id for each in learned.utterances if each.turn_id}),
        "candidate": Jsonb(_encode(learned, candidate, rules)),
    }
    return {f"new_{name}": value for name, value in values.items()}


def _encode(learned: Learned, candidate: Candidate, rules: GenerationRules) -> dict[str, Any]:
    return {
        **{name: getattr(candidate, name) for name in SAID},
        "event_time": _text_of(candidate.event_time),
        "event_end_time": _text_of(candidate.event_end_time),
        "topics": list(candidate.topics),
        "details": candidate.details and encode_details(candidate.details),
        "quotes": [{**vars(each), "time": each.time.isoformat()} for each in learned.utterances],
        "origin": asdict(learned.origin),
        "model": learned.model,
        "prompt_version": learned.prompt_version,
        "rules": {"consolidate": rules.consolidate, "merge": rules.merge},
        "revision_options": _encode_options(rules.revision_options),
        "metadata": encode_metadata(rules.metadata),
    }


def _encode_options(options: RevisionOptions) -> dict[str, Any]:
    return {
        "labels": dict(options.labels),
        "expire_time": _text_of(options.expire_time),
        "ttl_seconds": None if options.ttl is None else options.ttl.total_seconds(),
        "disabled": options.disabled,
    }


def _options_from(stored: Mapping[str, Any]) -> RevisionOptions:
    """What waits since before they were kept has none."""
    ttl = stored.get("ttl_seconds")
    return RevisionOptions(
        stored.get("labels", {}),
        expire_time=_time_of(stored.get("expire_time")),
        ttl=None if ttl is None else timedelta(seconds=ttl),
        disabled=stored.get("disabled"),
    )


def _text_of(time: datetime | None) -> str | None:
    return time.isoformat() if time else None


def _time_of(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _held_from(row: Row) -> HeldCandidate:
    stored: Mapping[str, Any] = row["candidate"]
    kind = MemoryKind(row["kind"])
    quoted = [
        Utterance(**{**each, "time": datetime.fromisoformat(each["time"])}) for each in stored["quotes"]
    ]
    candidate = Candidate(
        kind,
        quotes=[Quote(number, said.text) for number, said in enumerate(quoted)],
        details=decode_details(kind, stored["details"]),
        topics=stored["topics"],
        **{name: stored[name] for name in SAID},
        event_time=_time_of(stored["event_time"]),
        event_end_time=_time_of(stored["event_end_time"]),
    )
    learned = Learned(
        kind,
        scope_from(row),
        Origin(**stored["origin"]),
        [candidate],
        quoted,
        stored["model"],
        stored["prompt_version"],
    )
    rules = GenerationRules(
        consolidate=stored["rules"]["consolidate"],
        metadata=decode_metadata(stored["metadata"]),
        merge=MergeStrategy(stored["rules"]["merge"]),
        revision_options=_options_from(stored.get("revision_options", {})),
    )
    return HeldCandidate(row["held_memory_id"], learned, rules, row["create_time"])


def _is_pending(connection: TenantConnection) -> ColumnElement[bool]:
    return and_(in_tenant(held_memory, connection), held_memory.c.state == HeldState.PENDING)


async def list_held(
    connection: TenantConnection, scope: ScopeFilter, page: PageRequest
) -> Page[HeldCandidate]:
    """Oldest first."""
    statement = select(held_memory).where(_is_pending(connection), in_scope(held_memory, scope))
    keys = [time_key(held_memory.c.create_time), text_key(held_memory.c.held_memory_id)]
    return await fetch_page(connection, statement, keys, page, _held_from, weight=WEIGHT)


async def get_held(connection: TenantConnection, held_memory_id: str) -> HeldCandidate | None:
    """None when nothing of this id waits."""
    statement = select(held_memory).where(
        _is_pending(connection), held_memory.c.held_memory_id == held_memory_id
    )
    row = await connection.fetch_one(statement)
    return _held_from(row) if row else None


async def decide(connection: TenantConnection, held_memory_id: str, state: HeldState) -> bool:
    """Keeps the decision and none of the words; False when nothing of this id waits."""
    statement = (
        update(held_memory)
        .where(_is_pending(connection), held_memory.c.held_memory_id == held_memory_id)
        .values(state=state, candidate=bindparam("nothing", Jsonb({}), type_=held_memory.c.candidate.type))
    )
    return (await connection.execute(statement)).rowcount == 1


async def forget_held(connection: TenantConnection, turn_ids: Sequence[str]) -> None:
    """What rests on one of the turns goes, and so does what was decided of it."""
    touched = held_memory.c.turn_ids.op("&&")(literal(list(turn_ids), ARRAY(Text)))
    await connection.execute(delete(held_memory).where(in_tenant(held_memory, connection), touched))
