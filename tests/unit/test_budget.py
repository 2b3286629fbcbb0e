import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo_server.domain.budget import net_budget, select
from ricordo_server.domain.context import Chunk, ContextFormat, LeftOut, LeftOutCause
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.rendering import FormatRenderer, count_tokens, render
from ricordo_server.embedding.tokens import GptTokenCounter
from tests.fixtures.context_items import chunk, fact, memory, turn

MARKDOWN = FormatRenderer(ContextFormat.MARKDOWN)
BUDGET, DUPLICATE = LeftOutCause.BUDGET, LeftOutCause.DUPLICATE


def count_words(text: str) -> int:
    return len(re.findall(r"\w+|[^\w\s]", text))


def count_spitefully(text: str) -> int:
    """The whole is more than its parts: no tokenizer is so, but none promises not to be."""
    return len(text) // 4 + len(text) ** 2 // 2000


COUNTERS = [count_words, count_spitefully, GptTokenCounter().count]

memories = st.builds(
    lambda text, kind: chunk(memory(text, f"m{hash((text, kind))}", kind=kind)),
    st.text(max_size=300),
    st.sampled_from(MemoryKind),
)
turns = st.builds(
    lambda text, role, minute: chunk(turn(text, f"t{hash((text, role, minute))}", role=role, minute=minute)),
    st.text(max_size=300),
    st.sampled_from(["user", "assistant", "tool"]),
    st.integers(0, 100),
)
ranked_chunks = st.lists(memories | turns, max_size=20)


@pytest.mark.parametrize(("gross", "net"), [(4000, 3500), (501, 1), (500, 0), (1, 0)])
def test_500_tokens_are_kept_back(gross: int, net: int) -> None:
    assert net_budget(gross) == net


@pytest.mark.parametrize("context_format", ContextFormat)
@pytest.mark.parametrize("count", COUNTERS)
@given(ranked=ranked_chunks, max_tokens=st.integers(1, 1500))
def test_the_whole_counted_again_never_exceeds_the_budget(
    context_format: ContextFormat, count: Callable[[str], int], ranked: list[Chunk], max_tokens: int
) -> None:
    selection = select(ranked, FormatRenderer(context_format), max_tokens=max_tokens, count=count)
    assert selection.rendering == render(selection.chunks, context_format)
    assert selection.token_count == count_tokens(selection.rendering, count)
    assert selection.token_count <= net_budget(max_tokens)


@given(ranked=ranked_chunks, max_tokens=st.integers(500, 1500))
def test_every_candidate_is_selected_or_left_out_in_the_order_of_rank(
    ranked: list[Chunk], max_tokens: int
) -> None:
    selection = select(ranked, MARKDOWN, max_tokens=max_tokens, count=count_words)
    selected, left = [c.item_id for c in selection.chunks], [out.item_id for out in selection.left_out]
    assert sorted(selected + left) == sorted(c.item_id for c in ranked)
    places = iter(c.item_id for c in ranked)
    assert all(item_id in places for item_id in selected)


def test_a_larger_budget_is_used() -> None:
    facts = [fact(f"fact number {n}", str(n)) for n in range(200)]
    selection = select(facts, MARKDOWN, max_tokens=1500, count=count_words)
    assert selection.token_count > 1000 - 12 * 2
    assert {out.cause for out in selection.left_out} == {BUDGET}


def test_a_smaller_one_may_fit_behind_one_that_does_not() -> None:
    facts = [fact("one", "1"), fact("many words " * 100, "2"), fact("three", "3")]
    selection = select(facts, MARKDOWN, max_tokens=600, count=count_words)
    assert [c.item_id for c in selection.chunks] == ["1", "3"]
    assert selection.left_out == [LeftOut(facts[1].source, "2", BUDGET)]


def test_headings_are_paid_before_a_chunk_is_taken() -> None:
    large, small = fact("word " * 80, "1"), fact("tea", "2")
    room = count_tokens(MARKDOWN.render([large]), count_words) - 1
    selection = select([large, small], MARKDOWN, max_tokens=500 + room, count=count_words)
    assert [c.item_id for c in selection.chunks] == ["2"]


def test_the_better_ranked_of_two_alike_stays() -> None:
    selection = select([fact("Tea", "1"), fact("tea.", "2")], MARKDOWN, max_tokens=4000, count=count_words)
    assert [c.item_id for c in selection.chunks] == ["1"]
    assert [(out.cause, out.duplicate_of) for out in selection.left_out] == [(DUPLICATE, "1")]


def test_what_did_not_fit_makes_no_duplicate() -> None:
    steps = "pour water over the leaves, wait"
    large = chunk(turn(steps, "1", tool_name="x " * 300))
    selection = select([large, fact(steps, "2")], MARKDOWN, max_tokens=600, count=count_words)
    assert [c.item_id for c in selection.chunks] == ["2"]


@pytest.mark.parametrize("context_format", ContextFormat)
def test_500_tokens_or_less_leave_nothing(context_format: ContextFormat) -> None:
    selection = select([fact("tea")], FormatRenderer(context_format), max_tokens=500, count=count_words)
    assert (selection.chunks, selection.token_count, selection.rendering.text) == ([], 0, "")
    assert [out.cause for out in selection.left_out] == [BUDGET]


def test_a_chunk_says_its_tokens_as_rendered() -> None:
    [chosen] = select([fact("tea")], MARKDOWN, max_tokens=4000, count=count_words).chunks
    assert chosen.token_count == count_words("- (recorded 2026-01-31): tea\n")


def test_a_document_that_cannot_fit_is_not_counted() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return 0

    selection = select([fact("x" * 200_000)], MARKDOWN, max_tokens=4000, count=count)
    assert [out.cause for out in selection.left_out] == [BUDGET]
    assert max(map(len, counted), default=0) < 200_000
