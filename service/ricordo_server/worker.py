"""The worker's composition root: the queue's library, the kinds of jobs, and the services they work with.

The queue is read as operator; what a job touches it enters as the server does, as ricordo_app, inside one project.
"""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from procrastinate import App, BaseRetryStrategy, JobContext, PsycopgConnector, RetryDecision
from procrastinate.exceptions import ProcrastinateException
from procrastinate.jobs import Job
from psycopg import AsyncConnection

from ricordo_server.app.services import Services
from ricordo_server.config import Settings
from ricordo_server.db import jobs as jobs_db
from ricordo_server.db.connection import project_transaction
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.failure import FailureClass, classify, pause_before_retry
from ricordo_server.domain.principal import HOUSEKEEPER, Principal, worker_of
from ricordo_server.jobs.kind import LONGEST_SECONDS, Failure, JobKind
from ricordo_server.jobs.registry import KINDS
from ricordo_server.server import UnsafeToServe, open_services, stop_signals

log = logging.getLogger("ricordo.worker")

# A worker hears of new jobs at once; this is for scheduled ones, and for what was not heard.
POLL_SECONDS = 1.0
# A worker that fails (the database was restarted) begins anew after so long.
RESTART_SECONDS = 2.0
OPERATOR_SECONDS = 30.0


class PacedRetries(BaseRetryStrategy):
    """As `domain.failure` says. A job that a stop cut short has not failed: another worker takes it at once."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        if isinstance(exception, asyncio.CancelledError):
            return RetryDecision(retry_in={"seconds": 0})
        chance = random.random()  # noqa: S311 - spreads retries, guards nothing
        pause = pause_before_retry(exception, job.attempts + 1, chance=chance)
        return None if pause is None else RetryDecision(retry_in={"microseconds": int(pause * 1e6)})


@dataclass(frozen=True)
class Runner:
    """Runs one kind's jobs inside their tenant."""

    services: Services
    kind: JobKind

    async def run(self, context: JobContext, **arguments: Any) -> None:
        """Raises what ended the attempt, once it is recorded; what is gone needs no work, and is a success."""
        principal = HOUSEKEEPER if self.kind.schedule else worker_of(UUID(context.job.queue))
        call = Call(principal, time.monotonic() + self.kind.seconds)
        try:
            async with asyncio.timeout(self.kind.seconds):
                await self.kind.work(self.services, call, arguments)
        except Exception as error:
            if isinstance(error, DomainError) and error.reason is Reason.STORE_NOT_FOUND:
                log.info("the store of a job is gone", extra={"task": self.kind.name})
                return
            await self._record(context.job, error)
            await self._tell_attempt(context.job, principal, arguments, error)
            raise

    async def _tell_attempt(
        self, job: Job, principal: Principal, arguments: Mapping[str, Any], error: Exception
    ) -> None:
        is_final = pause_before_retry(error, job.attempts + 1, chance=0) is None
        await _tell(self.services, self.kind, principal, arguments, Failure(classify(error), is_final, error))

    async def _record(self, job: Job, error: Exception) -> None:
        failure_class, name = classify(error), type(error).__name__
        reason = str(error.reason) if isinstance(error, DomainError) else name
        log.warning(
            "job failed",
            extra={"task": job.task_name, "job": job.id, "class": failure_class, "error": reason},
            exc_info=error,
        )
        assert job.id is not None  # noqa: S101 - it came from the queue
        assert self.services.operator_pool is not None  # noqa: S101 - `working` refuses
        pool = self.services.operator_pool
        async with project_transaction(pool, HOUSEKEEPER, timeout=OPERATOR_SECONDS) as operator:
            await jobs_db.record_failure(operator, job.id, failure_class, reason)


async def _tell(
    services: Services, kind: JobKind, principal: Principal, arguments: Mapping[str, Any], failure: Failure
) -> None:
    if kind.on_failure is not None:
        call = Call(principal, time.monotonic() + OPERATOR_SECONDS)
        await kind.on_failure(services, call, arguments, failure)


def make_app(operator_url: str, services: Services, kinds: tuple[JobKind, ...] = KINDS) -> App:
    """The queue with every kind of job in it. It LISTENs, so the URL must not lead through a transaction pooler."""
    connector = PsycopgConnector(conninfo=operator_url, configure=_enter_queue, min_size=1, max_size=3)
    app = App(connector=connector)
    for kind in kinds:
        name = kind.name
        decorate = app.task(
            name=name,
            queue=jobs_db.HOUSEKEEPING,
            lock=name if kind.schedule else None,
            retry=PacedRetries(),
            pass_context=True,
        )
        task = decorate(_as_function(Runner(services, kind)))
        if kind.schedule:
            app.periodic(cron=kind.schedule)(task)
    return app


