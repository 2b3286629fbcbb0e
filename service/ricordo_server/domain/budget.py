"""Selects what fits: whole chunks in the order of their rank, without near-duplicates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ricordo_server.domain.context import Chunk, LeftOut, LeftOutCause, Rendering
from ricordo_server.domain.limits import (
    CONTEXT_RESERVE_TOKENS,
    MAX_CONTEXT_CHARACTERS,
    MOST_CHARACTERS_PER_TOKEN,
)
from ricordo_server.domain.near_duplicates import Distinct, Fingerprint, fingerprint, repetition
from ricordo_server.domain.rendering import count_tokens

Counter = Callable[[str], int]


class Renderer(Protocol):
    """A format, or a template."""

    def render(self, chunks: Sequence[Chunk]) -> Rendering:
        """The whole; empty for no chunks."""
        ...

    def render_chunk(self, chunk: Chunk) -> Rendering:
        """What the chunk adds to a whole that has one of its source."""
        ...


@dataclass(frozen=True)
class Selection:
    """`chunks` are best first; `token_count` counts the rendering and never exceeds the budget."""

    chunks: Sequence[Chunk]
    rendering: Rendering
    token_count: int
    left_out: Sequence[LeftOut]


def net_budget(max_tokens: int) -> int:
    """What is left for the rendering; the reserve is the caller's, for what it puts around it."""
    return max(max_tokens - CONTEXT_RESERVE_TOKENS, 0)


def select(ranked: Sequence[Chunk], renderer: Renderer, *, max_tokens: int, count: Counter) -> Selection:
    """Takes each chunk that fits and repeats none before it; a smaller one further down may still fit.

    CPU work, mostly `count`: call it through `asyncio.to_thread`.
    """
    basket = _Basket(renderer, net_budget(max_tokens), count)
    left_out = [left for chunk in ranked if (left := basket.offer(chunk))]
    return basket.close(left_out)


class _Basket:
    """The selection on its way."""

    def __init__(self, renderer: Renderer, budget: int, count: Counter) -> None:
        self.chunks: list[Chunk] = []
        self._renderer, self._budget, self._count = renderer, budget, count
        self._used = 0
        self._distinct = Distinct()

    def offer(self, chunk: Chunk) -> LeftOut | None:
        """Takes the chunk, or says why not."""
        fragment = self._renderer.render_chunk(chunk)
        # 256 KiB documents that cannot fit are not worth a second of counting each.
        if _characters(fragment) > (self._budget - self._used) * MOST_CHARACTERS_PER_TOKEN:
            return _over_budget(chunk)
        mark = fingerprint(chunk)
        if original := self._distinct.repeated_by(mark):
            return repetition(chunk, original)
        return self._take(replace(chunk, token_count=count_tokens(fragment, self._count)), mark)

    def _take(self, chunk: Chunk, mark: Fingerprint) -> LeftOut | None:
        used = self._used_with(chunk)
        if used > self._budget:
            return _over_budget(chunk)
        self.chunks.append(chunk)
        self._distinct.keep(mark)
        self._used = used
        return None

    def _used_with(self, chunk: Chunk) -> int:
        """The first of a source brings a heading, and the first of all the frame: those are counted as they
        will stand. The others add themselves.
        """
        used = self._used + chunk.token_count
        if used > self._budget or chunk.source in {taken.source for taken in self.chunks}:
            return used
        return self._render([*self.chunks, chunk])[1]

    def close(self, left_out: Sequence[LeftOut]) -> Selection:
        """Tokens of the whole may be more than those of its parts, if seldom: then the last ones go."""
        rendering, tokens = self._render(self.chunks)
        kept = len(self.chunks)
        if tokens > self._budget:
            kept = self._most_that_fit()
            rendering, tokens = self._render(self.chunks[:kept])
        taken_back = map(_over_budget, reversed(self.chunks[kept:]))
        return Selection(self.chunks[:kept], rendering, tokens, [*left_out, *taken_back])

    def _most_that_fit(self) -> int:
        """How many of the best fit, by halves: a dozen tries at most, and what it answers was tried (or is 0)."""
        fitting, too_many = 0, len(self.chunks)
        while too_many - fitting > 1:
            middle = (fitting + too_many) // 2
            if self._render(self.chunks[:middle])[1] > self._budget:
                too_many = middle
            else:
                fitting = middle
        return fitting

    def _render(self, chunks: Sequence[Chunk]) -> tuple[Rendering, int]:
        rendering = self._renderer.render(chunks)
        if _characters(rendering) > MAX_CONTEXT_CHARACTERS:
            return rendering, self._budget + 1
        return rendering, count_tokens(rendering, self._count)


def _characters(rendering: Rendering) -> int:
    return len(rendering.text) + sum(len(message.content) for message in rendering.messages)


def _over_budget(chunk: Chunk) -> LeftOut:
    return LeftOut(chunk.source, chunk.item_id, LeftOutCause.BUDGET)
