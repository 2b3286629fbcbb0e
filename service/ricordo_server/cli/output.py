"""Hits and contexts as plain text or JSON."""

from collections.abc import Iterable, Iterator
from typing import Any

import typer

import ricordo
from ricordo.commands.output import printable

Hit = ricordo.models.MemoryHit | ricordo.models.TurnHit
Row = ricordo.models.Memory | ricordo.models.Turn
Result = (
    ricordo.models.SearchResult[ricordo.models.MemoryHit]
    | ricordo.models.SearchResult[ricordo.models.TurnHit]
)


def describe_result(result: Result) -> dict[str, Any]:
    """A search as JSON."""
    return {
        "hits": [describe_hit(hit) for hit in result.hits],
        **result.report.model_dump(mode="json"),
    }


def describe_hit(hit: Hit) -> dict[str, Any]:
    """What tells a hit apart: content, score, ids and metadata."""
    scores = {"score": hit.score, "distance": hit.distance}
    legs = {} if hit.legs is None else {"legs": hit.legs.model_dump(mode="json")}
    return {**scores, **_describe_row(_row(hit)), **legs}


def _row(hit: Hit) -> Row:
    return hit.memory if isinstance(hit, ricordo.models.MemoryHit) else hit.turn


def _describe_row(row: Row) -> dict[str, Any]:
    shared = {"store_id", "scope", "content", "agent_id", "metadata", "event_time", "create_time"}
    own = (
        {
            "memory_id",
            "kind",
            "key",
            "title",
            "description",
            "visibility",
            "topics",
            "tags",
            "details",
            "revision",
        }
        if isinstance(row, ricordo.models.Memory)
        else {"turn_id", "turn_seq", "role", "idempotency_key"}
    )
    return row.model_dump(mode="json", include=shared | own)


def print_result(result: Result) -> None:
    """A block for each hit, best first."""
    if result.report.degraded_reason:
        typer.echo(f"Searched by words only: {result.report.degraded_reason}", err=True)
    if not result.hits:
        typer.echo("Nothing found.", err=True)
    hits: Iterable[Hit] = result.hits
    for rank, hit in enumerate(hits, 1):
        for number, line in enumerate(_hit_lines(hit)):
            typer.echo(printable(f"{rank:>3}. {line}" if number == 0 else f"     {line}"))


def _hit_lines(hit: Hit) -> Iterator[str]:
    yield f"{hit.score:.4f}  {_headline(hit)}"
    row = _row(hit)
    yield from row.content.splitlines()
    if isinstance(row, ricordo.models.Memory) and isinstance(row.details, ricordo.models.ProceduralDetails):
        yield from (f"{number}. {step}" for number, step in enumerate(row.details.steps, 1))
    if row.metadata:
        yield ", ".join(f"{key}={value}" for key, value in sorted(row.metadata.items()))
    if hit.legs is not None:
        yield _explain(hit.legs)


def _headline(hit: Hit) -> str:
    if isinstance(hit, ricordo.models.MemoryHit):
        memory = hit.memory
        name = memory.title or memory.key
        return "  ".join(filter(None, [memory.kind.value, name, memory.scope.user_id, memory.memory_id]))
    turn = hit.turn
    place = f"{turn.scope.session_id} #{turn.turn_seq}"
    return "  ".join(filter(None, [turn.role, place, turn.scope.user_id, turn.turn_id]))


def _explain(legs: ricordo.models.LegScores) -> str:
    parts = [
        f"{name}: rank {rank}, score {score:.4f}"
        if rank is not None and score is not None
        else f"{name}: not found"
        for name, rank, score in (
            ("words", legs.text_rank, legs.text_score),
            ("meaning", legs.semantic_rank, legs.semantic_score),
        )
    ]
    return "; ".join(parts)


def describe_context(context: ricordo.models.Context) -> dict[str, Any]:
    """A context as JSON."""
    whole = context.model_dump(mode="json", exclude={"chunks"})
    chunks = [
        {
            "source": chunk.source.value,
            "score": chunk.score,
            "token_count": chunk.token_count,
            **_describe_row(chunk.item),
        }
        for chunk in context.chunks
    ]
    return {**whole, "chunks": chunks}


def print_context(context: ricordo.models.Context) -> None:
    """The context on stdout, ready for a pipe; how it was made on stderr."""
    for message in context.messages:
        typer.echo(printable(f"[{message.role}]\n{message.content}\n"))
    if context.text:
        typer.echo(printable(context.text))
    counts = ", ".join(f"{count} {source.value}" for source, count in context.source_counts.items() if count)
    typer.echo(f"{context.token_count} tokens ({context.tokenizer}) of {counts or 'nothing'}", err=True)
    for outcome in context.source_outcomes:
        if outcome.error:
            typer.echo(f"The source {outcome.source.value} failed: {outcome.error}", err=True)
    for item in context.left_out:
        reason = f"repeats {item.duplicate_of}" if item.duplicate_of else item.cause.value
        typer.echo(f"Left out of {item.source.value}: {item.item_id} ({reason})", err=True)
