"""What becomes of candidates beside the memories there are. Models propose; this decides.

Nothing is ever removed because it was said again: a candidate that says what a memory says is dropped, whatever was
proposed for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from operator import mul

from ricordo_server.domain.extraction import ADD, Candidate, Proposal, ProposedAction, Utterance
from ricordo_server.domain.memory import Memory, MemorySource
from ricordo_server.domain.metadata import Metadata
from ricordo_server.domain.near_duplicates import NEAR_DUPLICATE_COSINE, normalise, telling_words
from ricordo_server.domain.ports import Vector
from ricordo_server.domain.scope import Visibility


class Outcome(StrEnum):
    """REPLACED: the target is deleted and the candidate created. KNOWN: nothing is written."""

    CREATED = "CREATED"
    UPDATED = "UPDATED"
    REPLACED = "REPLACED"
    KNOWN = "KNOWN"


class MergeStrategy(StrEnum):
    """How given metadata meets that of a memory which is updated.

    REQUIRE_EXACT_MATCH: memories with other metadata are not even compared.
    """

    OVERWRITE = "OVERWRITE"
    MERGE = "MERGE"
    REQUIRE_EXACT_MATCH = "REQUIRE_EXACT_MATCH"


class Trust(StrEnum):
    """Whose words something rests on, the most trusted last."""

    OTHER = "other"
    TOOL = "tool"
    ASSISTANT = "assistant"
    USER = "user"


_TRUSTED_MORE = {trust: place for place, trust in enumerate(Trust)}
_ROLES = {"user": Trust.USER, "assistant": Trust.ASSISTANT, "model": Trust.ASSISTANT, "tool": Trust.TOOL}
UNTRUSTED = frozenset({Trust.TOOL, Trust.OTHER})


@dataclass(frozen=True)
class Saying:
    """What is compared of a text: worked out once, since hundreds are compared with hundreds."""

    content: str
    vector: Vector | None

    @cached_property
    def text(self) -> str:
        return normalise(self.content)

    @cached_property
    def words(self) -> set[str]:
        return telling_words(self.text)


@dataclass(frozen=True)
class Neighbour:
    """A live memory of the candidate's kind, exact scope and visibility. `vector` is None without an embedding;
    `said_time` is when the latest turn it rests on was said, None when it rests on none.
    """

    memory: Memory
    vector: Vector | None = None
    said_time: datetime | None = None

    @cached_property
    def saying(self) -> Saying:
        return Saying(self.memory.content, self.vector)


@dataclass(frozen=True)
class Weighed:
    """A candidate with all that its fate depends on."""

    candidate: Candidate
    vector: Vector | None
    trust: Trust
    said_time: datetime
    proposal: Proposal = ADD

    @cached_property
    def saying(self) -> Saying:
        return Saying(self.candidate.content, self.vector)


@dataclass(frozen=True)
class Decision:
    """`target` is the memory that is updated, replaced or says it already; None with CREATED, and with KNOWN where
    another candidate says it, or it was taken back since.
    """

    outcome: Outcome
    weighed: Weighed
    target: Memory | None = None


def trust_of(roles: Sequence[str]) -> Trust:
    """That of the least trusted role; system turns and roles of the caller's own are not trusted."""
    return min((_ROLES.get(role.lower(), Trust.OTHER) for role in roles), key=_TRUSTED_MORE.__getitem__)


def trust_in(candidate: Candidate, utterances: Sequence[Utterance]) -> Trust:
    """How far the words that it quotes are trusted."""
    return trust_of([utterances[quote.utterance].role for quote in candidate.quotes])


def is_trusted_less(trust: Trust, than: Trust) -> bool:
    return _TRUSTED_MORE[trust] < _TRUSTED_MORE[than]


def most_trusted(trusts: Sequence[Trust]) -> Trust:
    return max(trusts, key=_TRUSTED_MORE.__getitem__)


def cosine(a: Vector, b: Vector) -> float:
    """Of vectors of unit length, 0 for different dimensions."""
    return sum(map(mul, a, b)) if len(a) == len(b) else 0.0


