"""The session of the OpenAI Agents SDK on a real server: what a run says records itself."""

from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, Session, SessionSettings
from agents.testing import ScriptedModel, assistant_message, function_call

from ricordo import AsyncClient, errors
from ricordo._async.memory_stores import AsyncMemoryStore
from ricordo.models import Matching, NewTurn, Scope
from ricordo.openai_agents import RicordoSession, as_tools
from ricordo.tools import async_memory_tools

QUIET = RunConfig(tracing_disabled=True)
ADA = Scope(user_id="ada", session_id="chat")


@pytest.fixture
def session(async_client: AsyncClient) -> RicordoSession:
    return RicordoSession(async_client, user_id="ada", session_id="chat", agent_id="assistant")


def said(*texts: str) -> list[Any]:
    return [{"role": "user", "content": text} for text in texts]


async def test_it_is_a_session_for_the_sdk(session: RicordoSession) -> None:
    assert isinstance(session, Session)


async def test_a_run_remembers_the_run_before(async_client: AsyncClient, session: RicordoSession) -> None:
    model = ScriptedModel([[assistant_message("Noted.")], [assistant_message("Green tea.")]])
    agent = Agent(name="assistant", model=model)
    await Runner.run(agent, "I drink green tea.", session=session, run_config=QUIET)
    again = RicordoSession(async_client, user_id="ada", session_id="chat")
    await Runner.run(agent, "What do I drink?", session=again, run_config=QUIET)
    [*before, question] = model.calls[-1].input
    assert [item["role"] for item in before] == ["user", "assistant"]
    assert question["content"] == "What do I drink?"


async def test_what_a_run_says_is_found_as_turns(async_client: AsyncClient, session: RicordoSession) -> None:
    agent = Agent(name="assistant", model=ScriptedModel([[assistant_message("Noted: green tea.")]]))
    await Runner.run(agent, "I drink green tea.", session=session, run_config=QUIET)
    found = await async_client.sessions.search_turns("tea", scope=Matching(user_id="ada"))
    assert sorted(hit.turn.role for hit in found.hits) == ["assistant", "user"]
    assert {hit.turn.agent_id for hit in found.hits} == {"assistant"}


async def test_tool_calls_come_back_as_they_were(
    session: RicordoSession, async_store: AsyncMemoryStore
) -> None:
    script = [
        [function_call("remember", {"fact": "Ada drinks tea.", "topic": "diet"}, call_id="c1")],
        [assistant_message("Noted.")],
        [assistant_message("Tea.")],
    ]
    model = ScriptedModel(script)
    agent = Agent(name="assistant", model=model, tools=as_tools(async_memory_tools(async_store, "ada")))
    result = await Runner.run(agent, "I drink tea.", session=session, run_config=QUIET)
    assert await session.get_items() == result.to_input_list()
    await Runner.run(agent, "And?", session=session, run_config=QUIET)
    types = [item.get("type", "message") for item in model.calls[-1].input]
    assert types == ["message", "function_call", "function_call_output", "message", "message"]


async def test_the_last_items_are_read_in_their_order(session: RicordoSession) -> None:
    await session.add_items(said("one", "two", "three"))
    assert await session.get_items(limit=2) == said("two", "three")
    assert await session.get_items(limit=0) == []


async def test_the_settings_say_how_many_are_read(async_client: AsyncClient, session: RicordoSession) -> None:
    await session.add_items(said("one", "two"))
    short = RicordoSession(
        async_client, user_id="ada", session_id="chat", session_settings=SessionSettings(limit=1)
    )
    assert await short.get_items() == said("two")


async def test_more_items_than_a_call_takes(session: RicordoSession) -> None:
    texts = [str(number) for number in range(501)]
    await session.add_items(said(*texts))
    assert await session.get_items() == said(*texts)


async def test_the_last_item_is_taken_back(session: RicordoSession) -> None:
    await session.add_items(said("one", "two"))
    assert await session.pop_item() == said("two")[0]
    assert await session.get_items() == said("one")


async def test_an_empty_session_has_nothing_to_take_back(session: RicordoSession) -> None:
    assert await session.pop_item() is None
    await session.clear_session()
    await session.add_items([])
    assert await session.get_items() == []


async def test_a_cleared_session_goes_on(session: RicordoSession) -> None:
    await session.add_items(said("one"))
    await session.clear_session()
    await session.add_items(said("two"))
    assert await session.get_items() == said("two")


async def test_another_user_s_session_of_the_same_name_is_another(
    async_client: AsyncClient, session: RicordoSession
) -> None:
    await session.add_items(said("one"))
    assert await RicordoSession(async_client, user_id="bob", session_id="chat").get_items() == []


async def test_turns_of_another_surface_are_items(async_client: AsyncClient, session: RicordoSession) -> None:
    await async_client.sessions.record_turn(NewTurn(role="assistant", content="Hello."), scope=ADA)
    assert await session.get_items() == [{"role": "assistant", "content": "Hello."}]


async def test_large_items_come_back_whole(session: RicordoSession) -> None:
    large = said(*(letter * 200_000 for letter in "abcdefghijklmnopqrst"))
    await session.add_items(large)
    assert await session.get_items() == large


async def test_an_item_beyond_the_limit_is_refused(session: RicordoSession) -> None:
    with pytest.raises(errors.MemoryBadRequestError) as caught:
        await session.add_items(said("x" * 300_000))
    assert caught.value.field_violations


@pytest.mark.parametrize(
    "who", [{"user_id": " ", "session_id": "chat"}, {"user_id": "ada", "session_id": ""}]
)
async def test_a_session_of_nobody_is_refused(async_client: AsyncClient, who: dict[str, Any]) -> None:
    with pytest.raises(errors.MemoryIdentityError):
        RicordoSession(async_client, **who)
