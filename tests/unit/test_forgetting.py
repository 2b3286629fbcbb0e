from hypothesis import given
from hypothesis import strategies as st

from ricordo_server.domain.forgetting import Forgetting, Support, forget
from ricordo_server.domain.memory import RevisionAction

CREATED, UPDATED, DELETED = RevisionAction.CREATED, RevisionAction.UPDATED, RevisionAction.DELETED
SUPPORTS = st.lists(
    st.tuples(st.sampled_from([UPDATED, DELETED]), st.integers(0, 2), st.integers(0, 2)),
    min_size=1,
    max_size=5,
).map(lambda rows: [Support(number, *row) for number, row in enumerate(rows, 1)])


@given(SUPPORTS)
def test_nothing_stays_that_rests_on_what_goes_alone(supports: list[Support]) -> None:
    forgetting = forget(supports)
    lost = {each.revision for each in supports if each.is_lost}
    kept = {each.revision for each in supports} - set(forgetting.remove)
    assert forgetting.purge or kept.isdisjoint(lost)
    assert forgetting.purge or supports[-1].revision in kept or forgetting.restore in kept


@given(SUPPORTS)
def test_what_rests_on_other_turns_or_on_a_person_stays(supports: list[Support]) -> None:
    forgetting = forget(supports)
    assert all(each.is_lost for each in supports if each.revision in forgetting.remove)
    if not supports[-1].is_lost:
        assert (forgetting.purge, forgetting.restore) == (False, None)


def test_the_newest_that_still_stands_comes_back() -> None:
    supports = [Support(1, CREATED, 0, 1), Support(2, UPDATED, 0, 1), Support(3, UPDATED, 1, 0)]
    assert forget(supports) == Forgetting(restore=2, remove=(3,))


def test_a_deleted_memory_does_not_come_back() -> None:
    supports = [Support(1, CREATED, 0, 1), Support(2, UPDATED, 1, 0), Support(3, DELETED, 1, 0)]
    assert forget(supports) == Forgetting(purge=True)
