"""What a read sees: every combination of user, visibility and session over a small population, written out."""

import pytest

from ricordo import AsyncClient, AsyncMemory, MemoryRequestContext, SourceSpec, ambient_context
from ricordo.models import MemoryChunk, MemoryKind, NewMemory, NewTurn, Scope, Visibility

# name: user, visibility, session
POPULATION = {
    "ada private s1": ("ada", Visibility.PRIVATE, "s1"),
    "ada private s2": ("ada", Visibility.PRIVATE, "s2"),
    "ada private": ("ada", Visibility.PRIVATE, ""),
    "ada org s1": ("ada", Visibility.ORG, "s1"),
    "eve private s1": ("eve", Visibility.PRIVATE, "s1"),
    "eve org s1": ("eve", Visibility.ORG, "s1"),
    "eve org": ("eve", Visibility.ORG, ""),
    "org": ("", Visibility.ORG, ""),
}
EVERYTHING = set(POPULATION)
OF_ADA = {"ada private s1", "ada private s2", "ada private", "ada org s1"}
OF_EVE = {"eve private s1", "eve org s1", "eve org"}
PRIVATE = {"ada private s1", "ada private s2", "ada private", "eve private s1"}
ORG = {"ada org s1", "eve org s1", "eve org", "org"}

# user, visibility, session -> what an episode search sees
EXPECTED: dict[tuple[str | None, str | None, str | None], set[str]] = {
    (None, None, None): EVERYTHING,
    (None, None, "s1"): {"ada private s1", "ada org s1", "eve private s1", "eve org s1"},
    (None, None, "s2"): {"ada private s2"},
    (None, "private", None): PRIVATE,
    (None, "private", "s1"): {"ada private s1", "eve private s1"},
    (None, "private", "s2"): {"ada private s2"},
    (None, "org", None): ORG,
    (None, "org", "s1"): {"ada org s1", "eve org s1"},
    (None, "org", "s2"): set(),
    ("ada", None, None): OF_ADA,
    ("ada", None, "s1"): {"ada private s1", "ada org s1"},
    ("ada", None, "s2"): {"ada private s2"},
    ("ada", "private", None): {"ada private s1", "ada private s2", "ada private"},
    ("ada", "private", "s1"): {"ada private s1"},
    ("ada", "private", "s2"): {"ada private s2"},
    ("ada", "org", None): {"ada org s1"},
    ("ada", "org", "s1"): {"ada org s1"},
    ("ada", "org", "s2"): set(),
    ("ada", "readable", None): OF_ADA | ORG,
    ("ada", "readable", "s1"): {"ada private s1", "ada org s1", "eve org s1"},
    ("ada", "readable", "s2"): {"ada private s2"},
    ("eve", None, None): OF_EVE,
    ("eve", None, "s1"): {"eve private s1", "eve org s1"},
    ("eve", None, "s2"): set(),
    ("eve", "private", None): {"eve private s1"},
    ("eve", "private", "s1"): {"eve private s1"},
    ("eve", "private", "s2"): set(),
    ("eve", "org", None): {"eve org s1", "eve org"},
    ("eve", "org", "s1"): {"eve org s1"},
    ("eve", "org", "s2"): set(),
    ("eve", "readable", None): OF_EVE | ORG,
    ("eve", "readable", "s1"): {"eve private s1", "eve org s1", "ada org s1"},
    ("eve", "readable", "s2"): set(),
}


@pytest.fixture
async def populated(live: AsyncClient, live_memory: AsyncMemory) -> AsyncMemory:
    episodes = [
        NewMemory(
            kind=MemoryKind.EPISODIC,
            content=f"tea {name}",
            title=name,
            scope=Scope(user_id=user, session_id=session),
            visibility=visibility,
        )
        for name, (user, visibility, session) in POPULATION.items()
    ]
    assert all(result.memory for result in await live.memories.batch_create(episodes))
    return live_memory


def titles(chunks: list[MemoryChunk] | None) -> set[str]:
    return {chunk.metadata["title"] for chunk in chunks or () if chunk.metadata}


async def test_every_combination(populated: AsyncMemory) -> None:
    for (user, visibility, session), expected in EXPECTED.items():
        case = f"user {user}, visibility {visibility}, session {session}"
        found = await populated.search_episodes("tea", user, visibility, session)
        listed = await populated.list_episodes(user, visibility, session)
        mixed = await populated.search(
            "tea", sources=["episodic"], top_k=50, user_id=user, visibility=visibility, session_id=session
        )
        assert titles(found) == titles(mixed) == {entry["title"] for entry in listed} == expected, case


