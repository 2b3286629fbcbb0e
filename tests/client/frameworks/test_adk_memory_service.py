"""The memory service of the Agent Development Kit on a real server, used by a scripted model."""

from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools.load_memory_tool import load_memory_tool as load_memory
from google.genai import types
from pydantic import Field

from ricordo import AsyncClient, AsyncMemory, errors
from ricordo.adk import RicordoMemoryService
from ricordo.memory_bank import MemoryProfile
from ricordo.models import Matching, NewMemory, ProfileDetails, ProfileSchema, ProjectChanges, Scope
from ricordo_server.config import Settings
from ricordo_server.jobs import extraction
from tests.jobs.queue import worker

WHO: dict[str, Any] = {"app_name": "assistant", "user_id": "ada"}


class Scripted(BaseLlm):
    """Answers with the script, in order, and keeps what it was asked."""

    script: list[types.Part]
    asked: list[LlmRequest] = Field(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.asked.append(llm_request)
        yield LlmResponse(content=types.Content(role="model", parts=[self.script.pop(0)]))


@pytest.fixture
def service(async_client: AsyncClient) -> RicordoMemoryService:
    return RicordoMemoryService(async_client)


def entry(text: str, **fields: Any) -> MemoryEntry:
    return MemoryEntry(content=types.Content(parts=[types.Part(text=text)]), **fields)


def event(*parts: types.Part, author: str = "user", event_id: str = "e1") -> Event:
    return Event(
        id=event_id, author=author, content=types.Content(parts=list(parts)), timestamp=1_700_000_000
    )


def said(text: str, **fields: Any) -> Event:
    return event(types.Part(text=text), **fields)


def session(*events: Event) -> Session:
    return Session(id="chat", app_name="assistant", user_id="ada", events=list(events))


async def turns(client: AsyncClient) -> list[Any]:
    return [turn async for turn in client.sessions.list_turns(scope=Matching(user_id="ada"))]


async def found(service: RicordoMemoryService, query: str, **who: str) -> list[str]:
    response = await service.search_memory(query=query, **{**WHO, **who})
    return [str(each.content.parts[0].text) for each in response.memories if each.content.parts]


async def test_a_run_s_session_becomes_memory_for_the_next(
    service: RicordoMemoryService, async_client: AsyncClient, settings: Settings
) -> None:
    sessions = InMemorySessionService()
    model = Scripted(
        model="scripted",
        script=[
            types.Part(text="Noted."),
            types.Part.from_function_call(name="load_memory", args={"query": "tea"}),
            types.Part(text="Green tea."),
        ],
    )
    agent = LlmAgent(name="helper", model=model, tools=[load_memory])
    runner = Runner(app_name="assistant", agent=agent, session_service=sessions, memory_service=service)

    async def ask(session_id: str, text: str) -> None:
        await sessions.create_session(app_name="assistant", user_id="ada", session_id=session_id)
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for _ in runner.run_async(user_id="ada", session_id=session_id, new_message=message):
            pass

    await ask("one", "I like green tea.")
    recorded = await sessions.get_session(app_name="assistant", user_id="ada", session_id="one")
    assert recorded is not None
    await service.add_session_to_memory(recorded)
    async with worker(settings, *extraction.KINDS):
        await AsyncMemory(client=async_client).wait_for_extraction(user_id="ada", timeout=120)
    await ask("two", "What do I like?")
    [answer] = model.asked[-1].contents[-1].parts or []
    assert answer.function_response is not None
    loaded = (answer.function_response.response or {})["result"]
    assert "I like green tea." in [each.content.parts[0].text for each in loaded.memories]


async def test_a_session_is_recorded_once_however_often_it_is_added(
    service: RicordoMemoryService, async_client: AsyncClient
) -> None:
    first, second = said("one"), said("two", author="helper", event_id="e2")
    await service.add_session_to_memory(session(first))
    await service.add_session_to_memory(session(first, second))
    one, two = await turns(async_client)
    assert (one.role, one.content, one.agent_id) == ("user", "one", "")
    assert (two.role, two.content, two.agent_id) == ("assistant", "two", "helper")
    assert one.scope == Scope(user_id="ada", session_id="chat", labels={"app_name": "assistant"})
    assert one.event_time == datetime.fromtimestamp(1_700_000_000, UTC)


async def test_tools_are_recorded_as_such(service: RicordoMemoryService, async_client: AsyncClient) -> None:
    call = types.FunctionCall(id="c", name="weather", args={"city": "Roma"})
    answer = types.FunctionResponse(id="c", name="weather", response={"sky": "clear"})
    await service.add_session_to_memory(
        session(
            event(types.Part(function_call=call), author="helper"),
            event(types.Part(function_response=answer), author="helper", event_id="e2"),
        )
    )
    called, answered = await turns(async_client)
    assert (called.tool_calls[0].name, called.tool_calls[0].arguments_json) == ("weather", '{"city": "Roma"}')
    assert (answered.role, answered.tool_call_id, answered.content) == ("tool", "c", '{"sky": "clear"}')


@pytest.mark.parametrize(
    "part",
    [
        types.Part(text=""),
        types.Part(text="thinking", thought=True),
        types.Part(function_call=types.FunctionCall(name="adk_request_credential", args={"secret": "x"})),
    ],
)
async def test_what_says_nothing_is_not_recorded(
    service: RicordoMemoryService, async_client: AsyncClient, part: types.Part
) -> None:
    await service.add_session_to_memory(session(event(part)))
    assert await turns(async_client) == []


async def test_events_need_no_session(service: RicordoMemoryService, async_client: AsyncClient) -> None:
    await service.add_events_to_memory(**WHO, events=[said("one")], custom_metadata={"channel": "mail"})
    [turn] = await turns(async_client)
    assert (turn.content, turn.metadata) == ("one", {"channel": "mail"})


async def test_a_rule_says_when_events_become_memories(
    service: RicordoMemoryService, async_client: AsyncClient
) -> None:
    """Options are those of a stream; what is none is metadata of the turns."""
    rule = {"generation_rule": {"event_count": 10}}
    options = {"stream_id": "mails", "generation_trigger_config": rule, "channel": "mail"}
    await service.add_events_to_memory(**WHO, events=[said("I like tea.")], custom_metadata=options)
    [turn] = await turns(async_client)
    assert (turn.scope.session_id, turn.metadata) == ("mails", {"channel": "mail"})
    [session] = [each async for each in async_client.sessions.list()]
    assert session.trigger_rule is not None
    assert session.trigger_rule.turn_count == 10
    assert [each async for each in async_client.sessions.list_snapshots()] == []
    await service.add_events_to_memory(
        **WHO, events=[], session_id="mails", custom_metadata={"force_flush": True}
    )
    assert len([each async for each in async_client.sessions.list_snapshots()]) == 1


async def test_generating_may_be_waited_for(
    service: RicordoMemoryService, async_client: AsyncClient, settings: Settings
) -> None:
    async with worker(settings, *extraction.KINDS):
        await service.add_events_to_memory(
            **WHO, events=[said("I like green tea.")], custom_metadata={"wait_for_completion": True}
        )
    assert "I like green tea." in await found(service, "tea")


async def test_more_events_than_a_call_takes(
    service: RicordoMemoryService, async_client: AsyncClient
) -> None:
    await service.add_session_to_memory(
        session(*(said(str(number), event_id=f"e{number}") for number in range(501)))
    )
    assert [turn.content for turn in await turns(async_client)] == [str(number) for number in range(501)]


async def test_facts_come_back_as_they_were_given(service: RicordoMemoryService) -> None:
    given = entry(
        "Ada lives in Porto.",
        id="home",
        author="user",
        timestamp="2026-01-31T10:00:00+00:00",
        custom_metadata={"sure": True},
    )
    await service.add_memory(**WHO, memories=[given], custom_metadata={"source": "form"})
    [memory] = (await service.search_memory(**WHO, query="where does Ada live?")).memories
    assert (memory.id, memory.author, memory.timestamp) == ("home", "user", "2026-01-31T10:00:00+00:00")
    assert memory.custom_metadata == {"sure": True, "source": "form"}


async def test_a_consolidated_fact_replaces_what_it_contradicts(service: RicordoMemoryService) -> None:
    for text in ("I live in Rome.", "I live in Berlin."):
        await service.add_memory(
            **WHO, memories=[entry(text)], custom_metadata={"enable_consolidation": True}
        )
    assert await found(service, "where do I live?") == ["I live in Berlin."]


async def test_memories_are_of_one_user_in_one_application(service: RicordoMemoryService) -> None:
    await service.add_memory(**WHO, memories=[entry("Ada drinks tea.")])
    assert await found(service, "tea", user_id="bob") == []
    assert await found(service, "tea", app_name="other") == []
    assert await found(service, "tea") == ["Ada drinks tea."]


async def test_a_search_finds_three_unless_the_service_is_told_otherwise(async_client: AsyncClient) -> None:
    facts = [entry(f"Ada drinks tea number {number}.") for number in range(5)]
    await RicordoMemoryService(async_client).add_memory(**WHO, memories=facts)
    assert len(await found(RicordoMemoryService(async_client), "tea")) == 3
    assert len(await found(RicordoMemoryService(async_client, top_k=4), "tea")) == 4


async def test_what_is_known_of_a_user_in_a_structured_form(
    service: RicordoMemoryService, async_client: AsyncClient
) -> None:
    schema = {"type": "object", "properties": {"cups": {"type": "integer"}}}
    await async_client.project.update(
        ProjectChanges(profile_schemas=(ProfileSchema(schema_id="drinker", json_schema=schema),))
    )
    assert await service.retrieve_profiles(**WHO) == []
    details = ProfileDetails(schema_id="drinker", field_name="cups")
    scope = Scope(user_id="ada", labels={"app_name": "assistant"})
    await async_client.memories.put(NewMemory(kind="profile", content="3", scope=scope, details=details))
    assert await service.retrieve_profiles(**WHO) == [MemoryProfile(schema_id="drinker", profile={"cups": 3})]
    assert await service.retrieve_profiles(app_name="assistant", user_id="bob") == []


async def test_a_memory_is_deleted_by_its_own_user_alone(service: RicordoMemoryService) -> None:
    await service.add_memory(**WHO, memories=[entry("Ada drinks tea.", id="tea")])
    with pytest.raises(errors.MemoryClientError, match="no memory of this user"):
        await service.delete_memory(app_name="assistant", user_id="bob", memory_id="tea")
    await service.delete_memory(**WHO, memory_id="tea")
    assert await found(service, "tea") == []


Wrong = Callable[[RicordoMemoryService], Any]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda service: service.delete_memory(**WHO), "needs the memory_id"),
        (lambda service: service.add_memory(**WHO, memories=[entry("")]), "has none"),
        (lambda service: service.add_memory(**WHO, memories=[entry("x", timestamp="noon")]), "ISO 8601"),
        (
            lambda service: service.add_memory(
                **WHO, memories=[entry("x", id="x")], custom_metadata={"enable_consolidation": True}
            ),
            "no id of its own",
        ),
        (
            lambda service: service.add_memory(**WHO, memories=[entry("x")], custom_metadata={"ttl": "60s"}),
            "memory_banks",
        ),
        (
            lambda service: service.add_events_to_memory(
                **WHO, events=[said("x")], custom_metadata={"force_flush": "perhaps"}
            ),
            "force_flush",
        ),
    ],
)
async def test_what_makes_no_sense_is_refused(service: RicordoMemoryService, wrong: Wrong, told: str) -> None:
    with pytest.raises(errors.MemoryClientError, match=told):
        await wrong(service)


async def test_memories_of_nobody_are_refused(service: RicordoMemoryService) -> None:
    with pytest.raises(errors.MemoryIdentityError):
        await service.add_memory(app_name="assistant", user_id=" ", memories=[entry("x")])
    with pytest.raises(errors.MemoryIdentityError):
        await service.search_memory(app_name="assistant", user_id="", query="x")
