"""What tests of pipelines say, write and wait for."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc.aio
from google.protobuf.field_mask_pb2 import FieldMask

from ricordo.v1 import (
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
    pipeline_pb2,
    pipeline_service_pb2_grpc,
    scope_pb2,
    session_service_pb2,
    session_service_pb2_grpc,
    store_pb2,
    store_service_pb2,
    store_service_pb2_grpc,
    turn_pb2,
)
from ricordo.v1 import pipeline_service_pb2 as pb
from ricordo_server.config import Settings
from ricordo_server.jobs import pipelines as jobs
from ricordo_server.jobs.kind import JobKind
from tests.jobs.queue import worker

RUN_STATE = pipeline_pb2.PipelineRunState
NOTES = "ann-notes"
SESSIONS = "talks"
ABOUT = "/user-personal-info.md"
# The look for what is due goes over all stores of the database, those of other tests too.
BY_HAND = tuple(kind for kind in jobs.KINDS if not kind.schedule)


class World:
    """A store of sessions, one of documents, and what tests do with them."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.pipelines = pipeline_service_pb2_grpc.PipelineServiceStub(channel)
        self.sessions = session_service_pb2_grpc.SessionServiceStub(channel)
        self.memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
        self.stores = store_service_pb2_grpc.StoreServiceStub(channel)

    async def make_stores(self) -> None:
        for store_id in (SESSIONS, NOTES):
            request = store_service_pb2.CreateStoreRequest(store=store_pb2.Store(store_id=store_id))
            await self.stores.CreateStore(request)

    async def create(self, **fields: Any) -> pipeline_pb2.Pipeline:
        given = pipeline_pb2.Pipeline(**{"target_store_id": NOTES, **fields})
        request = pb.CreatePipelineRequest(store_id=SESSIONS, pipeline=given)
        return (await self.pipelines.CreatePipeline(request)).pipeline

    async def update(self, pipeline: pipeline_pb2.Pipeline, *paths: str) -> pipeline_pb2.Pipeline:
        request = pb.UpdatePipelineRequest(
            store_id=SESSIONS, pipeline=pipeline, update_mask=FieldMask(paths=paths)
        )
        return (await self.pipelines.UpdatePipeline(request)).pipeline

    async def start(self, pipeline: pipeline_pb2.Pipeline) -> pipeline_pb2.PipelineRun:
        request = pb.RunPipelineRequest(store_id=SESSIONS, pipeline_id=pipeline.pipeline_id)
        return (await self.pipelines.RunPipeline(request)).run

    async def read(self, run: pipeline_pb2.PipelineRun) -> pipeline_pb2.PipelineRun:
        request = pb.GetPipelineRunRequest(store_id=SESSIONS, run_id=run.run_id)
        return (await self.pipelines.GetPipelineRun(request)).run

    async def runs(self, pipeline: pipeline_pb2.Pipeline) -> list[pipeline_pb2.PipelineRun]:
        request = pb.ListPipelineRunsRequest(store_id=SESSIONS, pipeline_id=pipeline.pipeline_id)
        return list((await self.pipelines.ListPipelineRuns(request)).runs)

    async def say(
        self, *texts: str, user_id: str = "ann", session_id: str = "s", role: str = "user"
    ) -> list[turn_pb2.Turn]:
        request = session_service_pb2.BatchRecordTurnsRequest(
            store_id=SESSIONS,
            scope=scope_pb2.Scope(user_id=user_id, session_id=session_id),
            turns=[turn_pb2.Turn(role=role, content=text) for text in texts],
        )
        return [each.turn for each in (await self.sessions.BatchRecordTurns(request)).results]

    async def documents(self, user_id: str = "ann") -> dict[str, str]:
        request = memory_service_pb2.ListMemoriesRequest(
            store_id=NOTES,
            scope=scope_pb2.ScopeFilter(matching=scope_pb2.Scope(user_id=user_id)),
            kinds=[memory_pb2.MEMORY_KIND_DOCUMENT],
        )
        return {each.key: each.content for each in (await self.memories.ListMemories(request)).memories}

    async def write(self, path: str, content: str, **fields: Any) -> memory_pb2.Memory:
        memory = memory_pb2.Memory(
            kind=memory_pb2.MEMORY_KIND_DOCUMENT,
            key=path,
            content=content,
            scope=scope_pb2.Scope(user_id="ann"),
            **fields,
        )
        request = memory_service_pb2.CreateMemoryRequest(store_id=NOTES, memory=memory)
        return (await self.memories.CreateMemory(request)).memory


async def finish(
    world: World, settings: Settings, pipeline: pipeline_pb2.Pipeline, *kinds: JobKind
) -> pipeline_pb2.PipelineRun:
    """Starts a run and waits until it has ended."""
    run = await world.start(pipeline)
    async with worker(settings, *(kinds or BY_HAND)):
        return await ended(world, run)


async def ended(world: World, run: pipeline_pb2.PipelineRun) -> pipeline_pb2.PipelineRun:
    async def has_ended() -> bool:
        return (await world.read(run)).state not in (
            RUN_STATE.PIPELINE_RUN_STATE_PENDING,
            RUN_STATE.PIPELINE_RUN_STATE_RUNNING,
        )

    await eventually(has_ended)
    return await world.read(run)


async def eventually(condition: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(6_000):
        if await condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never came true")
