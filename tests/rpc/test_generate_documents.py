"""GenerateMemories with DOCUMENT, as a generated client sees it: facts become lines of documents."""

import asyncio
from collections.abc import Iterator
from typing import Any

import grpc
import grpc.aio
import pytest
import pytest_asyncio

from ricordo.v1 import extraction_service_pb2 as pb
from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import memory_service_pb2 as ms
from ricordo.v1 import metadata_pb2, project_pb2, project_service_pb2_grpc, scope_pb2
from ricordo.v1 import session_service_pb2 as ss
from ricordo_server.config import Settings
from ricordo_server.extraction import Endpoint, ExtractionSettings
from tests.fixtures.calls import refusal
from tests.fixtures.fake_chat import FakeChat, Reply, fact, items
from tests.fixtures.generation import ANN, TALK, World, inline
from tests.fixtures.project_settings import update

ABOUT = "/user-personal-info.md"
DOCUMENT = m.MEMORY_KIND_DOCUMENT
CREATED, UPDATED = m.REVISION_ACTION_CREATED, m.REVISION_ACTION_UPDATED
INVALID = grpc.StatusCode.INVALID_ARGUMENT


@pytest.fixture
def fake() -> Iterator[FakeChat]:
    with FakeChat() as server:
        yield server


@pytest.fixture
def settings(settings: Settings, fake: FakeChat) -> Settings:
    """Rules by default, and a model for who asks for it."""
    extraction = ExtractionSettings({"fake": Endpoint(base_url=fake.base_url, model="m")})
    return settings.model_copy(update={"extraction": extraction})


@pytest.fixture
def world(channel: grpc.aio.Channel) -> World:
    return World(channel)


async def distill(world: World, **fields: Any) -> pb.GenerateMemoriesResponse:
    return await world.learn(kinds=[DOCUMENT], **fields)


async def documents(world: World) -> dict[str, str]:
    return {each.key: each.content for each in await world.all()}


async def write(world: World, content: str, path: str = ABOUT, **fields: Any) -> m.Memory:
    memory = m.Memory(kind=DOCUMENT, key=path, content=content, scope=ANN, **fields)
    return (await world.memories.CreateMemory(ms.CreateMemoryRequest(memory=memory))).memory


async def test_what_was_said_becomes_lines_that_name_their_turns(world: World) -> None:
    turns = await world.say("I live in Rome.", "My cat is called Leo.")
    [made] = (await distill(world)).memories
    memory = made.memory
    assert (made.action, memory.kind, memory.key, memory.content) == (
        CREATED, DOCUMENT, ABOUT, "I live in Rome.\nMy cat is called Leo.",
    )  # fmt: skip
    assert (memory.scope, memory.visibility, memory.source) == (
        ANN, scope_pb2.VISIBILITY_PRIVATE, m.MEMORY_SOURCE_EXTRACTION,
    )  # fmt: skip
    assert memory.provenance == m.Provenance(
        session_id="talk", turn_ids=sorted(turn.turn_id for turn in turns), extraction_model="builtin",
        prompt_version="rules-2", trust="user",
    )  # fmt: skip
    assert memory.has_embedding
    assert await world.all() == [memory]


async def test_what_a_line_says_already_is_not_written_again(world: World) -> None:
    await world.say("I live in Rome.", "My cat is called Leo.")
    await distill(world)
    again = await distill(world)
    assert (len(again.memories), again.report.known_count) == (0, 2)
    assert [memory.revision for memory in await world.all()] == [1]


async def test_what_contradicts_a_line_takes_its_place(world: World) -> None:
    await world.say("I live in Rome.", "My cat is called Leo.")
    await distill(world)
    [turn] = await world.say("I live in Berlin.")
    [changed] = (await distill(world)).memories
    assert (changed.action, changed.previous_revision) == (UPDATED, 1)
    assert changed.memory.content == "I live in Berlin.\nMy cat is called Leo."
    assert turn.turn_id in changed.memory.provenance.turn_ids


