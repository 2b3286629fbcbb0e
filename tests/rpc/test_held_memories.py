"""What is held back for review, as a generated client sees it."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import grpc
import grpc.aio
import psycopg
import pytest
import pytest_asyncio
from google.protobuf.duration_pb2 import Duration

from ricordo.v1 import (
    context_service_pb2,
    context_service_pb2_grpc,
    held_memory_pb2,
    project_pb2,
    project_service_pb2_grpc,
    search_pb2,
)
from ricordo.v1 import extraction_service_pb2 as pb
from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import memory_service_pb2 as ms
from ricordo.v1 import session_service_pb2 as ss
from ricordo_server.config import Settings
from tests.fixtures.calls import as_user, refusal
from tests.fixtures.database import TestDatabase
from tests.fixtures.fake_chat import FakeChat, fact, items, reading_with
from tests.fixtures.generation import ANN, TALK, World, contents, inline
from tests.fixtures.project_settings import update

OWNS, ROME = "The user owns a boat.", "I live in Rome."
HOUR = Duration(seconds=3_600)
SECRET = "the user's landlord is called Mallory"


@pytest.fixture
def settings(settings: Settings, fake: FakeChat) -> Settings:
    return reading_with(settings, fake)


@pytest_asyncio.fixture
async def world(channel: grpc.aio.Channel) -> World:
    await trust(channel, "assistant")
    return World(channel)


async def trust(channel: grpc.aio.Channel, least: str) -> None:
    policy = project_pb2.ExtractionPolicy(least_trust=least)
    await project_service_pb2_grpc.ProjectServiceStub(channel).UpdateProject(update(extraction=policy))


async def hold(world: World, fake: FakeChat, content: str = SECRET) -> list[held_memory_pb2.HeldMemory]:
    """A tool says it, and it is read."""
    await world.say(content, role="tool")
    fake.script = [items(fact(content, 1, content))]
    await world.learn()
    return await held(world)


async def held(world: World, **call: Any) -> list[held_memory_pb2.HeldMemory]:
    answer = await world.extraction.ListHeldMemories(pb.ListHeldMemoriesRequest(), **call)
    return list(answer.held_memories)


async def approve(world: World, each: held_memory_pb2.HeldMemory, **fields: Any) -> pb.ApproveMemoryResponse:
    request = pb.ApproveMemoryRequest(held_memory_id=each.held_memory_id, **fields)
    return await world.extraction.ApproveMemory(request)


async def reject(world: World, each: held_memory_pb2.HeldMemory, **call: Any) -> None:
    request = pb.RejectMemoryRequest(held_memory_id=each.held_memory_id)
    await world.extraction.RejectMemory(request, **call)


async def test_what_a_tool_said_waits_and_what_the_user_said_does_not(world: World, fake: FakeChat) -> None:
    [_, turn] = [*await world.say(ROME), *await world.say(OWNS, role="tool")]
    fake.script = [items(fact(ROME, 1, "in Rome")), items(fact(OWNS, 1, "owns a boat"))]
    answer = await world.learn()
    assert contents([made.memory for made in answer.memories]) == [ROME]
    assert answer.report.held_count == 1
    [waiting] = await held(world)
    assert (waiting.memory.content, waiting.memory.memory_id) == (OWNS, "")
    assert (waiting.memory.scope, waiting.memory.provenance.trust) == (ANN, "tool")
    [quotation] = waiting.quotations
    assert (quotation.turn_id, quotation.role, quotation.text) == (turn.turn_id, "tool", "owns a boat")


async def test_what_waits_is_in_no_read_and_in_no_prompt(
    world: World, fake: FakeChat, channel: grpc.aio.Channel
) -> None:
    await hold(world, fake)
    everything = ms.ListMemoriesRequest(include_deleted=True)
    assert not (await world.memories.ListMemories(everything)).memories
    found = await world.memories.SearchMemories(
        ms.SearchMemoriesRequest(options=search_pb2.SearchOptions(query=SECRET))
    )
    assert not found.hits
    semantic = context_service_pb2.ContextSourceSpec(source=context_service_pb2.CONTEXT_SOURCE_SEMANTIC)
    context = context_service_pb2.BuildContextRequest(query=SECRET, sources=[semantic])
    assert SECRET not in str(await context_service_pb2_grpc.ContextServiceStub(channel).BuildContext(context))
    fake.requests.clear()
    fake.script = [items(fact("My landlord is Eve.", 1, "Eve"))]
    request = pb.GenerateMemoriesRequest(scope=ANN, turns=inline("My landlord is called Eve."))
    await world.extraction.GenerateMemories(request)
    assert fake.requests
    assert "Mallory" not in str(fake.requests)


async def test_what_is_held_back_is_read_apart(world: World, fake: FakeChat) -> None:
    await world.say(ROME)
    await world.say(OWNS, role="tool")
    await world.learn()
    assert [(ROME in asked, OWNS in asked) for asked in fake.prompts("user")] == [
        (True, False),
        (False, True),
    ]


async def test_what_is_approved_is_a_memory_that_names_its_turn(world: World, fake: FakeChat) -> None:
    [waiting] = await hold(world, fake)
    [made] = (await approve(world, waiting)).memories
    assert (made.memory.content, made.action) == (SECRET, m.REVISION_ACTION_CREATED)
    assert made.memory.provenance.trust == "tool"
    [turn_id] = made.memory.provenance.turn_ids
    assert turn_id == waiting.quotations[0].turn_id
    assert contents(await world.all()) == [SECRET]
    assert await held(world) == []


async def test_what_is_to_be_a_line_is_one_when_it_is_approved(world: World, fake: FakeChat) -> None:
    await world.say(SECRET, role="tool")
    fake.script = [items(fact(SECRET, 1, SECRET))]
    assert (await world.learn(kinds=[m.MEMORY_KIND_DOCUMENT])).report.held_count == 1
    [waiting] = await held(world)
    assert (waiting.memory.key, waiting.memory.content) == ("/general.md", SECRET)
    [made] = (await approve(world, waiting)).memories
    assert (made.memory.key, made.memory.content) == ("/general.md", SECRET)
    assert made.memory.provenance.trust == "tool"
    assert await held(world) == []


async def test_what_is_approved_meets_what_is_known(world: World, fake: FakeChat) -> None:
    [waiting] = await hold(world, fake)
    await world.state(SECRET)
    assert list((await approve(world, waiting)).memories) == []
    assert len(await world.all()) == 1


async def test_what_is_approved_is_kept_as_the_call_that_read_it_said(world: World, fake: FakeChat) -> None:
    await world.say(SECRET, role="tool")
    fake.script = [items(fact(SECRET, 1, SECRET))]
    await world.learn(revision_options=m.RevisionOptions(labels={"run": "7"}, ttl=HOUR))
    [waiting] = await held(world)
    [made] = (await approve(world, waiting)).memories
    revisions = ms.ListMemoryRevisionsRequest(memory_id=made.memory.memory_id, labels={"run": "7"})
    [revision] = (await world.memories.ListMemoryRevisions(revisions)).revisions
    kept_for = revision.expire_time.ToDatetime() - revision.revision_time.ToDatetime()
    assert (dict(revision.labels), round(kept_for / timedelta(hours=1), 1)) == ({"run": "7"}, 1.0)


async def test_an_approval_that_is_repeated_answers_the_first(world: World, fake: FakeChat) -> None:
    [waiting] = await hold(world, fake)
    assert await approve(world, waiting, request_id="r") == await approve(world, waiting, request_id="r")
    assert len(await world.all()) == 1


async def test_what_is_rejected_is_gone_and_not_asked_about_again(world: World, fake: FakeChat) -> None:
    [waiting] = await hold(world, fake)
    await reject(world, waiting)
    fake.script = [items(fact(SECRET, 1, SECRET))]
    report = (await world.learn()).report
    assert (report.held_count, report.known_count) == (0, 1)
    assert (await held(world), await world.all()) == ([], [])


async def test_what_waits_is_held_once(world: World, fake: FakeChat) -> None:
    await hold(world, fake)
    assert len(await hold(world, fake, SECRET)) == 1


@pytest.mark.parametrize("decide", [approve, reject])
async def test_what_was_decided_does_not_wait(
    world: World, fake: FakeChat, decide: Callable[..., Awaitable[object]]
) -> None:
    [waiting] = await hold(world, fake)
    await decide(world, waiting)
    for again in (approve(world, waiting), reject(world, waiting)):
        code, reason, field = await refusal(again)
        assert (code, reason, field) == (grpc.StatusCode.NOT_FOUND, "MEMORY_NOT_FOUND", "held_memory_id")


async def test_what_waits_goes_with_its_turn(world: World, fake: FakeChat) -> None:
    [waiting] = await hold(world, fake)
    turn_id = waiting.quotations[0].turn_id
    await world.sessions.DeleteTurn(ss.DeleteTurnRequest(turn_id=turn_id))
    assert await held(world) == []


async def test_what_was_approved_goes_with_its_session(world: World, fake: FakeChat) -> None:
    [waiting] = await hold(world, fake)
    await approve(world, waiting)
    await world.sessions.DeleteSession(ss.DeleteSessionRequest(scope=TALK))
    assert await world.all() == []


@pytest.mark.parametrize("least", ["assistant", "other"])
async def test_a_tool_s_term_does_not_displace_the_user_s(
    world: World, fake: FakeChat, channel: grpc.aio.Channel, least: str
) -> None:
    """Neither held back nor, where tools are trusted, as what was said last."""
    await trust(channel, least)
    ours, theirs = ("BR means Berlin Rollout.", "BR means Bad Rumour.")
    turns = pb.InlineTurns(turns=[*inline(ours).turns, *inline(theirs, role="tool").turns])
    term = {"domain": "team", "term": "BR", "related_terms": []}
    listed = [fact(said, number, said, **term) for number, said in enumerate((ours, theirs), 1)]
    fake.answer = lambda _: items(*listed)
    request = pb.GenerateMemoriesRequest(scope=ANN, turns=turns, kinds=[m.MEMORY_KIND_TAXONOMIC])
    await world.extraction.GenerateMemories(request)
    assert contents(await world.all()) == [ours]


async def test_where_every_role_is_trusted_nothing_waits(
    world: World, fake: FakeChat, channel: grpc.aio.Channel
) -> None:
    await trust(channel, "other")
    assert await hold(world, fake) == []
    assert contents(await world.all()) == [SECRET]


async def test_a_dry_run_holds_nothing(world: World, fake: FakeChat) -> None:
    await world.say(OWNS, role="tool")
    fake.script = [items(fact(OWNS, 1, OWNS))]
    assert (await world.learn(dry_run=True)).report.held_count == 1
    assert await held(world) == []


async def test_a_user_reviews_its_own_alone(world: World, fake: FakeChat, project_id: UUID) -> None:
    [waiting] = await hold(world, fake)
    bob = as_user(project_id, "bob")
    assert await held(world, metadata=bob) == []
    assert (await refusal(reject(world, waiting, metadata=bob)))[1] == "MEMORY_NOT_FOUND"
    assert await held(world, metadata=as_user(project_id, "ann")) == [waiting]


async def test_the_words_are_erased_with_the_decision(
    world: World, fake: FakeChat, database: TestDatabase
) -> None:
    [waiting] = await hold(world, fake)
    await reject(world, waiting)
    with psycopg.connect(database.superuser_url) as connection:
        [row] = connection.execute(
            "SELECT h::text FROM ricordo.held_memory AS h WHERE held_memory_id = %s", [waiting.held_memory_id]
        ).fetchall()
    assert "Mallory" not in row[0]


async def test_a_role_that_is_none_is_refused(channel: grpc.aio.Channel) -> None:
    code, _, field = await refusal(trust(channel, "everyone"))
    assert (code, field) == (grpc.StatusCode.INVALID_ARGUMENT, "project.settings.extraction.least_trust")
