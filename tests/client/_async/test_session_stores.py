"""`client.session_stores` on the real server: the sessions of agent memory stores, `docs/system-c.md`."""

from typing import Any

import pytest

from ricordo import AsyncClient, errors
from ricordo._async.session_stores import AsyncSessionStore
from ricordo._async.stored_sessions import AsyncStoredSession
from ricordo.models import NewTurn, Scope, ToolCall

HELLO = {"role": "user", "content": "I like green tea."}


@pytest.fixture
async def store(live: AsyncClient) -> AsyncSessionStore:
    return await live.session_stores.create("chats", description="What was said")


@pytest.fixture
async def session(store: AsyncSessionStore) -> AsyncStoredSession:
    return await store.add(actor_id="ada", session_id="one", metadata={"channel": "mail"})


async def data(session: AsyncStoredSession, **options: Any) -> list[Any]:
    return [item.data async for item in session.list_items(**options)]


async def test_a_store_is_created_found_changed_and_deleted(
    live: AsyncClient, store: AsyncSessionStore
) -> None:
    assert (store.name, store.description) == ("session-stores/chats", "What was said")
    assert (await live.session_stores.get(store.name)).session_store_id == "chats"
    assert [each.session_store_id async for each in live.session_stores.list()] == ["chats", "default"]
    assert (await store.update(description="")).description == ""
    await store.delete()
    with pytest.raises(errors.NotFoundError):
        await live.session_stores.get("chats")


async def test_a_taken_id_is_said(live: AsyncClient, store: AsyncSessionStore) -> None:
    with pytest.raises(errors.AlreadyExistsError) as caught:
        await live.session_stores.create("chats")
    assert caught.value.code == "ALREADY_EXISTS"


async def test_a_session_comes_back_as_it_was_made(
    store: AsyncSessionStore, session: AsyncStoredSession
) -> None:
    read = await store.get("one")
    assert read.record == session.record
    assert (read.actor_id, read.session_id, read.metadata) == ("ada", "one", {"channel": "mail"})
    assert (read.store_name, read.parent_session_id) == ("session-stores/chats", "")


async def test_the_server_makes_an_id_where_none_is_given(store: AsyncSessionStore) -> None:
    made = await store.add(actor_id="ada")
    assert (await store.get(made.session_id)).actor_id == "ada"


async def test_a_session_of_nobody_is_refused(store: AsyncSessionStore) -> None:
    with pytest.raises(ValueError, match="actor_id is required"):
        await store.add(actor_id=" ")


async def test_an_id_that_several_actors_have_needs_the_actor(
    store: AsyncSessionStore, session: AsyncStoredSession
) -> None:
    await store.add(actor_id="bob", session_id="one")
    with pytest.raises(ValueError, match="several actors"):
        await store.get("one")
    assert (await store.get("one", actor_id="bob")).actor_id == "bob"
    with pytest.raises(errors.NotFoundError) as caught:
        await store.get("two")
    assert caught.value.code == "NOT_FOUND"


async def test_sessions_are_listed_newest_first_and_by_filter(
    store: AsyncSessionStore, session: AsyncStoredSession
) -> None:
    await store.add(actor_id="ada", session_id="two", metadata={"channel": "chat"})
    await store.add(actor_id="bob", session_id="three", metadata={"channel": "mail"})

    async def ids(**options: Any) -> list[str]:
        return [each.session_id async for each in store.list(**options)]

    assert await ids() == ["three", "two", "one"]
    assert await ids(order_by="session_id") == ["one", "three", "two"]
    assert await ids(filter='actor_id = "ada"') == ["two", "one"]
    assert await ids(filter='actor_id = "ada" AND metadata.channel = "mail"') == ["one"]
    assert await ids(actor_id="bob", filter='metadata.channel = "mail"') == ["three"]
    with pytest.raises(ValueError, match="two actors"):
        store.list(actor_id="bob", filter='actor_id = "ada"')
    with pytest.raises(ValueError, match="1 to 100"):
        store.list(page_size=0)


@pytest.mark.parametrize(
    "item",
    [
        HELLO,
        {"type": "function_call", "call_id": "c", "name": "tea", "arguments": "{}"},
        {"no": "message", "n": [1, None, 2.5]},
        ["a", 1],
        "text",
        7,
        None,
    ],
)
async def test_an_item_is_any_json_value(session: AsyncStoredSession, item: Any) -> None:
    [appended] = await session.append_items([item])
    assert appended.data == item
    assert await data(session) == [item]


async def test_items_are_listed_in_their_order(session: AsyncStoredSession) -> None:
    await session.append_items([1, 2])
    await session.append_items([3])
    assert await data(session) == [1, 2, 3]
    assert await data(session, order_by="turn_seq desc") == [3, 2, 1]
    pages = [len(page.items) async for page in session.list_items(page_size=2).pages()]
    assert pages == [2, 1]


async def test_an_append_is_all_or_nothing(session: AsyncStoredSession) -> None:
    with pytest.raises(errors.MemoryBadRequestError):
        await session.append_items([1, "x" * 300_000])
    with pytest.raises(ValueError, match="at least one"):
        await session.append_items([])
    with pytest.raises(ValueError, match="JSON values"):
        await session.append_items([object()])
    assert await data(session) == []


