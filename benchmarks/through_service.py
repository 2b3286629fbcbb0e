"""The same operations through the client: one for each caller, each with a connection of its own."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from benchmarks.raw import TOP_K
from benchmarks.stack import Stack
from benchmarks.workload import Tenant
from ricordo import AsyncClient
from ricordo.models import NewMemory, NewTurn, Scope


@dataclass(frozen=True)
class Caller:
    """One client on the searched tenant, one on the tenant that is written."""

    searching: AsyncClient
    writing: AsyncClient

    async def record_turn(self, scope: Scope, content: str) -> object:
        return await self.writing.sessions.record_turn(NewTurn(role="user", content=content), scope=scope)

    async def save_memory(self, scope: Scope, content: str) -> object:
        return await self.writing.memories.create(NewMemory(content=content, scope=scope))

    async def search(self, query: str, mode: str, **options: Any) -> Sequence[Any]:
        result = await self.searching.memories.search(query, mode=mode, top_k=TOP_K, **options)
        return result.hits


@asynccontextmanager
async def open_callers(
    stack: Stack, searched: Tenant, writing: Tenant, count: int
) -> AsyncIterator[list[Caller]]:
    async with AsyncExitStack() as clients:

        async def connect(tenant: Tenant) -> AsyncClient:
            client = AsyncClient(stack.target, token=tenant.token, local_subchannel_pool=True)
            return await clients.enter_async_context(client)

        yield [Caller(await connect(searched), await connect(writing)) for _ in range(count)]
