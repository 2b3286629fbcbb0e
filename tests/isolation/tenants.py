"""Four tenants with rows in every table, and who may read and write each of them, told without SQL.

Two projects whose two stores have the same ids, and the same rows in all four: only both clauses of a policy
together tell one tenant from the others. Some rows are crossed (a turn of one user in the session of another, a
vector of one on the memory of another): no code of ours writes those, but only on them some clauses show.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from ricordo_server.db.tables import METADATA

EVERYONE = "*"
VECTOR = json.dumps([1.0] + [0.0] * 63)
ALPHA, OMEGA = "alpha", "omega"
# Principals: of the probes' calls, who made the restricted store, whom it is granted to, and any other.
CALLER, CREATOR, GRANTED_READ, GRANTED_WRITE, STRANGER = "caller", "creator", "reads", "writes", "stranger"


@dataclass(frozen=True)
class Item:
    """A row with the end users of whom one may read it, and who must be all bound together to write it.

    A service principal of its tenant may do both; None is nobody.
    """

    table: str
    values: Mapping[str, Any]
    readers: frozenset[str | None]
    owners: frozenset[str | None]
    words: str = ""

    @property
    def key(self) -> tuple[Any, ...]:
        return tuple(
            self.values[column.name] for column in METADATA.tables[f"ricordo.{self.table}"].primary_key
        )

    def lies_in(self, project_id: UUID, store_id: UUID) -> bool:
        """Tables of a project are not divided by store."""
        same_store = self.values.get("store_id") in (None, store_id) or self.table in PROJECT_ITEMS
        return self.values["project_id"] == project_id and same_store


@dataclass(frozen=True)
class Tenants:
    """`project_id` and `store_id` are the tenant that probes work in; the others are foreign to it."""

    project_id: UUID = field(default_factory=uuid4)
    store_id: UUID = field(default_factory=uuid4)
    other_project: UUID = field(default_factory=uuid4)
    other_store: UUID = field(default_factory=uuid4)
    restricted_store: UUID = field(default_factory=uuid4)
    hidden_store: UUID = field(default_factory=uuid4)

    @property
    def projects(self) -> tuple[UUID, UUID]:
        return self.project_id, self.other_project

    @property
    def stores(self) -> tuple[UUID, UUID]:
        return self.store_id, self.other_store

    @property
    def all_stores(self) -> dict[UUID, str]:
        """With who may use them; the restricted ones are not filled, and one is granted to nobody."""
        restricted = dict.fromkeys((self.restricted_store, self.hidden_store), "RESTRICTED")
        return dict.fromkeys(self.stores, "OPEN") | restricted

    def items(self, table: str) -> list[Item]:
        """Every row of the table, of all tenants."""
        found = []
        for project_id in self.projects:
            if table in PROJECT_ITEMS:
                found += PROJECT_ITEMS[table](self, project_id)
                continue
            for store_id in self.stores:
                tenant = {"project_id": project_id, "store_id": store_id}
                if table == "pipeline":
                    tenant["target_store_id"] = store_id
                found += [
                    Item(table, {**tenant, **item.values}, item.readers, item.owners, item.words)
                    for item in STORE_ITEMS[table]()
                ]
        return found

    def mine(self, table: str) -> list[Item]:
        return [item for item in self.items(table) if item.lies_in(self.project_id, self.store_id)]


def _users(*names: str | None) -> frozenset[str | None]:
    return frozenset(names)


def _projects(tenants: Tenants, project_id: UUID) -> list[Item]:
    values = {"project_id": project_id, "organization_id": tenants.project_id, "display_name": "p"}
    return [Item("project", values, _users(EVERYONE), _users(None))]


def _stores(tenants: Tenants, project_id: UUID) -> list[Item]:
    return [
        Item(
            "store",
            {
                "project_id": project_id,
                "store_id": store_id,
                "name": str(store_id),
                "languages_in_use": ["english"],
                "creator_id": "somebody" if store_id == tenants.hidden_store else CREATOR,
                **({"access": access} if access == "RESTRICTED" else {}),
            },
            _users(EVERYONE if access == "OPEN" else None),
            _users(None),
        )
        for store_id, access in tenants.all_stores.items()
    ]


def _grants(tenants: Tenants, project_id: UUID) -> list[Item]:
    return [
        Item(
            "store_grant",
            {
                "project_id": project_id,
                "store_id": tenants.restricted_store,
                "principal_id": principal_id,
                "store_creator_id": CREATOR,
                "access": access,
            },
            _users(None),
            _users(None),
        )
        for principal_id, access in ((GRANTED_READ, "READ"), (GRANTED_WRITE, "WRITE"))
    ]


def _request_ids(tenants: Tenants, project_id: UUID) -> list[Item]:
    return [
        Item(
            "idempotency",
            {
                "project_id": project_id,
                "principal_id": principal_id,
                "user_id": user,
                "method": "m",
                "request_id": "r",
                "payload_digest": b"digest",
            },
            _users(user),
            _users(user),
        )
        for user in ("ann", "bob", "")
        for principal_id in (CALLER, STRANGER)
    ]


def _accounts(tenants: Tenants, project_id: UUID) -> list[Item]:
    account = {"account_id": tenants.store_id, "name": "agent", "role": "writer", "creator_id": "test"}
    return [Item("service_account", {"project_id": project_id, **account}, _users(None), _users(None))]


def _secrets(tenants: Tenants, project_id: UUID) -> list[Item]:
    secret = {"account_id": tenants.store_id, "secret_id": "1", "secret_hash": "h"}
    return [Item("service_account_secret", {"project_id": project_id, **secret}, _users(None), _users(None))]


def _usage(tenants: Tenants, project_id: UUID) -> list[Item]:
    """Anyone who writes in a project adds to its numbers."""
    return [
        Item(
            "usage",
            {"project_id": project_id, "usage_id": UUID(int=number), "stored_memories": number},
            _users(EVERYONE),
            _users(),
        )
        for number in (1, 2)
    ]


def _audit(tenants: Tenants, project_id: UUID) -> list[Item]:
    """For administrators; nobody changes it."""
    return [
        Item(
            "audit",
            {
                "project_id": project_id,
                "audit_id": tenants.store_id,
                "action": "CreateStore",
                "outcome": "DONE",
                "principal_id": CALLER,
                "user_id": "ann",
                "subject": "",
                "occurrences": 1,
            },
            _users(None),
            _users(None),
        )
    ]


PROJECT_ITEMS = {
    "project": _projects,
    "store": _stores,
    "store_grant": _grants,
    "idempotency": _request_ids,
    "audit": _audit,
    "service_account": _accounts,
    "service_account_secret": _secrets,
    "usage": _usage,
}

# memory_id: owner, visibility, words
MEMORIES = {
    "ann": ("ann", "PRIVATE", ALPHA),
    "ann-omega": ("ann", "PRIVATE", OMEGA),
    "ann-shared": ("ann", "PROJECT", ALPHA),
    "bob": ("bob", "PRIVATE", ALPHA),
    "bob-shared": ("bob", "PROJECT", ALPHA),
    "nobody": (None, "PRIVATE", ALPHA),
}


def _readers(owner: str | None, visibility: str) -> frozenset[str | None]:
    return _users(EVERYONE) if visibility == "PROJECT" else _users(owner)


def _memory_values(memory_id: str, owner: str | None, visibility: str, words: str) -> dict[str, Any]:
    return {
        "memory_id": memory_id,
        "kind": "SEMANTIC",
        "content": words,
        "scope_key": memory_id,
        "user_id": owner,
        "visibility": visibility,
        "language": "english",
    }


def _memories() -> Iterator[Item]:
    for memory_id, (owner, visibility, words) in MEMORIES.items():
        values = _memory_values(memory_id, owner, visibility, words)
        yield Item("memory", values, _readers(owner, visibility), _users(owner), words)


def _revisions() -> Iterator[Item]:
    """Each memory as it is, one from before it was published, and one from before it was taken back."""
    rows = [(memory_id, 2, visibility) for memory_id, (_, visibility, _) in MEMORIES.items()]
    for memory_id, revision, visibility in [*rows, ("bob-shared", 1, "PRIVATE"), ("bob", 1, "PROJECT")]:
        owner, now, words = MEMORIES[memory_id]
        values = _memory_values(memory_id, owner, visibility, words) | {
            "revision": revision,
            "action": "UPDATED",
        }
        readers = _readers(owner, "PROJECT" if visibility == now == "PROJECT" else "PRIVATE")
        yield Item("memory_revision", values, readers, _users(owner), words)


def _memory_vectors() -> Iterator[Item]:
    rows = [(memory_id, 0, owner, visibility) for memory_id, (owner, visibility, _) in MEMORIES.items()]
    crossed = [
        ("bob", 1, "ann", "PRIVATE"),
        ("ann", 1, "bob", "PRIVATE"),
        ("bob-shared", 1, "ann", "PRIVATE"),
    ]
    for memory_id, chunk_no, owner, visibility in rows + crossed:
        values = {
            "memory_id": memory_id,
            "model_id": 1,
            "chunk_no": chunk_no,
            "kind": "SEMANTIC",
            "user_id": owner,
            "visibility": visibility,
            "embedding": VECTOR,
        }
        owners = _users(owner, MEMORIES[memory_id][0])
        yield Item("memory_embedding", values, _readers(owner, visibility), owners)


def _attributes() -> Iterator[Item]:
    """As vectors: a value for each memory, and crossed ones."""
    for vector in _memory_vectors():
        values = {name: vector.values[name] for name in ("memory_id", "user_id", "visibility")}
        own = {"key": f"key-{vector.values['chunk_no']}", "value": "v"}
        yield Item("memory_attribute", {**values, **own}, vector.readers, vector.owners)


def _sessions() -> Iterator[Item]:
    for name, owner in (("ann", "ann"), ("bob", "bob"), ("nobody", None)):
        values = {"scope_key": name, "user_id": owner, "session_id": name, "root_session_id": name}
        yield Item("session", values, _users(owner), _users(owner))


# turn_id: session, owner, words
TURNS = {
    "ann": ("ann", "ann", ALPHA),
    "ann-omega": ("ann", "ann", OMEGA),
    "bob": ("bob", "bob", ALPHA),
    "nobody": ("nobody", None, ALPHA),
    "ann-with-bob": ("bob", "ann", ALPHA),
    "bob-with-ann": ("ann", "bob", ALPHA),
}


def _turns() -> Iterator[Item]:
    for number, (turn_id, (session, owner, words)) in enumerate(TURNS.items()):
        values = {
            "turn_id": turn_id,
            "scope_key": session,
            "user_id": owner,
            "session_id": session,
            "turn_seq": number,
            "role": "user",
            "content": words,
            "event_time": "2026-01-31T12:00:00Z",
            "create_time": "2026-01-31T12:00:00Z",
            "language": "english",
        }
        session_owner = None if session == "nobody" else session
        yield Item("turn", values, _users(owner), _users(owner, session_owner), words)


def _turn_vectors() -> Iterator[Item]:
    rows = [(turn_id, 0, owner) for turn_id, (_, owner, _) in TURNS.items()]
    for turn_id, chunk_no, owner in [*rows, ("bob", 1, "ann"), ("ann", 1, "bob")]:
        values = {
            "turn_id": turn_id,
            "model_id": 1,
            "chunk_no": chunk_no,
            "user_id": owner,
            "embedding": VECTOR,
        }
        yield Item("turn_embedding", values, _users(owner), _users(owner, TURNS[turn_id][1]))


def _sources() -> Iterator[Item]:
    """The turns of each memory, and crossed ones."""
    own = [(memory_id, f"turn-{owner}", owner) for memory_id, (owner, _, _) in MEMORIES.items()]
    crossed = [("bob", "turn-ann", "ann"), ("ann", "turn-bob", "bob"), ("bob-shared", "turn-ann", "ann")]
    for memory_id, turn_id, owner in own + crossed:
        values = {
            "memory_id": memory_id,
            "revision": 2,
            "ground": turn_id,
            "turn_id": turn_id,
            "user_id": owner,
            "role": "user",
            "said_time": "2026-01-31T12:00:00Z",
            "quote": "q",
        }
        yield Item("memory_source", values, _users(owner), _users(owner, MEMORIES[memory_id][0]))


def _consolidations() -> Iterator[Item]:
    for name, owner in (("ann", "ann"), ("bob", "bob"), ("nobody", None)):
        values = {"scope_key": name, "kind": "SEMANTIC", "user_id": owner}
        yield Item("consolidation", values, _users(owner), _users(owner))


def _snapshots() -> Iterator[Item]:
    """One in each session, and crossed ones."""
    rows = [("ann", "ann", "ann"), ("bob", "bob", "bob"), ("nobody", "nobody", None)]
    crossed = [("ann-with-bob", "bob", "ann"), ("bob-with-ann", "ann", "bob")]
    for number, (snapshot_id, session, owner) in enumerate(rows + crossed, 1):
        values = {
            "snapshot_id": snapshot_id,
            "scope_key": session,
            "user_id": owner,
            "session_id": session,
            "from_seq": number,
            "to_seq": number,
            "context_from_seq": number,
            "cause": "IDLE",
        }
        yield Item("snapshot", values, _users(owner), _users(owner, None if session == "nobody" else session))


def _extractions() -> Iterator[Item]:
    """One of each own snapshot, and crossed ones."""
    rows = [("ann", "SEMANTIC", "ann"), ("bob", "SEMANTIC", "bob"), ("nobody", "SEMANTIC", None)]
    crossed = [("bob", "EPISODIC", "ann"), ("ann", "EPISODIC", "bob")]
    for snapshot_id, kind, owner in rows + crossed:
        values = {"snapshot_id": snapshot_id, "kind": kind, "user_id": owner}
        owners = _users(owner, None if snapshot_id == "nobody" else snapshot_id)
        yield Item("extraction", values, _users(owner), owners)


def _held_memories() -> Iterator[Item]:
    for name, owner in (("ann", "ann"), ("bob", "bob"), ("nobody", None)):
        values = {
            "held_memory_id": name,
            "scope_key": name,
            "kind": "SEMANTIC",
            "user_id": owner,
            "digest": name,
            "candidate": Jsonb({}),
        }
        yield Item("held_memory", values, _users(owner), _users(owner))


def _operations() -> Iterator[Item]:
    for name, owner in (("ann", "ann"), ("bob", "bob"), ("nobody", None)):
        values = {
            "operation_id": name,
            "kind": "GENERATE_MEMORIES",
            "principal_id": "somebody",
            "scope_key": name,
            "user_id": owner,
        }
        yield Item("operation", values, _users(owner), _users(owner))


def _pipelines() -> Iterator[Item]:
    """One from the store into itself, and nobody's."""
    values = {
        "pipeline_id": "pipeline",
        "trigger": "MANUAL",
        "period_seconds": 3600,
        "creator_id": CREATOR,
        "creator_role": "writer",
    }
    yield Item("pipeline", values, _users(None), _users(None))


