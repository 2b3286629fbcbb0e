"""What declarations ask of values, filters and custom types, over a real server; they hold from the answer on."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import grpc
import grpc.aio
import pytest
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp

from ricordo.v1 import (
    context_service_pb2,
    filter_pb2,
    metadata_pb2,
    scope_pb2,
    search_pb2,
    session_pb2,
    turn_pb2,
)
from ricordo.v1 import memory_pb2 as m
from ricordo.v1 import memory_service_pb2 as pb
from ricordo.v1 import session_service_pb2 as session_pb
from ricordo.v1.project_service_pb2 import UpdateProjectResponse
from ricordo_server.db.connection import Database, tenant_transaction
from ricordo_server.db.projects import hold_settings
from tests.fixtures.calls import as_service, as_user, read_refusal, refusal
from tests.fixtures.database import TestDatabase, make_project, service_principal
from tests.fixtures.project_settings import DECLARED, OPEN, compares, custom_type, equals, keys, update
from tests.fixtures.stubs import Contexts, Memories, Projects, Sessions

INVALID, FAILED = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION
SCOPE = scope_pb2.Scope(user_id="ann", session_id="s1")
Value = metadata_pb2.MetadataValue
TEXT, NUMBER, DOUBLE = Value(string_value="x"), Value(int64_value=1), Value(double_value=1.5)
BOOL, TIME, NULL = (
    Value(bool_value=True),
    Value(timestamp_value=Timestamp(seconds=1)),
    Value(null_value=metadata_pb2.NULL_VALUE_UNSPECIFIED),
)
LIST = Value(list_value=metadata_pb2.MetadataList(values=[TEXT]))
RIGHT = {"string": [TEXT], "number": [NUMBER, DOUBLE], "bool": [BOOL], "time": [TIME]}
EVERY = [TEXT, NUMBER, DOUBLE, BOOL, TIME, LIST]


def nested(**values: Value) -> Value:
    return Value(map_value=metadata_pb2.MetadataMap(fields=values))


def fact(content: str = "tea", **fields: Any) -> m.Memory:
    return m.Memory(kind=m.MEMORY_KIND_SEMANTIC, content=content, **fields)


def ticket(name: str = "ticket", /, **metadata: Value) -> m.Memory:
    return m.Memory(kind=m.MEMORY_KIND_CUSTOM, custom_type=name, content="it broke", metadata=metadata)


async def create(memories: Memories, memory: m.Memory, **call: Any) -> m.Memory:
    return (await memories.CreateMemory(pb.CreateMemoryRequest(memory=memory), **call)).memory


async def found(memories: Memories, **fields: Any) -> list[str]:
    answer = await memories.ListMemories(pb.ListMemoriesRequest(**fields))
    return sorted(memory.content for memory in answer.memories)


def reads(
    memories: Memories, sessions: Sessions, contexts: Contexts, condition: filter_pb2.Filter
) -> dict[str, list[Callable[[], Awaitable[object]]]]:
    """Every read that takes a filter."""
    options = search_pb2.SearchOptions(query="tea")
    source = context_service_pb2.ContextSourceSpec(
        source=context_service_pb2.CONTEXT_SOURCE_SEMANTIC, filter=condition
    )
    turns = context_service_pb2.ContextSourceSpec(
        source=context_service_pb2.CONTEXT_SOURCE_TURNS, filter=condition
    )
    return {
        "filter": [
            lambda: memories.ListMemories(pb.ListMemoriesRequest(filter=condition)),
            lambda: memories.SearchMemories(pb.SearchMemoriesRequest(options=options, filter=condition)),
            lambda: sessions.ListSessions(session_pb.ListSessionsRequest(filter=condition)),
            lambda: sessions.ListTurns(session_pb.ListTurnsRequest(filter=condition)),
            lambda: sessions.SearchTurns(session_pb.SearchTurnsRequest(options=options, filter=condition)),
        ],
        "sources[0].filter": [
            lambda: contexts.BuildContext(
                context_service_pb2.BuildContextRequest(query="tea", sources=[source])
            ),
            lambda: contexts.BuildContext(
                context_service_pb2.BuildContextRequest(query="tea", sources=[turns])
            ),
        ],
    }


async def test_under_declared_a_filter_names_declared_keys_only_on_every_read(
    projects: Projects, memories: Memories, sessions: Sessions, contexts: Contexts
) -> None:
    declared = update(metadata_policy=DECLARED, metadata_keys=keys(plan="string", billing__country="string"))
    await projects.UpdateProject(declared)
    for path in ("metadata.colour", "metadata.billing", "metadata.billing.city", "metadata.plan.inner"):
        for place, calls in reads(memories, sessions, contexts, equals(path, string_value="x")).items():
            for call in calls:
                assert await refusal(call()) == (INVALID, "INVALID_FILTER", f"{place}.comparison.path")
    for path in ("metadata.plan", "metadata.billing.country"):
        for calls in reads(memories, sessions, contexts, equals(path, string_value="x")).values():
            for call in calls:
                await call()


async def test_the_refusal_lists_the_declared_paths(projects: Projects, memories: Memories) -> None:
    await projects.UpdateProject(
        update(metadata_policy=DECLARED, metadata_keys=keys(plan="string", seats="number"))
    )
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await memories.ListMemories(
            pb.ListMemoriesRequest(filter=equals("metadata.colour", string_value="x"))
        )
    assert "metadata.plan, metadata.seats" in refused.value.details()


async def test_a_key_with_a_dot_in_it_is_none_of_the_declared(projects: Projects, memories: Memories) -> None:
    await projects.UpdateProject(update(metadata_policy=DECLARED, metadata_keys=keys(a__b="string")))
    condition = equals("metadata.a.b", string_value="x")
    condition.comparison.path.segments[:] = ["metadata", "a.b"]
    assert (await refusal(memories.ListMemories(pb.ListMemoriesRequest(filter=condition))))[
        1
    ] == "INVALID_FILTER"


async def test_under_open_anything_goes_and_system_fields_always_do(
    projects: Projects, memories: Memories
) -> None:
    await create(memories, fact("green", metadata={"colour": TEXT}))
    assert await found(memories, filter=equals("metadata.colour", string_value="x")) == ["green"]
    await projects.UpdateProject(update(metadata_policy=DECLARED))
    assert (
        await refusal(
            memories.ListMemories(pb.ListMemoriesRequest(filter=equals("metadata.colour", string_value="x")))
        )
    )[1] == "INVALID_FILTER"
    assert await found(memories, filter=equals("content", string_value="green")) == ["green"]
    await projects.UpdateProject(update(metadata_policy=OPEN))
    assert await found(memories, filter=equals("metadata.colour", string_value="x")) == ["green"]


@pytest.mark.parametrize("value_type", RIGHT)
async def test_values_and_operands_have_the_declared_type_or_are_null(
    projects: Projects, memories: Memories, value_type: str
) -> None:
    await projects.UpdateProject(update(metadata_keys=keys(k=value_type)))
    for value in EVERY:
        operand = compares("metadata.k", filter_pb2.COMPARATOR_EQ, value)
        asked = memories.ListMemories(pb.ListMemoriesRequest(filter=operand))
        written = create(memories, fact(metadata={"k": value}))
        if value in RIGHT[value_type]:
            await asked
            await written
        else:
            assert await refusal(asked) == (INVALID, "INVALID_FILTER", "filter.comparison.values[0]")
            assert await refusal(written) == (INVALID, "INVALID_FIELD", 'memory.metadata["k"]')
    await create(memories, fact("null", metadata={"k": NULL}))
    assert await found(memories, filter=compares("metadata.k", filter_pb2.COMPARATOR_EQ, NULL)) == ["null"]


async def test_every_write_is_held_to_the_types(
    projects: Projects, memories: Memories, sessions: Sessions, project_id: UUID
) -> None:
    await projects.UpdateProject(update(metadata_keys=keys(plan="string", a__b="number")))
    wrong, inner = {"plan": NUMBER}, {"a": nested(b=TEXT)}
    old = await create(memories, fact(metadata={"plan": TEXT}))
    change = m.Memory(memory_id=old.memory_id, metadata=wrong)
    batch = pb.BatchCreateMemoriesRequest(memories=[fact("good"), fact(metadata=wrong)], atomic=True)
    turn = turn_pb2.Turn(role="user", content="tea", metadata=wrong)
    for call, field in (
        (create(memories, fact(metadata=wrong)), 'memory.metadata["plan"]'),
        (create(memories, fact(metadata=inner)), 'memory.metadata["a"]["b"]'),
        (memories.UpdateMemory(pb.UpdateMemoryRequest(
            memory=change, update_mask=FieldMask(paths=["metadata"]))), 'memory.metadata["plan"]'),
        (memories.PutMemory(pb.PutMemoryRequest(memory=fact(key="k", metadata=wrong))), 'memory.metadata["plan"]'),
        (memories.BatchCreateMemories(batch), 'memories[1].metadata["plan"]'),
        (sessions.CreateSession(session_pb.CreateSessionRequest(
            session=session_pb2.Session(scope=SCOPE, metadata=wrong))), 'session.metadata["plan"]'),
        (sessions.RecordTurn(session_pb.RecordTurnRequest(scope=SCOPE, turn=turn)), 'turn.metadata["plan"]'),
        (sessions.BatchRecordTurns(session_pb.BatchRecordTurnsRequest(scope=SCOPE, turns=[turn])),
         'turns[0].metadata["plan"]'),
        (create(memories, fact(metadata=wrong, scope=scope_pb2.Scope(user_id="ann")),
                metadata=as_user(project_id, "ann")), 'memory.metadata["plan"]'),
    ):  # fmt: skip
        assert await refusal(call) == (INVALID, "INVALID_FIELD", field)
    assert await found(memories) == ["tea"]
    batch.atomic = False
    good, bad = (await memories.BatchCreateMemories(batch)).results
    assert (good.memory.content, bad.error.field) == ("good", 'memories[1].metadata["plan"]')


@pytest.mark.parametrize("value_type", RIGHT)
async def test_a_key_is_declared_when_no_stored_value_has_another_type(
    projects: Projects, memories: Memories, value_type: str
) -> None:
    conflict = (FAILED, "METADATA_TYPE_CONFLICT", "project.settings")
    for value in EVERY:
        if value in RIGHT[value_type]:
            await create(memories, fact(metadata={"k": value}))
    await create(memories, fact(metadata={"k": NULL}))
    others = [value for value in EVERY if value not in RIGHT[value_type]]
    for value in others:
        memory = await create(memories, fact(metadata={"k": value}))
        assert await refusal(projects.UpdateProject(update(metadata_keys=keys(k=value_type)))) == conflict
        await memories.DeleteMemory(pb.DeleteMemoryRequest(memory_id=memory.memory_id))
    await projects.UpdateProject(update(metadata_keys=keys(k=value_type)))
    retyped = "number" if value_type != "number" else "string"
    assert await refusal(projects.UpdateProject(update(metadata_keys=keys(k=retyped)))) == conflict
    await projects.UpdateProject(update(metadata_keys=[]))
    await create(memories, fact(metadata={"k": others[0]}))


async def test_a_conflict_tells_where_and_how_many(
    projects: Projects, memories: Memories, sessions: Sessions, database: TestDatabase
) -> None:
    project_id = make_project(database, "notes")
    own = as_service(project_id)
    request = pb.CreateMemoryRequest(store_id="notes", memory=fact(metadata={"plan": NUMBER}))
    for _ in range(2):
        await memories.CreateMemory(request, metadata=own)
    turn = turn_pb2.Turn(role="user", content="tea", metadata={"plan": BOOL})
    await sessions.RecordTurn(
        session_pb.RecordTurnRequest(store_id="notes", scope=SCOPE, turn=turn), metadata=own
    )
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await projects.UpdateProject(update(metadata_keys=keys(plan="string")), metadata=own)
    assert "3 rows of the store 'notes'" in refused.value.details()
    await projects.UpdateProject(
        update(metadata_keys=keys(plan="string"))
    )  # the other project's values do not count


async def test_custom_types_are_open_until_one_is_declared(projects: Projects, memories: Memories) -> None:
    await create(memories, ticket("anything", colour=TEXT))
    await projects.UpdateProject(update(custom_types=[custom_type("ticket", priority="number")]))
    unknown = (INVALID, "UNKNOWN_CUSTOM_TYPE", "memory.custom_type")
    assert await refusal(create(memories, ticket("anything"))) == unknown
    await create(memories, ticket(priority=NUMBER))
    await projects.UpdateProject(update({"force": True}, custom_types=[]))
    await create(memories, ticket("anything"))
    await projects.UpdateProject(update(metadata_policy=DECLARED))
    assert await refusal(create(memories, ticket("anything"))) == unknown


async def test_an_unknown_type_is_refused_in_reads_and_those_declared_are_listed(
    projects: Projects, memories: Memories, contexts: Contexts
) -> None:
    await projects.UpdateProject(update(custom_types=[custom_type("ticket"), custom_type("order")]))
    asked = ["ticket", "tikcet"]
    custom = context_service_pb2.CONTEXT_SOURCE_CUSTOM
    source = context_service_pb2.ContextSourceSpec(source=custom, custom_types=asked)
    options = search_pb2.SearchOptions(query="tea")
    for call, field in (
        (memories.ListMemories(pb.ListMemoriesRequest(custom_types=asked)), "custom_types[1]"),
        (memories.SearchMemories(pb.SearchMemoriesRequest(options=options, custom_types=asked)), "custom_types[1]"),
        (contexts.BuildContext(context_service_pb2.BuildContextRequest(query="tea", sources=[source])),
         "sources[0].custom_types[1]"),
    ):  # fmt: skip
        assert await refusal(call) == (INVALID, "UNKNOWN_CUSTOM_TYPE", field)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await create(memories, ticket("tikcet"))
    assert "declared: ticket, order" in refused.value.details()


async def test_tags_are_those_of_the_type_with_their_types(projects: Projects, memories: Memories) -> None:
    types = [custom_type("ticket", priority="number", team__name="string"), custom_type("order", paid="bool")]
    await projects.UpdateProject(update(custom_types=types, metadata_keys=keys(plan="string")))
    await create(memories, ticket(priority=NUMBER, plan=TEXT, team=nested(name=TEXT)))
    for memory, field in (
        (ticket(colour=TEXT), '["colour"]'),
        (ticket(paid=BOOL), '["paid"]'),
        (ticket(priority=TEXT), '["priority"]'),
        (ticket(plan=NUMBER), '["plan"]'),
        (ticket(team=nested(size=NUMBER)), '["team"]["size"]'),
        (ticket(team=TEXT), '["team"]'),
        (ticket(team=nested()), '["team"]'),
        (ticket(**{"team.name": NUMBER}), '["team"]["name"]'),
        (ticket(**{"team.name": TEXT, "team": nested(name=TEXT)}), '["team"]["name"]'),
    ):
        assert await refusal(create(memories, memory)) == (
            INVALID,
            "INVALID_FIELD",
            f"memory.metadata{field}",
        )
    await create(memories, fact("no ticket", metadata={"colour": TEXT}))


async def test_a_read_of_declared_types_names_their_tags_and_the_project_s_keys_only(
    projects: Projects, memories: Memories
) -> None:
    types = [custom_type("ticket", priority="number"), custom_type("order", paid="bool")]
    await projects.UpdateProject(update(custom_types=types, metadata_keys=keys(plan="string")))
    await create(memories, ticket(priority=NUMBER, plan=TEXT))
    plan = equals("metadata.plan", string_value="x")
    assert await found(memories, custom_types=["ticket"], filter=plan) == ["it broke"]
    for path, value in (("metadata.colour", {"string_value": "x"}), ("metadata.paid", {"bool_value": True})):
        asked = pb.ListMemoriesRequest(custom_types=["ticket"], filter=equals(path, **value))
        refused = (INVALID, "INVALID_FILTER", "filter.comparison.path")
        assert await refusal(memories.ListMemories(asked)) == refused
    assert await found(memories, filter=equals("metadata.colour", string_value="x")) == []


async def test_dotted_and_nested_tags_are_one(projects: Projects, memories: Memories) -> None:
    await projects.UpdateProject(update(custom_types=[custom_type("ticket", team__name="string")]))
    dotted = await create(memories, ticket(**{"team.name": TEXT}))
    assert dotted.metadata == ticket(team=nested(name=TEXT)).metadata
    change = m.Memory(memory_id=dotted.memory_id, metadata={"team.name": Value(string_value="y")})
    mask = FieldMask(paths=["metadata"])
    changed = await memories.UpdateMemory(pb.UpdateMemoryRequest(memory=change, update_mask=mask))
    assert changed.memory.metadata["team"] == nested(name=Value(string_value="y"))
    put = ticket(**{"team.name": TEXT})
    put.key = "k"
    assert (await memories.PutMemory(pb.PutMemoryRequest(memory=put))).memory.metadata["team"] == nested(
        name=TEXT
    )
    assert await found(memories, filter=equals("metadata.team.name", string_value="y")) == ["it broke"]


async def test_a_type_with_memories_is_taken_away_by_force_only(
    projects: Projects, memories: Memories
) -> None:
    await projects.UpdateProject(
        update(custom_types=[custom_type("ticket", priority="number"), custom_type("order")])
    )
    memory = await create(memories, ticket(priority=NUMBER))
    away = [custom_type("order")]
    not_empty = (FAILED, "CUSTOM_TYPE_NOT_EMPTY", "force")
    assert await refusal(projects.UpdateProject(update(custom_types=away))) == not_empty
    await projects.UpdateProject(update({"force": True}, custom_types=away))
    assert await found(memories, kinds=[m.MEMORY_KIND_CUSTOM]) == ["it broke"]
    assert (await memories.GetMemory(pb.GetMemoryRequest(memory_id=memory.memory_id))).memory == memory
    change = m.Memory(memory_id=memory.memory_id, metadata={"priority": NUMBER})
    written = memories.UpdateMemory(
        pb.UpdateMemoryRequest(memory=change, update_mask=FieldMask(paths=["metadata"]))
    )
    assert (await refusal(written))[1] == "UNKNOWN_CUSTOM_TYPE"
    await memories.DeleteMemory(pb.DeleteMemoryRequest(memory_id=memory.memory_id))
    await projects.UpdateProject(update(custom_types=[custom_type("ticket"), custom_type("order")]))
    await projects.UpdateProject(update(custom_types=away))  # the deleted one does not count


async def test_a_type_is_edited_while_it_has_memories(projects: Projects, memories: Memories) -> None:
    await projects.UpdateProject(update(custom_types=[custom_type("ticket", priority="number")]))
    await create(memories, ticket(priority=NUMBER))
    edited = update(custom_types=[custom_type("ticket", priority="number", colour="string")])
    await projects.UpdateProject(edited)
    await create(memories, ticket(colour=TEXT))
    retyped = update(custom_types=[custom_type("ticket", priority="string")])
    assert (await refusal(projects.UpdateProject(retyped)))[1] == "METADATA_TYPE_CONFLICT"


async def test_every_write_is_found_by_its_declared_key(
    projects: Projects, memories: Memories, project_id: UUID
) -> None:
    """Filters on declared keys go by an index of their own, which each write has to keep."""

    async def plan(value: str, **call: Any) -> list[str]:
        request = pb.ListMemoriesRequest(
            filter=equals("metadata.plan", string_value=value), include_deleted=True
        )
        answer = await memories.ListMemories(request, **call)
        return sorted(memory.content for memory in answer.memories)

    async def change(memory: m.Memory, *paths: str) -> None:
        await memories.UpdateMemory(pb.UpdateMemoryRequest(memory=memory, update_mask=FieldMask(paths=paths)))

    text = {name: Value(string_value=name) for name in ("old", "new")}
    scope = scope_pb2.Scope(user_id="ann")
    before = await create(memories, fact("before", scope=scope, metadata={"plan": text["old"]}))
    await projects.UpdateProject(update(metadata_keys=keys(plan="string")))
    batch = [fact("batch", metadata={"plan": text["old"]}), fact("without")]
    await memories.BatchCreateMemories(pb.BatchCreateMemoriesRequest(memories=batch))
    for value in text.values():
        await memories.PutMemory(pb.PutMemoryRequest(memory=fact("put", key="k", metadata={"plan": value})))
    assert (await plan("old"), await plan("new")) == (["batch", "before"], ["put"])

    bob = as_user(project_id, "bob")
    assert await plan("old", metadata=bob) == []
    shared = m.Memory(memory_id=before.memory_id, visibility=scope_pb2.VISIBILITY_PROJECT)
    await change(shared, "visibility")
    assert await plan("old", metadata=bob) == ["before"]
    await change(m.Memory(memory_id=before.memory_id, metadata={"plan": text["new"]}), "metadata")
    assert (await plan("old", metadata=bob), await plan("new", metadata=bob)) == ([], ["before"])
    await memories.DeleteMemory(pb.DeleteMemoryRequest(memory_id=before.memory_id))
    assert await plan("new") == ["before", "put"]
    await memories.DeleteMemory(pb.DeleteMemoryRequest(memory_id=before.memory_id, purge=True))
    assert await plan("new") == ["put"]

    await projects.UpdateProject(update(metadata_keys=[]))
    await memories.PutMemory(pb.PutMemoryRequest(memory=fact("put", key="k", metadata={"plan": text["old"]})))
    await projects.UpdateProject(update(metadata_keys=keys(plan="string")))
    assert (await plan("old"), await plan("new")) == (["batch", "put"], [])


async def test_no_value_of_another_type_slips_past_a_declaration(
    projects: Projects, memories: Memories, sessions: Sessions
) -> None:
    """Either the declaration meets the value, or the value meets the declaration: never do both pass."""

    async def race(key: str, delay: float) -> bool:
        turn = turn_pb2.Turn(role="user", content="tea", metadata={key: NUMBER})
        late: list[Awaitable[object]] = [
            create(memories, fact(metadata={key: NUMBER})),
            sessions.RecordTurn(session_pb.RecordTurnRequest(scope=SCOPE, turn=turn)),
            create(memories, fact(metadata={key: NUMBER})),
        ]

        async def declare() -> UpdateProjectResponse:
            await asyncio.sleep(delay)
            return await projects.UpdateProject(update(metadata_keys=keys(**{key: "string"})))

        written: list[object]
        declared, *written = await asyncio.gather(declare(), *late, return_exceptions=True)
        refused = [read_refusal(each)[1] for each in written if isinstance(each, grpc.aio.AioRpcError)]
        assert set(refused) <= {"INVALID_FIELD"}
        if isinstance(declared, grpc.aio.AioRpcError):
            assert read_refusal(declared)[1] == "METADATA_TYPE_CONFLICT"
            assert len(refused) < len(late)
            return False
        assert len(refused) == len(late)
        return True

    outcomes = [await race(f"k{number}", number % 10 / 1_000) for number in range(60)]
    assert set(outcomes) == {True, False}, "the race always had one winner: nothing was tried"


async def test_a_declaration_waits_for_a_writer_that_holds_the_settings(
    projects: Projects, app_database: Database, project_id: UUID
) -> None:
    async def declare() -> UpdateProjectResponse:
        return await projects.UpdateProject(update(metadata_keys=keys(plan="string")))

    principal = service_principal(project_id)
    async with tenant_transaction(app_database, principal, "", timeout=30) as writer:
        await hold_settings(writer)
        declaring = asyncio.create_task(declare())
        done, _ = await asyncio.wait([declaring], timeout=0.3)
        assert not done
        async with tenant_transaction(app_database, principal, "", timeout=5) as other:
            assert (
                await hold_settings(other)
            ).settings.metadata_keys == ()  # writers do not wait for one another
    assert [key.name for key in (await declaring).project.settings.metadata_keys] == ["plan"]
