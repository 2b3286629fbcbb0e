"""GenerateMemories by the extractor without a model, as a generated client sees it."""

import asyncio
from datetime import UTC, datetime
from uuid import UUID

import pytest
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp

from ricordo.v1 import extraction_service_pb2 as pb
from ricordo.v1 import (
    generation_pb2,
    metadata_pb2,
    scope_pb2,
    session_service_pb2,
)
from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import memory_service_pb2 as ms
from ricordo_server.domain.rendering import NOTE
from tests.fixtures.calls import as_user, refusal
from tests.fixtures.generation import ANN, TALK, World, contents, inline, stated

CREATED, UPDATED = m.REVISION_ACTION_CREATED, m.REVISION_ACTION_UPDATED
MERGE = generation_pb2.METADATA_MERGE_STRATEGY_MERGE
EXACT = generation_pb2.METADATA_MERGE_STRATEGY_REQUIRE_EXACT_MATCH


def text(value: str) -> dict[str, metadata_pb2.MetadataValue]:
    return {"plan": metadata_pb2.MetadataValue(string_value=value)}


async def test_turns_of_a_session_become_memories_that_name_them(world: World) -> None:
    _, second = await world.say("Hello!", "I live in Rome.")
    [generated] = (await world.learn()).memories
    memory = generated.memory
    assert (memory.content, generated.action, memory.source) == (
        "I live in Rome.", CREATED, m.MEMORY_SOURCE_EXTRACTION,
    )  # fmt: skip
    assert (memory.scope, memory.visibility) == (ANN, scope_pb2.VISIBILITY_PRIVATE)
    assert memory.provenance == m.Provenance(
        session_id="talk", turn_ids=[second.turn_id], extraction_model="builtin", prompt_version="rules-2",
        trust="user",
    )  # fmt: skip
    assert memory.has_embedding
    assert await world.all() == [memory]


async def test_twice_over_the_same_turns_adds_nothing(world: World) -> None:
    await world.say("I live in Rome.", "My cat is called Leo.")
    every = [m.MEMORY_KIND_SEMANTIC, m.MEMORY_KIND_EPISODIC]
    first = await world.learn(kinds=every)
    second = await world.learn(kinds=every)
    assert (len(first.memories), len(second.memories), second.report.known_count) == (3, 0, 3)
    assert {memory.revision for memory in await world.all()} == {1}


async def test_only_the_turns_of_the_range_are_read(world: World) -> None:
    turns = await world.say(*(f"I own {number} boats." for number in range(1, 5)))
    run = pb.SessionRange(scope=TALK, from_turn_seq=2, to_turn_seq=3)
    answer = await world.extraction.GenerateMemories(pb.GenerateMemoriesRequest(session=run))
    assert contents([each.memory for each in answer.memories]) == ["I own 2 boats.", "I own 3 boats."]
    later = pb.SessionRange(scope=TALK, start_time=turns[0].event_time, end_time=turns[0].event_time)
    assert not (await world.extraction.GenerateMemories(pb.GenerateMemoriesRequest(session=later))).memories


async def test_a_dislike_that_turns_into_a_liking_replaces_it(world: World) -> None:
    await world.say("I don't like coffee.")
    [disliked] = (await world.learn()).memories
    await world.say("I really like coffee now!")
    [liked] = (await world.learn()).memories
    assert (liked.action, liked.previous_revision, liked.memory.memory_id) == (
        UPDATED,
        1,
        disliked.memory.memory_id,
    )
    assert contents(await world.all()) == ["I really like coffee now!"]


@pytest.mark.parametrize("to_turn_seq", [0, 1])
async def test_the_older_saying_does_not_come_back(world: World, to_turn_seq: int) -> None:
    """It stands in the session for ever, and is no news when it is read again."""
    await world.say("I don't like coffee.")
    await world.say("I really like coffee now!")
    await world.learn()
    again = pb.SessionRange(scope=TALK, to_turn_seq=to_turn_seq)
    await world.extraction.GenerateMemories(pb.GenerateMemoriesRequest(session=again))
    assert contents(await world.all()) == ["I really like coffee now!"]


async def test_what_was_updated_can_be_rolled_back(world: World) -> None:
    await world.state("I live in Rome.")
    [updated] = (await world.state("I live in Berlin.")).memories
    back = ms.RollbackMemoryRequest(
        memory_id=updated.memory.memory_id, target_revision=updated.previous_revision
    )
    assert (await world.memories.RollbackMemory(back)).memory.content == "I live in Rome."


async def test_without_consolidation_nothing_is_changed_and_nothing_doubled(world: World) -> None:
    await world.state("I live in Rome.")
    answer = await world.state("I live in Berlin.", "I live in Rome", disable_consolidation=True)
    assert [each.action for each in answer.memories] == [CREATED]
    assert contents(await world.all()) == ["I live in Berlin.", "I live in Rome."]


