"""Selects what fits: whole chunks in the order of their rank, without near-duplicates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ricordo_server.domain.context import Chunk, ContextFormat, LeftOut, LeftOutCause, Rendering
from ricordo_server.domain.limits import CONTEXT_RESERVE_TOKENS
from ricordo_server.domain.near_duplicates import Distinct, Fingerprint, fingerprint, repetition
from ricordo_server.domain.rendering import count_tokens, render, render_chunk

# Text has 2 to 5 characters per token; what holds more than this is no text (a run of one character), and 256 KiB
# documents that cannot fit are not worth a second of counting each.
MOST_CHARACTERS_PER_TOKEN = 16

Counter = Callable[[str], int]


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


def select(
    ranked: Sequence[Chunk], context_format: ContextFormat, *, max_tokens: int, count: Counter
) -> Selection:
    """Takes each chunk that fits and repeats none before it; a smaller one further down may still fit.

    CPU work, mostly `count`: call it through `asyncio.to_thread`.
    """
    basket = _Basket(context_format, net_budget(max_tokens), count)
    left_out = [left for chunk in ranked if (left := basket.offer(chunk))]
    return basket.close(left_out)


class _Basket:
    """The selection on its way."""

    def __init__(self, context_format: ContextFormat, budget: int, count: Counter) -> None:
        self.chunks: list[Chunk] = []
        self._format, self._budget, self._count = context_format, budget, count
        self._used = 0
        self._distinct = Distinct()

    def offer(self, chunk: Chunk) -> LeftOut | None:
        """Takes the chunk, or says why not."""
        fragment = render_chunk(chunk, self._format)
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
        taken_back = []
        rendering, tokens = self._render(self.chunks)
        while self.chunks and tokens > self._budget:
            taken_back.append(_over_budget(self.chunks.pop()))
            rendering, tokens = self._render(self.chunks)
        return Selection(self.chunks, rendering, tokens, [*left_out, *taken_back])

    def _render(self, chunks: Sequence[Chunk]) -> tuple[Rendering, int]:
        rendering = render(chunks, self._format)
        return rendering, count_tokens(rendering, self._count)


def _characters(rendering: Rendering) -> int:
    return len(rendering.text) + sum(len(message.content) for message in rendering.messages)


def _over_budget(chunk: Chunk) -> LeftOut:
    return LeftOut(chunk.source, chunk.item_id, LeftOutCause.BUDGET)
