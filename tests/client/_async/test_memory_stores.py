"""`client.memory_stores` against the real server: what the documentation of memory stores promises."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from ricordo import AsyncClient, errors
from ricordo._aio import gather
from ricordo._async.memory_stores import AsyncMemoryStore
from ricordo.models import EntrySource, NewMemory, Scope


@pytest.fixture
async def store(live: AsyncClient) -> AsyncMemoryStore:
    return await live.memory_stores.create("assistant-memory", description="What the assistant knows")


async def paths(store: AsyncMemoryStore, **fields: Any) -> list[str]:
    return [entry.path async for entry in store.list(actor_id="ada", **fields)]


async def test_a_store_is_created_found_and_listed(live: AsyncClient, store: AsyncMemoryStore) -> None:
    assert (store.id, store.name) == ("assistant-memory", "memory-stores/assistant-memory")
    assert (await live.memory_stores.get(store.name)).description == "What the assistant knows"
    assert [each.id async for each in live.memory_stores.list()] == ["assistant-memory", "default"]


async def test_a_taken_id_is_said(live: AsyncClient, store: AsyncMemoryStore) -> None:
    with pytest.raises(errors.AlreadyExistsError) as caught:
        await live.memory_stores.create(store.id)
    assert caught.value.code == "ALREADY_EXISTS"


@pytest.mark.parametrize("store_id", ["ab", "Upper", "1st", "ends-", "x" * 57])
async def test_an_id_that_breaks_the_rule_is_refused(live: AsyncClient, store_id: str) -> None:
    with pytest.raises(errors.MemoryBadRequestError) as caught:
        await live.memory_stores.create(store_id)
    assert caught.value.code == "INVALID_ARGUMENT"


async def test_a_store_is_found_by_its_name_as_a_session_store_too(live: AsyncClient) -> None:
    chats = await live.session_stores.create("chats")
    assert (await live.memory_stores.get(chats.name)).id == "chats"


@pytest.mark.parametrize(
    "store_id", ["", "a/b", "memory-stores/", "memory-stores/a/entries/b", "session-stores/a/b", None, 5]
)
async def test_a_name_of_something_else_is_refused(live: AsyncClient, store_id: Any) -> None:
    with pytest.raises(ValueError, match="names no store"):
        await live.memory_stores.get(store_id)


@pytest.fixture
async def other(live: AsyncClient, service_target: str) -> AsyncIterator[AsyncClient]:
    """Another service account of the project, which may write."""
    account = await live.identity.create_service_account("other", role="writer")
    credential: dict[str, Any] = {
        "client_id": account.service_account.client_id,
        "client_secret": account.client_secret,
    }
    async with AsyncClient(service_target, **credential) as one:
        yield one


async def test_a_store_is_not_there_for_those_without_a_grant(
    other: AsyncClient, store: AsyncMemoryStore
) -> None:
    with pytest.raises(errors.NotFoundError):
        await other.memory_stores.get(store.id)
    assert [each.id async for each in other.memory_stores.list()] == ["default"]


async def test_a_grant_opens_a_store_as_far_as_it_says(other: AsyncClient, store: AsyncMemoryStore) -> None:
    principal = (await other.identity.who_am_i()).principal_id
    await store.grant_permission(principal, "READ")
    granted = await other.memory_stores.get(store.id)
    assert [entry async for entry in granted.list(actor_id="ada")] == []
    with pytest.raises(errors.MemoryAuthError):
        await granted.add(actor_id="ada", path="/a", content="x")
    await store.grant_permission(principal)
    assert (await granted.add(actor_id="ada", path="/a", content="x")).path == "/a"


async def test_who_is_granted_a_store_may_not_grant_it(other: AsyncClient, store: AsyncMemoryStore) -> None:
    principal = (await other.identity.who_am_i()).principal_id
    await store.grant_permission(principal)
    with pytest.raises(errors.MemoryAuthError):
        await other.memory_stores.grant_permission(store.id, "user:bob")


async def test_the_description_changes(live: AsyncClient, store: AsyncMemoryStore) -> None:
    assert (await store.update(description="new")).description == "new"
    assert (await live.memory_stores.update(store.id, description="newer")).description == "newer"


async def test_a_store_goes_with_its_entries(live: AsyncClient, store: AsyncMemoryStore) -> None:
    await store.add(actor_id="ada", path="/a", content="x")
    await store.delete()
    with pytest.raises(errors.NotFoundError) as caught:
        await live.memory_stores.get(store.id)
    assert caught.value.code == "NOT_FOUND"


async def test_an_entry_comes_back_as_it_was_written(store: AsyncMemoryStore) -> None:
    added = await store.add(
        actor_id="ada", path="/notes/diet.md", content="No nuts.", session_id="s1", description="diet"
    )
    read = await store.get(added.name)
    assert read == added
    assert (read.actor_id, read.session_id, read.path) == ("ada", "s1", "/notes/diet.md")
    assert (read.content, read.description, read.source_type) == ("No nuts.", "diet", EntrySource.AGENT)
    assert read.name == f"memory-stores/{store.id}/entries/{read.entry_id}"


async def test_an_entry_may_have_an_id_of_one_s_own(store: AsyncMemoryStore) -> None:
    await store.add(actor_id="ada", path="/a", content="x", entry_id="mine")
    assert (await store.get("mine")).path == "/a"


async def test_a_taken_path_is_said(store: AsyncMemoryStore) -> None:
    await store.add(actor_id="ada", path="/a", content="x")
    with pytest.raises(errors.AlreadyExistsError) as caught:
        await store.add(actor_id="ada", path="/a", content="y")
    assert caught.value.code == "ALREADY_EXISTS"


async def test_actor_session_and_path_make_an_entry(store: AsyncMemoryStore) -> None:
    for actor, session in (("ada", None), ("ada", "s1"), ("ada", "s2"), ("bob", None)):
        await store.add(actor_id=actor, path="/a", content=f"{actor} {session}", session_id=session)
    assert [entry.content async for entry in store.list(actor_id="bob")] == ["bob None"]


@pytest.mark.parametrize("path", ["a", "/a//b", "/a/./b", "/a/../b", "/a/", "", "/"])
async def test_a_path_that_breaks_the_rule_is_refused(store: AsyncMemoryStore, path: str) -> None:
    with pytest.raises(errors.MemoryBadRequestError) as caught:
        await store.add(actor_id="ada", path=path, content="x")
    assert caught.value.code == "INVALID_ARGUMENT"


@pytest.mark.parametrize("actor", ["", " "])
async def test_an_actor_is_required(store: AsyncMemoryStore, actor: str) -> None:
    with pytest.raises(ValueError, match="actor_id is required"):
        await store.add(actor_id=actor, path="/a", content="x")
    with pytest.raises(ValueError, match="actor_id is required"):
        store.list(actor_id=actor)
    with pytest.raises(ValueError, match="actor_id is required"):
        await store.search(actor_id=actor, query="x")


async def test_put_creates_then_replaces_and_keeps_what_is_not_given(store: AsyncMemoryStore) -> None:
    await store.put(actor_id="ada", path="/a", content="one", description="first")
    replaced = await store.put(actor_id="ada", path="/a", content="two")
    assert (replaced.content, replaced.description, replaced.revision) == ("two", "first", 2)


async def test_put_appends_whole_lines_once(store: AsyncMemoryStore) -> None:
    for content in ("one", "two", "one", "", "two"):
        entry = await store.put(actor_id="ada", path="/a", content=content, append=True)
    assert entry.content == "one\ntwo"


async def test_fifty_writers_lose_no_line_and_double_none(store: AsyncMemoryStore) -> None:
    lines = [f"line {number}" for number in range(50)]
    put = partial(store.put, actor_id="ada", path="/a", append=True)
    await gather([partial(put, content=line) for line in lines])
    [entry] = [entry async for entry in store.list(actor_id="ada")]
    assert sorted((entry.content or "").splitlines()) == sorted(lines)


async def test_a_list_is_by_path_and_prefix(store: AsyncMemoryStore) -> None:
    for path in ("/b", "/a/2", "/a/1", "/A"):
        await store.add(actor_id="ada", path=path, content="x")
    assert await paths(store) == ["/A", "/a/1", "/a/2", "/b"]
    assert await paths(store, path_prefix="/a/") == ["/a/1", "/a/2"]


async def test_an_exact_path_is_found_in_every_session(store: AsyncMemoryStore) -> None:
    for session in (None, "s1", "s2"):
        await store.add(actor_id="ada", path="/a", content="x", session_id=session)
    found = [entry.session_id async for entry in store.list(actor_id="ada", path="/a", session_id="s1")]
    assert sorted(found) == ["", "s1", "s2"]


async def test_a_session_leaves_out_entries_without_one(store: AsyncMemoryStore) -> None:
    await store.add(actor_id="ada", path="/a", content="tea")
    await store.add(actor_id="ada", path="/b", content="tea", session_id="s1")
    assert await paths(store, session_id="s1") == ["/b"]
    hits = await store.search(actor_id="ada", query="tea", session_id="s1")
    assert [hit.memory.path for hit in hits] == ["/b"]


async def test_path_and_prefix_together_are_refused(store: AsyncMemoryStore) -> None:
    with pytest.raises(ValueError, match="not both"):
        store.list(actor_id="ada", path="/a", path_prefix="/")


@pytest.mark.parametrize("path", ["", "notes", "//", "/a/../b", "/./", 5])
async def test_what_no_path_can_be_is_refused_as_one(store: AsyncMemoryStore, path: Any) -> None:
    with pytest.raises(ValueError, match="begins with /"):
        store.list(actor_id="ada", path=path)
    with pytest.raises(ValueError, match="begins with /"):
        store.list(actor_id="ada", path_prefix=path)
    with pytest.raises(ValueError, match="begins with /"):
        await store.search(actor_id="ada", query="tea", path_prefix=path)
    with pytest.raises(ValueError, match="begins with /"):
        await store.delete_prefix(path, actor_id="ada")


async def test_a_prefix_may_end_within_a_segment(store: AsyncMemoryStore) -> None:
    await store.add(actor_id="ada", path="/..notes/a", content="x")
    assert await paths(store, path_prefix="/..") == ["/..notes/a"]
    assert await paths(store, path_prefix="/") == ["/..notes/a"]


async def test_keys_of_other_kinds_are_no_paths(live: AsyncClient, store: AsyncMemoryStore) -> None:
    fact = NewMemory(kind="semantic", key="home", content="Rome", scope=Scope(user_id="ada"))
    await live.memories.create(fact, store=store.id)
    assert await paths(store, path="home", kinds=["semantic"]) == ["home"]


async def test_a_read_mask_names_fields(store: AsyncMemoryStore) -> None:
    with pytest.raises(ValueError, match="read_mask names contents"):
        store.list(actor_id="ada", read_mask="path,contents")


async def test_pages_hold_ten_entries(store: AsyncMemoryStore) -> None:
    for number in range(12):
        await store.add(actor_id="ada", path=f"/{number:02}", content="x")
    pages = [page async for page in store.list(actor_id="ada").pages()]
    assert [len(page.items) for page in pages] == [10, 2]
    rest = store.list(actor_id="ada", page_token=pages[0].next_page_token)
    assert [entry.path async for entry in rest] == ["/10", "/11"]


@pytest.mark.parametrize("size", [0, 101, True, 1.5, "10"])
async def test_a_page_size_out_of_range_is_refused(store: AsyncMemoryStore, size: int) -> None:
    with pytest.raises(ValueError, match="1 to 100"):
        store.list(actor_id="ada", page_size=size)
    with pytest.raises(ValueError, match="1 to 100"):
        await store.search(actor_id="ada", query="x", limit=size)


async def test_search_covers_content_and_description(store: AsyncMemoryStore) -> None:
    await store.add(actor_id="ada", path="/a", content="Loves oolong.", description="drinks")
    await store.add(actor_id="ada", path="/b", content="Rides a bicycle.", description="oolong")
    await store.add(actor_id="bob", path="/c", content="oolong")
    hits = await store.search(actor_id="ada", query="oolong", limit=2)
    assert sorted(hit.memory.path for hit in hits) == ["/a", "/b"]
    assert hits[0].score >= hits[1].score > 0


async def test_large_entries_come_back_whole(store: AsyncMemoryStore) -> None:
    """More than one answer holds: 4 MiB."""
    for number in range(17):
        await store.add(actor_id="ada", path=f"/{number:02}", content=f"tea {number:250000}")
    listed = {entry.path: entry.content async for entry in store.list(actor_id="ada", page_size=100)}
    found = {hit.memory.path: hit.memory.content for hit in await store.search(actor_id="ada", query="tea")}
    assert listed == found == {f"/{number:02}": f"tea {number:250000}" for number in range(17)}


async def test_limit_and_its_other_name_must_agree(store: AsyncMemoryStore) -> None:
    with pytest.raises(ValueError, match="name the same"):
        await store.search(actor_id="ada", query="x", limit=1, page_size=2)


async def test_a_read_without_content(store: AsyncMemoryStore) -> None:
    added = await store.add(actor_id="ada", path="/a", content="x", description="d")
    assert (await store.get(added.entry_id, read_mask="path,description")).content is None
    [listed] = [entry async for entry in store.list(actor_id="ada", view="basic")]
    assert (listed.content, listed.description) == (None, "d")


async def test_an_entry_changes_and_goes(store: AsyncMemoryStore) -> None:
    entry = await store.add(actor_id="ada", path="/a", content="x", description="d")
    entry = await entry.update(content="y")
    entry = await entry.update(description="")
    assert (entry.content, entry.description, entry.revision) == ("y", "", 3)
    await entry.delete()
    with pytest.raises(errors.NotFoundError):
        await store.get(entry.entry_id)


async def test_an_update_of_nothing_is_refused(store: AsyncMemoryStore) -> None:
    entry = await store.add(actor_id="ada", path="/a", content="x")
    with pytest.raises(ValueError, match="content, description or pinned"):
        await entry.update()


async def test_an_edit_replaces_one_place(store: AsyncMemoryStore) -> None:
    entry = await store.add(actor_id="ada", path="/a", content="tea, tea and coffee")
    with pytest.raises(ValueError, match="occurs 2 times"):
        await entry.edit("tea", "water")
    with pytest.raises(ValueError, match="does not occur"):
        await entry.edit("juice", "water")
    with pytest.raises(ValueError, match="give the one that is there"):
        await entry.edit("", "water")
    assert (await entry.edit("coffee", "water")).content == "tea, tea and water"


async def test_an_edit_of_what_has_changed_is_refused(store: AsyncMemoryStore) -> None:
    entry = await store.add(actor_id="ada", path="/a", content="tea")
    await entry.update(content="coffee and tea")
    with pytest.raises(errors.RevisionMismatchError) as caught:
        await entry.edit("tea", "water")
    assert caught.value.code == "ABORTED"


async def test_facts_are_read_by_those_alone_who_ask_for_them(
    live: AsyncClient, store: AsyncMemoryStore
) -> None:
    fact = await live.memories.create(NewMemory(content="tea", scope=Scope(user_id="ada")), store=store.id)
    assert await paths(store) == []
    assert (await store.get(fact.memory_id)).kind == "semantic"


async def test_an_entry_moves(store: AsyncMemoryStore) -> None:
    entry = await store.add(actor_id="ada", path="/a", content="x")
    moved = await entry.move("/b")
    assert (moved.entry_id, moved.path, await paths(store)) == (entry.entry_id, "/b", ["/b"])
    await store.add(actor_id="ada", path="/a", content="y")
    with pytest.raises(errors.AlreadyExistsError):
        await moved.move("/a")


async def test_an_entry_is_pinned_and_freed(store: AsyncMemoryStore) -> None:
    entry = await store.add(actor_id="ada", path="/a", content="x")
    pinned = await entry.update(pinned=True)
    assert (entry.pinned, pinned.pinned) == (False, True)
    assert not (await pinned.update(pinned=False)).pinned


async def test_a_folder_is_counted_and_deleted(store: AsyncMemoryStore) -> None:
    for path in ("/notes/a", "/notes/b", "/todo"):
        await store.add(actor_id="ada", path=path, content="x")
    await store.add(actor_id="bob", path="/notes/c", content="x")
    assert await store.delete_prefix("/notes/", actor_id="ada", dry_run=True) == 2
    assert await store.delete_prefix("/notes/", actor_id="ada") == 2
    assert await paths(store) == ["/todo"]
    assert [entry.path async for entry in store.list(actor_id="bob")] == ["/notes/c"]