async def test_an_older_saying_does_not_come_back(world: World) -> None:
    await world.say("I live in Rome.")
    await world.say("I live in Berlin.")
    await distill(world)
    first = pb.SessionRange(scope=TALK, to_turn_seq=1)
    request = pb.GenerateMemoriesRequest(session=first, kinds=[DOCUMENT])
    assert not (await world.extraction.GenerateMemories(request)).memories
    assert await documents(world) == {ABOUT: "I live in Berlin."}


async def test_without_consolidation_no_line_is_changed(world: World) -> None:
    await world.say("I live in Rome.")
    await distill(world)
    await world.say("I live in Berlin.")
    await distill(world, disable_consolidation=True)
    assert await documents(world) == {ABOUT: "I live in Rome.\nI live in Berlin."}


async def test_a_dry_run_says_what_would_be_written_and_writes_nothing(world: World) -> None:
    await write(world, "Never calls before nine.")
    await world.say("I live in Rome.", "I like tea.")
    shown = {each.memory.key: each for each in (await distill(world, dry_run=True)).memories}
    about, likes = shown[ABOUT], shown["/user-preferences.md"]
    assert (about.action, about.previous_revision, about.memory.content) == (
        UPDATED, 1, "Never calls before nine.\nI live in Rome.",
    )  # fmt: skip
    assert (likes.action, likes.memory.memory_id, likes.memory.content) == (CREATED, "", "I like tea.")
    assert await documents(world) == {ABOUT: "Never calls before nine."}


@pytest.mark.parametrize("closed", [{"pinned": True}, {"visibility": scope_pb2.VISIBILITY_PROJECT}])
async def test_what_is_pinned_or_everyones_stays_as_it_is(world: World, closed: dict[str, Any]) -> None:
    await write(world, "I live in Rome.", **closed)
    await world.say("I live in Berlin.")
    [made] = (await distill(world)).memories
    assert (made.memory.key, made.memory.content) == ("/user-personal-info-2.md", "I live in Berlin.")
    assert (await documents(world))[ABOUT] == "I live in Rome."


async def test_facts_become_lines_of_the_documents_of_their_topics(world: World) -> None:
    tea = m.Topic(custom_label="tea times")
    facts = [pb.DirectFact(content="Tea at five.", topics=[tea]), pb.DirectFact(content="Owns a\nboat.")]
    request = pb.GenerateMemoriesRequest(facts=pb.DirectFacts(facts=facts), scope=ANN, kinds=[DOCUMENT])
    made = (await world.extraction.GenerateMemories(request)).memories
    assert {each.memory.source for each in made} == {m.MEMORY_SOURCE_AGENT}
    assert await documents(world) == {"/tea-times.md": "Tea at five.", "/general.md": "Owns a boat."}


async def test_a_fact_that_begins_like_a_heading_is_known_as_a_line(world: World) -> None:
    await world.state("#1 is tea.", kinds=[DOCUMENT])
    assert (await world.state("#1 is tea.", kinds=[DOCUMENT])).report.known_count == 1
    assert await documents(world) == {"/general.md": "1 is tea."}


async def test_a_fact_longer_than_a_document_has_one_of_its_own(world: World) -> None:
    long = "tea " * 5_000
    await world.state("Tea at five.", long, kinds=[DOCUMENT])
    assert await documents(world) == {"/general.md": "Tea at five.", "/general-2.md": long.strip()}


async def test_turns_that_are_not_recorded_become_lines_that_name_none(world: World) -> None:
    request = pb.GenerateMemoriesRequest(turns=inline("I live in Rome."), scope=ANN, kinds=[DOCUMENT])
    [made] = (await world.extraction.GenerateMemories(request)).memories
    assert (made.memory.content, list(made.memory.provenance.turn_ids)) == ("I live in Rome.", [])


async def test_a_deleted_turn_takes_its_line_along(world: World) -> None:
    rome, leo = await world.say("I live in Rome.", "My cat is called Leo.")
    await distill(world)
    await world.sessions.DeleteTurn(ss.DeleteTurnRequest(turn_id=rome.turn_id))
    [memory] = await world.all()
    assert (memory.content, list(memory.provenance.turn_ids)) == ("My cat is called Leo.", [leo.turn_id])


async def test_a_repeat_of_the_call_gets_the_first_answer(world: World) -> None:
    await world.say("I live in Rome.")
    first = await distill(world, request_id="once")
    assert await distill(world, request_id="once") == first
    assert first.memories[0].memory.has_embedding


