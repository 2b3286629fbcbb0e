"""What memories of a bank are made of, and what is made."""

from typing import Any, TypedDict

from ricordo import models
from ricordo._convert.bank_contents import encode_spoken
from ricordo._convert.bank_memories import decode_memory, revision_options
from ricordo._convert.bank_names import Name
from ricordo._convert.bank_values import our_topics, plain_metadata
from ricordo.errors import MemoryClientError
from ricordo.memory_bank import (
    GenerateMemoriesOperation,
    GenerateMemoriesRequestDirectContentsSource,
    GenerateMemoriesRequestDirectMemoriesSource,
    GenerateMemoriesResponse,
    GenerateMemoriesResponseGeneratedMemory,
    GenerateMemoriesResponseGeneratedMemoryAction,
)
from ricordo.memory_bank.generation import GenerationConfig


class Source(TypedDict, total=False):
    """The one source, as `client.extraction.generate` takes it."""

    turns: list[models.SpokenTurn]
    facts: list[models.DirectFact]


def check_source(session: Any, contents: Any, memories: Any, scope: Any) -> None:
    """Checks that there is one source, with a scope where it has none of its own.

    Raises:
        MemoryClientError: There is not.
    """
    if sum(source is not None for source in (session, contents, memories)) != 1:
        raise MemoryClientError(
            "give one of vertex_session_source, direct_contents_source and direct_memories_source"
        )
    if session is None and not scope:
        raise MemoryClientError("scope is required: only a session has one of its own")


def direct_source(contents: Any, memories: Any) -> Source:
    """What was said, or facts."""
    if contents is not None:
        events = GenerateMemoriesRequestDirectContentsSource.read(contents).events
        spoken = [encode_spoken(event.content) for event in events]
        return {"turns": [turn for turn in spoken if turn is not None]}
    direct = GenerateMemoriesRequestDirectMemoriesSource.read(memories).direct_memories
    return {
        "facts": [models.DirectFact(content=each.fact, topics=our_topics(each.topics)) for each in direct]
    }


def generation_options(config: GenerationConfig) -> dict[str, Any]:
    """How what is learned meets the memories there are, as `client.extraction.generate` takes it."""
    return {
        "consolidate": not config.disable_consolidation,
        "allowed_topics": our_topics(config.allowed_topics),
        "metadata": plain_metadata(config.metadata),
        "metadata_merge_strategy": config.metadata_merge_strategy,
        "revision_options": revision_options(config),
    }


def decode_response(generation: models.Generation, bank: Name) -> GenerateMemoriesResponse:
    """What was made, in the words of memory banks."""
    return GenerateMemoriesResponse(
        generated_memories=[_generated(each, bank) for each in generation.memories]
    )


def decode_operation(operation: models.Operation, bank: Name) -> GenerateMemoriesOperation:
    """An operation that makes memories, in the words of memory banks."""
    made = operation.generation
    return GenerateMemoriesOperation(
        name=str(bank.operation(operation.operation_id)),
        metadata={"create_time": operation.create_time, "failed_attempts": operation.failed_attempts},
        done=operation.done,
        error=operation.error.model_dump() if operation.error else None,
        response=decode_response(made, bank) if made else None,
    )


def _generated(made: models.GeneratedMemory, bank: Name) -> GenerateMemoriesResponseGeneratedMemory:
    previous = made.previous_revision
    return GenerateMemoriesResponseGeneratedMemory(
        memory=decode_memory(made.memory, bank),
        action=GenerateMemoriesResponseGeneratedMemoryAction(made.action),
        previous_revision=str(bank.memory(made.memory.memory_id).at(previous)) if previous else None,
    )
