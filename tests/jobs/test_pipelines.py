"""Pipelines against a real server and worker: sessions of one store become documents of another."""

import time
from typing import Any
from uuid import UUID

import grpc
import grpc.aio
import psycopg
import pytest
from google.protobuf.duration_pb2 import Duration

from ricordo.v1 import identity_service_pb2 as ids
from ricordo.v1 import (
    identity_service_pb2_grpc,
    pipeline_pb2,
    service_account_pb2,
    session_service_pb2,
    turn_pb2,
)
from ricordo.v1 import pipeline_service_pb2 as pb
from ricordo_server.app import extraction, pipeline_runs, pipelines
from ricordo_server.app.services import Services
from ricordo_server.config import Settings
from ricordo_server.domain.call import Call
from ricordo_server.domain.failure import FailureClass, StepError
from ricordo_server.domain.principal import HOUSEKEEPER
from ricordo_server.server import open_services
from tests.fixtures.calls import as_user, refusal
from tests.fixtures.database import TestDatabase
from tests.jobs.pipelines import ABOUT, BY_HAND, NOTES, RUN_STATE, SESSIONS, World, ended, eventually, finish
from tests.jobs.queue import worker


@pytest.fixture
async def world(channel: grpc.aio.Channel) -> World:
    made = World(channel)
    await made.make_stores()
    return made


async def test_what_was_said_becomes_lines_of_a_document(world: World, settings: Settings) -> None:
    await world.say("I live in Rome.", "My cat is called Leo.")
    run = await finish(world, settings, await world.create())
    assert run.state == RUN_STATE.PIPELINE_RUN_STATE_SUCCEEDED
    assert (run.actor_count, run.failed_actor_count, run.created_count) == (1, 0, 1)
    assert await world.documents() == {ABOUT: "I live in Rome.\nMy cat is called Leo."}


async def test_each_user_has_documents_of_its_own(world: World, settings: Settings) -> None:
    await world.say("I live in Rome.")
    await world.say("I live in Oslo.", user_id="bob")
    assert (await finish(world, settings, await world.create())).actor_count == 2
    assert await world.documents("ann") == {ABOUT: "I live in Rome."}
    assert await world.documents("bob") == {ABOUT: "I live in Oslo."}


async def test_a_second_run_reads_only_what_is_new(world: World, settings: Settings) -> None:
    pipeline = await world.create()
    await world.say("I live in Rome.")
    await finish(world, settings, pipeline)
    assert (await finish(world, settings, pipeline)).actor_count == 0
    await world.say("My cat is called Leo.")
    again = await finish(world, settings, pipeline)
    assert (again.actor_count, again.created_count, again.updated_count) == (1, 0, 1)
    assert await world.documents() == {ABOUT: "I live in Rome.\nMy cat is called Leo."}


async def test_what_is_said_again_is_not_written_again(world: World, settings: Settings) -> None:
    pipeline = await world.create()
    await world.say("I live in Rome.")
    await finish(world, settings, pipeline)
    await world.say("I live in Rome!", session_id="later")
    await finish(world, settings, pipeline)
    assert await world.documents() == {ABOUT: "I live in Rome."}


async def test_what_contradicts_a_line_takes_its_place(world: World, settings: Settings) -> None:
    pipeline = await world.create()
    await world.say("I live in Rome.", "My cat is called Leo.")
    await finish(world, settings, pipeline)
    await world.say("I live in Berlin.", session_id="later")
    await finish(world, settings, pipeline)
    assert await world.documents() == {ABOUT: "I live in Berlin.\nMy cat is called Leo."}


async def test_what_is_pinned_stays_as_it_is(world: World, settings: Settings) -> None:
    await world.write(ABOUT, "I live in Rome.", pinned=True)
    await world.say("I live in Berlin.")
    await finish(world, settings, await world.create())
    assert await world.documents() == {
        ABOUT: "I live in Rome.",
        "/user-personal-info-2.md": "I live in Berlin.",
    }


async def test_what_an_agent_wrote_changes_at_the_users_own_word(world: World, settings: Settings) -> None:
    await world.write(ABOUT, "I live in Rome.\nNever calls before nine.")
    await world.say("I live in Berlin.")
    run = await finish(world, settings, await world.create())
    assert (run.created_count, run.updated_count) == (0, 1)
    assert await world.documents() == {ABOUT: "I live in Berlin.\nNever calls before nine."}


