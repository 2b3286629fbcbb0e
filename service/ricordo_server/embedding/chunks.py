"""Pure text work that embedders share: repairing, cutting, scaling to unit length."""

import math
import re
from collections.abc import Callable, Sequence

from ricordo_server.domain.ports import MAX_CHUNKS

_SPACE = re.compile(r"\s+")


def repair_surrogates(text: str) -> str:
    """Join surrogate pairs and replace lone ones by U+FFFD: tokenizers and JSON take only real characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def split_in_halves(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Halve a text at a space near its middle until each part fits: parts of like size, in order.

    Halving asks `fits` about each character only log2(parts) times, whatever the tokenizer does at seams.
    """
    chunks: list[str] = []
    waiting = [text.strip()]
    while waiting and len(chunks) < MAX_CHUNKS:
        part = waiting.pop()
        if len(part) <= 1 or fits(part):
            chunks += [part] if part else []
            continue
        cut = _find_cut(part)
        waiting += [part[cut:].strip(), part[:cut].strip()]
    return chunks


def _find_cut(text: str) -> int:
    """The space nearest to the middle, looked for in the middle half; without one, the middle itself."""
    middle, quarter = len(text) // 2, len(text) // 4
    spaces = (match.start() for match in _SPACE.finditer(text, quarter, len(text) - quarter))
    return min(spaces, key=lambda at: abs(at - middle), default=middle) or middle


def scale_to_unit(values: Sequence[float]) -> list[float] | None:
    """The vector of length one in the same direction; None for zero and for one that is not finite."""
    norm = math.hypot(*values)
    if not (0.0 < norm < math.inf):
        return None
    return [value / norm for value in values]
