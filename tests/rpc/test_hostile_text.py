"""Any text a client can send comes back as it was, and can be searched for without an error."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ricordo.v1 import filter_pb2, metadata_pb2, scope_pb2, search_pb2
from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import memory_service_pb2 as pb
from tests.fixtures.stubs import Memories

HOSTILE = [
    'O\'Brien "said" \\ % _ %s %(x)s {} $1 :name ?',
    "' | & ! ( ) <-> :* a:b & !c",
    "'; DROP TABLE ricordo.memory; --",
    "مرحبا بالعالم שלום \u200fRTL\u200e",
    "👩‍👩‍👧‍👦 café é ﬁ ẞ 日本語の文章 ภาษาไทย 한국어",
    "a?b=1&c=2 https://example.com/x_y/z-w user@example.com /etc/passwd C:\\temp",
    "\t\r\n   \u200b \x01\x02\x7f",
    "-- /* */ $$ $tag$ E'\\\\' U&'\\0041'",
    "𝕬𝖇𝖈 \U0010ffff ￿",
]
texts = st.sampled_from(HOSTILE) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=60
)
said = texts.filter(str.strip)
COMMON = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@COMMON
@given(said, said, said, said)
async def test_every_text_field_round_trips(
    memories: Memories, content: str, title: str, name: str, tag: str
) -> None:
    scope = scope_pb2.Scope(user_id=name.replace("*", "x"), labels={name: tag.replace("*", "x")})
    memory = m.Memory(
        kind=m.MEMORY_KIND_EPISODIC,
        content=content,
        title=title,
        description=name,
        agent_id=tag,
        scope=scope,
        tags=[tag],
        topics=[m.Topic(custom_label=name)],
        metadata={name: metadata_pb2.MetadataValue(string_value=content)},
        episodic=m.EpisodicDetails(participants=[name], summary=title),
        provenance=m.Provenance(session_id=name, turn_ids=[tag]),
    )
    created = (await memories.CreateMemory(pb.CreateMemoryRequest(memory=memory))).memory
    read = (await memories.GetMemory(pb.GetMemoryRequest(memory_id=created.memory_id))).memory
    for field in (
        "content",
        "title",
        "description",
        "agent_id",
        "scope",
        "tags",
        "topics",
        "metadata",
        "episodic",
        "provenance",
    ):
        assert getattr(read, field) == getattr(memory, field), field


@COMMON
@given(said)
@example("the")
@example("🙂")
async def test_any_query_is_answered_in_every_mode(memories: Memories, query: str) -> None:
    await memories.CreateMemory(
        pb.CreateMemoryRequest(memory=m.Memory(kind=m.MEMORY_KIND_SEMANTIC, content=query))
    )
    for mode in (search_pb2.SEARCH_MODE_TEXT, search_pb2.SEARCH_MODE_SEMANTIC, search_pb2.SEARCH_MODE_HYBRID):
        options = search_pb2.SearchOptions(query=query, mode=mode, top_k=200)
        answer = await memories.SearchMemories(pb.SearchMemoriesRequest(options=options))
        if mode != search_pb2.SEARCH_MODE_TEXT:
            assert query in [hit.memory.content for hit in answer.hits]


@COMMON
@given(said, said)
async def test_any_text_in_a_filter_finds_only_itself(memories: Memories, key: str, value: str) -> None:
    metadata = {key: metadata_pb2.MetadataValue(string_value=value)}
    memory = m.Memory(kind=m.MEMORY_KIND_SEMANTIC, content="x", metadata=metadata)
    created = (await memories.CreateMemory(pb.CreateMemoryRequest(memory=memory))).memory
    for comparator in (
        filter_pb2.COMPARATOR_EQ,
        filter_pb2.COMPARATOR_CONTAINS,
        filter_pb2.COMPARATOR_PREFIX,
    ):
        comparison = filter_pb2.Comparison(
            path=filter_pb2.FieldPath(segments=["metadata", key]),
            comparator=comparator,
            values=[metadata_pb2.MetadataValue(string_value=value)],
        )
        request = pb.ListMemoriesRequest(filter=filter_pb2.Filter(comparison=comparison), page_size=1000)
        listed = (await memories.ListMemories(request)).memories
        assert created.memory_id in [memory.memory_id for memory in listed]
        assert all(value in memory.metadata[key].string_value for memory in listed)


@pytest.mark.parametrize("word", ["Zürich", "ÇÃO", "ΣΟΦΙΑ", "東京"])
async def test_words_of_any_script_are_found_whatever_their_case(memories: Memories, word: str) -> None:
    for content in (f"We met in {word} in May", "something else"):
        await memories.CreateMemory(
            pb.CreateMemoryRequest(memory=m.Memory(kind=m.MEMORY_KIND_SEMANTIC, content=content))
        )
    for query in (word, word.lower(), word.upper()):
        options = search_pb2.SearchOptions(query=query, mode=search_pb2.SEARCH_MODE_TEXT)
        hits = (await memories.SearchMemories(pb.SearchMemoriesRequest(options=options))).hits
        assert [word in hit.memory.content for hit in hits] == [True]


@pytest.mark.parametrize(
    "content",
    [
        "x" * 262_144,
        "word " * 52_000,
        " ".join(f"w{n}" for n in range(38_000)),
        "http://a.b/c " * 20_000,
        "字" * 87_381,
    ],
    ids=["one word", "repeated", "distinct words", "hosts", "ideographs"],
)
async def test_the_largest_content_is_stored_and_searched(memories: Memories, content: str) -> None:
    memory = m.Memory(kind=m.MEMORY_KIND_SEMANTIC, content=content)
    created = (await memories.CreateMemory(pb.CreateMemoryRequest(memory=memory))).memory
    assert created.content == content
    options = search_pb2.SearchOptions(query=content[:2000], mode=search_pb2.SEARCH_MODE_TEXT)
    await memories.SearchMemories(pb.SearchMemoriesRequest(options=options))
