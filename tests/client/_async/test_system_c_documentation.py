"""What the documentation of agent memory stores shows, on the real server: `docs/system-c.md` is the list."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from ricordo import AsyncClient, errors
from ricordo._aio import gather
from ricordo._async.memory_stores import AsyncMemoryStore
from ricordo._async.tools import entry_tools

STYLE = "/preferences/style.md"


@pytest.fixture
async def store(live: AsyncClient) -> AsyncMemoryStore:
    return await live.memory_stores.create("support-agent-memory", description="What customers told us.")


async def test_a_store_says_what_it_is(live: AsyncClient, store: AsyncMemoryStore) -> None:
    assert store.name == "memory-stores/support-agent-memory"
    assert store.creator_user_id == (await live.identity.who_am_i()).principal_id
    assert store.create_time == store.update_time


async def test_an_update_of_a_store_needs_a_value(live: AsyncClient, store: AsyncMemoryStore) -> None:
    with pytest.raises(ValueError, match="nothing is: give description"):
        await store.update()
    assert (await store.update(description="")).description == ""


async def test_a_store_is_addressed_by_its_name(live: AsyncClient, store: AsyncMemoryStore) -> None:
    """Reading, changing and deleting take the same name that `name` gives."""
    await live.memory_stores.update(store.name, description="new")
    assert (await live.memory_stores.get(store.name)).description == "new"
    await live.memory_stores.delete(store.name)
    with pytest.raises(errors.NotFoundError) as caught:
        await live.memory_stores.delete(store.name)
    assert caught.value.code == "NOT_FOUND"


@pytest.mark.parametrize(("store_id", "fits"), [("a-b", True), ("a" * 56, True), ("a" * 57, False)])
async def test_an_id_has_3_to_56_characters(live: AsyncClient, store_id: str, fits: bool) -> None:
    if fits:
        assert (await live.memory_stores.create(store_id)).id == store_id
    else:
        with pytest.raises(errors.MemoryBadRequestError):
            await live.memory_stores.create(store_id)


async def test_a_preference_is_saved_then_found_in_another_session(store: AsyncMemoryStore) -> None:
    await store.put(actor_id="ada", path=STYLE, content="Prefers short answers.", description="how to answer")
    [hit] = await store.search(actor_id="ada", query="short answers")
    assert (hit.memory.path, hit.memory.content) == (STYLE, "Prefers short answers.")
    assert hit.score > 0


async def test_a_path_with_and_without_a_session_is_two_entries(store: AsyncMemoryStore) -> None:
    for session in (None, "chat-1"):
        await store.add(actor_id="ada", path=STYLE, content=session or "always", session_id=session)
    listed = [(entry.session_id, entry.content) async for entry in store.list(actor_id="ada", path=STYLE)]
    assert sorted(listed) == [("", "always"), ("chat-1", "chat-1")]


async def test_put_to_a_session_leaves_the_entry_without_one(store: AsyncMemoryStore) -> None:
    await store.put(actor_id="ada", path=STYLE, content="always")
    await store.put(actor_id="ada", path=STYLE, content="today", session_id="chat-1")
    await store.put(actor_id="ada", path=STYLE, content="now", session_id="chat-1")
    contents = [entry.content async for entry in store.list(actor_id="ada", path=STYLE)]
    assert sorted(filter(None, contents)) == ["always", "now"]


async def test_an_append_of_several_lines_counts_them_as_one(store: AsyncMemoryStore) -> None:
    """Lines that are there, whole and in a row, are not added again; a part of a line is not a line."""
    await store.put(actor_id="ada", path=STYLE, content="short\npolite\nformal")
    for lines, expected in (
        ("polite\nformal", "short\npolite\nformal"),
        ("polite\nshort", "short\npolite\nformal\npolite\nshort"),
        ("form", "short\npolite\nformal\npolite\nshort\nform"),
    ):
        entry = await store.put(actor_id="ada", path=STYLE, content=lines, append=True)
        assert entry.content == expected


async def test_an_entry_of_a_search_changes_and_goes(store: AsyncMemoryStore) -> None:
    await store.add(actor_id="ada", path=STYLE, content="Prefers short answers.", description="style")
    [hit] = await store.search(actor_id="ada", query="answers")
    changed = await hit.memory.update(content="Prefers long answers.")
    assert (changed.content, changed.description, changed.id) == (
        "Prefers long answers.",
        "style",
        hit.memory.id,
    )
    await changed.delete()
    assert await store.search(actor_id="ada", query="answers") == []


async def test_a_search_may_leave_content_out(store: AsyncMemoryStore) -> None:
    await store.add(actor_id="ada", path=STYLE, content="Prefers short answers.", description="style")
    [hit] = await store.search(actor_id="ada", query="answers", read_mask="path,description")
    assert (hit.memory.content, hit.memory.description) == (None, "style")


async def test_a_search_gives_a_hundred_unless_asked_for_less(store: AsyncMemoryStore) -> None:
    add = partial(store.add, actor_id="ada")
    await gather([partial(add, path=f"/tea/{number}", content="green tea") for number in range(101)])
    assert len(await store.search(actor_id="ada", query="tea")) == 100
    assert len(await store.search(actor_id="ada", query="tea", limit=3)) == 3


async def test_a_prefix_narrows_a_search(store: AsyncMemoryStore) -> None:
    for path in ("/drinks/tea", "/food/tea"):
        await store.add(actor_id="ada", path=path, content="green tea")
    hits = await store.search(actor_id="ada", query="tea", path_prefix="/drinks/")
    assert [hit.memory.path for hit in hits] == ["/drinks/tea"]


@pytest.mark.parametrize("source", ["agent", "AGENT"])
async def test_who_writes_is_an_agent(store: AsyncMemoryStore, source: str) -> None:
    added = await store.add(actor_id="ada", path=STYLE, content="x", source_type=source)
    assert added.source_type == "agent"


async def test_what_pipelines_write_is_not_to_be_claimed(store: AsyncMemoryStore) -> None:
    with pytest.raises(ValueError, match="pipelines write"):
        await store.add(actor_id="ada", path=STYLE, content="x", source_type="dreamer")


@pytest.fixture
async def as_ada(
    live: AsyncClient, store: AsyncMemoryStore, service_target: str
) -> AsyncIterator[AsyncMemoryStore]:
    """The store by an end user's token, to whom it is granted."""
    account = await live.identity.create_service_account("agents", role="writer")
    secret: dict[str, Any] = {
        "client_id": account.service_account.client_id,
        "client_secret": account.client_secret,
    }
    async with AsyncClient(service_target, **secret) as agents:
        token = await agents.identity.issue_token(["ada"])
    async with AsyncClient(service_target, token=token.access_token) as ada:
        await store.grant_permission((await ada.identity.who_am_i()).principal_id)
        yield await ada.memory_stores.get(store.id)


