"""What a project says of extraction, and that it holds at once."""

from typing import Any

import pytest

from ricordo.v1 import extraction_service_pb2 as pb
from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import project_pb2, project_service_pb2
from ricordo_server.config import Settings
from ricordo_server.extraction.settings import BUILTIN
from tests.fixtures.calls import refusal
from tests.fixtures.fake_chat import FakeChat, fact, items, reading_with
from tests.fixtures.generation import ANN, World, contents, inline
from tests.fixtures.project_settings import update
from tests.fixtures.stubs import Projects

SEMANTIC = m.MEMORY_KIND_SEMANTIC
PETS = m.Topic(custom_label="pets")
CAT = project_pb2.ExtractionExample(
    conversation="a cat!", learned=[project_pb2.ExampleMemory(content="I have a cat.", topics=[PETS])]
)


@pytest.fixture
def settings(settings: Settings, fake: FakeChat) -> Settings:
    return reading_with(settings, fake, default=BUILTIN)


def policy(**fields: Any) -> project_service_pb2.UpdateProjectRequest:
    return update(extraction=project_pb2.ExtractionPolicy(**fields))


async def learn(world: World, *texts: str) -> list[m.Memory]:
    request = pb.GenerateMemoriesRequest(scope=ANN, turns=inline(*texts))
    return [made.memory for made in (await world.extraction.GenerateMemories(request)).memories]


async def test_a_policy_comes_back_as_it_was_given(projects: Projects) -> None:
    given = {
        "endpoint": "fake",
        "model": "big",
        "prompts": [project_pb2.KindPrompt(kind=SEMANTIC, text="Only pets.")],
        "topics": [project_pb2.TopicOfInterest(topic=PETS, description="animals at home")],
        "examples": [CAT],
        "time_zone": "Europe/Rome",
    }
    answered = (await projects.UpdateProject(policy(**given))).project.settings.extraction
    read = (await projects.GetProject(project_service_pb2.GetProjectRequest())).project.settings.extraction
    assert answered == read
    assert {name: getattr(read, name) for name in given} == given


async def test_the_model_gets_what_the_project_says(projects: Projects, world: World, fake: FakeChat) -> None:
    topics = [project_pb2.TopicOfInterest(topic=PETS, description="animals at home")]
    prompts = [project_pb2.KindPrompt(kind=SEMANTIC, text="Only pets.")]
    await projects.UpdateProject(policy(endpoint="fake", model="big", prompts=prompts, topics=topics))
    dog = fact("I have a dog.", 1, "a dog", topics=["pets"])
    fake.script = [items(dog, fact("I live in Rome.", 1, "in Rome"))]
    [learned] = await learn(world, "I have a dog in Rome")
    assert (learned.content, list(learned.topics)) == ("I have a dog.", [PETS])
    assert (learned.provenance.extraction_model, learned.provenance.prompt_version) == (
        "big",
        "custom frame-1",
    )
    assert "- pets: animals at home" in fake.prompts("system")[0]


async def test_a_change_holds_without_a_restart(projects: Projects, world: World, fake: FakeChat) -> None:
    await projects.UpdateProject(policy(endpoint="fake"))
    await projects.UpdateProject(policy(endpoint="builtin"))
    assert contents(await learn(world, "I live in Rome.")) == ["I live in Rome."]
    assert not fake.requests


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"endpoint": "nowhere"}, "endpoint"),
        ({"time_zone": "Nowhere/Else"}, "time_zone"),
        ({"prompts": [project_pb2.KindPrompt(kind=SEMANTIC, text="x" * 4_097)]}, "prompts[0].text"),
        ({"prompts": [project_pb2.KindPrompt(kind=SEMANTIC, text="x")] * 2}, "prompts[1].kind"),
        ({"prompts": [project_pb2.KindPrompt(kind=m.MEMORY_KIND_DOCUMENT, text="x")]}, "prompts[0].kind"),
        ({"topics": [project_pb2.TopicOfInterest()]}, "topics[0]"),
        ({"topics": [project_pb2.TopicOfInterest(topic=PETS)] * 33}, "topics"),
        ({"examples": [project_pb2.ExtractionExample()]}, "examples[0].conversation"),
        (
            {
                "examples": [
                    project_pb2.ExtractionExample(conversation="x", learned=[project_pb2.ExampleMemory()])
                ]
            },
            "examples[0].learned[0].content",
        ),
    ],
)
async def test_what_makes_no_sense_is_refused(projects: Projects, fields: dict[str, Any], field: str) -> None:
    assert (await refusal(projects.UpdateProject(policy(**fields))))[
        2
    ] == f"project.settings.extraction.{field}"
