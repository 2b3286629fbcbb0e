"""Statements of consolidation: one writer at a time of a scope's memories of a kind, and who says what already."""

from collections.abc import Sequence

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import ARRAY, ColumnElement, Text, bindparam, column, false, func, literal_column, or_, select
from sqlalchemy.dialects.postgresql import insert as upsert

from ricordo_server.db.conditions import in_scope, in_tenant, is_live
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.memories import matching
from ricordo_server.db.rows import vector_text
from ricordo_server.db.search import EXACT_THRESHOLD, Searched, count_matches, of_matching, search_by_vector
from ricordo_server.db.tables import consolidation, memory
from ricordo_server.domain.memory import MemoryKind, MemoryQuery
from ricordo_server.domain.ports import Vector
from ricordo_server.domain.scope import Scope

KEY_COLUMNS = ("project_id", "store_id", "scope_key", "kind")
# A conflicting row is locked before WHERE is asked, so this locks without writing a version of it.
LOCK = (
    upsert(consolidation)
    .values({name: bindparam(name, type_=consolidation.c[name].type) for name in (*KEY_COLUMNS, "user_id")})
    .on_conflict_do_update(index_elements=KEY_COLUMNS, set_={"kind": consolidation.c.kind}, where=false())
)
SAID = (
    func.unnest(bindparam("texts", type_=ARRAY(Text)))
    .table_valued(column("text", Text))
    .render_derived(name="said")
)


async def lock_consolidation(connection: TenantConnection, scope: Scope, kind: MemoryKind) -> None:
    """Until the transaction ends no other consolidates this scope's memories of this kind."""
    whose = {"scope_key": scope.key, "kind": kind, "user_id": scope.user_id}
    await connection.execute(LOCK, {**connection.key, **whose})


async def find_same(
    connection: TenantConnection, query: MemoryQuery, texts: Sequence[str], keys: Sequence[str]
) -> list[str]:
    """The ids of live memories with one of the texts, whatever its case and spaces, or with one of the keys.

    A key is its scope's whatever the visibility.
    """
    has_text = matching(query) & _folded(memory.c.content).in_(select(_folded(SAID.c.text)))
    [kind] = query.kinds
    keyed = memory.c.key == func.any(bindparam("keys", type_=ARRAY(Text)))
    has_key = keyed & (memory.c.kind == kind) & in_scope(memory, query.scope) & is_live(memory)
    statement = select(memory.c.memory_id).where(in_tenant(memory, connection), or_(has_text, has_key))
    rows = await connection.fetch_all(statement, {"texts": list(texts), "keys": list(keys)})
    return [row["memory_id"] for row in rows]


def _folded(text: ColumnElement[str]) -> ColumnElement[str]:
    """Coarser than `near_duplicates.normalise`, which has the last word."""
    normal = func.lower(func.normalize(text, literal_column("NFKC")))
    return func.rtrim(func.btrim(func.regexp_replace(normal, r"\s+", " ", "g")), " .,;:!。、।۔")


async def find_related(
    connection: TenantConnection,
    searched: Searched,
    vectors: Sequence[Vector],
    *,
    most: int,
    least_cosine: float,
) -> list[list[str]]:
    """For each vector the ids of the nearest memories, nearest first, none further than the cosine says.

    One statement for all of them where every vector is compared, as `search_by_vector` decides.
    """
    if not vectors or not (matches := await count_matches(connection, searched)):
        return [[] for _ in vectors]
    if matches <= EXACT_THRESHOLD:
        return await _compare_all(connection, searched, vectors, most, least_cosine)
    legs = [await search_by_vector(connection, searched, vector, most) for vector in vectors]
    return [[near.item_id for near in leg.candidates if near.score >= least_cosine] for leg in legs]


async def _compare_all(
    connection: TenantConnection,
    searched: Searched,
    vectors: Sequence[Vector],
    most: int,
    least_cosine: float,
) -> list[list[str]]:
    """The memories are read once, and each vector that is asked for meets all of theirs."""
    stored = searched.vectors
    embedded = (
        select(stored.c[searched.id].label("item_id"), stored.c.embedding)
        .where(of_matching(connection, searched))
        .cte("embedded")
        .prefix_with("MATERIALIZED")
    )
    texts = func.unnest(bindparam("vectors", type_=ARRAY(Text)))
    given = texts.table_valued(column("text", Text), with_ordinality="place").render_derived(name="given")
    asked = (
        select(given.c.place, given.c.text.cast(HALFVEC()).label("vector"))
        .cte("asked")
        .prefix_with("MATERIALIZED")
    )
    distance = func.min(embedded.c.embedding.op("<=>")(asked.c.vector)).label("distance")
    near = (
        select(embedded.c.item_id, distance)
        .group_by(embedded.c.item_id)
        .order_by(distance, embedded.c.item_id)
        .limit(most)
        .lateral("near")
    )
    statement = (
        select(asked.c.place, near.c.item_id)
        .select_from(asked.join(near, near.c.distance <= 1 - least_cosine))
        .order_by(asked.c.place, near.c.distance, near.c.item_id)
    )
    related: list[list[str]] = [[] for _ in vectors]
    for row in await connection.fetch_all(statement, {"vectors": list(map(vector_text, vectors))}):
        related[row["place"] - 1].append(row["item_id"])
    return related
