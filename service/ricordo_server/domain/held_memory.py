"""What was learned from words that a project does not trust: no memory until somebody approves of it."""

import json
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from hashlib import sha256

from ricordo_server.domain.extraction import Candidate, Quote
from ricordo_server.domain.generation import GenerationRules, Learned
from ricordo_server.domain.memory import Memory
from ricordo_server.domain.near_duplicates import normalise


class HeldState(StrEnum):
    PENDING = "PENDING"
    APPROVED = "APPROVED"
    REJECTED = "REJECTED"


@dataclass(frozen=True)
class HeldCandidate:
    """The one candidate of `learned`, as it waits; its utterances are its own quotes."""

    held_memory_id: str
    learned: Learned
    rules: GenerationRules
    create_time: datetime


@dataclass(frozen=True)
class HeldMemory:
    """The memory that it would become, without an id."""

    candidate: HeldCandidate
    memory: Memory


def digest_of(candidate: Candidate) -> str:
    """Equal for what says the same in the same words. It outlives the words, so that nobody is asked twice."""
    said = json.dumps([candidate.key, normalise(candidate.content)])
    return sha256(said.encode()).hexdigest()


def alone(learned: Learned, candidate: Candidate) -> Learned:
    """The candidate with what it quotes, and nothing else of what was read."""
    utterances = [replace(learned.utterances[quote.utterance], text=quote.text) for quote in candidate.quotes]
    quotes = [Quote(number, quote.text) for number, quote in enumerate(candidate.quotes)]
    return replace(learned, candidates=[replace(candidate, quotes=quotes)], utterances=utterances, held=())
