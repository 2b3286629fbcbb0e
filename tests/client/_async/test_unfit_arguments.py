"""What is of the wrong type is refused before any request, by an error of ours with a reason."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ricordo import AsyncMemory, MemoryRequestContext, SourceSpec, errors

NOWHERE = "127.0.0.1:1"
Call = Callable[[Any], Awaitable[object]]


@pytest.mark.parametrize(
    "call",
    [
        lambda memory: memory.record_turn(role="user", content=5),
        lambda memory: memory.record_turn(role=None, content="x"),
        lambda memory: memory.record_turn(role="user", content="x", metadata={1: 2}),
        lambda memory: memory.record_turn(role="user", content="x", metadata=[1]),
        lambda memory: memory.record_turn(role="assistant", tool_calls="f"),
        lambda memory: memory.record_turn(role="assistant", tool_calls=[{"function": "f"}]),
        lambda memory: memory.record_turn(role="assistant", tool_calls=[{"name": 3}]),
        lambda memory: memory.record_turn(role="assistant", tool_calls=[{"name": "f", "input": object()}]),
        lambda memory: memory.save_semantic(text=5, label="x"),
        lambda memory: memory.save_semantic(text="x", label="x", metadata=[1]),
        lambda memory: memory.save_semantic_batch("abc"),
        lambda memory: memory.save("ticket", "x", contextual_metadata=[1]),
        lambda memory: memory.search_semantic("x", top_k="5"),
        lambda memory: memory.search_semantic("x", top_k=2**40),
        lambda memory: memory.search_semantic(5),
        lambda memory: memory.discover_procedures("x", similarity_threshold="x"),
        lambda memory: memory.build_context("x", max_tokens=10**12),
        lambda memory: memory.build_context_from_sources("x", [{"source": "semantic"}]),
        lambda memory: memory.build_context_from_sources("x", "semantic"),
        lambda memory: memory.list_domains(timeout="x"),
    ],
)
async def test_an_argument_of_the_wrong_type_is_refused(call: Call) -> None:
    bound = AsyncMemory(NOWHERE).bind(MemoryRequestContext(user_id="ada", session_id="s1"))
    with pytest.raises(errors.MemoryClientError) as raised:
        await call(bound)
    assert raised.value.reason == "INVALID_FIELD"


def test_a_model_names_its_field() -> None:
    with pytest.raises(errors.MemoryClientError, match=r"^SourceSpec\.top_k: .* 200$"):
        SourceSpec(source="semantic", top_k=201)