async def test_a_dry_run_says_what_would_be_done_and_does_nothing(world: World) -> None:
    await world.state("I live in Rome.")
    before = await world.all()
    answer = await world.state("I live in Berlin.", "I own a boat.", dry_run=True)
    shown = {each.memory.content: (each.action, each.previous_revision) for each in answer.memories}
    assert shown == {"I live in Berlin.": (UPDATED, 1), "I own a boat.": (CREATED, 0)}
    assert await world.all() == before


async def test_two_scopes_know_nothing_of_each_other(world: World) -> None:
    await world.state("I live in Rome.")
    bob = scope_pb2.Scope(user_id="bob")
    team = scope_pb2.Scope(user_id="ann", labels={"team": "a"})
    for scope in (bob, team):
        [generated] = (await world.state("I live in Berlin.", scope=scope)).memories
        assert (generated.action, generated.memory.scope) == (CREATED, scope)


async def test_kinds_with_keys_are_updated_by_their_key(world: World) -> None:
    taxonomic = [m.MEMORY_KIND_TAXONOMIC]
    await world.say("An SLO is a target for a service level.")
    [first] = (await world.learn(kinds=taxonomic)).memories
    await world.say("An SLO is a promise that we make to ourselves.")
    answer = await world.learn(kinds=taxonomic)
    assert [(each.action, each.memory.memory_id) for each in answer.memories] == [
        (UPDATED, first.memory.memory_id)
    ]


async def test_recalled_memories_are_not_learned_again(world: World) -> None:
    context = f"# Memory\n\n{NOTE}\n\n## Facts\n\n- (recorded 2025-01-01): I own a yacht."
    await world.say(f"{context}\n\nI own a boat.")
    answer = await world.learn()
    assert contents([each.memory for each in answer.memories]) == ["I own a boat."]


async def test_inline_turns_are_read_in_their_zone(world: World) -> None:
    said = Timestamp()
    said.FromDatetime(datetime(2025, 3, 2, 23, 30, tzinfo=UTC))  # the third of March in Rome
    turn = pb.InlineTurn(role="user", content="I met Anna yesterday.", event_time=said)
    request = pb.GenerateMemoriesRequest(
        scope=ANN, turns=pb.InlineTurns(turns=[turn], time_zone="Europe/Rome")
    )
    [generated] = (await world.extraction.GenerateMemories(request)).memories
    assert generated.memory.event_time.ToDatetime(tzinfo=UTC) == datetime(2025, 3, 1, 23, tzinfo=UTC)
    assert not generated.memory.provenance.turn_ids


async def test_only_allowed_topics_are_kept(world: World) -> None:
    topics = [m.Topic(managed=m.MANAGED_TOPIC_USER_PREFERENCES)]
    await world.say("I love tea.", "I live in Rome.")
    answer = await world.learn(allowed_topics=topics)
    assert contents([each.memory for each in answer.memories]) == ["I love tea."]
    assert answer.report.off_topic_count == 1


@pytest.mark.parametrize(
    ("strategy", "action", "plan"), [(MERGE, UPDATED, "new"), (EXACT, CREATED, "new"), (0, UPDATED, "new")]
)
async def test_metadata_is_merged_as_asked(world: World, strategy: int, action: int, plan: str) -> None:
    own = {"own": metadata_pb2.MetadataValue(int64_value=1)}
    await world.state("I live in Rome.", metadata={**text("old"), **own})
    answer = await world.state("I live in Berlin.", metadata=text(plan), metadata_merge_strategy=strategy)
    [generated] = answer.memories
    assert generated.action == action
    assert generated.memory.metadata == {**text(plan), **(own if strategy == MERGE else {})}


async def test_jobs_of_one_user_at_once_write_each_fact_once(world: World) -> None:
    """The lock of the scope puts them one after the other; each sees what the one before has written."""
    facts = [f"I own boat number {number}." for number in range(6)]
    requests = [stated(*(facts if number % 2 else reversed(facts))) for number in range(8)]
    answers = await asyncio.gather(*map(world.extraction.GenerateMemories, requests))
    assert contents(await world.all()) == facts
    assert sum(len(answer.memories) for answer in answers) == len(facts)


async def test_contradictions_at_once_leave_one(world: World) -> None:
    await world.state("I live in Rome.")
    cities = ("Berlin", "Paris", "Lisbon", "Turin")
    await asyncio.gather(*(world.state(f"I live in {city}.") for city in cities))
    live = await world.all()
    revisions = await world.memories.ListMemoryRevisions(
        ms.ListMemoryRevisionsRequest(memory_id=live[-1].memory_id)
    )
    assert len(live) + len(revisions.revisions) - 1 == 1 + len(cities)  # none was lost


async def test_a_repeat_with_a_request_id_gets_the_first_answer(world: World) -> None:
    request = stated("I live in Rome.", request_id="r")
    first = await world.extraction.GenerateMemories(request)
    assert await world.extraction.GenerateMemories(request) == first
    assert len(await world.all()) == 1


