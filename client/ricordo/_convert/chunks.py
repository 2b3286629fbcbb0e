"""Memories, turns and contexts in the facade's shapes."""

from collections.abc import Iterable
from typing import Any

from ricordo import models
from ricordo._convert.steps import decode_steps
from ricordo.models import ContextFormat, ContextSource, MemoryChunk, MemoryKind

KEY_NAMES = {MemoryKind.SEMANTIC: "label", MemoryKind.PROCEDURAL: "procedure", MemoryKind.DOCUMENT: "path"}


def chunk_of_hit(hit: models.MemoryHit) -> MemoryChunk:
    """The chunk of a search's finding."""
    return _chunk_of_memory(hit.memory, hit.score, list(hit.embedding) if hit.embedding else None)


def chunk_of_context(chunk: models.ContextChunk) -> MemoryChunk:
    """The chunk of something selected for a context, with the score that ordered it."""
    score = chunk.score if chunk.rerank_score is None else chunk.rerank_score
    if isinstance(chunk.item, models.Turn):
        return chunk_of_turn(chunk.item, score)
    return _chunk_of_memory(chunk.item, score)


def merge_chunks(chunks: Iterable[MemoryChunk], top_k: int) -> list[MemoryChunk]:
    """The best chunks of several searches, in a stable order; those without a score last."""
    return sorted(chunks, key=_rank)[:top_k]


def context_response(context: models.Context, *, selected: bool, explain: bool) -> models.ContextResponse:
    """A context as the facade answers it."""
    messages = [{"role": message.role, "content": message.content} for message in context.messages]
    return models.ContextResponse(
        formatted_context=messages if context.format is ContextFormat.OPENAI else context.text,
        metadata=models.ContextMetadata(
            token_count=context.token_count,
            memory_counts=context.source_counts,
            timing=context.timings,
            ranking_strategy=context.ranking_strategy or None,
            source_outcomes=list(context.source_outcomes),
        ),
        selected_memories=[chunk_of_context(chunk) for chunk in context.chunks] if selected else None,
        left_out=list(context.left_out) if explain else None,
    )


def procedure_of_chunk(chunk: MemoryChunk) -> dict[str, Any]:
    """What `discover_procedures` answers: the chunk's metadata, with its id, time, name, content and score."""
    fields = chunk.metadata or {}
    return {
        **fields,
        "id": chunk.id,
        "timestamp": chunk.timestamp,
        "procedure": fields.get("procedure", ""),
        "content": chunk.content,
        "score": chunk.similarity_score,
    }


def _rank(chunk: MemoryChunk) -> float:
    return float("inf") if chunk.similarity_score is None else -chunk.similarity_score


def _chunk_of_memory(
    memory: models.Memory, score: float | None, embedding: list[float] | None = None
) -> MemoryChunk:
    platform = {
        "store_id": memory.store_id,
        "user_id": memory.scope.user_id,
        "session_id": memory.scope.session_id or memory.provenance.session_id,
        "labels": memory.scope.labels,
        "agent_id": memory.agent_id,
        "visibility": memory.visibility,
        "source": memory.source,
        "custom_type": memory.custom_type,
        KEY_NAMES.get(memory.kind, "key"): memory.key,
        "title": memory.title,
        "description": memory.description,
        "tags": list(memory.tags),
        "content_omitted": memory.content_omitted,
        **_details(memory.details),
        "metadata": memory.metadata,
    }
    return MemoryChunk(
        id=memory.memory_id,
        content=memory.content or memory.description or memory.key,
        source=ContextSource(memory.kind.value),
        timestamp=memory.event_time or memory.update_time,
        embedding=embedding,
        similarity_score=score,
        metadata=_given(platform),
    )


def chunk_of_turn(turn: models.Turn, score: float | None = None) -> MemoryChunk:
    """The chunk of a turn; without a score when no search found it."""
    platform = {
        "store_id": turn.store_id,
        "user_id": turn.scope.user_id,
        "session_id": turn.scope.session_id,
        "labels": turn.scope.labels,
        "turn_seq": turn.turn_seq,
        "role": turn.role,
        "agent_id": turn.agent_id,
        "tool_calls": [call.model_dump() for call in turn.tool_calls],
        "tool_call_id": turn.tool_call_id,
        "tool_name": turn.tool_name,
        "is_error": turn.is_error,
        "model_name": turn.model_name,
        "content_omitted": turn.content_omitted,
        "metadata": turn.metadata,
    }
    return MemoryChunk(
        id=turn.turn_id,
        content=turn.content,
        source=ContextSource.STM,
        timestamp=turn.event_time or turn.create_time,
        similarity_score=score,
        metadata=_given(platform),
    )


def _details(details: models.Details | None) -> dict[str, Any]:
    """What only one kind has, in plain lists; steps and resources as they were saved."""
    if details is None:
        return {}
    fields = {name: list(value) if isinstance(value, tuple) else value for name, value in details}
    if isinstance(details, models.ProceduralDetails):
        fields |= {"steps": decode_steps(details.steps), "resources": decode_steps(details.resources)}
    return fields


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    """Only what is set, so that a missing slot says "none"."""
    return {name: value for name, value in fields.items() if value}
