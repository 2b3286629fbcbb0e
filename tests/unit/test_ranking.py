from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo_server.domain.context import ContextSource
from ricordo_server.domain.ranking import AnyHit, rank_together
from ricordo_server.domain.search import Hit, LegScores
from tests.fixtures.context_items import memory, turn

SEMANTIC, EPISODIC, TURNS = ContextSource.SEMANTIC, ContextSource.EPISODIC, ContextSource.TURNS


def hits(prefix: str, *scores: float) -> list[AnyHit]:
    return [Hit(memory("x", f"{prefix}{n}"), score, None, LegScores()) for n, score in enumerate(scores, 1)]


found_lists = st.dictionaries(
    st.sampled_from(ContextSource), st.lists(st.floats(-1, 1), max_size=6), max_size=8
).map(lambda found: {source: hits(source, *sorted(scores)[::-1]) for source, scores in found.items()})


def ids(found: Mapping[ContextSource, Sequence[AnyHit]]) -> list[str]:
    return [chunk.item_id for chunk in rank_together(found)]


def test_the_best_of_each_source_come_first_in_the_order_asked() -> None:
    found = {EPISODIC: hits("e", 0.02, 0.01), SEMANTIC: hits("s", 0.9, 0.8, 0.7)}
    assert ids(found) == ["e1", "s1", "e2", "s2", "s3"]


def test_the_score_is_the_reciprocal_rank_within_the_source() -> None:
    assert [chunk.score for chunk in rank_together({SEMANTIC: hits("s", 0.9, 0.1)})] == pytest.approx(
        [1 / 61, 1 / 62]
    )


def test_a_chunk_keeps_its_source_item_and_embedding() -> None:
    hit = Hit(turn("hi"), 0.5, None, LegScores(), embedding=(1.0, 0.0))
    [chunk] = rank_together({TURNS: [hit]})
    assert (chunk.source, chunk.item, chunk.embedding) == (TURNS, hit.item, (1.0, 0.0))


@given(found_lists, st.sampled_from(ContextSource))
def test_a_source_that_is_absent_never_reorders_the_others(
    found: dict[ContextSource, list[AnyHit]], absent: ContextSource
) -> None:
    others = {source: hits for source, hits in found.items() if source is not absent}
    remaining = [chunk for chunk in rank_together(found) if chunk.source is not absent]
    assert rank_together(others) == remaining


@given(found_lists)
def test_each_source_keeps_its_own_order(found: dict[ContextSource, list[AnyHit]]) -> None:
    ranked = rank_together(found)
    for source, own in found.items():
        assert [c.item for c in ranked if c.source is source] == [hit.item for hit in own]
