"""The pool and the only door to a tenant's rows: `tenant_transaction`."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from sqlalchemy import Dialect
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.sql.cache_key import HasCacheKey
from sqlalchemy.sql.elements import CompilerElement
from sqlalchemy.util import LRUCache

from ricordo_server.db.errors import translated_errors
from ricordo_server.db.settings_rows import settings_from, store_settings_from
from ricordo_server.db.sql import load_sql
from ricordo_server.domain.embedding_model import EmbeddingModel, ProjectModels
from ricordo_server.domain.extraction_policy import ExtractionPolicy
from ricordo_server.domain.fairness import FairSemaphore
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.principal import Principal
from ricordo_server.domain.profile_schema import ProfileSchema
from ricordo_server.domain.project_limits import ProjectLimits, limits_from
from ricordo_server.domain.project_settings import ProjectSettings
from ricordo_server.domain.retention import Retention
from ricordo_server.domain.scope import Scope
from ricordo_server.domain.shared_loop import Slices
from ricordo_server.domain.store import DEFAULT_STORE, STORE_ID, store_not_found
from ricordo_server.domain.store_settings import StoreSettings, scope_keys

Row = dict[str, Any]


class Pool(AsyncConnectionPool[AsyncConnection[DictRow]]):
    """A pool in which tenants take turns: whoever has many transactions waiting does not keep the others."""

    def __init__(self, url: str, *, size: int, prepare: bool) -> None:
        super().__init__(
            url,
            connection_class=AsyncConnection[DictRow],
            kwargs={"row_factory": dict_row, "prepare_threshold": 5 if prepare else None},
            min_size=min(2, size),
            max_size=size,
            open=False,
        )
        self.turns = FairSemaphore(size)


Entered = TypeVar("Entered", bound="ProjectConnection")

DIALECT: Dialect = PGDialect_psycopg()  # type: ignore[no-untyped-call]
# Whose models a process remembers, about 500 bytes each; of another it asks first.
MOST_KNOWN_PROJECTS = 10_000
# The wait for a row that another transaction holds: who waits holds one of few connections.
LOCK_SECONDS = 10.0
# Read, or sent, before other calls get on; a transaction of many rows holds up nobody else's.
ROWS_AT_A_TIME = 10
# The setting `ricordo.project_id` of a transaction that belongs to no project.
NO_PROJECT = UUID(int=0)


# Compiling costs more than most statements run. Statements are built for each call, so what is kept is the text of
# their shape: SQLAlchemy's own key of a statement, which has its values apart.
_compiled_shapes: LRUCache[Any, Any] = LRUCache(512)


def _compile(statement: CompilerElement) -> tuple[str, Mapping[str, Any]]:
    """The statement's text, and the values it brings."""
    key = statement._generate_cache_key() if isinstance(statement, HasCacheKey) else None
    if key is None:
        compiled = statement.compile(dialect=DIALECT)
        return str(compiled), compiled.params
    if key.key not in _compiled_shapes:
        _compiled_shapes[key.key] = statement.compile(dialect=DIALECT, cache_key=key)
    compiled = _compiled_shapes[key.key]
    return str(compiled), compiled.construct_params(extracted_parameters=key.bindparams, _check=False)


@dataclass(frozen=True)
class Connection:
    """Runs statements of SQLAlchemy Core, or of a `.sql` file, inside the transaction that made it."""

    raw: AsyncConnection[DictRow]

    async def execute(
        self, statement: CompilerElement | str, parameters: Mapping[str, Any] | None = None
    ) -> AsyncCursor[DictRow]:
        """Core statements bring parameters of their own; `parameters` fills those named with `bindparam`."""
        text, own = (statement, {}) if isinstance(statement, str) else _compile(statement)
        return await self.raw.execute(text, {**own, **(parameters or {})})

    async def fetch_all(
        self, statement: CompilerElement | str, parameters: Mapping[str, Any] | None = None
    ) -> list[Row]:
        slices = Slices()
        cursor = await self.execute(statement, parameters)
        rows = part = await cursor.fetchmany(ROWS_AT_A_TIME)
        while len(part) == ROWS_AT_A_TIME:
            await slices.between()
            part = await cursor.fetchmany(ROWS_AT_A_TIME)
            rows += part
        return rows

    async def fetch_one(
        self, statement: CompilerElement | str, parameters: Mapping[str, Any] | None = None
    ) -> Row | None:
        return await (await self.execute(statement, parameters)).fetchone()

    def pipeline(self) -> AbstractAsyncContextManager[object]:
        """Inside, a statement whose rows are not read yet travels together with the next."""
        return self.raw.pipeline()

    async def execute_many(
        self, statement: CompilerElement, parameters: Sequence[Mapping[str, Any]]
    ) -> list[Row | None]:
        """Runs the statement once for each set of parameters, many in a pipeline; the first row of each, if any."""
        text, own = _compile(statement)
        rows: list[Row | None] = []
        slices = Slices()
        async with self.raw.cursor() as cursor:
            for start in range(0, len(parameters), ROWS_AT_A_TIME):
                some = [{**own, **each} for each in parameters[start : start + ROWS_AT_A_TIME]]
                await cursor.executemany(text, some, returning=True)
                rows.append(await cursor.fetchone() if cursor.description else None)
                while cursor.nextset():
                    rows.append(await cursor.fetchone() if cursor.description else None)
                await slices.between()
        return rows