def _as_function(runner: Runner) -> Callable[..., Any]:
    async def run(context: JobContext, **arguments: Any) -> None:
        await runner.run(context, **arguments)

    return run


async def _enter_queue(connection: AsyncConnection[Any]) -> None:
    """The library's statements name its tables without their schema."""
    await connection.execute("SELECT set_config('search_path', 'procrastinate, pg_catalog', false)")
    await connection.commit()


@asynccontextmanager
async def working(
    settings: Settings, services: Services, *, kinds: tuple[JobKind, ...] = KINDS
) -> AsyncIterator[None]:
    """Jobs run as long as the block does; those under way at its end get a grace, then another worker has them.

    Raises:
        UnsafeToServe: there is no operator's URL.
    """
    if services.operator_pool is None:
        raise UnsafeToServe(["a worker reads the queue as operator: set RICORDO_OPERATOR_URL"])
    app = make_app(settings.operator_url, services, kinds)
    async with app.open_async():
        tasks = [
            asyncio.create_task(_keep_working(app, settings)),
            asyncio.create_task(_keep_reclaiming(services, kinds, settings.worker_lease)),
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


async def _keep_working(app: App, settings: Settings) -> None:
    """Cancelling it stops gently: the library then waits for the jobs under way."""
    while True:
        with suppress(ProcrastinateException):  # it logs what ended it
            await app.run_worker_async(
                name="ricordo",
                concurrency=max(1, settings.worker_concurrency // settings.processes),
                install_signal_handlers=False,
                delete_jobs="successful",
                fetch_job_polling_interval=POLL_SECONDS,
                shutdown_graceful_timeout=settings.shutdown_grace,
                update_heartbeat_interval=settings.worker_lease / 3,
                stalled_worker_timeout=settings.worker_lease,
            )
        log.warning("the worker ended", extra={"restart_in": RESTART_SECONDS})
        await asyncio.sleep(RESTART_SECONDS)


async def _keep_reclaiming(services: Services, kinds: tuple[JobKind, ...], lease: float) -> None:
    while True:
        try:
            await reclaim(services, kinds, lease=lease)
        except DomainError as error:
            log.warning("cannot look for lost jobs", extra={"reason": error.reason})
        await asyncio.sleep(lease / 3)


async def reclaim(services: Services, kinds: tuple[JobKind, ...] = KINDS, *, lease: float) -> None:
    """Gives back the jobs of workers that died; one that takes its worker with it again and again has failed."""
    by_name = {kind.name: kind for kind in kinds}
    assert services.operator_pool is not None  # noqa: S101 - `working` refuses
    pool = services.operator_pool
    async with project_transaction(pool, HOUSEKEEPER, timeout=OPERATOR_SECONDS) as operator:
        lost = await jobs_db.reclaim_jobs(operator, lease=lease, longest=2 * LONGEST_SECONDS)
        # Before it is committed: whoever dies here leaves it to the next one, and is told twice rather than never.
        for row in lost:
            if row["given_up"] and row["task_name"] in by_name:
                await _tell_given_up(services, by_name[row["task_name"]], row)
    for row in lost:
        extra = {"job": row["id"], "times": row["times"], "given_up": row["given_up"]}
        log.warning("a job was lost with its worker", extra=extra)


async def _tell_given_up(services: Services, kind: JobKind, row: Mapping[str, Any]) -> None:
    principal = HOUSEKEEPER if kind.schedule else worker_of(UUID(row["queue_name"]))
    try:
        await _tell(services, kind, principal, row["args"], Failure(FailureClass.TRANSIENT, is_final=True))
    except DomainError as error:
        if error.reason is not Reason.STORE_NOT_FOUND:
            raise


async def work(settings: Settings, *, on_ready: Callable[[], None]) -> None:
    """Works until SIGTERM or SIGINT."""
    stopped = stop_signals()
    async with (
        open_services(settings, pool_size=settings.worker_concurrency + 1) as services,
        working(settings, services),
    ):
        log.info("ready")
        on_ready()
        await stopped.wait()