@pytest.mark.parametrize("mode", ["text", "hybrid"])
async def test_every_combination_in_the_other_modes(populated: AsyncMemory, mode: str) -> None:
    for (user, visibility, session), expected in EXPECTED.items():
        found = await populated.search_episodes("tea", user, visibility, session, mode=mode)
        assert titles(found) == expected, f"user {user}, visibility {visibility}, session {session}"


async def test_a_context_sees_memories_of_every_session(populated: AsyncMemory) -> None:
    for (user, visibility, session), expected in EXPECTED.items():
        if session is None:
            for asked in (None, "s1"):
                built = await populated.build_context(
                    "tea", user, asked, visibility, max_tokens=20_000, include_memories=True, explain=True
                )
                left_out = len(built.left_out or ())
                assert titles(built.selected_memories) <= expected
                assert len(built.selected_memories or ()) + left_out == len(expected)


async def test_shared_is_an_older_name_of_org(populated: AsyncMemory) -> None:
    with pytest.warns(DeprecationWarning, match="'shared' is deprecated"):
        assert titles(await populated.search_episodes("tea", visibility="shared")) == ORG
    with pytest.warns(DeprecationWarning, match="'shared' is deprecated"):
        await populated.save_taxonomic(
            domain="d", term="t", definition="x", user_id="ada", visibility="shared"
        )


async def test_the_call_the_bound_and_the_ambient_user(populated: AsyncMemory) -> None:
    """Blank never widens; only the ambient user is left out of reads that are about nobody in particular."""
    bound = populated.bind(MemoryRequestContext(user_id="eve", session_id="s1"))
    with ambient_context(MemoryRequestContext(user_id="ada", session_id="s2")):
        assert titles(await bound.search_episodes("tea", user_id="ada")) == OF_ADA
        assert titles(await bound.search_episodes("tea", user_id=" ")) == OF_EVE
        assert titles(await bound.search_episodes("tea", visibility="org")) == {"eve org s1", "eve org"}
        assert titles(await populated.search_episodes("tea")) == OF_ADA
        assert titles(await populated.search_episodes("tea", visibility="private")) == OF_ADA - {"ada org s1"}
        assert titles(await populated.search_episodes("tea", visibility="org")) == ORG
        assert titles(await populated.search_episodes("tea", visibility="readable")) == OF_ADA | ORG


async def test_the_union_of_turns_is_ones_own_turns_of_the_session(populated: AsyncMemory) -> None:
    for user, session in (("ada", "s1"), ("ada", "s2"), ("eve", "s1")):
        await populated.record_turns(
            [NewTurn(role="user", content=f"tea {user} {session}")], user_id=user, session_id=session
        )
    built = await populated.build_context_from_sources(
        "tea",
        [SourceSpec(source="stm"), SourceSpec(source="episodic", top_k=50)],
        user_id="ada",
        session_id="s1",
        visibility="readable",
        include_memories=True,
        explain=True,
        max_tokens=20_000,
    )
    turns = [chunk.content for chunk in built.selected_memories or () if chunk.source == "stm"]
    assert turns == ["tea ada s1"]
    assert titles([chunk for chunk in built.selected_memories or () if chunk.source == "episodic"])
    assert built.metadata.source_outcomes[1].count == len(OF_ADA | ORG)


async def test_a_read_by_key(live_memory: AsyncMemory) -> None:
    ada = live_memory.bind(MemoryRequestContext(user_id="ada"))
    eve = live_memory.bind(MemoryRequestContext(user_id="eve"))
    await ada.save_semantic(text="of ada", label="x")
    await eve.save_semantic(text="of eve, for all", label="x", visibility="org")
    await eve.save_semantic(text="of eve", label="y")

    async def text(memory: AsyncMemory, label: str, visibility: str | None = None) -> str | None:
        entry = await memory.get_semantic(label, visibility=visibility)
        return entry and entry["text"]

    assert await text(ada, "x") == "of ada"
    assert await text(ada, "x", "readable") == "of ada"
    assert await text(ada, "x", "private") == "of ada"
    assert await text(ada, "x", "org") is None
    assert await text(live_memory, "x", "org") == "of eve, for all"
    assert await text(live_memory, "x") == "of eve, for all"
    assert await text(ada, "y") is None
    assert await text(ada, "y", "readable") is None
    await ada.delete_semantic((await ada.get_semantic("x"))["id"])
    assert await text(ada, "x", "readable") == "of eve, for all"
