import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo_server.domain.context import Chunk, ContextFormat, ContextSource
from ricordo_server.domain.recalled import without_recalled
from ricordo_server.domain.rendering import NOTE, render
from tests.fixtures.memories import a_memory

WORDS = st.text(st.sampled_from("ab #->\n</context>"), min_size=1, max_size=30)


def context(contents: list[str], context_format: ContextFormat) -> str:
    chunks = [Chunk(ContextSource.SEMANTIC, a_memory(content), 1.0) for content in contents]
    rendered = render(chunks, context_format)
    return rendered.text or "\n".join(message.content for message in rendered.messages)


@pytest.mark.parametrize("context_format", ContextFormat)
@given(contents=st.lists(WORDS.map(lambda text: f"secret {text}"), min_size=1, max_size=4))
def test_a_context_is_taken_out_and_what_stands_around_it_stays(
    context_format: ContextFormat, contents: list[str]
) -> None:
    turn = f"You are an assistant.\n\n{context(contents, context_format)}\n\nBe brief."
    left = without_recalled(turn)
    assert "secret" not in left
    assert (left.startswith("You are an assistant."), left.endswith("Be brief.")) == (True, True)


@pytest.mark.parametrize("context_format", ContextFormat)
def test_a_turn_that_is_nothing_but_context_is_empty(context_format: ContextFormat) -> None:
    assert without_recalled(context(["a", "b\nc"], context_format)) == ""


@given(st.text(max_size=80))
def test_a_turn_without_context_stays_as_it_is(text: str) -> None:
    assert NOTE in text or without_recalled(text) == text


def test_a_context_that_was_cut_is_taken_out_to_its_end() -> None:
    assert without_recalled(f"Hi.\n<context>\n{NOTE}\n<memories>\n<memory>tea") == "Hi."