def decide(weighed: Sequence[Weighed], neighbours: Sequence[Neighbour]) -> list[Decision]:
    """One decision for each candidate, in order. A memory is the target of at most one change."""
    decisions: list[Decision] = []
    changed: set[str] = set()
    for each in weighed:
        decision = _decide(each, neighbours, decisions, changed)
        if decision.outcome in (Outcome.UPDATED, Outcome.REPLACED) and decision.target:
            changed.add(decision.target.memory_id)
        decisions.append(decision)
    return decisions


def _decide(
    each: Weighed, neighbours: Sequence[Neighbour], before: Sequence[Decision], changed: set[str]
) -> Decision:
    of_key = next((near for near in neighbours if _has_key(near.memory, each.candidate)), None)
    known = _known(each, neighbours, of_key)
    if known and known.memory_id not in changed:
        return Decision(Outcome.KNOWN, each, known)
    if any(_repeats(each, decision.weighed) for decision in before):
        return Decision(Outcome.KNOWN, each)
    target = of_key or _proposed_target(each, neighbours)
    if target is None:
        return Decision(Outcome.CREATED, each)
    if target.memory.memory_id in changed or not may_change(each.trust, target.memory):
        # The key is taken, and its memory stands; without one both do.
        return Decision(Outcome.KNOWN, each, of_key.memory) if of_key else Decision(Outcome.CREATED, each)
    if target.said_time and each.said_time < target.said_time:
        return Decision(Outcome.KNOWN, each)  # what was said since has taken its place already
    replaces = not of_key and each.proposal.action is ProposedAction.DELETE
    return Decision(Outcome.REPLACED if replaces else Outcome.UPDATED, each, target.memory)


def _has_key(memory: Memory, candidate: Candidate) -> bool:
    return candidate.key is not None and memory.key == candidate.key


def _known(each: Weighed, neighbours: Sequence[Neighbour], of_key: Neighbour | None) -> Memory | None:
    """What has a key is compared with its own key alone: two terms may well have one definition."""
    if each.candidate.key is not None:
        same = of_key and of_key.saying.text == each.saying.text
        return of_key.memory if of_key and same else None
    return next((near.memory for near in neighbours if says_same(each.saying, near.saying)), None)


def _repeats(each: Weighed, earlier: Weighed) -> bool:
    if each.candidate.key != earlier.candidate.key:
        return False
    return each.candidate.key is not None or says_same(each.saying, earlier.saying)


def says_same(new: Saying, kept: Saying) -> bool:
    """The same text, or nearly the same in words of which none is its own: the cosine alone never drops one."""
    if new.text == kept.text:
        return True
    if new.vector is None or kept.vector is None or not new.words <= kept.words:
        return False
    return cosine(new.vector, kept.vector) > NEAR_DUPLICATE_COSINE


def _proposed_target(each: Weighed, neighbours: Sequence[Neighbour]) -> Neighbour | None:
    """The memory that was shown to whoever proposed, if it still is as it was. A label is its writer's."""
    shown = each.proposal.target
    if shown is None or each.proposal.action not in (ProposedAction.UPDATE, ProposedAction.DELETE):
        return None
    current = next((near for near in neighbours if near.memory.memory_id == shown.memory_id), None)
    same = current and (current.memory.revision, current.memory.key) == (shown.revision, each.candidate.key)
    return current if same else None


def may_change(trust: Trust, memory: Memory) -> bool:
    """What a tool put out does not change what the user said, and nothing of a conversation what everyone reads or
    somebody pinned.
    """
    if memory.pinned or memory.visibility is not Visibility.PRIVATE:
        return False
    if memory.source is not MemorySource.EXTRACTION:
        return trust is Trust.USER
    known = memory.provenance.trust
    held = Trust(known) if known in _TRUSTED_MORE else Trust.OTHER
    return _TRUSTED_MORE[trust] >= _TRUSTED_MORE[held]


def merge_metadata(strategy: MergeStrategy, current: Metadata, given: Metadata) -> Metadata:
    """The metadata of an updated memory; none given leaves it as it is."""
    if not given:
        return current
    return {**current, **given} if strategy is MergeStrategy.MERGE else given
