"""What becomes of candidates: models propose, the code decides."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo_server.domain.consolidation import (
    Decision,
    MergeStrategy,
    Neighbour,
    Outcome,
    Trust,
    Weighed,
    decide,
    merge_metadata,
    trust_of,
)
from ricordo_server.domain.extraction import ADD, Candidate, Proposal, ProposedAction
from ricordo_server.domain.memory import Memory, MemoryKind, MemorySource, Provenance
from ricordo_server.domain.near_duplicates import normalise
from ricordo_server.domain.scope import Visibility
from tests.fixtures.memories import WRITTEN, a_memory

CONTENTS = st.sampled_from(["I like tea.", "i like  TEA", "I hate tea.", "I live in Rome", "茶が好き"])
VECTORS = st.sampled_from([None, (1.0, 0.0), (0.0, 1.0), (0.6, 0.8)])
TIMES = st.sampled_from([WRITTEN - timedelta(days=1), WRITTEN])
TRUST = st.sampled_from(list(Trust))
MEMORIES = [
    a_memory("I like tea."),
    a_memory("I live in Rome."),
    a_memory("The office is closed.", provenance=Provenance(trust="tool")),
    a_memory("I own a boat.", source=MemorySource.AGENT, key="boat"),
]
PROPOSALS = st.builds(Proposal, st.sampled_from(ProposedAction), st.sampled_from([None, *MEMORIES]))
WEIGHED = st.builds(
    Weighed,
    CONTENTS.map(lambda content: Candidate(MemoryKind.SEMANTIC, content, [])), VECTORS, TRUST, TIMES, PROPOSALS,
)  # fmt: skip
NEIGHBOURS = st.lists(
    st.builds(Neighbour, st.sampled_from(MEMORIES), VECTORS, st.none() | TIMES),
    max_size=4,
    unique_by=lambda near: near.memory.memory_id,
)


def weighed(
    content: str, proposal: Proposal = ADD, *, trust: Trust = Trust.USER, key: str | None = None
) -> Weighed:
    return Weighed(Candidate(MemoryKind.SEMANTIC, content, [], key=key), None, trust, WRITTEN, proposal)


def outcome(each: Weighed, *known: Memory) -> Decision:
    [decision] = decide([each], [Neighbour(memory) for memory in known])
    return decision


def to_delete(memory: Memory) -> Proposal:
    return Proposal(ProposedAction.DELETE, memory)


@given(st.lists(WEIGHED, max_size=6), NEIGHBOURS)
def test_no_memory_changes_twice_and_none_because_it_was_said_again(
    candidates: list[Weighed], neighbours: list[Neighbour]
) -> None:
    decisions = decide(candidates, neighbours)
    assert [decision.weighed for decision in decisions] == candidates
    changes = [each for each in decisions if each.outcome in (Outcome.UPDATED, Outcome.REPLACED)]
    targets = [each.target.memory_id for each in changes if each.target]
    assert len(targets) == len(changes) == len(set(targets))
    for change in changes:
        assert change.target is not None
        assert normalise(change.weighed.candidate.content) != normalise(change.target.content)
        assert change.target.key is None


@given(st.lists(WEIGHED, max_size=6), NEIGHBOURS)
def test_no_text_is_written_twice(candidates: list[Weighed], neighbours: list[Neighbour]) -> None:
    decisions = decide(candidates, neighbours)
    written = [
        normalise(each.weighed.candidate.content) for each in decisions if each.outcome is not Outcome.KNOWN
    ]
    assert len(written) == len(set(written))
    changed = {
        each.target.memory_id for each in decisions if each.outcome is not Outcome.KNOWN and each.target
    }
    standing = {normalise(each.memory.content) for each in neighbours if each.memory.memory_id not in changed}
    assert standing.isdisjoint(written)


@pytest.mark.parametrize("action", ProposedAction)
def test_the_same_text_is_known_whatever_is_proposed(action: ProposedAction) -> None:
    known = a_memory("I like tea.")
    assert outcome(weighed("i like tea", Proposal(action, known)), known).outcome is Outcome.KNOWN


def test_nearly_the_same_in_words_of_the_other_is_known() -> None:
    near = Neighbour(a_memory("I like green tea."), (1.0, 0.0))
    candidate = Candidate(MemoryKind.SEMANTIC, "I like tea", [])
    [decision] = decide([Weighed(candidate, (1.0, 0.0), Trust.USER, WRITTEN)], [near])
    assert decision.outcome is Outcome.KNOWN


def test_nearly_the_same_with_a_word_of_its_own_is_added() -> None:
    near = Neighbour(a_memory("We meet on Monday"), (1.0, 0.0))
    candidate = Candidate(MemoryKind.SEMANTIC, "We meet on Tuesday", [])
    [decision] = decide([Weighed(candidate, (1.0, 0.0), Trust.USER, WRITTEN)], [near])
    assert decision.outcome is Outcome.CREATED


def test_a_contradiction_replaces() -> None:
    known = a_memory("I like tea.")
    decision = outcome(weighed("I hate tea.", to_delete(known)), known)
    assert (decision.outcome, decision.target) == (Outcome.REPLACED, known)


def test_what_changed_since_it_was_shown_stays() -> None:
    shown = a_memory("I like tea.")
    assert (
        outcome(weighed("I hate tea.", to_delete(shown)), replace(shown, revision=2)).outcome
        is Outcome.CREATED
    )


def test_what_is_no_neighbour_is_never_a_target() -> None:
    assert outcome(weighed("I hate tea.", to_delete(a_memory("I like tea.")))).outcome is Outcome.CREATED


@pytest.mark.parametrize(
    ("trust", "target", "changes"),
    [
        (Trust.TOOL, a_memory("a"), False),
        (Trust.ASSISTANT, a_memory("a"), False),
        (Trust.USER, a_memory("a"), True),
        (Trust.TOOL, a_memory("a", provenance=Provenance(trust="tool")), True),
        (Trust.OTHER, a_memory("a", provenance=Provenance(trust="tool")), False),
        (Trust.OTHER, a_memory("a", provenance=Provenance(trust="made up")), True),
        (Trust.USER, a_memory("a", source=MemorySource.AGENT), True),
        (Trust.ASSISTANT, a_memory("a", source=MemorySource.AGENT), False),
        (Trust.USER, a_memory("a", key="label"), False),
        (Trust.USER, a_memory("a", visibility=Visibility.PROJECT), False),
    ],
)
def test_the_less_trusted_changes_nothing_of_the_more_trusted(
    trust: Trust, target: Memory, changes: bool
) -> None:
    decision = outcome(weighed("b", to_delete(target), trust=trust), target)
    assert decision.outcome is (Outcome.REPLACED if changes else Outcome.CREATED)


def test_a_key_that_is_there_is_updated() -> None:
    known = a_memory("a target", key="slo")
    decision = outcome(weighed("an objective", key="slo"), known)
    assert (decision.outcome, decision.target) == (Outcome.UPDATED, known)


def test_a_key_that_is_not_the_candidates_to_change_stands() -> None:
    known = a_memory("a target", key="slo", visibility=Visibility.PROJECT)
    assert outcome(weighed("an objective", key="slo"), known).outcome is Outcome.KNOWN


def test_two_keys_may_have_one_text() -> None:
    assert outcome(weighed("a target", key="slo"), a_memory("a target", key="sla")).outcome is Outcome.CREATED


@pytest.mark.parametrize(
    ("roles", "trust"),
    [
        (["user"], Trust.USER), (["User", "assistant"], Trust.ASSISTANT), (["user", "tool"], Trust.TOOL),
        (["system"], Trust.OTHER), (["user", "narrator"], Trust.OTHER),
    ],
)  # fmt: skip
def test_what_rests_on_several_is_trusted_as_the_least(roles: list[str], trust: Trust) -> None:
    assert trust_of(roles) is trust


@pytest.mark.parametrize(
    ("strategy", "merged"),
    [
        (MergeStrategy.OVERWRITE, {"b": 3}),
        (MergeStrategy.MERGE, {"a": 1, "b": 3}),
        (MergeStrategy.REQUIRE_EXACT_MATCH, {"b": 3}),
    ],
)
def test_metadata_is_merged_as_asked(strategy: MergeStrategy, merged: dict[str, int]) -> None:
    assert merge_metadata(strategy, {"a": 1, "b": 2}, {"b": 3}) == merged
    assert merge_metadata(strategy, {"a": 1}, {}) == {"a": 1}


@pytest.mark.parametrize(
    ("hours", "becomes"), [(-1, Outcome.REPLACED), (0, Outcome.REPLACED), (1, Outcome.KNOWN)]
)
def test_what_was_said_earlier_does_not_take_the_place_of_what_was_said_since(
    hours: int, becomes: Outcome
) -> None:
    known = a_memory("I like tea.")
    near = Neighbour(known, said_time=WRITTEN + timedelta(hours=hours))
    [decision] = decide([weighed("I hate tea.", to_delete(known))], [near])
    assert decision.outcome is becomes
