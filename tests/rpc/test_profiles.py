"""Profiles: structured memories by the schemas of a project or a store."""

import json
from collections.abc import Awaitable
from typing import Any
from uuid import UUID

import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import memory_service_pb2 as ms
from ricordo.v1 import (
    scope_pb2,
    store_pb2,
    store_service_pb2,
)
from ricordo.v1.profile_pb2 import ProfileSchema
from tests.fixtures.calls import as_user, refusal
from tests.fixtures.generation import ANN, World
from tests.fixtures.project_settings import update
from tests.fixtures.stubs import Projects, Stores

PROFILE = m.MEMORY_KIND_PROFILE
PERSON = ProfileSchema(
    schema_id="person",
    json_schema=json.dumps(
        {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "age": {"type": "integer"},
                "likes": {"type": "array"},
            },
        }
    ),
)
TEAM = ProfileSchema(
    schema_id="team",
    json_schema='{"type": "object", "properties": {"size": {"type": "integer"}}}',
    scope_keys=["team"],
)
BLUE = scope_pb2.Scope(user_id="ann", labels={"team": "blue"})


def of_store(*schemas: ProfileSchema) -> store_service_pb2.UpdateStoreRequest:
    settings = store_pb2.StoreSettings(profile_schemas=schemas)
    return store_service_pb2.UpdateStoreRequest(
        store=store_pb2.Store(store_id="default", settings=settings),
        update_mask=FieldMask(paths=["settings.profile_schemas"]),
    )


def field(name: str, content: str, schema_id: str = "person", scope: scope_pb2.Scope = ANN) -> m.Memory:
    details = m.ProfileDetails(schema_id=schema_id, field_name=name)
    return m.Memory(kind=PROFILE, content=content, scope=scope, profile=details)


async def put(world: World, memory: m.Memory) -> m.Memory:
    return (await world.memories.PutMemory(ms.PutMemoryRequest(memory=memory))).memory


async def profiles(world: World, scope: scope_pb2.Scope = ANN, **options: Any) -> dict[str, dict[str, Any]]:
    request = ms.RetrieveProfilesRequest(scope=scope)
    found = (await world.memories.RetrieveProfiles(request, **options)).profiles
    return {
        each.schema_id: {name: json.loads(value.json_value) for name, value in each.fields.items()}
        for each in found
    }


async def test_fields_are_read_as_one_profile(projects: Projects, world: World) -> None:
    await projects.UpdateProject(update(profile_schemas=[PERSON]))
    assert await profiles(world) == {"person": {}}
    for name, content in (("name", "Ann"), ("age", "36"), ("likes", '["tea"]')):
        await put(world, field(name, content))
    assert await profiles(world) == {"person": {"name": "Ann", "age": 36, "likes": ["tea"]}}


async def test_a_field_is_one_memory_with_its_own_revisions(projects: Projects, world: World) -> None:
    await projects.UpdateProject(update(profile_schemas=[PERSON]))
    first, second = [await put(world, field("age", age)) for age in ("36", "37")]
    [found] = (await world.memories.RetrieveProfiles(ms.RetrieveProfilesRequest(scope=ANN))).profiles
    age = found.fields["age"]
    assert (first.memory_id, age.memory_id, age.revision, age.json_value) == (
        second.memory_id,
        first.memory_id,
        2,
        "37",
    )
    assert age.update_time == second.update_time
    back = ms.RollbackMemoryRequest(memory_id=age.memory_id, target_revision=1)
    await world.memories.RollbackMemory(back)
    assert await profiles(world) == {"person": {"age": 36}}


@pytest.mark.parametrize(
    ("name", "content", "is_json"), [("age", "36", True), ("likes", '["tea"]', True), ("name", "36", False)]
)
async def test_a_memory_says_whether_its_value_is_json(
    projects: Projects, world: World, name: str, content: str, is_json: bool
) -> None:
    await projects.UpdateProject(update(profile_schemas=[PERSON]))
    memory = await put(world, field(name, content))
    read = await world.memories.GetMemory(ms.GetMemoryRequest(memory_id=memory.memory_id))
    assert (read.memory.profile.content_is_json, read.memory.content) == (is_json, content)
    revisions = await world.memories.ListMemoryRevisions(
        ms.ListMemoryRevisionsRequest(memory_id=memory.memory_id)
    )
    assert revisions.revisions[0].memory.profile.content_is_json is is_json


async def test_a_value_that_no_schema_allows_is_text(projects: Projects, world: World) -> None:
    memory = await put(world, field("age", "many"))
    await projects.UpdateProject(update(profile_schemas=[PERSON]))
    read = await world.memories.GetMemory(ms.GetMemoryRequest(memory_id=memory.memory_id))
    assert not read.memory.profile.content_is_json


async def test_a_profile_is_of_the_exact_scope(projects: Projects, world: World) -> None:
    await projects.UpdateProject(update(profile_schemas=[PERSON]))
    await put(world, field("name", "Ann"))
    await put(world, field("name", "Blue Ann", scope=BLUE))
    assert [await profiles(world, scope) for scope in (ANN, BLUE)] == [
        {"person": {"name": "Ann"}},
        {"person": {"name": "Blue Ann"}},
    ]


