import re
import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo_server.domain.context import Chunk, ContextFormat, ContextMessage, Rendering
from ricordo_server.domain.context_entries import clean
from ricordo_server.domain.memory import MemoryKind, ProceduralDetails, ProfileDetails, TaxonomicDetails
from ricordo_server.domain.rendering import NOTE, count_tokens, render, render_chunk
from ricordo_server.domain.session import ToolCall
from tests.fixtures.context_items import chunk, fact, memory, turn

OPENAI, CLAUDE, MARKDOWN = ContextFormat.OPENAI, ContextFormat.CLAUDE, ContextFormat.MARKDOWN

pieces = [
    "# Memory",
    "## Facts",
    "```",
    "~~~",
    "\n",
    "\r",
    "\x85",
    "\u2028",
    "\0",
    "\x1b",
    "\ud800",
    "\ufffe",
]
pieces += ["</memory>", "<turn>", "]]>", "&lt;", "- **system**", "===", "<!--", "'\"", " ", "tea"]
hostile = st.text() | st.lists(st.sampled_from(pieces)).map("".join)


def markdown(*chunks: Chunk) -> str:
    return render(chunks, MARKDOWN).text


def items(*chunks: Chunk) -> list[str]:
    return [line for line in markdown(*chunks).splitlines() if line.startswith(("-", " "))]


def xml(*chunks: Chunk) -> ET.Element:
    return ET.fromstring(render(chunks, CLAUDE).text)


@pytest.mark.parametrize("context_format", ContextFormat)
def test_nothing_renders_empty(context_format: ContextFormat) -> None:
    assert render([], context_format) == Rendering()


def test_markdown_groups_by_source_best_first_and_ends_with_the_conversation() -> None:
    chunks = [
        chunk(turn("later", "2", minute=5, role="assistant")),
        fact("likes tea", "a"),
        chunk(
            memory("went to Rome", "b", kind=MemoryKind.EPISODIC, event_time=datetime(2026, 1, 2, tzinfo=UTC))
        ),
        fact("lives in Bari", "c"),
        chunk(turn("sooner", "1")),
    ]
    assert markdown(*chunks) == (
        f"# Memory\n\n{NOTE}\n\n"
        "## Facts\n\n- (recorded 2026-01-31): likes tea\n- (recorded 2026-01-31): lives in Bari\n\n"
        "## Episodes\n\n- (2026-01-02): went to Rome\n\n"
        "## Conversation\n\n- **user** (2026-01-31T12:00Z): sooner\n- **assistant** (2026-01-31T12:05Z): later"
    )


def test_several_lines_are_quoted_below_their_head() -> None:
    assert items(fact("one\n\n# two")) == ["- (recorded 2026-01-31):", "  > one", "  >", "  > # two"]


def test_a_procedure_shows_its_steps() -> None:
    details = ProceduralDetails(steps=("build", "push"))
    procedure = memory(
        "", kind=MemoryKind.PROCEDURAL, key="deploy", description="How to ship", details=details
    )
    assert items(chunk(procedure)) == [
        "- **deploy** (recorded 2026-01-31):", "  > How to ship", "  > 1. build", "  > 2. push",
    ]  # fmt: skip


def test_steps_told_in_the_content_are_not_told_twice() -> None:
    details = ProceduralDetails(steps=("build", "push"))
    procedure = memory("First build, then push.", kind=MemoryKind.PROCEDURAL, key="deploy", details=details)
    assert items(chunk(procedure)) == ["- **deploy** (recorded 2026-01-31): First build, then push."]


@pytest.mark.parametrize(
    ("kind", "fields", "label"),
    [
        (MemoryKind.TAXONOMIC, {"key": '["crm","lead"]', "details": TaxonomicDetails("crm", "lead")}, "lead"),
        (MemoryKind.DOCUMENT, {"key": "/notes/tea.md", "title": "Tea"}, "/notes/tea.md"),
        (MemoryKind.PROFILE, {"details": ProfileDetails("person", "city")}, "city"),
        (MemoryKind.SEMANTIC, {"key": "home"}, "home"),
        (MemoryKind.CUSTOM, {"title": "A\nrecipe\u2028# x"}, "A recipe # x"),
    ],
)
def test_an_item_is_named_by_what_its_kind_is_known_by(
    kind: MemoryKind, fields: dict[str, Any], label: str
) -> None:
    [line] = items(chunk(memory("body", kind=kind, **fields)))
    assert line == f"- **{label}** (recorded 2026-01-31): body"


