"""ProjectService.UpdateProject over a real server: what may be declared, by whom, and when it holds."""

import asyncio
from typing import Any
from uuid import UUID

import grpc
import grpc.aio
import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from ricordo.v1 import (
    context_pb2,
    context_service_pb2,
    context_service_pb2_grpc,
    project_pb2,
    search_pb2,
)
from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import memory_service_pb2 as memory_pb
from ricordo.v1 import project_service_pb2 as pb
from tests.fixtures.calls import OPERATOR, as_service, as_user, refusal
from tests.fixtures.database import TestDatabase, make_project
from tests.fixtures.project_settings import DECLARED, OPEN, TYPES, custom_type, keys, update
from tests.fixtures.stubs import Memories, Projects

INVALID = grpc.StatusCode.INVALID_ARGUMENT
DENIED = grpc.StatusCode.PERMISSION_DENIED


async def read(projects: Projects, **call: Any) -> project_pb2.Project:
    return (await projects.GetProject(pb.GetProjectRequest(), **call)).project


async def test_what_is_declared_comes_back_and_the_rest_stays(projects: Projects) -> None:
    first = await read(projects)
    assert (first.revision, first.settings.metadata_policy) == (1, OPEN)
    context = project_pb2.ContextDefaults(max_tokens=900, format=context_pb2.CONTEXT_FORMAT_CLAUDE, top_k=7)
    given: dict[str, Any] = {
        "language": "german",
        "metadata_policy": DECLARED,
        "metadata_keys": keys(
            plan="string", seats="number", paid="bool", due="time", billing__country="string"
        ),
        "custom_types": [custom_type("ticket", priority="number", team__name="string"), custom_type("empty")],
        "context": context,
    }
    answer = (await projects.UpdateProject(update(**given))).project
    assert answer.settings == project_pb2.ProjectSettings(**given)
    assert (answer.revision, await read(projects)) == (2, answer)
    changed = (await projects.UpdateProject(update(metadata_policy=OPEN))).project
    assert changed.settings == project_pb2.ProjectSettings(**{**given, "metadata_policy": OPEN})
    assert changed.revision == 3
    assert changed.update_time.ToNanoseconds() > answer.update_time.ToNanoseconds()


async def test_a_mask_without_a_value_clears_it(projects: Projects) -> None:
    await projects.UpdateProject(update(language="german", metadata_keys=keys(plan="string")))
    request = pb.UpdateProjectRequest(
        update_mask=FieldMask(paths=["settings.language", "settings.metadata_keys"])
    )
    settings = (await projects.UpdateProject(request)).project.settings
    assert not settings.HasField("language")
    assert not settings.metadata_keys


async def test_a_field_of_the_policy_goes_back_to_its_default(projects: Projects) -> None:
    policy = project_pb2.ExtractionPolicy(turn_count=7, model="m")
    await projects.UpdateProject(update(extraction=policy))
    request = pb.UpdateProjectRequest(update_mask=FieldMask(paths=["settings.extraction.turn_count"]))
    settings = (await projects.UpdateProject(request)).project.settings
    assert (settings.extraction.turn_count, settings.extraction.model) == (20, "m")


async def test_an_unknown_field_of_the_policy_is_refused(projects: Projects) -> None:
    request = pb.UpdateProjectRequest(update_mask=FieldMask(paths=["settings.extraction.nothing"]))
    assert await refusal(projects.UpdateProject(request)) == (INVALID, "INVALID_FIELD", "update_mask")


async def test_the_whole_settings_are_replaced_by_their_own_path(projects: Projects) -> None:
    await projects.UpdateProject(update(language="german", metadata_keys=keys(plan="string")))
    request = pb.UpdateProjectRequest(update_mask=FieldMask(paths=["settings"]))
    settings = (await projects.UpdateProject(request)).project.settings
    empty = project_pb2.ProjectSettings(metadata_policy=OPEN, context=project_pb2.ContextDefaults())
    assert settings == empty


