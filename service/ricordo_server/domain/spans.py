"""A candidate must quote the turn it came from: what cannot be quoted was made up."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ricordo_server.domain.extraction import Candidate, Quote, Utterance

# Shorter, it is found in nearly any text and shows nothing; a turn that is as short may be quoted whole.
SHORTEST_QUOTE = 3

# Models put a quote into quotation marks, or other ones than the turn has.
_MARKS = str.maketrans(
    {**dict.fromkeys("‘’‚‛′´`", "'"), **dict.fromkeys("“”„‟″«»", '"'), **dict.fromkeys("‐‑‒–—−", "-")}
)
_AROUND = "\"' .…"


def normalise_span(text: str) -> str:
    """Compatibility forms, case, shapes of quotation marks and dashes, runs of white space make no difference."""
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_MARKS)
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def is_quoted(quote: str, text: str) -> bool:
    """Whether the words of the quote stand in the text, in this order and whole."""
    wanted, said = normalise_span(quote).strip(_AROUND), normalise_span(text)
    if wanted == said.strip(_AROUND):
        return bool(wanted)
    return len(wanted) >= SHORTEST_QUOTE and _stands_in(wanted, said)


def _stands_in(wanted: str, said: str) -> bool:
    """ "he art" is no quote of "the art"; scripts that are written without spaces have no such borders."""
    at = said.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not (_joined(said[at - 1 : at], wanted[0]) or _joined(wanted[-1], said[end : end + 1])):
            return True
        at = said.find(wanted, at + 1)
    return False


def _joined(left: str, right: str) -> bool:
    return _in_word(left) and _in_word(right)


def _in_word(character: str) -> bool:
    """A letter of a script with spaces between words: Chinese, Japanese and Thai letters are "Lo", as Hebrew is; the
    latter then only have no borders.
    """
    return character != "" and unicodedata.category(character) in {"Lu", "Ll", "Lt", "Lm", "Nd"}


def keep_quoted(
    candidates: Iterable[Candidate], utterances: Sequence[Utterance]
) -> tuple[list[Candidate], int]:
    """The candidates with those of their quotes that are found, and how many candidates have none."""
    kept, dropped = [], 0
    for candidate in candidates:
        found = [quote for quote in candidate.quotes if _is_found(quote, utterances)]
        if found:
            kept.append(replace(candidate, quotes=found))
        else:
            dropped += 1
    return kept, dropped


def _is_found(quote: Quote, utterances: Sequence[Utterance]) -> bool:
    in_range = 0 <= quote.utterance < len(utterances)
    return in_range and is_quoted(quote.text, utterances[quote.utterance].text)