async def test_what_two_documents_say_stays_in_the_one_that_was_written_by_hand(
    world: World, settings: Settings
) -> None:
    pipeline = await world.create()
    await world.say("I live in Rome.", "My cat is called Leo.")
    await finish(world, settings, pipeline)
    await world.write("/about.md", "My cat is called Leo.")
    await world.say("I own a boat.", session_id="later")
    await finish(world, settings, pipeline)
    documents = await world.documents()
    assert (documents[ABOUT], documents["/about.md"]) == ("I live in Rome.", "My cat is called Leo.")


async def test_a_run_ends_with_the_account_that_made_the_pipeline(
    world: World, settings: Settings, channel: grpc.aio.Channel
) -> None:
    identity = identity_service_pb2_grpc.IdentityServiceStub(channel)
    account = service_account_pb2.ServiceAccount(
        name="distiller", role=service_account_pb2.PROJECT_ROLE_WRITER
    )
    made = await identity.CreateServiceAccount(ids.CreateServiceAccountRequest(service_account=account))
    client_id = made.service_account.client_id
    issue = ids.IssueTokenRequest(client_id=client_id, client_secret=made.client_secret)
    token = (await identity.IssueToken(issue)).access_token
    request = pb.CreatePipelineRequest(
        store_id=SESSIONS, pipeline=pipeline_pb2.Pipeline(target_store_id=NOTES)
    )
    credential = (("authorization", f"Bearer {token}"),)
    pipeline = (await world.pipelines.CreatePipeline(request, metadata=credential)).pipeline
    await world.say("I live in Rome.")
    assert (await finish(world, settings, pipeline)).state == RUN_STATE.PIPELINE_RUN_STATE_SUCCEEDED
    await identity.DisableServiceAccount(ids.DisableServiceAccountRequest(client_id=client_id))
    await world.say("My cat is called Leo.")
    run = await finish(world, settings, pipeline)
    assert (run.state, run.error) == (RUN_STATE.PIPELINE_RUN_STATE_FAILED, "PERMISSION_DENIED")
    assert await world.documents() == {ABOUT: "I live in Rome."}


async def test_what_is_too_long_is_split(world: World, settings: Settings) -> None:
    section = "\n".join(f"line {number} of many words" for number in range(500))
    await world.write("/plan.md", f"# One\n{section}\n# Two\n{section}")
    await world.say("I live in Rome.")
    await finish(world, settings, await world.create())
    documents = await world.documents()
    assert set(documents) == {"/plan.md", "/plan-2.md", ABOUT}
    assert documents["/plan-2.md"].startswith("# Two\n")
    assert max(len(content.encode()) for content in documents.values()) <= 16 * 1024


