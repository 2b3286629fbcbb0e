"""`save` and `retrieve`: memories of the project's own types."""

from typing import Any

import pytest

from ricordo import AsyncClient, AsyncMemory, MemoryRequestContext, errors

ADA = MemoryRequestContext(user_id="ada", agent_id="bot", session_id="s1")


@pytest.fixture
def ada(live_memory: AsyncMemory) -> AsyncMemory:
    return live_memory.bind(ADA)


async def test_dotted_and_nested_tags_are_the_same(ada: AsyncMemory) -> None:
    nested = await ada.save("ticket", "The printer burns.", tags={"product": {"tier": "gold"}, "open": True})
    dotted = await ada.save("ticket", "The printer smokes.", tags={"product.tier": "gold", "open": False})
    assert (nested.type, nested.tags) == ("ticket", {"product.tier": "gold", "open": True})
    assert (dotted.tags, dotted.has_embedding) == ({"product.tier": "gold", "open": False}, True)
    for wanted in ({"product.tier": "gold"}, {"product": {"tier": "gold"}}):
        assert {one.id for one in (await ada.retrieve("ticket", "printer", tags=wanted)).results} == {
            nested.id,
            dotted.id,
        }
    found = await ada.retrieve("ticket", "printer", tags={"open": True})
    assert ([one.id for one in found.results], found.count) == ([nested.id], 1)


async def test_a_retrieved_memory_is_whole(ada: AsyncMemory) -> None:
    context: dict[str, Any] = {"call": {"minutes": 3, "$x": [1.0]}}
    await ada.save("ticket", "The printer burns.", tags={"n": 3}, contextual_metadata=context)
    await ada.save("ticket", "The screen is dark.")
    (one,) = (await ada.retrieve("ticket", "printer", mode="text")).results
    assert one.model_dump(exclude={"id"}) == {
        "type": "ticket",
        "content": "The printer burns.",
        "tags": {"n": 3},
        "contextual_metadata": context,
        "user_id": "ada",
        "agent_id": "bot",
    }
    (plain,) = (await ada.retrieve("ticket", "screen", mode="text")).results
    assert (plain.tags, plain.contextual_metadata) == ({}, None)


async def test_a_type_is_asked_at_a_time(ada: AsyncMemory) -> None:
    await ada.save("ticket", "printer")
    await ada.save("asset", "printer")
    assert [one.type for one in (await ada.retrieve("asset", "printer")).results] == ["asset"]


async def test_a_custom_memory_is_its_users_unless_shared(live_memory: AsyncMemory) -> None:
    eve = live_memory.bind(MemoryRequestContext(user_id="eve"))
    await live_memory.bind(ADA).save("ticket", "of ada")
    await live_memory.bind(ADA).save("ticket", "for all", visibility="org")
    await eve.save("ticket", "of eve")

    async def contents(**reading: Any) -> list[str]:
        return sorted(one.content for one in (await eve.retrieve("ticket", "all", **reading)).results)

    assert await contents() == ["of eve"]
    assert await contents(visibility="readable") == ["for all", "of eve"]
    assert await contents(user_id="ada", visibility="org") == ["for all"]


async def test_a_custom_memory_is_changed_and_deleted(ada: AsyncMemory) -> None:
    saved = await ada.save("ticket", "one", tags={"open": True}, contextual_metadata={"a": 1})
    changed = await ada.update("ticket", saved.id, content="two", tags={"a.b": 1})
    assert (changed["content"], changed["metadata"], changed["type"]) == ("two", {"a": {"b": 1}}, "ticket")
    assert changed["contextual_metadata"] == {"a": 1}
    assert (await ada.update("ticket", saved.id, contextual_metadata={}))["contextual_metadata"] == {}
    with pytest.raises(errors.NotFoundError):
        await ada.delete("asset", saved.id)
    assert (await ada.delete("ticket", saved.id)).deleted_count == 1
    assert (await ada.retrieve("ticket", "two")).count == 0


async def test_a_filter_goes_with_tags(ada: AsyncMemory) -> None:
    for number in (1, 2, 3):
        await ada.save("ticket", f"printer {number}", tags={"n": number, "open": number != 3})
    some = {"metadata.n": {"$gte": 2}}
    for wanted, found in (({}, ["printer 2", "printer 3"]), ({"open": True}, ["printer 2"])):
        answer = await ada.retrieve("ticket", "printer", tags=wanted, metadata_filter=some)
        assert sorted(one.content for one in answer.results) == found
    with pytest.raises(errors.MemoryClientError, match="accepted") as raised:
        await ada.retrieve("ticket", "printer", metadata_filter={"n": 2})
    assert raised.value.reason == "INVALID_FILTER"


async def test_contextual_metadata_is_never_filterable(ada: AsyncMemory, live: AsyncClient) -> None:
    await ada.save("ticket", "one", contextual_metadata={"a": 1})
    assert [m async for m in live.memories.list(kinds=["custom"], filters={"metadata.a": 1})] == []
    with pytest.raises(ValueError, match="accepted"):
        live.memories.list(kinds=["custom"], filters={"contextual_metadata.a": 1})


@pytest.mark.parametrize("name", ["semantic", "stm", "custom", "Ticket", "", "1st", "a-b", "a" * 65])
async def test_a_name_that_is_no_custom_type_is_refused(name: str) -> None:
    memory = AsyncMemory("127.0.0.1:1")
    for call in (memory.save, memory.retrieve):
        with pytest.raises(errors.MemoryClientError, match="custom type"):
            await call(name, "x")


@pytest.mark.parametrize(
    "tags",
    [
        {"a": " "},
        {"a": None},
        {"a": [1]},
        {"a": float("nan")},
        {"a": {}},
        {"a": {"b": {"c": 1}}},
        {"a.b.c": 1},
        {"a.b": {"c": 1}},
        {".a": 1},
        {"": 1},
        {1: 1},
        {"a": {"$gt": 1}},
        {"a": 1, "a.b": 1},
        {"a": {"b": 1}, "a.b": 1},
    ],
    ids=str,
)
async def test_what_is_no_tag_is_refused_before_any_request(tags: Any) -> None:
    memory = AsyncMemory("127.0.0.1:1")
    for call in (memory.save, memory.retrieve):
        with pytest.raises(errors.MemoryClientError, match="tag"):
            await call("ticket", "x", tags=tags)