@pytest.mark.parametrize(
    ("request_", "reason", "field"),
    [
        (pb.GenerateMemoriesRequest(scope=ANN), "INVALID_FIELD", "source"),
        (stated("a", scope=scope_pb2.Scope()), "SCOPE_REQUIRED", "scope"),
        (stated("a", scope=TALK), "INVALID_FIELD", "scope.session_id"),
        (stated(), "INVALID_FIELD", "facts.facts"),
        (stated(*["a"] * 501), "LIMIT_EXCEEDED", "facts.facts"),
        (stated("a", " "), "INVALID_FIELD", "facts.facts[1].content"),
        (pb.GenerateMemoriesRequest(scope=ANN, turns=pb.InlineTurns()), "INVALID_FIELD", "turns.turns"),
        (pb.GenerateMemoriesRequest(scope=ANN, turns=inline("a", role="")), "INVALID_FIELD", "turns.turns[0].role"),
        (
            pb.GenerateMemoriesRequest(scope=ANN, turns=inline("a"), kinds=[m.MEMORY_KIND_CUSTOM]),
            "INVALID_FIELD", "kinds[0]",
        ),
        (
            pb.GenerateMemoriesRequest(
                scope=ANN, turns=pb.InlineTurns(turns=inline("a").turns, time_zone="Nowhere")
            ),
            "INVALID_FIELD", "turns.time_zone",
        ),
        (pb.GenerateMemoriesRequest(session=pb.SessionRange(scope=TALK)), "SESSION_NOT_FOUND", "scope"),
        (
            pb.GenerateMemoriesRequest(session=pb.SessionRange(scope=TALK, from_turn_seq=-1)),
            "INVALID_FIELD", "session.from_turn_seq",
        ),
    ],
)  # fmt: skip
async def test_what_makes_no_sense_is_refused(
    world: World, request_: pb.GenerateMemoriesRequest, reason: str, field: str
) -> None:
    assert (await refusal(world.extraction.GenerateMemories(request_)))[1:] == (reason, field)


async def test_a_bound_user_learns_for_itself_alone(world: World, project_id: UUID) -> None:
    await world.say("I live in Rome.", scope=scope_pb2.Scope(user_id="bob", session_id="talk"))
    as_ann = as_user(project_id, "ann")
    for request in (
        stated("I live in Rome.", scope=scope_pb2.Scope(user_id="bob")),
        pb.GenerateMemoriesRequest(
            session=pb.SessionRange(scope=scope_pb2.Scope(user_id="bob", session_id="talk"))
        ),
    ):
        call = world.extraction.GenerateMemories(request, metadata=as_ann)
        assert (await refusal(call))[1] == "PERMISSION_DENIED"
    own = await world.extraction.GenerateMemories(stated("I own a boat."), metadata=as_ann)
    assert own.memories[0].memory.scope == ANN


async def test_what_a_user_may_not_publish_is_left_as_it_is(world: World, project_id: UUID) -> None:
    """A key is taken whatever the visibility, and the user's own definition was made everyone's to read."""
    await world.say("An SLO is a target for a service level.")
    [first] = (await world.learn(kinds=[m.MEMORY_KIND_TAXONOMIC])).memories
    before = await publish(world, first.memory)
    await world.say("An SLO is a promise that we make to ourselves.", "An SLA is a contract with customers.")
    learning = pb.GenerateMemoriesRequest(
        session=pb.SessionRange(scope=TALK), kinds=[m.MEMORY_KIND_TAXONOMIC]
    )
    answer = await world.extraction.GenerateMemories(learning, metadata=as_user(project_id, "ann"))
    [created] = answer.memories
    assert "contract" in created.memory.content
    assert before in await world.all()


async def test_a_user_takes_back_what_was_learned_of_its_session_and_is_published(
    world: World, project_id: UUID
) -> None:
    later = scope_pb2.Scope(user_id="ann", session_id="later")
    await world.say("I don't like coffee.")
    await world.learn()
    await world.say("I really like coffee now!", scope=later)
    [updated] = (await world.learn(later)).memories
    assert updated.action == UPDATED
    await publish(world, updated.memory)
    for scope, left in ((later, ["I don't like coffee."]), (TALK, [])):
        request = session_service_pb2.DeleteSessionRequest(scope=scope)
        await world.sessions.DeleteSession(request, metadata=as_user(project_id, "ann"))
        assert contents(await world.all()) == left


async def publish(world: World, memory: m.Memory) -> m.Memory:
    published = m.Memory(memory_id=memory.memory_id, visibility=scope_pb2.VISIBILITY_PROJECT)
    request = ms.UpdateMemoryRequest(memory=published, update_mask=FieldMask(paths=["visibility"]))
    return (await world.memories.UpdateMemory(request)).memory