async def test_the_last_item_is_popped(session: AsyncStoredSession) -> None:
    appended = await session.append_items([1, 2])
    assert await session.pop_item() == appended[1]
    assert await session.pop_item() == appended[0]
    assert await session.pop_item() is None


async def test_a_session_is_cleared_and_goes_on(session: AsyncStoredSession) -> None:
    await session.append_items([1])
    await session.clear_items()
    await session.append_items([2])
    assert await data(session) == [2]


async def test_metadata_is_replaced(store: AsyncSessionStore, session: AsyncStoredSession) -> None:
    assert (await session.update(metadata={"n": 1})).metadata == {"n": 1}
    assert (await store.get("one")).metadata == {"n": 1}


async def test_a_fork_is_a_copy_of_its_own(session: AsyncStoredSession) -> None:
    first, _ = await session.append_items([1, 2])
    copy = await session.fork(
        actor_id="ada", up_to_item_id=first.item_id, session_id="copy", metadata={"try": 2}
    )
    assert (copy.session_id, copy.actor_id, copy.metadata) == ("copy", "ada", {"try": 2})
    await copy.append_items([3])
    assert (await data(copy), await data(session)) == ([1, 3], [1, 2])
    assert copy.parent_session_id == "one"


async def test_a_copy_stays_with_its_actor(session: AsyncStoredSession) -> None:
    with pytest.raises(ValueError, match="stays with its actor"):
        await session.fork(actor_id="bob")


async def test_a_deleted_session_takes_those_below_it_when_told_to(
    store: AsyncSessionStore, session: AsyncStoredSession
) -> None:
    below = await store.add(actor_id="ada", session_id="below", parent_session_id="one")
    assert (below.parent_session_id, below.root_session_id) == ("one", "one")
    await session.delete(force=True)
    assert [each.session_id async for each in store.list()] == []


async def test_what_was_said_becomes_entries_of_the_same_store(
    live: AsyncClient, session: AsyncStoredSession
) -> None:
    item, _ = await session.append_items([HELLO, {"role": "assistant", "content": "Noted."}])
    [made] = await session.extract_memories("memory-stores/chats")
    assert (made.path, made.content) == ("/user-preferences.md", "I like green tea.")
    assert (made.actor_id, made.session_id, made.source_type) == ("ada", "", "dreamer")
    memory = await live.memories.get(made.entry_id, store="chats")
    assert (memory.provenance.session_id, memory.provenance.turn_ids) == ("one", (item.item_id,))


async def test_a_dry_run_shows_the_entries_and_writes_none(
    live: AsyncClient, session: AsyncStoredSession
) -> None:
    await session.append_items([HELLO])
    [planned] = await session.extract_memories(memory_store="chats", dry_run=True)
    assert (planned.path, planned.content) == ("/user-preferences.md", "I like green tea.")
    assert [each async for each in live.memories.list(store="chats")] == []


async def test_what_was_said_becomes_entries_of_another_store(
    live: AsyncClient, session: AsyncStoredSession
) -> None:
    notes = await live.memory_stores.create("notes")
    await session.append_items([HELLO, 7])
    [made] = await session.extract_memories("notes")
    assert made.name.startswith("memory-stores/notes/entries/")
    [found] = await notes.search(actor_id="ada", query="tea")
    assert found.memory == made


async def test_what_an_entry_says_already_is_not_extracted_again(session: AsyncStoredSession) -> None:
    await session.append_items([HELLO])
    await session.extract_memories("chats")
    assert await session.extract_memories("chats") == []


async def test_rules_follow_no_instructions_and_say_so(session: AsyncStoredSession) -> None:
    await session.append_items([HELLO])
    with pytest.raises(errors.MemoryBadRequestError, match="read by rules") as refused:
        await session.extract_memories("chats", "Write down what Ada drinks.")
    assert refused.value.code == "INVALID_ARGUMENT"


async def test_a_session_is_named(store: AsyncSessionStore) -> None:
    with pytest.raises(ValueError, match="session_id is required"):
        await store.get("")


async def test_metadata_is_a_map(store: AsyncSessionStore) -> None:
    given: Any = "channel=mail"
    with pytest.raises(ValueError, match="metadata is a map"):
        await store.add(actor_id="ada", metadata=given)


async def test_turns_of_other_surfaces_are_items(live: AsyncClient, session: AsyncStoredSession) -> None:
    scope = Scope(user_id="ada", session_id="one")
    turn = NewTurn(role="assistant", content="Hello.", tool_calls=(ToolCall(tool_call_id="c", name="tea"),))
    await live.sessions.record_turn(turn, scope=scope, store="chats")
    [[message, call]] = await data(session)
    assert (message, call["name"]) == ({"role": "assistant", "content": "Hello."}, "tea")


async def test_a_session_is_nobody_else_s(live: AsyncClient, session: AsyncStoredSession) -> None:
    await live.stores.update("chats", access="open")
    store = await live.acting_as("bob").session_stores.get("chats")
    assert [each async for each in store.list()] == []
    with pytest.raises(errors.NotFoundError):
        await store.get("one")
