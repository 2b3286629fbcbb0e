import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from ricordo import MemoryRequestContext, ambient_context
from ricordo.errors import MemoryIdentityError
from ricordo.identity import NOBODY, current_context, require, resolve, resolve_read
from ricordo.models import Visibility

CALL = MemoryRequestContext(user_id="call")
BOUND = MemoryRequestContext(user_id="bound", session_id="bound-session")
AMBIENT = MemoryRequestContext(user_id="ambient", agent_id="ambient-agent", session_id="ambient-session")


def test_each_field_comes_from_the_first_tier_that_gives_it() -> None:
    resolved = resolve(CALL, BOUND, AMBIENT)
    assert (resolved.user_id, resolved.session_id, resolved.agent_id) == (
        "call",
        "bound-session",
        "ambient-agent",
    )


@pytest.mark.parametrize("blank", [None, "", " ", "\t\n"])
def test_blank_is_unset_at_every_tier(blank: str | None) -> None:
    unset = MemoryRequestContext(user_id=blank, agent_id=blank, session_id=blank)
    assert resolve(unset, BOUND, unset).user_id == "bound"
    assert resolve(unset, unset, AMBIENT).user_id == "ambient"
    assert resolve(unset, unset, unset) == NOBODY


@pytest.mark.parametrize(
    ("visibility", "user"), [(None, "ambient"), (Visibility.PRIVATE, "ambient"), (Visibility.ORG, None)]
)
def test_a_broad_read_takes_no_user_from_the_ambient_context(
    visibility: Visibility | None, user: str | None
) -> None:
    resolved = resolve_read(NOBODY, NOBODY, AMBIENT, visibility=visibility)
    assert (resolved.user_id, resolved.session_id) == (user, "ambient-session")


def test_a_broad_read_keeps_the_bound_user() -> None:
    assert resolve_read(NOBODY, BOUND, AMBIENT, visibility=Visibility.ORG).user_id == "bound"


def test_a_read_of_episodes_takes_its_session_from_the_call_alone() -> None:
    assert resolve_read(NOBODY, BOUND, AMBIENT, own_session_only=True).session_id is None
    call = MemoryRequestContext(session_id="s")
    assert resolve_read(call, BOUND, AMBIENT, own_session_only=True).session_id == "s"


def test_the_ambient_context_ends_with_its_block() -> None:
    with ambient_context(AMBIENT):
        with ambient_context(BOUND):
            assert current_context() == BOUND
        assert current_context() == AMBIENT
    assert current_context() == NOBODY


async def test_tasks_have_ambient_contexts_of_their_own() -> None:
    async def seen(context: MemoryRequestContext) -> MemoryRequestContext:
        with ambient_context(context):
            await asyncio.sleep(0)
            return current_context()

    bound, ambient = await asyncio.gather(seen(BOUND), seen(AMBIENT))
    assert (bound, ambient) == (BOUND, AMBIENT)


def test_threads_do_not_see_each_others_ambient_context() -> None:
    with ThreadPoolExecutor(1) as pool, ambient_context(AMBIENT):
        assert pool.submit(current_context).result() == NOBODY


def test_a_missing_value_names_the_ways_to_give_it() -> None:
    with pytest.raises(MemoryIdentityError, match=r"save needs a user_id: .*bind.*ambient_context") as caught:
        require(None, "user_id", "save")
    assert isinstance(caught.value, ValueError)
