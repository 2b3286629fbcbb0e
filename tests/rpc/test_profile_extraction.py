"""Fields of profiles, learned from turns by a model: what the schema allows, and nothing else."""

import json
from typing import Any

import grpc.aio
import pytest

from ricordo.v1 import extraction_service_pb2 as pb
from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import memory_service_pb2 as ms
from ricordo.v1 import project_pb2, project_service_pb2_grpc, scope_pb2
from ricordo.v1.profile_pb2 import ProfileSchema
from ricordo_server.config import Settings
from ricordo_server.extraction.settings import BUILTIN
from tests.fixtures.fake_chat import FakeChat, fact, items, reading_with
from tests.fixtures.generation import ANN, World, inline
from tests.fixtures.project_settings import update
from tests.fixtures.stubs import Projects

PROFILE, SEMANTIC = m.MEMORY_KIND_PROFILE, m.MEMORY_KIND_SEMANTIC
PERSON = ProfileSchema(
    schema_id="person",
    json_schema=json.dumps(
        {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "where they live"},
                "age": {"type": "integer", "minimum": 0},
            },
        }
    ),
)
Policy = project_pb2.ExtractionPolicy


@pytest.fixture
def settings(settings: Settings, fake: FakeChat) -> Settings:
    return reading_with(settings, fake, default=BUILTIN)


@pytest.fixture
async def projects(channel: grpc.aio.Channel) -> Projects:
    """Of a project with one schema, whose turns a model reads."""
    stub: Projects = project_service_pb2_grpc.ProjectServiceStub(channel)
    await stub.UpdateProject(update(extraction=Policy(endpoint="fake"), profile_schemas=[PERSON]))
    return stub


@pytest.fixture
def world(channel: grpc.aio.Channel, projects: Projects) -> World:
    return World(channel)


def value(name: str, content: str, quote: str, schema_id: str = "person") -> dict[str, Any]:
    return fact(content, 1, quote, schema_id=schema_id, field=name)


async def learn(world: World, text: str) -> pb.GenerateMemoriesResponse:
    request = pb.GenerateMemoriesRequest(scope=ANN, turns=inline(text), kinds=[PROFILE])
    return await world.extraction.GenerateMemories(request)


async def profile(world: World) -> dict[str, Any]:
    [found] = (await world.memories.RetrieveProfiles(ms.RetrieveProfilesRequest(scope=ANN))).profiles
    return {name: json.loads(field.json_value) for name, field in found.fields.items()}


async def test_fields_are_filled_and_then_changed_each_by_itself(world: World, fake: FakeChat) -> None:
    said = "I live in Rome and I am 36"
    fake.script = [items(value("city", "Rome", "in Rome"), value("age", "36", "I am 36"))]
    first = await learn(world, said)
    assert await profile(world) == {"city": "Rome", "age": 36}
    fake.script = [items(value("city", "Oslo", "to Oslo"), value("age", "36", "still 36"))]
    second = await learn(world, "I moved to Oslo, still 36")
    assert await profile(world) == {"city": "Oslo", "age": 36}
    assert [each.action for each in first.memories] == [m.REVISION_ACTION_CREATED] * 2
    [changed] = second.memories
    assert (changed.action, changed.memory.content, second.report.known_count) == (
        m.REVISION_ACTION_UPDATED,
        "Oslo",
        1,
    )
    assert changed.memory.memory_id in {each.memory.memory_id for each in first.memories}


async def test_what_the_schema_does_not_allow_is_not_kept(world: World, fake: FakeChat) -> None:
    fake.script = [
        items(
            value("age", "-1", "I am 36"),
            value("age", "old", "I am 36"),
            value("shoes", "42", "I am 36"),
            value("city", "Rome", "in Rome", "pet"),
            value("city", "Rome", "in Rome"),
        )
    ]
    made = await learn(world, "I live in Rome and I am 36")
    assert [each.memory.content for each in made.memories] == ["Rome"]
    assert made.report.invalid_count == 4


async def test_the_model_is_shown_the_schemas(world: World, fake: FakeChat) -> None:
    await learn(world, "Hello")
    assert PERSON.json_schema in fake.prompts("system")[0]


async def test_the_model_is_told_what_is_known(world: World, fake: FakeChat) -> None:
    fake.script = [items(value("city", "Rome", "in Rome"))]
    await learn(world, "I live in Rome")
    await learn(world, "Hello")
    known = json.dumps({"known_profile": "person", "values": {"city": "Rome"}})
    assert [prompt.startswith(known) for prompt in fake.prompts("user")] == [False, True]


async def test_what_is_known_of_others_is_not_told(world: World, fake: FakeChat) -> None:
    fake.script = [items(value("city", "Rome", "in Rome"))]
    await learn(world, "I live in Rome")
    bob = pb.GenerateMemoriesRequest(
        scope=scope_pb2.Scope(user_id="bob"), turns=inline("Hello"), kinds=[PROFILE]
    )
    await world.extraction.GenerateMemories(bob)
    assert "Rome" not in fake.prompts("user")[-1]


async def test_without_kinds_facts_and_fields_are_learned(world: World, fake: FakeChat) -> None:
    fake.script = [items(fact("I live in Rome.", 1, "in Rome")), items(value("city", "Rome", "in Rome"))]
    request = pb.GenerateMemoriesRequest(scope=ANN, turns=inline("I live in Rome"))
    made = (await world.extraction.GenerateMemories(request)).memories
    assert {(each.memory.kind, each.memory.content) for each in made} == {
        (SEMANTIC, "I live in Rome."),
        (PROFILE, "Rome"),
    }


async def test_topics_are_for_what_is_told_in_sentences(
    projects: Projects, world: World, fake: FakeChat
) -> None:
    topics = [project_pb2.TopicOfInterest(topic=m.Topic(custom_label="pets"))]
    await projects.UpdateProject(update(extraction=Policy(endpoint="fake", topics=topics)))
    fake.script = [items(value("city", "Rome", "in Rome"))]
    await learn(world, "I live in Rome")
    assert await profile(world) == {"city": "Rome"}
    assert "pets" not in fake.prompts("system")[0]


@pytest.mark.parametrize(("kinds", "extracted"), [([], 5), ([PROFILE], 1), ([SEMANTIC], 1)])
async def test_recorded_turns_fill_profiles_where_there_is_a_schema(
    projects: Projects, world: World, kinds: list[Any], extracted: int
) -> None:
    policy = Policy(endpoint="fake", turn_count=1, kinds=kinds)
    await projects.UpdateProject(update(extraction=policy))
    await world.say("I live in Rome")
    [snapshot] = (await world.extraction.ListSnapshots(pb.ListSnapshotsRequest())).snapshots
    assert len(snapshot.extractions) == extracted
    assert (PROFILE in [each.kind for each in snapshot.extractions]) == (kinds != [SEMANTIC])


async def test_without_a_schema_nobody_is_asked(projects: Projects, world: World, fake: FakeChat) -> None:
    await projects.UpdateProject(update(extraction=Policy(endpoint="fake", turn_count=1), profile_schemas=[]))
    await world.say("I live in Rome")
    [snapshot] = (await world.extraction.ListSnapshots(pb.ListSnapshotsRequest())).snapshots
    assert PROFILE not in [each.kind for each in snapshot.extractions]
    assert not (await learn(world, "I live in Rome")).memories
    assert not fake.requests


async def test_rules_fill_no_fields(projects: Projects, world: World) -> None:
    await projects.UpdateProject(update(extraction=Policy(endpoint="builtin")))
    assert not (await learn(world, "I live in Rome.")).memories