async def test_a_deleted_field_is_in_no_profile(projects: Projects, world: World) -> None:
    await projects.UpdateProject(update(profile_schemas=[PERSON]))
    memory = await put(world, field("name", "Ann"))
    await world.memories.DeleteMemory(ms.DeleteMemoryRequest(memory_id=memory.memory_id))
    assert await profiles(world) == {"person": {}}


async def test_a_schema_is_for_scopes_with_its_keys(projects: Projects, world: World) -> None:
    await projects.UpdateProject(update(profile_schemas=[PERSON, TEAM]))
    assert [list(await profiles(world, scope)) for scope in (ANN, BLUE)] == [["person"], ["person", "team"]]
    refused = await refusal(world.memories.PutMemory(ms.PutMemoryRequest(memory=field("size", "5", "team"))))
    assert refused[1:] == ("INVALID_FIELD", "memory.profile.schema_id")


async def test_a_store_s_schemas_take_the_place_of_its_project_s(
    projects: Projects, stores: Stores, world: World
) -> None:
    await projects.UpdateProject(update(profile_schemas=[PERSON]))
    own = ProfileSchema(schema_id="pet", json_schema=PERSON.json_schema)
    changed = (await stores.UpdateStore(of_store(own))).store.settings
    assert (list(changed.profile_schemas), list(await profiles(world))) == ([own], ["pet"])
    await stores.UpdateStore(of_store())
    assert list(await profiles(world)) == ["person"]


@pytest.mark.parametrize(
    ("memory", "place"),
    [
        (field("age", "old"), "memory.content"),
        (field("size", "5"), "memory.profile.field_name"),
        (field("name", "Ann", "pet"), "memory.profile.schema_id"),
    ],
)
async def test_a_write_that_the_schema_does_not_allow_names_its_field(
    projects: Projects, world: World, memory: m.Memory, place: str
) -> None:
    await projects.UpdateProject(update(profile_schemas=[PERSON]))
    writes: list[Awaitable[object]] = [
        world.memories.PutMemory(ms.PutMemoryRequest(memory=memory)),
        world.memories.CreateMemory(ms.CreateMemoryRequest(memory=memory)),
    ]
    assert [(await refusal(write))[1:] for write in writes] == [("INVALID_FIELD", place)] * 2
    batch = ms.BatchCreateMemoriesRequest(memories=[field("age", "36"), memory])
    good, bad = (await world.memories.BatchCreateMemories(batch)).results
    assert (good.HasField("memory"), bad.error.field) == (True, place.replace("memory", "memories[1]"))


async def test_a_change_that_the_schema_does_not_allow_changes_nothing(
    projects: Projects, world: World
) -> None:
    await projects.UpdateProject(update(profile_schemas=[PERSON]))
    memory = await put(world, field("age", "36"))
    change = ms.UpdateMemoryRequest(
        memory=m.Memory(memory_id=memory.memory_id, content="old"), update_mask=FieldMask(paths=["content"])
    )
    appended = ms.PutMemoryRequest(memory=field("age", "37"), append=True)
    for call in (world.memories.UpdateMemory(change), world.memories.PutMemory(appended)):
        assert (await refusal(call))[1:] == ("INVALID_FIELD", "memory.content")
    assert await profiles(world) == {"person": {"age": 36}}


async def test_what_was_written_without_schemas_is_read_as_far_as_it_fits(
    projects: Projects, world: World
) -> None:
    await put(world, field("name", "Ann"))
    await put(world, field("age", "old"))
    await put(world, field("likes", "[" + " " * 5_000 + "]"))
    assert await profiles(world) == {}
    await projects.UpdateProject(update(profile_schemas=[PERSON]))
    assert await profiles(world) == {"person": {"name": "Ann"}}


@pytest.mark.parametrize(
    ("schemas", "place"),
    [
        ([ProfileSchema(schema_id="Person", json_schema=PERSON.json_schema)], "[0].schema_id"),
        ([PERSON, PERSON], "[1].schema_id"),
        ([ProfileSchema(schema_id="a", json_schema="{}")], "[0].json_schema"),
        ([ProfileSchema(schema_id=f"a{number}", json_schema=PERSON.json_schema) for number in range(9)], ""),
    ],
)
async def test_a_bad_schema_names_its_field(
    projects: Projects, schemas: list[ProfileSchema], place: str
) -> None:
    refused = await refusal(projects.UpdateProject(update(profile_schemas=schemas)))
    assert refused[2] == f"project.settings.profile_schemas{place}"


async def test_an_end_user_reads_only_its_own_profile(
    projects: Projects, world: World, project_id: UUID
) -> None:
    await projects.UpdateProject(update(profile_schemas=[PERSON]))
    await put(world, field("name", "Ann"))
    assert await profiles(world, metadata=as_user(project_id, "ann")) == {"person": {"name": "Ann"}}
    denied = world.memories.RetrieveProfiles(
        ms.RetrieveProfilesRequest(scope=ANN), metadata=as_user(project_id, "bob")
    )
    assert (await refusal(denied))[1] == "PERMISSION_DENIED"


async def test_a_profile_has_a_scope(world: World) -> None:
    call = world.memories.RetrieveProfiles(ms.RetrieveProfilesRequest())
    assert (await refusal(call))[1] == "SCOPE_REQUIRED"