async def test_an_actor_is_an_access_control_for_a_user_s_credential(
    store: AsyncMemoryStore, as_ada: AsyncMemoryStore
) -> None:
    """Their actor only sorts entries; ours is held to the credential by the server and by the database."""
    secret = await store.add(actor_id="bob", path="/secret", content="Bob likes tea.")
    with pytest.raises(errors.MemoryAuthError) as caught:
        await as_ada.add(actor_id="bob", path="/x", content="x")
    assert caught.value.code == "PERMISSION_DENIED"
    with pytest.raises(errors.MemoryAuthError):
        await as_ada.search(actor_id="bob", query="tea")
    with pytest.raises(errors.MemoryAuthError):
        assert [entry async for entry in as_ada.list(actor_id="bob")]
    with pytest.raises(errors.NotFoundError):
        await as_ada.get(secret.id)


async def test_the_user_s_own_entries_are_there_for_that_credential(as_ada: AsyncMemoryStore) -> None:
    await as_ada.put(actor_id="ada", path=STYLE, content="Prefers short answers.")
    assert [entry.path async for entry in as_ada.list(actor_id="ada")] == [STYLE]


async def test_a_service_that_acts_for_a_user_is_bound_to_the_user(
    live: AsyncClient, store: AsyncMemoryStore
) -> None:
    await live.stores.update(store.id, access="open")
    await store.put(actor_id="bob", path=STYLE, content="Bob's")
    for_ada = await live.acting_as("ada").memory_stores.get(store.id)
    with pytest.raises(errors.MemoryAuthError):
        await for_ada.put(actor_id="bob", path=STYLE, content="x")
    assert [entry.content async for entry in store.list(actor_id="bob")] == ["Bob's"]


async def test_the_documented_tools_keep_one_actor(store: AsyncMemoryStore) -> None:
    """The recipe of an agent: its tools are closed over the actor, and take no other."""
    search_memory, save_memory, list_memories, forget_memory = entry_tools(store, "ada")
    await save_memory(STYLE, "Prefers short answers.", "how to answer")
    assert [each["path"] for each in await search_memory("answers")] == [STYLE]
    assert await list_memories() == [{"path": STYLE, "description": "how to answer"}]
    await forget_memory(STYLE)
    assert await list_memories() == []