LONG = "a" * 65
UNTYPED = project_pb2.MetadataKey(name="a")
STRING = TYPES["string"]
BAD = {
    "no mask": (pb.UpdateProjectRequest(), "update_mask"),
    "the name": (pb.UpdateProjectRequest(update_mask=FieldMask(paths=["display_name"])), "update_mask"),
    "nothing known": (pb.UpdateProjectRequest(update_mask=FieldMask(paths=["settings.colour"])), "update_mask"),
    "a language": (update(language="klingon"), "project.settings.language"),
    "a policy": (update(metadata_policy=9), "project.settings.metadata_policy"),
    "no type": (update(metadata_keys=[UNTYPED]), "project.settings.metadata_keys[0].value_type"),
    "twice": (update(metadata_keys=[*keys(a="string"), *keys(a="string")]), "project.settings.metadata_keys[1].name"),
    "value and map": (
        update(metadata_keys=keys(a="string", a__b="string")),
        "project.settings.metadata_keys[1].name",
    ),
    "reserved": (update(custom_types=[custom_type("semantic")]), "project.settings.custom_types[0].name"),
    "a type's name": (update(custom_types=[custom_type("Ticket")]), "project.settings.custom_types[0].name"),
    "a type twice": (update(custom_types=[custom_type("a")] * 2), "project.settings.custom_types[1].name"),
    "a tag of two types": (
        update(custom_types=[custom_type("a", x="string"), custom_type("b", x="number")]),
        "project.settings.custom_types[1].tags[0].value_type",
    ),
    "a tag unlike its key": (
        update(metadata_keys=keys(x="string"), custom_types=[custom_type("b", x="number")]),
        "project.settings.custom_types[0].tags[0].value_type",
    ),
    "no tokens": (update(context=project_pb2.ContextDefaults(max_tokens=0)), "project.settings.context.max_tokens"),
    "many hits": (update(context=project_pb2.ContextDefaults(top_k=201)), "project.settings.context.top_k"),
    "a format": (update(context=project_pb2.ContextDefaults(format=9)), "project.settings.context.format"),  # type: ignore[arg-type]
} | {
    f"the key {name!r}": (
        update(metadata_keys=[project_pb2.MetadataKey(name=name, value_type=STRING)]),
        "project.settings.metadata_keys[0].name",
    )
    for name in ("", "a.b.c", ".a", "a.", "a b", "1a", LONG, "a\x00b", "é")
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
async def test_what_makes_no_sense_is_refused(projects: Projects, case: str) -> None:
    request, field = BAD[case]
    assert await refusal(projects.UpdateProject(request)) == (INVALID, "INVALID_FIELD", field)
    assert (await read(projects)).revision == 1


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"metadata_keys": keys(**{f"k{n}": "string" for n in range(65)})}, "metadata_keys"),
        ({"custom_types": [custom_type(f"t{n}") for n in range(65)]}, "custom_types"),
        ({"custom_types": [custom_type("t", **{f"k{n}": "bool" for n in range(65)})]}, "custom_types[0].tags"),
        ({"custom_types": [custom_type(f"t{t}", **{f"k{t}_{n}": "bool" for n in range(52)}) for t in range(5)]}, ""),
    ],
)  # fmt: skip
async def test_what_is_too_much_is_refused(projects: Projects, given: dict[str, Any], field: str) -> None:
    path = f"project.settings.{field}".rstrip(".")
    assert await refusal(projects.UpdateProject(update(**given))) == (INVALID, "LIMIT_EXCEEDED", path)


async def test_only_a_service_may_change_the_project(projects: Projects, project_id: UUID) -> None:
    ann = as_user(project_id, "ann")
    assert (await refusal(projects.UpdateProject(update(language="german"), metadata=ann)))[:2] == (
        DENIED,
        "PERMISSION_DENIED",
    )
    assert (await refusal(projects.UpdateProject(update(language="german"), metadata=OPERATOR)))[0] is DENIED
    assert (await read(projects, metadata=ann)).revision == 1


async def test_another_project_is_not_touched(projects: Projects, database: TestDatabase) -> None:
    other = as_service(make_project(database))
    before = await read(projects, metadata=other)
    await projects.UpdateProject(update(language="german", custom_types=[custom_type("ticket")]))
    assert await read(projects, metadata=other) == before
    await projects.UpdateProject(update(metadata_policy=DECLARED), metadata=other)
    assert (await read(projects)).settings.metadata_policy == OPEN


