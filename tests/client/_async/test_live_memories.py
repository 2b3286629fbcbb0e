"""`client.memories` against the real server."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ricordo import AsyncClient, errors
from ricordo.filters import field
from ricordo.models import (
    EpisodicDetails,
    Exactly,
    ManagedTopic,
    Matching,
    MemoryChanges,
    MemoryKind,
    NewMemory,
    Provenance,
    ReadableBy,
    Scope,
    ScopeFilter,
    TaxonomicDetails,
    Visibility,
)

WHEN = datetime(2026, 5, 4, 12, 0, 0, 123456, tzinfo=UTC)


def fact(content: str, *, user_id: str = "ada", **fields: object) -> NewMemory:
    return NewMemory(content=content, scope=Scope(user_id=user_id), **fields)


async def test_a_memory_comes_back_as_it_was_written(live: AsyncClient) -> None:
    written = NewMemory(
        kind=MemoryKind.EPISODIC,
        content="We planned the trip.",
        memory_id="trip",
        key="trip",
        title="Trip",
        description="The trip to Rome",
        scope=Scope(user_id="ada", labels={"team": "red"}),
        agent_id="planner",
        visibility=Visibility.PRIVATE,
        metadata={
            "n": 3,
            "x": 3.0,
            "zero": -0.0,
            "big": 1e16,
            "on": True,
            "none": None,
            "when": WHEN,
            "list": [1, "a"],
            "map": {"a.b": 1},
        },
        topics=(ManagedTopic.USER_PREFERENCES, "travel"),
        tags=("rome",),
        details=EpisodicDetails(participants=("ada", "bot"), summary="Rome in May"),
        provenance=Provenance(session_id="s1"),
        event_time=WHEN,
        event_end_time=WHEN + timedelta(days=1),
        expire_time=datetime(2090, 1, 1, tzinfo=UTC),
    )
    created = await live.memories.create(written)
    read = await live.memories.get("trip")
    assert read == created
    assert read.model_dump(include=set(NewMemory.model_fields)) == written.model_dump()
    assert [type(read.metadata[key]) for key in ("n", "x", "on")] == [int, float, bool]
    assert (read.revision, read.store_id, read.delete_time) == (1, "default", None)


async def test_a_taken_key_is_told(live: AsyncClient) -> None:
    await live.memories.create(fact("tea", key="drink"))
    with pytest.raises(errors.AlreadyExistsError) as caught:
        await live.memories.create(fact("coffee", key="drink"))
    assert caught.value.reason == "KEY_TAKEN"
    assert caught.value.trace_id


async def test_the_same_request_id_writes_once(live: AsyncClient) -> None:
    first = await live.memories.create(fact("tea"), request_id="r1")
    assert await live.memories.create(fact("tea"), request_id="r1") == first
    with pytest.raises(errors.RequestIdReusedError):
        await live.memories.create(fact("coffee"), request_id="r1")


async def test_put_creates_then_replaces_then_appends(live: AsyncClient) -> None:
    created = await live.memories.put(fact("tea", key="drink"))
    replaced = await live.memories.put(fact("green tea", key="drink"))
    appended = await live.memories.put(fact("black tea", key="drink"), append=True)
    assert [created.created, replaced.created, appended.created] == [True, False, False]
    assert appended.memory.content == "green tea\nblack tea"
    assert appended.memory.memory_id == created.memory.memory_id


async def test_update_changes_what_is_given_and_nothing_else(live: AsyncClient) -> None:
    created = await live.memories.create(fact("tea", title="Drink", tags=("a",)), ttl=timedelta(hours=1))
    changes = MemoryChanges(content="coffee", tags=(), expire_time=None)
    changed = await live.memories.update(created.memory_id, changes, expected_revision=1)
    assert (changed.content, changed.title, changed.tags, changed.revision) == ("coffee", "Drink", (), 2)
    assert created.expire_time is not None
    assert changed.expire_time is None


async def test_another_revision_than_the_expected_is_told(live: AsyncClient) -> None:
    created = await live.memories.create(fact("tea"))
    with pytest.raises(errors.RevisionMismatchError) as caught:
        await live.memories.update(created.memory_id, MemoryChanges(content="x"), expected_revision=7)
    assert (caught.value.metadata["expected"], caught.value.metadata["actual"]) == ("7", "1")


async def test_a_deleted_memory_is_gone_but_for_those_who_ask(live: AsyncClient) -> None:
    created = await live.memories.create(fact("tea"))
    await live.memories.delete(created.memory_id)
    with pytest.raises(errors.NotFoundError):
        await live.memories.get(created.memory_id)
    assert (await live.memories.get(created.memory_id, include_deleted=True)).delete_time is not None


async def test_revisions_are_full_copies_newest_first(live: AsyncClient) -> None:
    created = await live.memories.create(fact("tea"))
    await live.memories.update(created.memory_id, MemoryChanges(content="coffee"))
    listed = [one async for one in live.memories.revisions.list(created.memory_id, page_size=1)]
    assert [(one.memory.content, one.action) for one in listed] == [("coffee", "updated"), ("tea", "created")]
    assert (await live.memories.revisions.get(created.memory_id, 1)).memory.content == "tea"


async def test_batches_answer_for_each_item(live: AsyncClient) -> None:
    good, bad = await live.memories.batch_create([fact("tea"), fact("")])
    assert good.memory is not None
    assert good.error is None
    assert bad.error is not None
    assert (bad.memory, bad.error.code, bad.error.reason) == (None, "INVALID_ARGUMENT", "INVALID_FIELD")


async def test_lists_have_any_length_and_order(live: AsyncClient) -> None:
    await live.memories.batch_create([fact(f"fact {n}", key=f"k{n}") for n in range(7)])
    listed = [memory.key async for memory in live.memories.list(order_by="key desc", page_size=3)]
    assert listed == [f"k{n}" for n in reversed(range(7))]
    views = [memory.content async for memory in live.memories.list(view="basic")]
    assert views == [""] * 7


async def test_keys_are_read_by_kind_and_scope(live: AsyncClient) -> None:
    await live.memories.create(fact("Ada's", key="drink"))
    await live.memories.create(fact("Eve's", user_id="eve", key="drink"))
    term = TaxonomicDetails(domain="law", term="tort")
    await live.memories.create(NewMemory(kind=MemoryKind.TAXONOMIC, content="A wrong.", details=term))
    found = await live.memories.get_by_key("drink", kind="semantic", scope=Exactly(user_id="eve"))
    assert found.content == "Eve's"
    assert (await live.memories.get_by_key(term, kind="taxonomic")).visibility == "org"


async def test_scope_rules(live: AsyncClient) -> None:
    await live.memories.create(fact("own"))
    await live.memories.create(fact("shared", user_id="eve", visibility=Visibility.ORG))
    await live.memories.create(fact("hers", user_id="eve"))
    rules: dict[str, ScopeFilter] = {
        "matching": Matching(user_id="eve"),
        "exactly": Exactly(user_id="ada"),
        "readable": ReadableBy(user_id="ada"),
    }
    found = {
        name: sorted([memory.content async for memory in live.memories.list(scope=rule)])
        for name, rule in rules.items()
    }
    assert found == {"matching": ["hers", "shared"], "exactly": ["own"], "readable": ["own", "shared"]}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"metadata.n": {"$gt": 1, "$lte": 3}}, ["b", "c"]),
        ({"metadata.n": 2.0}, ["b"]),
        ({"metadata.n": {"$ne": 2}}, ["a", "c", "d"]),
        ({"metadata.n": None}, ["d"]),
        ({"metadata.n": {"$in": [1, None]}}, ["a", "d"]),
        ({"$or": [{"tags": {"$has": "t"}}, {"content": {"$prefix": "d"}}]}, ["a", "d"]),
        ({"$nor": [{"metadata.n": 1}, {"metadata.n": 2}]}, ["c", "d"]),
        ({"kind": "semantic", "key": "a"}, ["a"]),
        (field("topics").has(ManagedTopic.USER_PREFERENCES), ["c"]),
        (field("create_time").gt(WHEN) & ~field("metadata", "n").exists(), ["d"]),
    ],
)
async def test_filters(live: AsyncClient, condition: Any, expected: list[str]) -> None:
    await live.memories.batch_create(
        [
            fact("a", key="a", metadata={"n": 1}, tags=("t",)),
            fact("b", key="b", metadata={"n": 2}),
            fact("c", key="c", metadata={"n": 3}, topics=(ManagedTopic.USER_PREFERENCES,)),
            fact("d", key="d"),
        ]
    )
    assert [memory.key async for memory in live.memories.list(filters=condition, order_by="key")] == expected


@pytest.mark.parametrize("mode", ["text", "semantic", "hybrid"])
async def test_search_in_every_mode(live: AsyncClient, mode: str) -> None:
    await live.memories.batch_create([fact("Ada drinks green tea"), fact("Bob drives a red car")])
    result = await live.memories.search("green tea", mode=mode, explain=True, include_embedding=True, top_k=1)
    (hit,) = result.hits
    assert (hit.memory.content, result.report.effective_mode) == ("Ada drinks green tea", mode)
    assert hit.legs is not None
    assert (hit.legs.semantic_rank, hit.legs.text_rank) == (
        None if mode == "text" else 1,
        None if mode == "semantic" else 1,
    )
    assert (hit.distance is None) == (mode == "text")


async def test_a_search_for_nothing_is_refused(live: AsyncClient) -> None:
    with pytest.raises(errors.MemoryBadRequestError) as caught:
        await live.memories.search()
    assert caught.value.reason == "EMPTY_QUERY"


async def test_a_credential_the_server_does_not_know_is_refused(service_target: str) -> None:
    async with AsyncClient(service_target, token="wrong") as stranger:
        with pytest.raises(errors.MemoryAuthError) as caught:
            await stranger.memories.get("m1")
    assert caught.value.reason == "UNAUTHENTICATED"


async def test_a_form_feed_begins_a_passage_with_a_vector_of_its_own(live: AsyncClient) -> None:
    for key, content in (("page", "walrus"), ("book", "oolong tea\fwalrus\f"), ("roll", "oolong tea walrus")):
        await live.memories.create(fact(content, key=key))
    found = await live.memories.search("walrus", mode="semantic")
    scores = {hit.memory.key: round(hit.score, 3) for hit in found.hits}
    assert scores["page"] == scores["book"] == 1.0
    assert scores["roll"] < 1.0