@dataclass(frozen=True)
class ProjectConnection(Connection):
    """Inside one project, as one principal."""

    project_id: UUID
    principal_id: str


@dataclass(frozen=True)
class TenantConnection(ProjectConnection):
    """Inside one store of one project.

    `language` is the text-search language of rows written now, `languages_in_use` of all that were. `may_write` and
    `may_publish` are what the policies hold the principal to. `settings`, `limits` and `models` are the
    project's as they were when the store was entered, `store_settings` the store's own.
    """

    store_id: UUID
    store_name: str
    language: str
    languages_in_use: Sequence[str]
    may_write: bool
    may_publish: bool
    settings: ProjectSettings
    store_settings: StoreSettings
    limits: ProjectLimits
    models: ProjectModels

    def policy_for(self, scope: Scope) -> ExtractionPolicy:
        """How turns of the scope become memories: PROFILE only where there is a schema for them."""
        policy = self.store_settings.policy_for(self.settings.extraction, scope)
        if self.profile_schemas_for(scope):
            return policy
        return replace(policy, kinds=tuple(kind for kind in policy.kinds if kind is not MemoryKind.PROFILE))

    @property
    def policies(self) -> list[ExtractionPolicy]:
        """Each that some scope of the store may have."""
        return self.store_settings.policies(self.settings.extraction)

    @property
    def profile_schemas(self) -> Sequence[ProfileSchema]:
        own = self.store_settings.profile_schemas
        return self.settings.profile_schemas if own is None else own

    def profile_schemas_for(self, scope: Scope) -> list[ProfileSchema]:
        """Those that are for the scope."""
        held = scope_keys(scope)
        return [schema for schema in self.profile_schemas if held.issuperset(schema.scope_keys)]

    @property
    def retention(self) -> Retention:
        return self.store_settings.retention.over(self.settings.retention)

    @property
    def embedding_model(self) -> EmbeddingModel:
        """The one whose vectors are read."""
        return self.models.active

    @property
    def key(self) -> dict[str, UUID]:
        """The two columns that every statement names, as parameters of the same names."""
        return {"project_id": self.project_id, "store_id": self.store_id}


async def open_pool(url: str, *, size: int, prepare: bool = True) -> Pool:
    """Opens `size` connections; `prepare` is off behind a transaction pooler."""
    pool = Pool(url, size=size, prepare=prepare)
    await pool.open(wait=True, timeout=30)
    return pool


@dataclass(frozen=True)
class Database:
    """The server's pool, and the models of each project as its last transaction here found them.

    A text is embedded before its transaction opens, which is then asked whether the models still are these.
    """

    pool: Pool
    last_models: LRUCache[UUID, ProjectModels] = field(default_factory=lambda: LRUCache(MOST_KNOWN_PROJECTS))


@asynccontextmanager
async def tenant_transaction(
    database: Database, principal: Principal, store_name: str, *, timeout: float
) -> AsyncIterator[TenantConnection]:
    """One transaction inside one store of the principal's project; commits at its end, rolls back on any error.

    Args:
        timeout: seconds left for the request: for the wait for a connection, and for each statement.

    Raises:
        DomainError: STORE_NOT_FOUND, also for a store the principal may not see; or what `db.errors` makes of a
            failure of the database.
    """
    enter = partial(enter_store, store_name=store_name)
    async with _transaction(database.pool, principal, timeout, enter) as tenant:
        database.last_models[tenant.project_id] = tenant.models
        yield tenant