async def test_revisions_are_kept_as_the_call_says(world: World) -> None:
    await world.say("I live in Rome.")
    [made] = (await distill(world, revision_options=m.RevisionOptions(labels={"why": "test"}))).memories
    request = ms.ListMemoryRevisionsRequest(memory_id=made.memory.memory_id)
    [revision] = (await world.memories.ListMemoryRevisions(request)).revisions
    assert revision.labels == {"why": "test"}


@pytest_asyncio.fixture
async def model(channel: grpc.aio.Channel, fake: FakeChat) -> FakeChat:
    """What reads the project's turns."""
    policy = project_pb2.ExtractionPolicy(endpoint="fake")
    await project_service_pb2_grpc.ProjectServiceStub(channel).UpdateProject(update(extraction=policy))
    return fake


async def test_a_model_is_told_the_instructions_in_place_of_the_prompt(world: World, model: FakeChat) -> None:
    await world.say("The tea was 80 degrees.")
    model.script = [items(fact("Tea is made at 80 degrees.", 1, "80 degrees"))]
    [made] = (await distill(world, instructions="Write down temperatures.")).memories
    assert made.memory.content == "Tea is made at 80 degrees."
    [told] = model.prompts("system")
    assert "Write down temperatures." in told
    assert "facts about the user" not in told


async def test_facts_follow_instructions_too(world: World, model: FakeChat) -> None:
    await world.say("Hello.")
    await world.learn(instructions="Write down greetings.")
    assert "Write down greetings." in model.prompts("system")[0]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"kinds": [DOCUMENT, m.MEMORY_KIND_EPISODIC]}, "kinds"),
        ({"kinds": [DOCUMENT], "metadata": {"a": metadata_pb2.MetadataValue(bool_value=True)}}, "metadata"),
        ({"instructions": "x" * 4_097}, "instructions"),
        ({"instructions": "Write down temperatures."}, "instructions"),
    ],
)
async def test_what_cannot_be_is_refused_with_its_field(
    world: World, fields: dict[str, Any], field: str
) -> None:
    await world.say("I live in Rome.")
    code, _, refused = await refusal(world.learn(**fields))
    assert (code, refused) == (INVALID, field)


async def test_facts_take_no_instructions(world: World) -> None:
    code, _, field = await refusal(world.state("I live in Rome.", instructions="Write down temperatures."))
    assert (code, field) == (INVALID, "instructions")


async def test_of_writers_at_once_none_is_in_vain(world: World) -> None:
    talks = [scope_pb2.Scope(user_id="ann", session_id=f"talk-{number}") for number in range(8)]
    for number, talk in enumerate(talks):
        await world.say(f"I own {number} boats.", "I live in Rome.", scope=talk)
    await asyncio.gather(*(world.learn(talk, kinds=[DOCUMENT]) for talk in talks))
    said = [line for content in (await documents(world)).values() for line in content.splitlines()]
    assert sorted(said) == ["I live in Rome.", *(f"I own {number} boats." for number in range(8))]


async def test_what_is_to_be_replaced_is_found_in_a_document_that_grew_meanwhile(
    world: World, model: FakeChat
) -> None:
    """While the model is asked about a line, another writes a line below it."""
    await write(world, "I live in Rome.", path="/general.md")
    [turn] = await world.say("I live in Berlin.")

    def answer(request: dict[str, Any]) -> Reply:
        if "known_facts" not in request["messages"][1]["content"]:
            return items(fact("I live in Berlin.", 1, turn.content))
        asyncio.run_coroutine_threadsafe(append(world, "I own a boat."), loop).result()
        return items({"candidate": 1, "action": "UPDATE", "known": 1})

    loop = asyncio.get_running_loop()
    model.answer = answer
    await distill(world)
    assert await documents(world) == {"/general.md": "I live in Berlin.\nI own a boat."}


async def append(world: World, line: str) -> None:
    memory = m.Memory(kind=DOCUMENT, key="/general.md", content=line, scope=ANN)
    await world.memories.PutMemory(ms.PutMemoryRequest(memory=memory, append=True))