async def test_an_expected_revision_must_be_the_project_s(projects: Projects) -> None:
    mismatch = (grpc.StatusCode.ABORTED, "REVISION_MISMATCH", "expected_revision")
    stale = update({"expected_revision": 2}, language="german")
    assert await refusal(projects.UpdateProject(stale)) == mismatch
    current = update({"expected_revision": 1}, language="german")
    assert (await projects.UpdateProject(current)).project.revision == 2
    assert await refusal(projects.UpdateProject(current)) == mismatch


async def test_a_request_id_changes_once(projects: Projects) -> None:
    request = update({"request_id": "r1"}, language="german")
    first = await projects.UpdateProject(request)
    assert await projects.UpdateProject(request) == first
    assert (await read(projects)).revision == 2
    other = update({"request_id": "r1"}, language="french")
    assert (await refusal(projects.UpdateProject(other)))[1] == "REQUEST_ID_REUSED"


async def test_two_changes_at_once_both_hold(projects: Projects) -> None:
    changes = [
        update(language="german"),
        update(metadata_keys=keys(plan="string")),
        update(custom_types=[custom_type("ticket")]),
        update(context=project_pb2.ContextDefaults(top_k=3)),
    ]
    await asyncio.gather(*map(projects.UpdateProject, changes))
    project = await read(projects)
    assert project.revision == 5
    assert project.settings.language == "german"
    assert [key.name for key in project.settings.metadata_keys] == ["plan"]
    assert [each.name for each in project.settings.custom_types] == ["ticket"]
    assert project.settings.context.top_k == 3


async def test_of_two_writers_that_expect_one_revision_one_wins(projects: Projects) -> None:
    requests = [update({"expected_revision": 1}, language=name) for name in ("german", "french", "dutch")]
    outcomes = await asyncio.gather(*map(projects.UpdateProject, requests), return_exceptions=True)
    assert sum(isinstance(outcome, pb.UpdateProjectResponse) for outcome in outcomes) == 1
    assert (await read(projects)).revision == 2


async def test_a_context_takes_the_defaults_of_the_project(
    projects: Projects, memories: Memories, channel: grpc.aio.Channel
) -> None:
    contexts = context_service_pb2_grpc.ContextServiceStub(channel)
    for number in range(5):
        memory = m.Memory(kind=m.MEMORY_KIND_SEMANTIC, content=f"tea number {number} is {'green ' * number}")
        await memories.CreateMemory(memory_pb.CreateMemoryRequest(memory=memory))
    defaults = project_pb2.ContextDefaults(top_k=2, format=context_pb2.CONTEXT_FORMAT_OPENAI)
    await projects.UpdateProject(update(context=defaults))
    request = context_service_pb2.BuildContextRequest(query="tea", include_memories=True)
    built = await contexts.BuildContext(request)
    assert (len(built.chunks), built.text, bool(built.messages)) == (2, "", True)
    request.format = context_pb2.CONTEXT_FORMAT_CLAUDE
    request.sources.add(source=context_service_pb2.CONTEXT_SOURCE_SEMANTIC, top_k=4)
    built = await contexts.BuildContext(request)
    assert (len(built.chunks), bool(built.text)) == (4, True)
    await projects.UpdateProject(update(context=project_pb2.ContextDefaults(max_tokens=500)))
    assert not (await contexts.BuildContext(request)).chunks
    request.max_tokens = 4_000
    assert (await contexts.BuildContext(request)).chunks


async def test_a_language_holds_for_stores_without_their_own(projects: Projects, memories: Memories) -> None:
    await projects.UpdateProject(update(language="german"))
    memory = m.Memory(kind=m.MEMORY_KIND_SEMANTIC, content="das Haus")
    await memories.CreateMemory(memory_pb.CreateMemoryRequest(memory=memory))
    options = search_pb2.SearchOptions(query="Häuser", mode=search_pb2.SEARCH_MODE_TEXT)
    answer = await memories.SearchMemories(memory_pb.SearchMemoriesRequest(options=options))
    assert [hit.memory.content for hit in answer.hits] == ["das Haus"]
