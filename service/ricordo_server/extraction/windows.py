"""Runs of turns that one request can hold."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ricordo_server.domain.extraction import Utterance

Window = list[Utterance]


def split_windows(
    utterances: Sequence[Utterance], count: Callable[[str], int], budget: int
) -> Iterator[Window]:
    """Whole turns as long as they fit; a turn over the budget is read in pieces, each an utterance of its own."""
    window: Window = []
    used = 0
    for piece in (piece for utterance in utterances for piece in _pieces(utterance, count, budget)):
        tokens = count(piece.text)
        if window and used + tokens > budget:
            yield window
            window, used = [], 0
        window.append(piece)
        used += tokens
    if window:
        yield window


def _pieces(utterance: Utterance, count: Callable[[str], int], budget: int) -> Iterator[Utterance]:
    """Halves, until each fits; cut at white space where there is some in the middle."""
    text = utterance.text
    if len(text.encode()) <= budget or len(text) < 2 or count(text) <= budget:
        yield utterance
        return
    middle = len(text) // 2
    found = max(text.rfind(" ", middle // 2, middle), text.rfind("\n", middle // 2, middle))
    at = found if found > 0 else middle
    for part in (text[:at], text[at:]):
        if part.strip():
            yield from _pieces(replace(utterance, text=part), count, budget)
