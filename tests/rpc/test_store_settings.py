"""What a store says of extraction and of how long memories live, and that it holds at once."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc.aio
import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask

from ricordo.v1 import extraction_service_pb2 as pb
from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import memory_service_pb2 as ms
from ricordo.v1 import (
    profile_pb2,
    project_pb2,
    retention_pb2,
    scope_pb2,
    store_pb2,
    store_service_pb2,
)
from ricordo_server.config import Settings
from ricordo_server.extraction.settings import BUILTIN
from tests.fixtures.calls import refusal
from tests.fixtures.credentials import bearer, new_client, token_of
from tests.fixtures.fake_chat import FakeChat, fact, items, reading_with
from tests.fixtures.generation import ANN, World, contents, inline, stated
from tests.fixtures.project_settings import update
from tests.fixtures.stubs import Projects, Stores

Policy, Scoped, Retention = project_pb2.ExtractionPolicy, store_pb2.ScopedExtraction, retention_pb2.Retention
SEMANTIC, EPISODIC = m.MEMORY_KIND_SEMANTIC, m.MEMORY_KIND_EPISODIC
PETS = m.Topic(custom_label="pets")
CAT = project_pb2.ExtractionExample(
    conversation="a cat!", learned=[project_pb2.ExampleMemory(content="I have a cat.", topics=[PETS])]
)
PERSON = profile_pb2.ProfileSchema(
    schema_id="person", json_schema='{"type": "object", "properties": {"name": {"type": "string"}}}'
)
HOUR, DAY = Duration(seconds=3_600), Duration(seconds=86_400)


@pytest.fixture
def settings(settings: Settings, fake: FakeChat) -> Settings:
    return reading_with(settings, fake, default=BUILTIN)


def change(**settings: Any) -> store_service_pb2.UpdateStoreRequest:
    store = store_pb2.Store(store_id="default", settings=store_pb2.StoreSettings(**settings))
    paths = [f"settings.{name}" for name in settings]
    return store_service_pb2.UpdateStoreRequest(store=store, update_mask=FieldMask(paths=paths))


async def learn(world: World, *texts: str, scope: scope_pb2.Scope = ANN) -> list[m.Memory]:
    request = pb.GenerateMemoriesRequest(scope=scope, turns=inline(*texts))
    return [made.memory for made in (await world.extraction.GenerateMemories(request)).memories]


async def create(world: World, content: str = "x", **fields: Any) -> m.Memory:
    memory = m.Memory(kind=SEMANTIC, content=content, scope=ANN, **fields)
    return (await world.memories.CreateMemory(ms.CreateMemoryRequest(memory=memory))).memory


async def touch(world: World, memory_id: str, path: str = "title", **fields: Any) -> m.Memory:
    memory = m.Memory(memory_id=memory_id, **({"title": "new"} | fields))
    request = ms.UpdateMemoryRequest(memory=memory, update_mask=FieldMask(paths=["title", path]))
    return (await world.memories.UpdateMemory(request)).memory


def lives(memory: m.Memory) -> timedelta:
    """To the minute, from now."""
    left = memory.expire_time.ToDatetime(tzinfo=UTC) - datetime.now(UTC)
    return timedelta(minutes=round(left / timedelta(minutes=1)))


async def test_settings_come_back_as_they_were_given(stores: Stores) -> None:
    given = store_pb2.StoreSettings(
        language="german",
        extraction=Policy(
            enabled=False,
            turn_count=0,
            idle=Duration(),
            overlap=3,
            kinds=[EPISODIC],
            model="big",
            prompts=[project_pb2.KindPrompt(kind=SEMANTIC, text="Only pets.")],
            topics=[project_pb2.TopicOfInterest(topic=PETS, description="animals")],
            examples=[CAT],
            time_zone="Europe/Rome",
            person=project_pb2.PERSON_THIRD,
        ),
        scoped_extraction=[Scoped(scope_keys=["user_id", "team"], extraction=Policy(topic_shift=0.5))],
        retention=Retention(default_ttl=DAY, create_ttl=Duration(), disable_revisions=False),
    )
    store = store_pb2.Store(store_id="notes", settings=given)
    created = (await stores.CreateStore(store_service_pb2.CreateStoreRequest(store=store))).store
    read = (await stores.GetStore(store_service_pb2.GetStoreRequest(store_id="notes"))).store
    assert (created.settings, read.settings) == (given, given)


async def test_only_the_masked_settings_change(stores: Stores) -> None:
    await stores.UpdateStore(change(language="german", retention=Retention(default_ttl=DAY)))
    changed = (await stores.UpdateStore(change(extraction=Policy(model="big")))).store.settings
    assert (changed.language, changed.extraction, changed.retention.default_ttl) == (
        "german",
        Policy(model="big"),
        DAY,
    )
    inherited = (await stores.UpdateStore(change(extraction=Policy()))).store.settings
    assert (inherited.language, inherited.HasField("extraction")) == ("german", False)


async def test_a_store_s_settings_are_its_creator_s_and_the_administrators(
    channel: grpc.aio.Channel, stores: Stores
) -> None:
    writer = bearer(await token_of(channel, await new_client(channel, None)))
    created = store_service_pb2.CreateStoreRequest(store=store_pb2.Store(store_id="own"))
    await stores.CreateStore(created, metadata=writer)
    for settings in ({"extraction": Policy(least_trust="other")}, {"retention": Retention(create_ttl=HOUR)}):
        assert (await refusal(stores.UpdateStore(change(**settings), metadata=writer)))[
            1
        ] == "PERMISSION_DENIED"
        own = change(**settings)
        own.store.store_id = "own"
        await stores.UpdateStore(own, metadata=writer)
    changed = (await stores.UpdateStore(change(language="german"), metadata=writer)).store.settings
    assert changed == store_pb2.StoreSettings(language="german")


async def test_changes_at_the_same_time_are_all_kept(stores: Stores) -> None:
    changes = [
        change(language="german"),
        change(extraction=Policy(model="big")),
        change(retention=Retention(create_ttl=DAY)),
    ]
    await asyncio.gather(*(stores.UpdateStore(each) for each in changes * 4))
    settings = (await stores.GetStore(store_service_pb2.GetStoreRequest(store_id="default"))).store.settings
    assert (settings.language, settings.extraction.model, settings.retention.create_ttl) == (
        "german",
        "big",
        DAY,
    )


async def test_a_store_has_none_of_what_it_clears(
    projects: Projects, stores: Stores, world: World, fake: FakeChat
) -> None:
    topics = [project_pb2.TopicOfInterest(topic=PETS)]
    await projects.UpdateProject(
        update(extraction=Policy(endpoint="fake", topics=topics, examples=[CAT]), profile_schemas=[PERSON])
    )
    cleared = Policy(cleared=["topics", "examples"])
    changed = await stores.UpdateStore(change(extraction=cleared, without_profile_schemas=True))
    assert changed.store.settings.extraction == cleared
    assert changed.store.settings.without_profile_schemas
    fake.script = [items(fact("I live in Rome.", 1, "in Rome"))]
    assert contents(await learn(world, "I live in Rome")) == ["I live in Rome."]
    assert "a cat!" not in fake.prompts("system")[0]
    assert not (await world.memories.RetrieveProfiles(ms.RetrieveProfilesRequest(scope=ANN))).profiles


async def test_a_scope_clears_what_its_store_has(stores: Stores, world: World, fake: FakeChat) -> None:
    await stores.UpdateStore(
        change(
            extraction=Policy(endpoint="fake", model="big"),
            scoped_extraction=[Scoped(scope_keys=["user_id"], extraction=Policy(cleared=["model"]))],
        )
    )
    fake.script = [items(fact("I have a dog.", 1, "a dog"))]
    [learned] = await learn(world, "I have a dog")
    assert learned.provenance.extraction_model != "big"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"extraction": Policy(turn_count=101)}, "extraction.turn_count"),
        ({"extraction": Policy(cleared=["person"])}, "extraction.cleared"),
        ({"extraction": Policy(model="big", cleared=["model"])}, "extraction.cleared"),
        (
            {"profile_schemas": [PERSON], "without_profile_schemas": True},
            "without_profile_schemas",
        ),
        ({"extraction": Policy(endpoint="nowhere")}, "extraction.endpoint"),
        ({"scoped_extraction": [Scoped()]}, "scoped_extraction[0].scope_keys"),
        ({"scoped_extraction": [Scoped(scope_keys=["a", "b"])] * 2}, "scoped_extraction[1].scope_keys"),
        (
            {"scoped_extraction": [Scoped(scope_keys=["abcdef"[n]]) for n in range(6)] * 3},
            "scoped_extraction",
        ),
        (
            {"scoped_extraction": [Scoped(scope_keys=["a"], extraction=Policy(endpoint="nowhere"))]},
            "scoped_extraction[0].extraction.endpoint",
        ),
        ({"retention": Retention(create_ttl=Duration(seconds=-1))}, "retention.create_ttl"),
        ({"retention": Retention(revision_ttl=Duration(seconds=86_400 * 10_001))}, "retention.revision_ttl"),
    ],
)
async def test_bad_settings_name_their_field(stores: Stores, given: dict[str, Any], field: str) -> None:
    assert (await refusal(stores.UpdateStore(change(**given))))[2] == f"store.settings.{field}"


async def test_a_store_has_the_fields_it_gives_and_the_others_of_its_project(
    projects: Projects, stores: Stores, world: World, fake: FakeChat
) -> None:
    topics = [project_pb2.TopicOfInterest(topic=PETS)]
    await projects.UpdateProject(update(extraction=Policy(endpoint="fake", model="big", topics=topics)))
    await stores.UpdateStore(change(extraction=Policy(model="small")))
    fake.script = [
        items(fact("I have a dog.", 1, "a dog", topics=["pets"]), fact("I live in Rome.", 1, "in Rome"))
    ]
    [learned] = await learn(world, "I have a dog in Rome")
    assert (learned.content, learned.provenance.extraction_model) == ("I have a dog.", "small")


@pytest.mark.parametrize(
    ("labels", "model"),
    [({}, "m1"), ({"team": "a"}, "m2"), ({"team": "a", "app": "b"}, "m3"), ({"app": "b"}, "m1")],
)
async def test_the_rule_with_the_most_keys_that_a_scope_holds_is_its_own(
    stores: Stores, world: World, fake: FakeChat, labels: dict[str, str], model: str
) -> None:
    await stores.UpdateStore(
        change(
            extraction=Policy(endpoint="fake", model="m1"),
            scoped_extraction=[
                Scoped(scope_keys=["team"], extraction=Policy(model="m2")),
                Scoped(scope_keys=["team", "app"], extraction=Policy(model="m3")),
            ],
        )
    )
    fake.script = [items(fact("I have a dog.", 1, "a dog"))]
    [learned] = await learn(world, "I have a dog", scope=scope_pb2.Scope(user_id="ann", labels=labels))
    assert learned.provenance.extraction_model == model


async def test_the_model_is_told_in_which_person_to_write(
    stores: Stores, world: World, fake: FakeChat
) -> None:
    await stores.UpdateStore(change(extraction=Policy(endpoint="fake", person=project_pb2.PERSON_THIRD)))
    fake.script = [items(fact("The user has a dog.", 1, "a dog"))]
    await learn(world, "I have a dog")
    told = fake.requests[0]["messages"][0]["content"]
    assert "in the third person" in told
    assert "in the first person" not in told


async def test_what_is_said_in_a_scope_that_is_off_is_not_extracted(stores: Stores, world: World) -> None:
    off = [Scoped(scope_keys=["quiet"], extraction=Policy(enabled=False))]
    await stores.UpdateStore(change(extraction=Policy(turn_count=1), scoped_extraction=off))
    for labels in ({}, {"quiet": "yes"}):
        await world.say("I live in Rome.", scope=scope_pb2.Scope(user_id="a", session_id="s", labels=labels))
    found = (await world.extraction.ListSnapshots(pb.ListSnapshotsRequest())).snapshots
    assert [dict(each.scope.labels) for each in found] == [{}]


async def test_memories_end_as_the_store_says(stores: Stores, world: World) -> None:
    await stores.UpdateStore(change(retention=Retention(create_ttl=DAY, generate_created_ttl=HOUR)))
    [learned] = (await world.state("I live in Rome.")).memories
    assert (lives(await create(world)), lives(learned.memory)) == (timedelta(days=1), timedelta(hours=1))


async def test_a_store_may_have_no_end_where_its_project_has_one(
    projects: Projects, stores: Stores, world: World
) -> None:
    await projects.UpdateProject(update(retention=Retention(default_ttl=DAY)))
    assert lives(await create(world)) == timedelta(days=1)
    await stores.UpdateStore(change(retention=Retention(default_ttl=Duration())))
    assert not (await create(world)).HasField("expire_time")


async def test_a_call_says_otherwise(stores: Stores, world: World) -> None:
    await stores.UpdateStore(change(retention=Retention(default_ttl=DAY)))
    memory = await create(world, ttl=HOUR)
    assert lives(memory) == timedelta(hours=1)
    assert lives(await touch(world, memory.memory_id, "ttl", ttl=HOUR)) == timedelta(hours=1)


async def test_the_default_counts_anew_with_each_change(stores: Stores, world: World) -> None:
    memory = await create(world, ttl=HOUR)
    assert lives(await touch(world, memory.memory_id)) == timedelta(hours=1)
    await stores.UpdateStore(change(retention=Retention(default_ttl=DAY)))
    assert lives(await touch(world, memory.memory_id)) == timedelta(days=1)


async def test_a_put_ends_as_a_creation_and_then_as_a_change(stores: Stores, world: World) -> None:
    await stores.UpdateStore(change(retention=Retention(create_ttl=HOUR, default_ttl=DAY)))
    memory = m.Memory(kind=SEMANTIC, content="x", scope=ANN, key="k")
    first, second = [(await world.memories.PutMemory(ms.PutMemoryRequest(memory=memory))) for _ in range(2)]
    assert (lives(first.memory), lives(second.memory)) == (timedelta(hours=1), timedelta(days=1))


async def test_what_is_said_anew_lives_on(stores: Stores, world: World) -> None:
    await stores.UpdateStore(change(retention=Retention(generate_created_ttl=HOUR, generate_updated_ttl=DAY)))
    await world.state("I live in Rome.")
    request = stated("I live in Oslo.")
    request.dry_run = True
    previews = (await world.extraction.GenerateMemories(request)).memories
    [updated] = (await world.state("I live in Oslo.")).memories
    assert updated.action == m.REVISION_ACTION_UPDATED
    assert [lives(each.memory) for each in (*previews, updated)] == [timedelta(days=1)] * 2
    assert contents(await world.all()) == ["I live in Oslo."]
