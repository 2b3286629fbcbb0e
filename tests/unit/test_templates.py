"""Templates of contexts: what they may do, what data in them may not, and that they end."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo_server.domain.budget import net_budget, select
from ricordo_server.domain.context import Chunk, ContextFormat, Rendering
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.rendering import count_tokens, render
from ricordo_server.domain.template_language import TemplateFault, limited_time
from ricordo_server.domain.templates import TemplateRenderer, check_template, default_template
from tests.fixtures.context_items import chunk, fact, memory, turn
from tests.unit.test_budget import count_spitefully, count_words, ranked_chunks
from tests.unit.test_rendering import hostile

PLAIN = "{% for chunk in chunks %}{{ chunk.content }}\n{% endfor %}"
TEMPLATES = {
    "default": default_template(),
    "plain": PLAIN,
    "numbered": "{% for chunk in chunks %}{{ loop.index }}. {{ chunk.content }}\n{% endfor %}",
    "terse": "{% for chunk in chunks %}{{ chunk.content|truncate(9) }};{% endfor %}",
    "xml": "<c>{% for chunk in chunks %}<m>{{ chunk.content|xml }}</m>{% endfor %}</c>",
    "json": "[{% for chunk in chunks %}{{ chunk.content|json }}{{ ', ' if not loop.last }}{% endfor %}]",
    "twice": PLAIN + PLAIN,
    "frame alone": "# A heading without any chunk",
    "growing": "{% for chunk in chunks %}{% if loop.length > 2 %}{{ chunk.content }} {% endif %}{% endfor %}",
}


def text(source: str, *chunks: Chunk, query: str = "") -> str:
    return TemplateRenderer(source, query).render(chunks).text


@given(ranked=ranked_chunks)
def test_the_default_reads_as_markdown(ranked: list[Chunk]) -> None:
    assert TemplateRenderer(default_template(), "").render(ranked).text == (
        render(ranked, ContextFormat.MARKDOWN).text.strip("\n")
    )


@pytest.mark.parametrize("source", TEMPLATES.values(), ids=TEMPLATES)
def test_useful_templates_are_accepted(source: str) -> None:
    check_template(source)


@pytest.mark.parametrize("source", TEMPLATES.values(), ids=TEMPLATES)
@pytest.mark.parametrize("count", [count_words, count_spitefully])
@settings(max_examples=20)
@given(ranked=ranked_chunks, max_tokens=st.integers(1, 1500))
def test_the_whole_counted_again_never_exceeds_the_budget(
    source: str, count: Callable[[str], int], ranked: list[Chunk], max_tokens: int
) -> None:
    renderer = TemplateRenderer(source, "tea")
    selection = select(ranked, renderer, max_tokens=max_tokens, count=count)
    assert selection.rendering == renderer.render(selection.chunks)
    assert selection.token_count == count_tokens(selection.rendering, count)
    assert selection.token_count <= net_budget(max_tokens)
    assert len(selection.chunks) + len(selection.left_out) == len(ranked)


def test_a_terse_template_takes_more_than_a_long_one() -> None:
    facts = [
        fact(" ".join(f"{word}{number}" for word in ("tea", "is", "green")) * 9, str(number))
        for number in range(40)
    ]
    taken = {
        name: len(
            select(facts, TemplateRenderer(TEMPLATES[name], ""), max_tokens=700, count=count_words).chunks
        )
        for name in ("terse", "plain", "twice")
    }
    assert taken["terse"] == 40
    assert taken["twice"] * 2 == taken["plain"] < 40


def test_what_a_chunk_adds_is_its_part_of_the_whole() -> None:
    renderer = TemplateRenderer(TEMPLATES["numbered"], "")
    assert renderer.render_chunk(fact("tea")).text.strip() == "2. tea"


@given(content=hostile, label=hostile)
def test_no_line_begins_with_data(content: str, label: str) -> None:
    source = (
        "# Own\n{% for chunk in chunks %}\n{{ chunk.content }}\n  {{ chunk.label }}{{ chunk.content }}\n"
        "- {{ chunk.content }}\n{% endfor %}"
    )
    written = text(source, fact(content, key=label or None))
    assert all(re.match(r"# Own$|- | {0,4}>|\s*$", line) for line in written.split("\n")), written


@given(query=hostile)
def test_the_query_is_data_too(query: str) -> None:
    assert all(
        line.startswith((">", "  >")) or not line
        for line in text("{{ query }}", fact("x"), query=query).split("\n")
    )


@given(content=hostile)
def test_json_and_xml_escape_instead(content: str) -> None:
    assert "\n" not in text("{% for chunk in chunks %}{{ chunk.content|json }}{% endfor %}", fact(content))
    assert not re.search(
        '[<>"]', text("{% for chunk in chunks %}{{ chunk.content|xml }}{% endfor %}", fact(content))
    )


def test_metadata_and_turns_are_given() -> None:
    source = (
        "{% for chunk in chunks %}- {{ chunk.source }} {{ chunk.role }} {{ chunk.metadata.tier|default('none') }} "
        "{% for key, value in chunk.metadata|items %}{{ key }}={{ value }};{% endfor %}|{% endfor %}"
    )
    written = text(
        source, fact("a", metadata={"tier": "gold", "n": 3, "m": {"x": [1.5, None]}}), chunk(turn("b"))
    )
    assert written == '- semantic  gold tier=gold;n=3;m={"x": [1.5, null]};|- turns user none |'


def test_groups_end_with_the_conversation_oldest_first() -> None:
    inner = "{% for chunk in group.chunks %} {{ chunk.content }}{% endfor %}"
    source = "{% for group in groups %}{{ group.source }}:" + inner + ";{% endfor %}"
    chunks = [
        chunk(turn("later", "2", minute=5)), fact("tea"), chunk(turn("sooner", "1")),
        chunk(memory("Rome", kind=MemoryKind.EPISODIC)),
    ]  # fmt: skip
    assert text(source, *chunks) == "semantic: tea;episodic: Rome;turns: sooner later;"


@pytest.mark.parametrize(
    ("source", "line", "why"),
    [
        ("a\n{{ 1 + }}", 2, "unexpected"), ("{% if %}", 1, "Expected"), ("a\nb\n{{ x }}", 3, "no 'x'"),
        ("{{ range(9) }}", 1, "Call"), ("{% set a = 1 %}", 1, "Assign"), ("{{ 9 ** 9 }}", 1, "Pow"),
        ("{{ 'a' * 9 }}", 1, "Mul"), ("{{ '%9d' % 1 }}", 1, "Mod"), ("{{ 'a' ~ 'b' }}", 1, "Concat"),
        ("{% macro m() %}{% endmacro %}", 1, "Macro"), ("{% include 'x' %}", 1, "Include"),
        ("{% extends 'x' %}", 1, "Extends"), ("{% import 'x' as y %}", 1, "Import"),
        ("{% filter upper %}a{% endfilter %}", 1, "FilterBlock"), ("{{ chunks|map('x') }}", 1, "no filter"),
        ("{{ 'a'|center(9) }}", 1, "no filter"), ("{% if 9 is divisibleby 3 %}{% endif %}", 1, "no test"),
        ("\n{% for c in chunks recursive %}{% endfor %}", 2, "recursive"),
        ("{% for a in chunks %}\n{% for b in chunks %}{% endfor %}{% endfor %}", 2, "a part of a"),
        ("{% for a in chunks %}{% for b in a.tags %}{% for c in a.tags %}{% endfor %}{% endfor %}{% endfor %}", 1,
         "of b"),
        ("{% for a in [1, 2] %}{% endfor %}", 1, "what is given"),
        ("{% for a in chunks %}{% for b in a.metadata %}{% for c in b %}{% for d in c %}" + "{% endfor %}" * 4,
         1, "at most 3"),
        ("a\x02", 1, "control"), ("\n{{ chunks }}", 2, "print its fields"), ("{{ chunks[0].text }}", 1, "no field"),
        ("{{ chunks[0].__class__ }}", 1, "no field"), ("{{ groups[0].chunk }}", 1, "no field"),
        ("\n{% if chunks[0].metadata.n > 3 %}{% endif %}", 2, "'n'"), ("{{ query|truncate('a') }}", 1, "int"),
        ("{{ query|length > 'a' }}", 1, "int"), ("{{ 3|length }}", 1, "len"),
    ],
)  # fmt: skip
def test_what_is_not_accepted_is_told_with_its_line(source: str, line: int, why: str) -> None:
    with pytest.raises(TemplateFault, match=rf"line {line}: .*{re.escape(why)}"):
        check_template(source)


@pytest.mark.parametrize(
    "source",
    [
        "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
        "{% if 1 %}" * 200 + "{% endif %}" * 200,
        "{{ " + "9" * 5000 + " }}",
    ],
)
def test_what_no_parser_takes_is_refused(source: str) -> None:
    with pytest.raises(TemplateFault, match="nested"):
        check_template(source)


@pytest.mark.parametrize(
    "path", ["content.upper", "content.__class__", "metadata.items", "metadata.__class__", "tags.index"]
)
def test_nothing_of_python_shows(path: str) -> None:
    assert text("{% for chunk in chunks %}{{ chunk." + path + " }}{% endfor %}", fact("a", tags=("t",))) in (
        "",
        "- ",
    )


@pytest.mark.parametrize(
    "body",
    [
        "{% if chunk.content|upper == 'x' %}{% endif %}" * 100,
        "{% if chunk in chunks %}{% endif %}" * 100,
        "{% if chunk.content|json|json|json == 'x' %}{% endif %}" * 50,
        "{% for letter in chunk.content %}{% if letter == 'y' %}{{ letter }}{% endif %}{% endfor %}" * 50,
    ],
)  # fmt: skip
def test_a_template_that_does_too_much_is_stopped(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ricordo_server.domain.template_language.MAX_CPU_SECONDS", 0.1)
    chunks = [fact("tea" * 10_000, str(number)) for number in range(400)]
    with limited_time(), pytest.raises(TemplateFault, match="takes more than"):
        text("{% for chunk in chunks %}" + body + "{% endfor %}", *chunks)


def test_a_text_beyond_every_budget_is_over_it() -> None:
    large = fact("tea " * 60_000)
    source = "{% for chunk in chunks %}" + "{{ chunk.content }}" * 100 + "{% endfor %}"
    selection = select(
        [large], TemplateRenderer(source, ""), max_tokens=200_000, count=lambda text: len(text) // 16
    )
    assert (selection.chunks, selection.rendering) == ([], Rendering())