async def enter_store(project: ProjectConnection, store_name: str) -> TenantConnection:
    """From inside the project into one of its stores, for the rest of the transaction.

    Raises:
        DomainError: STORE_NOT_FOUND.
    """
    name = store_name or DEFAULT_STORE
    if not STORE_ID.fullmatch(name):  # PostgreSQL could not even be asked for some
        raise store_not_found(name)
    asked = {"project_id": project.project_id, "principal_id": project.principal_id, "name": name}
    row = await project.fetch_one(load_sql("enter_store"), asked)
    if row is None:
        raise store_not_found(name)
    return TenantConnection(
        project.raw,
        project_id=project.project_id,
        principal_id=project.principal_id,
        store_id=row["store_id"],
        store_name=row["store_name"],
        language=row["language"],
        languages_in_use=row["languages_in_use"],
        may_write=row["may_write"],
        may_publish=row["may_publish"],
        settings=settings_from(row["settings"], row["project_language"]),
        store_settings=store_settings_from(row["store_settings"], row["store_language"]),
        limits=limits_from(row["limits"]),
        models=_models_from(row),
    )


def _models_from(row: Row) -> ProjectModels:
    active = EmbeddingModel(row["active_id"], row["active_name"], row["active_dimension"])
    if row["standby_id"] is None:
        return ProjectModels(active)
    return ProjectModels(
        active, EmbeddingModel(row["standby_id"], row["standby_name"], row["standby_dimension"])
    )


@asynccontextmanager
async def project_transaction(
    pool: Pool, principal: Principal, *, timeout: float
) -> AsyncIterator[ProjectConnection]:
    """One transaction inside the principal's project, outside any store: a store's table is an error there."""
    async with _transaction(pool, principal, timeout, _stay) as project:
        yield project


async def _stay(project: ProjectConnection) -> ProjectConnection:
    return project


@asynccontextmanager
async def _transaction(
    pool: Pool, principal: Principal, timeout: float, enter: Callable[[ProjectConnection], Awaitable[Entered]]
) -> AsyncIterator[Entered]:
    """The settings and `enter` travel in one pipeline.

    A connection may have died in the pool (the database was restarted): nothing has run on it yet, so the pool is
    swept and the entry tried once more.
    """
    with translated_errors():
        async with AsyncExitStack() as stack:
            try:
                entered = await _begin(stack, pool, principal, timeout, enter)
            except psycopg.OperationalError as error:
                if isinstance(error, PoolTimeout) or not _is_lost(error):
                    raise
                await pool.check()
                entered = await _begin(stack, pool, principal, timeout, enter)
            yield entered


async def _begin(
    stack: AsyncExitStack,
    pool: Pool,
    principal: Principal,
    timeout: float,
    enter: Callable[[ProjectConnection], Awaitable[Entered]],
) -> Entered:
    async with AsyncExitStack() as attempt:
        await _take_turn(attempt, pool, principal, timeout)
        connection = await attempt.enter_async_context(pool.connection(timeout=timeout))
        async with connection.pipeline():
            await _enter_project(connection, principal, timeout)
            project_id = principal.project_id or NO_PROJECT
            entered = await enter(ProjectConnection(connection, project_id, principal.principal_id))
        stack.push_async_exit(attempt.pop_all())
        return entered


async def _take_turn(stack: AsyncExitStack, pool: Pool, principal: Principal, timeout: float) -> None:
    try:
        async with asyncio.timeout(timeout):
            await stack.enter_async_context(pool.turns.held(principal.project_id))
    except TimeoutError as error:
        raise PoolTimeout("no turn came") from error


def _is_lost(error: psycopg.OperationalError) -> bool:
    """No SQLSTATE at all, or that of a server that ended the connection."""
    return error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))


async def _enter_project(connection: AsyncConnection[DictRow], principal: Principal, timeout: float) -> None:
    await connection.execute(
        load_sql("enter_project"),
        {
            "project_id": str(principal.project_id or NO_PROJECT),
            "principal_id": principal.principal_id,
            "may_write": _switch(principal.may_write),
            "may_administer": _switch(principal.may_administer),
            "any_user": _switch(principal.may_name_any_user),
            "user_ids": list(principal.user_ids),
            "statement_timeout": _milliseconds(timeout),
            "lock_timeout": _milliseconds(LOCK_SECONDS),
        },
    )


def _milliseconds(seconds: float) -> str:
    return str(max(1, int(seconds * 1000)))


def _switch(value: bool) -> str:
    return "on" if value else "off"
