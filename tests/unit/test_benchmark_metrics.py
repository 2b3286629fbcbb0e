"""The benchmark's figures, on made-up rankings small enough to check by hand."""

import pytest

from benchmarks.metrics import Row, mrr, recall_at_k, summarise

RANKED = ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("evidence", "k", "share"),
    [
        (("a",), 1, 1.0),
        (("b",), 1, 0.0),
        (("b",), 2, 1.0),
        (("a", "d"), 3, 0.5),
        (("a", "z"), 4, 0.5),
        (("y", "z"), 4, 0.0),
        (("d",), 100, 1.0),
    ],
)
def test_recall_is_the_share_of_the_evidence_within_the_depth(
    evidence: tuple[str, ...], k: int, share: float
) -> None:
    assert recall_at_k(evidence, RANKED, k) == share


def test_recall_counts_repeated_evidence_once() -> None:
    assert recall_at_k(("a", "a", "d"), RANKED, 1) == 0.5


def test_recall_counts_a_repeated_hit_once() -> None:
    assert recall_at_k(("a", "b"), ("a", "a"), 2) == 0.5


def test_recall_of_an_empty_ranking_is_zero() -> None:
    assert recall_at_k(("a",), (), 5) == 0.0


@pytest.mark.parametrize("k", [0, -1])
def test_recall_refuses_a_depth_below_one(k: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        recall_at_k(("a",), RANKED, k)


@pytest.mark.parametrize(
    ("evidence", "value"), [(("a",), 1.0), (("d", "b"), 1 / 2), (("d",), 1 / 4), (("z",), 0.0)]
)
def test_mrr_is_one_over_the_rank_of_the_first_evidence(evidence: tuple[str, ...], value: float) -> None:
    assert mrr(evidence, RANKED) == value


def test_a_question_without_evidence_is_refused_by_recall() -> None:
    with pytest.raises(ValueError, match="without evidence"):
        recall_at_k((), RANKED, 5)


def test_a_question_without_evidence_is_refused_by_mrr() -> None:
    with pytest.raises(ValueError, match="without evidence"):
        mrr((), RANKED)


ROWS = (Row(1, ("a",), RANKED), Row(4, ("b", "z"), RANKED), Row(5, ("z",), RANKED))


def test_summary_has_all_then_answerable_then_each_category_seen() -> None:
    assert list(summarise(ROWS)) == ["all", "categories 1 to 4", "category 1", "category 4", "category 5"]


def test_summary_counts_the_questions_of_each_group() -> None:
    assert [figures.questions for figures in summarise(ROWS).values()] == [3, 2, 1, 1, 1]


def test_summary_means_weigh_each_question_alike() -> None:
    figures = summarise(ROWS, depths=(1, 2))["all"]
    assert figures.recall == pytest.approx({1: 1 / 3, 2: 1.5 / 3})
    assert figures.mrr == pytest.approx(1.5 / 3)


def test_summary_leaves_adversarial_questions_out_of_categories_1_to_4() -> None:
    assert summarise(ROWS)["categories 1 to 4"].mrr == pytest.approx(0.75)


def test_summary_leaves_out_empty_groups() -> None:
    assert list(summarise(ROWS[2:])) == ["all", "category 5"]


def test_summary_of_nothing_is_empty() -> None:
    assert summarise(()) == {}