async def test_a_failing_user_stops_no_other_and_is_read_next_time(
    world: World, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:

    async def refuse_bob(services: Services, call: Call, policy: Any, passage: Any, kind: Any) -> object:
        if passage.scope.user_id == "bob":
            raise StepError(FailureClass.TRANSIENT, "no")
        return await extraction.learn(services, call, policy, passage, kind)

    pipeline = await world.create()
    await world.say("I live in Rome.")
    await world.say("I live in Oslo.", user_id="bob")
    with monkeypatch.context() as patched:
        patched.setattr(pipeline_runs, "learn", refuse_bob)
        run = await finish(world, settings, pipeline)
    assert (run.state, run.error) == (RUN_STATE.PIPELINE_RUN_STATE_FAILED, "TRANSIENT")
    assert (run.actor_count, run.failed_actor_count) == (2, 1)
    assert (await world.documents("ann"), await world.documents("bob")) == (
        {ABOUT: "I live in Rome."},
        {},
    )
    again = await finish(world, settings, pipeline)
    assert (again.actor_count, again.failed_actor_count) == (1, 0)
    assert await world.documents("bob") == {ABOUT: "I live in Oslo."}


async def test_a_run_that_was_cut_short_goes_on_where_it_was(
    world: World, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first attempt dies behind the first user; the second reads the other alone."""
    read_actor, calls = pipeline_runs._read_actor, 0

    async def die_at_the_second(*arguments: Any) -> object:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise StepError(FailureClass.TRANSIENT, "cut short")
        return await read_actor(*arguments)

    monkeypatch.setattr(pipeline_runs, "_read_actor", die_at_the_second)
    await world.say("I live in Rome.")
    await world.say("I live in Oslo.", user_id="bob")
    run = await finish(world, settings, await world.create())
    assert (run.state, run.actor_count, calls) == (RUN_STATE.PIPELINE_RUN_STATE_SUCCEEDED, 1, 3)
    assert await world.documents("ann") == {ABOUT: "I live in Rome."}
    assert await world.documents("bob") == {ABOUT: "I live in Oslo."}


async def test_one_run_at_a_time(world: World, settings: Settings) -> None:
    pipeline = await world.create()
    first = await world.start(pipeline)
    code, reason, _ = await refusal(world.start(pipeline))
    assert (code, reason) == (grpc.StatusCode.ABORTED, "PIPELINE_RUNNING")
    async with worker(settings, *BY_HAND):
        await ended(world, first)
    second = await world.start(pipeline)
    assert [each.run_id for each in await world.runs(pipeline)] == [second.run_id, first.run_id]


async def test_there_is_one_for_each_pair_of_stores(world: World) -> None:
    await world.create()
    expected = (grpc.StatusCode.ALREADY_EXISTS, "PIPELINE_TAKEN", "pipeline.target_store_id")
    assert await refusal(world.create()) == expected
    assert (await world.create(target_store_id=SESSIONS)).target_store_id == SESSIONS


async def test_a_pipeline_needs_stores_that_are_there(world: World) -> None:
    assert (await refusal(world.create(target_store_id="nowhere")))[1] == "STORE_NOT_FOUND"


async def test_what_is_masked_changes_and_nothing_else(world: World) -> None:
    made = await world.create(
        display_name="notes", policy=pipeline_pb2.PipelinePolicy(model="m", instructions="short")
    )
    scheduled = pipeline_pb2.PipelinePolicy(
        trigger=pipeline_pb2.PIPELINE_TRIGGER_SCHEDULED, period=Duration(seconds=7200)
    )
    changes = pipeline_pb2.Pipeline(pipeline_id=made.pipeline_id, policy=scheduled, paused=True)
    updated = await world.update(changes, "policy.trigger", "policy.period", "paused")
    assert (updated.display_name, updated.policy.model, updated.policy.instructions) == (
        "notes",
        "m",
        "short",
    )
    assert (updated.policy.period.seconds, updated.paused) == (7200, True)
    assert not updated.HasField("next_run_time")
    cleared = await world.update(
        pipeline_pb2.Pipeline(pipeline_id=made.pipeline_id), "policy.model", "paused"
    )
    assert (cleared.policy.model, cleared.paused) == ("", False)
    assert cleared.HasField("next_run_time")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"target_store_id": ""}, "pipeline.target_store_id"),
        ({"policy": {"instructions": "x" * 4_097}}, "pipeline.policy.instructions"),
        ({"policy": {"endpoint": "nowhere"}}, "pipeline.policy.endpoint"),
        ({"policy": {"period": Duration(seconds=60)}}, "pipeline.policy.period"),
        ({"display_name": "x" * 1_025}, "pipeline.display_name"),
    ],
)
async def test_what_breaks_a_rule_is_refused_with_its_field(
    world: World, fields: dict[str, Any], field: str
) -> None:
    code, _, refused = await refusal(world.create(**fields))
    assert (code, refused) == (grpc.StatusCode.INVALID_ARGUMENT, field)


async def test_a_deleted_pipeline_is_gone_and_one_made_anew_reads_everything(
    world: World, settings: Settings
) -> None:
    pipeline = await world.create()
    await world.say("I live in Rome.")
    run = await finish(world, settings, pipeline)
    request = pb.DeletePipelineRequest(store_id=SESSIONS, pipeline_id=pipeline.pipeline_id)
    await world.pipelines.DeletePipeline(request)
    assert (await refusal(world.read(run)))[1] == "PIPELINE_RUN_NOT_FOUND"
    assert (await refusal(world.runs(pipeline)))[1] == "PIPELINE_NOT_FOUND"
    assert (await finish(world, settings, await world.create())).actor_count == 1
    assert await world.documents() == {ABOUT: "I live in Rome."}


async def test_what_is_due_by_schedule_runs_by_itself(world: World, settings: Settings) -> None:
    policy = pipeline_pb2.PipelinePolicy(trigger=pipeline_pb2.PIPELINE_TRIGGER_SCHEDULED)
    pipeline = await world.create(policy=policy)
    await world.say("I live in Rome.")
    await look_for_due(settings)
    [run] = await world.runs(pipeline)
    assert run.cause == pipeline_pb2.PIPELINE_TRIGGER_SCHEDULED
    async with worker(settings, *BY_HAND):
        assert (await ended(world, run)).state == RUN_STATE.PIPELINE_RUN_STATE_SUCCEEDED
    await look_for_due(settings)  # the next time is a day away
    assert len(await world.runs(pipeline)) == 1


async def look_for_due(settings: Settings) -> None:
    async with open_services(settings, pool_size=2) as services:
        await pipelines.start_due(services, Call(HOUSEKEEPER, time.monotonic() + 60))


async def test_paused_ones_rest(world: World, settings: Settings) -> None:
    policy = pipeline_pb2.PipelinePolicy(trigger=pipeline_pb2.PIPELINE_TRIGGER_SCHEDULED)
    pipeline = await world.create(policy=policy, paused=True)
    await look_for_due(settings)
    assert await world.runs(pipeline) == []


async def delete_turn(world: World, turn: turn_pb2.Turn) -> None:
    request = session_service_pb2.DeleteTurnRequest(store_id=SESSIONS, turn_id=turn.turn_id)
    await world.sessions.DeleteTurn(request)


async def test_a_deleted_turn_takes_its_lines_out_of_the_other_store(
    world: World, settings: Settings, database: TestDatabase, project_id: UUID
) -> None:
    rome, _ = await world.say("I live in Rome.", "My cat is called Leo.")
    await finish(world, settings, await world.create())
    await delete_turn(world, rome)

    async def is_forgotten() -> bool:
        return await world.documents() == {ABOUT: "My cat is called Leo."}

    async with worker(settings, *BY_HAND):
        await eventually(is_forgotten)
    with psycopg.connect(database.superuser_url) as connection:
        statement = "SELECT 1 FROM ricordo.memory_revision WHERE project_id = %s AND content LIKE '%%Rome%%'"
        assert connection.execute(statement, [project_id]).fetchall() == []


async def test_what_another_turn_says_too_stays(world: World, settings: Settings) -> None:
    pipeline = await world.create()
    [first, _] = await world.say("I live in Rome.", "My cat is called Leo.")
    await finish(world, settings, pipeline)
    [_, boat] = await world.say("I live in Rome!", "I own a boat.", session_id="later")
    await finish(world, settings, pipeline)
    await delete_turn(world, first)
    await delete_turn(world, boat)

    async def is_forgotten() -> bool:
        return set(await world.documents()) == {ABOUT}

    async with worker(settings, *BY_HAND):
        await eventually(is_forgotten)
    assert await world.documents() == {ABOUT: "I live in Rome.\nMy cat is called Leo."}


async def test_end_users_have_no_pipelines(world: World, project_id: UUID) -> None:
    pipeline = await world.create()
    ann = as_user(project_id, "ann")
    named: dict[str, Any] = {"store_id": SESSIONS, "pipeline_id": pipeline.pipeline_id}
    for call in (
        world.pipelines.GetPipeline(pb.GetPipelineRequest(**named), metadata=ann),
        world.pipelines.ListPipelines(pb.ListPipelinesRequest(store_id=SESSIONS), metadata=ann),
        world.pipelines.RunPipeline(pb.RunPipelineRequest(**named), metadata=ann),
        world.pipelines.DeletePipeline(pb.DeletePipelineRequest(**named), metadata=ann),
        world.pipelines.ListPipelineRuns(pb.ListPipelineRunsRequest(**named), metadata=ann),
    ):
        assert (await refusal(call))[1] == "PERMISSION_DENIED"
