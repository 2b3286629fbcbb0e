from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo_server.domain.fusion import Candidate, fuse, rank_semantic, rank_text
from ricordo_server.domain.search import Fusion, FusionMethod, LegScores

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
RRF = FusionMethod.RRF


def found(item_id: str, score: float, hour: int = 0) -> Candidate:
    return Candidate(item_id, score, NOON + timedelta(hours=hour))


TEXT = (found("a", 0.4), found("b", 0.1))
SEMANTIC = (found("b", 0.8), found("c", 0.6), found("d", 0.4))

# An item's recency is its own, whichever leg finds it; some share theirs.
legs = st.lists(
    st.builds(
        lambda item_id, score: found(item_id, score, hour=ord(item_id) % 3),
        st.sampled_from("abcdefgh"),
        st.floats(-1, 1) | st.sampled_from([0.0, 0.5]),
    )
)
fusions = st.builds(Fusion, st.sampled_from(FusionMethod), st.floats(0, 1))


def scores(text: Sequence[Candidate], semantic: Sequence[Candidate], fusion: Fusion) -> dict[str, float]:
    return {fused.item_id: fused.score for fused in fuse(text, semantic, fusion, top_k=10)}


def test_convex_weighs_shares_of_the_best_text_and_min_max_scaled_similarity() -> None:
    assert scores(TEXT, SEMANTIC, Fusion(semantic_weight=0.3)) == pytest.approx(
        {"a": 0.7, "b": 0.7 * 0.25 + 0.3, "c": 0.3 * 0.5, "d": 0.0}
    )


def test_rrf_weighs_reciprocal_ranks() -> None:
    assert scores(TEXT, SEMANTIC, Fusion(RRF, 0.3)) == pytest.approx(
        {"a": 0.7 / 61, "b": 0.7 / 62 + 0.3 / 61, "c": 0.3 / 62, "d": 0.3 / 63}
    )


def test_each_hit_says_where_it_stood_in_each_leg() -> None:
    by_id = {fused.item_id: fused.legs for fused in fuse(TEXT, SEMANTIC, Fusion(), top_k=10)}
    assert by_id["a"] == LegScores(text_rank=1, text_score=0.4)
    assert by_id["b"] == LegScores(text_rank=2, text_score=0.1, semantic_rank=1, semantic_score=0.8)


def test_a_row_beyond_the_cut_of_the_text_leg_counts_by_its_score_and_has_no_rank() -> None:
    text = (*TEXT, replace(found("c", 0.05), beyond=True))
    assert scores(text, SEMANTIC, Fusion(semantic_weight=0.3))["c"] == pytest.approx(0.7 * 0.125 + 0.3 * 0.5)
    assert scores(text, SEMANTIC, Fusion(RRF, 0.3))["c"] == pytest.approx(0.3 / 62)
    by_id = {fused.item_id: fused.legs for fused in fuse(text, SEMANTIC, Fusion(), top_k=10)}
    assert by_id["c"] == LegScores(text_score=0.05, semantic_rank=2, semantic_score=0.6)


@pytest.mark.parametrize("leg", [(found("a", 0.2),), (found("a", 0.2), found("b", 0.2))])
def test_a_leg_which_cannot_tell_its_candidates_apart_counts_them_as_its_best(
    leg: Sequence[Candidate],
) -> None:
    assert set(scores((), leg, Fusion(semantic_weight=0.3)).values()) == {0.3}


def test_a_text_leg_of_zeros_counts_as_found() -> None:
    assert scores((found("a", 0.0),), (), Fusion(semantic_weight=0.3)) == {"a": 0.7}


def test_no_candidates_are_no_hits() -> None:
    assert fuse((), (), Fusion(), top_k=10) == []


def test_a_score_that_is_no_number_is_not_found() -> None:
    assert rank_semantic((found("a", float("nan")), found("b", -0.5)), top_k=10)[0].item_id == "b"
    assert scores((), (found("a", float("nan")),), Fusion()) == {}


def test_a_row_found_twice_counts_at_its_best() -> None:
    [fused] = rank_semantic((found("a", 0.1), found("a", 0.9)), top_k=10)
    assert fused.legs == LegScores(semantic_rank=1, semantic_score=0.9)


def test_ties_go_to_the_newer_then_to_the_smaller_id() -> None:
    leg = (found("c", 0.5), found("b", 0.5), found("z", 0.5, hour=1))
    assert [fused.item_id for fused in rank_text(leg, top_k=10)] == ["z", "b", "c"]


def test_single_legs_keep_their_raw_scores() -> None:
    assert [(f.item_id, f.score, f.legs) for f in rank_text(TEXT, top_k=1)] == [
        ("a", 0.4, LegScores(text_rank=1, text_score=0.4))
    ]
    assert [f.score for f in rank_semantic(SEMANTIC, top_k=2)] == [0.8, 0.6]


@pytest.mark.parametrize("method", FusionMethod)
@pytest.mark.parametrize(("weight", "order"), [(0.0, ["a", "b"]), (1.0, ["b", "c"])])
def test_a_leg_of_full_weight_alone_decides(method: FusionMethod, weight: float, order: list[str]) -> None:
    assert [fused.item_id for fused in fuse(TEXT, SEMANTIC, Fusion(method, weight), top_k=2)] == order


@given(legs, legs, fusions, st.randoms())
def test_the_order_of_the_input_makes_no_difference(
    text: list[Candidate], semantic: list[Candidate], fusion: Fusion, random: Random
) -> None:
    shuffled_text, shuffled_semantic = (random.sample(leg, len(leg)) for leg in (text, semantic))
    assert fuse(text, semantic, fusion, top_k=10) == fuse(shuffled_text, shuffled_semantic, fusion, top_k=10)


@given(legs, legs, fusions, st.integers(1, 20))
def test_hits_are_every_candidate_once_sorted_and_cut(
    text: list[Candidate], semantic: list[Candidate], fusion: Fusion, top_k: int
) -> None:
    hits = fuse(text, semantic, fusion, top_k=top_k)
    candidates = {candidate.item_id for candidate in (*text, *semantic)}
    assert len(hits) == len({hit.item_id for hit in hits}) == min(top_k, len(candidates))
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@given(legs, legs, fusions)
def test_fewer_hits_are_the_first_of_more(
    text: list[Candidate], semantic: list[Candidate], fusion: Fusion
) -> None:
    assert fuse(text, semantic, fusion, top_k=3) == fuse(text, semantic, fusion, top_k=20)[:3]