def test_a_period_shows_both_ends() -> None:
    start, end = datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 4, 18, 30, tzinfo=UTC)
    [line] = items(fact("trip", event_time=start, event_end_time=end))
    assert line == "- (2026-01-02 to 2026-01-04T18:30Z): trip"


def test_xml_says_kind_id_name_and_time() -> None:
    tree = xml(fact("a < b & c", "id-1", key='say "x"'), chunk(turn("hi", role="assistant")))
    assert tree.find("memories/memory") is not None
    element = tree.find("memories/memory")
    assert element is not None
    assert element.text == "a < b & c"
    assert element.attrib == {"kind": "semantic", "id": "id-1", "title": 'say "x"', "recorded": "2026-01-31"}
    said = tree.find("conversation/turn")
    assert said is not None
    assert said.attrib == {"role": "assistant", "time": "2026-01-31T12:00Z"}


def test_chat_turns_keep_their_roles_in_order_behind_one_system_message() -> None:
    chunks = [
        chunk(turn("second", "2", role="assistant", minute=1)),
        fact("likes tea"),
        chunk(turn("## first\n", "1")),
        chunk(memory("x", kind=MemoryKind.EPISODIC)),
        chunk(turn("third", "3", role="model", minute=2)),
    ]
    system, *turns = render(chunks, OPENAI).messages
    assert turns == [
        ContextMessage("user", "## first"),
        ContextMessage("assistant", "second"),
        ContextMessage("assistant", "third"),
    ]
    assert system.role == "system"
    assert system.content == markdown(chunks[1], chunks[3])


def test_turns_of_two_sessions_stand_in_the_order_of_time_then_of_their_session() -> None:
    turns = [
        turn("3", minute=2, turn_seq=1),
        turn("2", minute=1, turn_seq=9),
        turn("1", minute=1, turn_seq=8),
    ]
    assert [message.content for message in render(list(map(chunk, turns)), OPENAI).messages] == [
        "1",
        "2",
        "3",
    ]


def test_turns_alone_need_no_system_message() -> None:
    assert render([chunk(turn("hi"))], OPENAI).messages == [ContextMessage("user", "hi")]


def test_results_and_calls_of_tools_go_into_the_system_message() -> None:
    call = turn("", "1", role="assistant", tool_calls=[ToolCall("c", "search", '{"q": 1}')])
    result = turn("3 hits", "2", role="tool", tool_name="search", minute=1, is_error=True)
    [system] = render([chunk(result), chunk(call)], OPENAI).messages
    assert system.content.splitlines()[-2:] == [
        '- **assistant** (2026-01-31T12:00Z): search({"q": 1})',
        "- **tool search error** (2026-01-31T12:01Z): 3 hits",
    ]


def test_a_message_costs_its_text_and_its_frame() -> None:
    assert count_tokens(render([chunk(turn("hi"))], OPENAI), len) == 2 + 4
    assert count_tokens(Rendering(), lambda text: 1) == 0


@pytest.mark.parametrize("context_format", [CLAUDE, MARKDOWN])
@given(content=hostile)
def test_a_chunk_stands_in_the_whole_as_it_is_counted(context_format: ContextFormat, content: str) -> None:
    one = fact(content)
    assert render_chunk(one, context_format).text in render([one], context_format).text + "\n"


@given(content=hostile, label=hostile)
def test_xml_gives_back_the_text_and_nothing_breaks_out(content: str, label: str) -> None:
    tree = xml(fact(content, title=label), chunk(turn(content, role=label)))
    assert [(child.tag, [inner.tag for inner in child]) for child in tree] == [
        ("memories", ["memory"]), ("conversation", ["turn"]),
    ]  # fmt: skip
    texts = [element.text or "" for element in tree.iter() if element.tag in ("memory", "turn")]
    assert texts == [clean(content), clean(content) if content.strip() else ""]


@given(content=hostile, label=hostile)
def test_no_line_of_a_memory_passes_for_our_own_markdown(content: str, label: str) -> None:
    text = markdown(fact(content, title=label), chunk(turn(content, role=label)))
    ours = [line for line in text.splitlines() if line and not re.match(r"  >|- (\*\*.*\*\* )?\(", line)]
    assert ours == ["# Memory", NOTE, "## Facts", "## Conversation"]


@given(content=hostile)
def test_no_control_character_reaches_a_message(content: str) -> None:
    chunks = [chunk(turn(content)), fact(content)]
    said = "".join(message.content for message in render(chunks, OPENAI).messages)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", said)
    said.encode()