def _pipeline_runs() -> Iterator[Item]:
    values = {"run_id": "run", "pipeline_id": "pipeline", "cause": "MANUAL", "state": "SUCCEEDED"}
    yield Item("pipeline_run", values, _users(None), _users(None))


def _pipeline_checkpoints() -> Iterator[Item]:
    for name, owner in (("ann", "ann"), ("bob", "bob"), ("nobody", None)):
        values = {"pipeline_id": "pipeline", "scope_key": name, "user_id": owner, "distilled_seq": 1}
        yield Item("pipeline_checkpoint", values, _users(owner), _users(owner))


STORE_ITEMS = {
    "session": _sessions,
    "turn": _turns,
    "turn_embedding": _turn_vectors,
    "memory": _memories,
    "memory_attribute": _attributes,
    "memory_embedding": _memory_vectors,
    "memory_revision": _revisions,
    "memory_source": _sources,
    "consolidation": _consolidations,
    "snapshot": _snapshots,
    "extraction": _extractions,
    "held_memory": _held_memories,
    "operation": _operations,
    "pipeline": _pipelines,
    "pipeline_run": _pipeline_runs,
    "pipeline_checkpoint": _pipeline_checkpoints,
}


def insert_row(connection: psycopg.Connection[Any], table: str, values: Mapping[str, Any]) -> int:
    statement = sql.SQL("INSERT INTO ricordo.{} ({}) VALUES ({})").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, values)),
        sql.SQL(", ").join(sql.Placeholder() * len(values)),
    )
    return connection.execute(statement, list(values.values())).rowcount


def settle(superuser_url: str) -> Tenants:
    """Writes all rows, past every policy, and commits."""
    tenants = Tenants()
    with psycopg.connect(superuser_url) as connection:
        connection.execute(
            "INSERT INTO ricordo.organization (organization_id, display_name) VALUES (%s, 'o')",
            [tenants.project_id],
        )
        for table in (*PROJECT_ITEMS, *STORE_ITEMS):
            for item in tenants.items(table):
                insert_row(connection, table, item.values)
    return tenants
