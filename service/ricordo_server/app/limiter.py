"""What each project may use of this process: calls a second, calls at a time, tokens a day."""

import asyncio
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from ricordo_server.db import usage as usage_db
from ricordo_server.db.connection import Pool, project_transaction
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.fairness import TokenBucket
from ricordo_server.domain.principal import Principal
from ricordo_server.domain.project_limits import NO_LIMITS, ProjectLimits, TokenKind, rate_exceeded

log = logging.getLogger(__name__)

# How long what was read of a project counts, and how late other processes hear of spent tokens.
REFRESH_SECONDS = 10.0
DATABASE_SECONDS = 5.0
MAX_PROJECTS = 10_000
# A read of the usage that had to sum more rows leaves few.
COMPACT_AT = 1_000
# A call that is over its project's calls at a time: another ends about then.
RETRY_SECONDS = 0.5


@dataclass
class _Project:
    """One project in this process."""

    principal: Principal
    limits: ProjectLimits = NO_LIMITS
    bucket: TokenBucket | None = None
    running: int = 0
    spent: Counter[TokenKind] = field(default_factory=Counter)
    unwritten: Counter[TokenKind] = field(default_factory=Counter)
    writer: asyncio.Task[None] | None = None
    fresh_until: float = 0.0


class Limiter:
    """The limits of every project that calls. Belongs to one event loop.

    Args:
        pool: The server's.
        processes: Of the server: rate and concurrency are divided among them.
        max_concurrent: Calls at a time of this process. Whoever has more of them than are free gets no more, so that
            one project alone takes half of them and others still find room.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        processes: int = 1,
        max_concurrent: int = 200,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pool = pool
        self._processes = processes
        self._free = max_concurrent
        self._clock = clock
        self._projects: OrderedDict[UUID, _Project] = OrderedDict()

    @asynccontextmanager
    async def admitted(self, principal: Principal) -> AsyncIterator[None]:
        """A call of the project, while it runs; an operator's is not counted.

        Raises:
            DomainError: RATE_LIMIT_EXCEEDED, or TOO_MANY_REQUESTS for more than the project's share of the server.
        """
        project = await self._find(principal)
        if project is None:
            yield
            return
        self._check_concurrency(project)
        self._take_token(project)
        project.running += 1
        self._free -= 1
        try:
            yield
        finally:
            project.running -= 1
            self._free += 1

    async def spend(self, principal: Principal, kind: TokenKind, tokens: int) -> None:
        """Counts tokens that are about to be used.

        Raises:
            DomainError: RATE_LIMIT_EXCEEDED, until midnight; nothing is counted.
        """
        await self.check_tokens(principal, kind, tokens)
        await self.count_tokens(principal, kind, tokens)

    async def check_tokens(self, principal: Principal, kind: TokenKind, tokens: int) -> None:
        """
        Raises:
            DomainError: RATE_LIMIT_EXCEEDED, until midnight, when the day does not have so many left.
        """
        project = await self._find(principal)
        if project is None:
            return
        name = f"{kind}_per_day"
        limit: int | None = getattr(project.limits, name)
        if limit is not None and project.spent[kind] + tokens > limit:
            raise rate_exceeded(name, limit, _seconds_to_midnight())

    async def count_tokens(self, principal: Principal, kind: TokenKind, tokens: int) -> None:
        """Counts tokens that were used, beyond the limit too."""
        project = await self._find(principal)
        if project is None:
            return
        project.spent[kind] += tokens
        project.unwritten[kind] += tokens
        if project.writer is None or project.writer.done():
            project.writer = asyncio.create_task(self._write_later(project))

    async def aclose(self) -> None:
        """Writes down what was spent."""
        writers = [project.writer for project in self._projects.values() if project.writer]
        for writer in writers:
            writer.cancel()
        await asyncio.gather(*writers, return_exceptions=True)
        for project in self._projects.values():
            await self._write_tokens(project)

    async def _find(self, principal: Principal) -> _Project | None:
        """With limits that are fresh. While one call reads them, others go by what was read before."""
        if principal.project_id is None:
            return None
        project = self._projects.get(principal.project_id)
        if project is None:
            project = self._projects[principal.project_id] = _Project(principal)
            self._forget_idle()
        self._projects.move_to_end(principal.project_id)
        if project.fresh_until <= self._clock():
            project.fresh_until = self._clock() + REFRESH_SECONDS
            await self._refresh(project)
        return project

    def _forget_idle(self) -> None:
        for project_id, project in list(self._projects.items())[: len(self._projects) - MAX_PROJECTS]:
            if not (project.running or project.unwritten.total()):
                del self._projects[project_id]

    async def _refresh(self, project: _Project) -> None:
        """A database that is away leaves the limits as they were: the call itself will say that it is."""
        try:
            async with project_transaction(
                self._pool, project.principal, timeout=DATABASE_SECONDS
            ) as connection:
                limits = await usage_db.read_limits(connection) or NO_LIMITS
                used, rows = await usage_db.read_usage(connection)
                if rows > COMPACT_AT:
                    await usage_db.compact_usage(connection)
        except DomainError as error:
            log.warning("limits not read", extra={"cause": error.reason})
            project.fresh_until = 0.0
            return
        spent = Counter({kind: int(getattr(used, kind)) for kind in TokenKind})
        project.spent = spent + project.unwritten
        if project.limits.requests_per_second != limits.requests_per_second or project.bucket is None:
            project.bucket = self._bucket(limits)
        project.limits = limits

    def _bucket(self, limits: ProjectLimits) -> TokenBucket | None:
        rate = limits.requests_per_second
        return TokenBucket(rate / self._processes, self._clock()) if rate else None

    def _take_token(self, project: _Project) -> None:
        wait = project.bucket.take(self._clock()) if project.bucket else 0.0
        if wait:
            raise rate_exceeded("requests_per_second", project.limits.requests_per_second or 0, wait)

    def _check_concurrency(self, project: _Project) -> None:
        limit = project.limits.concurrent_requests
        if limit is not None and project.running >= max(1, limit // self._processes):
            raise rate_exceeded("concurrent_requests", limit, RETRY_SECONDS)
        if project.running > self._free:
            message = "the project has its share of the server's concurrent calls: try again shortly"
            raise DomainError(Reason.TOO_MANY_REQUESTS, message)

    async def _write_later(self, project: _Project) -> None:
        await asyncio.sleep(REFRESH_SECONDS)
        await self._write_tokens(project)

    async def _write_tokens(self, project: _Project) -> None:
        """What cannot be written stays, to be written with what is spent next."""
        tokens = Counter(project.unwritten)
        if not tokens.total():
            return
        try:
            async with project_transaction(
                self._pool, project.principal, timeout=DATABASE_SECONDS
            ) as connection:
                await usage_db.add_tokens(connection, tokens)
        except DomainError as error:
            log.warning("spent tokens not written", extra={"cause": error.reason, "tokens": tokens.total()})
        else:
            project.unwritten -= tokens


@dataclass(frozen=True)
class LlmMeter:
    """The `domain.extraction.TokenMeter` of a project."""

    limiter: Limiter
    principal: Principal

    async def check(self) -> None:
        await self.limiter.check_tokens(self.principal, TokenKind.LLM, 1)

    async def count(self, tokens: int) -> None:
        await self.limiter.count_tokens(self.principal, TokenKind.LLM, tokens)


def _seconds_to_midnight() -> float:
    now = datetime.now(UTC)
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return (midnight - now).total_seconds()
