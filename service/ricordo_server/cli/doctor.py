"""What `doctor` asks, in order: each question is answered with nothing, or with what is wrong and what to do."""

import math
from collections.abc import AsyncIterator, Iterable

import typer

from ricordo_server.app.key_ring import KeyRing
from ricordo_server.config import Settings
from ricordo_server.credentials.key_sealing import KeySealing
from ricordo_server.db import installation
from ricordo_server.db.checks import find_model, inspect_walls
from ricordo_server.db.connection import Pool, open_pool
from ricordo_server.db.embedding_models import list_model_settings
from ricordo_server.db.migrations import APP_ROLE, OPERATOR_ROLE
from ricordo_server.domain.ports import Embedder, EmbeddingError, EmbeddingKind
from ricordo_server.embedding import load_embedder, probe_embedder
from ricordo_server.embedding.stored import restore_settings

Finding = tuple[str, Iterable[str]]
"""What was checked, and its faults."""

# A worker takes a job within seconds, whatever else waits.
LONG_WAIT_SECONDS = 60


async def report(settings: Settings) -> bool:
    """Prints one line a check, more only for several faults; whether all is well."""
    healthy = True
    async for name, faults in examine(settings):
        for fault in faults:
            healthy = False
            typer.echo(f"fault  {name}: {fault}")
        if not faults:
            typer.echo(f"ok     {name}")
    return healthy


async def examine(settings: Settings) -> AsyncIterator[Finding]:
    if fault := installation.find_connection_fault(settings.database_url, APP_ROLE):
        yield "database", [f"{fault}; is RICORDO_DATABASE_URL right, and has `ricordo bootstrap` been run?"]
    else:
        yield "database", []
        pool = await open_pool(settings.database_url, size=1, prepare=not settings.transaction_pooler)
        async with pool:
            async for finding in _examine_database(pool, settings):
                yield finding
    if settings.operator_url:
        fault = installation.find_connection_fault(settings.operator_url, OPERATOR_ROLE)
        yield "operator", [f"{fault}; is RICORDO_OPERATOR_URL right?"] if fault else []
        if not fault:
            yield _examine_queue(settings)


def _examine_queue(settings: Settings) -> Finding:
    """Work that nobody takes is a fault; what failed is told beside it."""
    facts = installation.find_queue_facts(settings.operator_url)
    if facts is None:
        return "queue", ["the database has none yet: run `ricordo migrate`"]
    name = f"queue ({facts.waiting} waiting for {facts.oldest_seconds:.0f} s, {facts.failed} failed)"
    is_left = facts.oldest_seconds > LONG_WAIT_SECONDS and not facts.workers
    return name, ["nobody takes its jobs: start `ricordo work`"] if is_left else []


async def _examine_database(pool: Pool, settings: Settings) -> AsyncIterator[Finding]:
    walls = await inspect_walls(pool)
    for name, faults in walls.items():
        yield name, faults
    if not walls["schema"]:
        yield "migrations", await _migration_faults(pool)
        yield "signing keys", await _key_faults(pool, settings)
    try:
        embedder = load_embedder(settings.embedding)
    except EmbeddingError as error:
        yield "embedder", [str(error)]
        return
    yield f"embedder {embedder.name}", await _embedder_faults(embedder)
    if not walls["schema"]:
        yield "embedding model", await _model_faults(pool, embedder)
        yield "other embedding models", await _faults_of_others(pool, embedder.name)
    await embedder.aclose()


async def _migration_faults(pool: Pool) -> list[str]:
    revision, newest = await installation.find_revision(pool), installation.newest_revision()
    if revision == newest:
        return []
    return [f"the schema is at revision {revision}, this release at {newest}: run `ricordo migrate`"]


async def _key_faults(pool: Pool, settings: Settings) -> list[str]:
    """None where no key secret is set: such a server takes other credentials."""
    secrets = settings.key_secrets()
    fault = await KeyRing(pool, KeySealing(secrets)).find_fault() if secrets else ""
    return [fault] if fault else []


async def _embedder_faults(embedder: Embedder) -> list[str]:
    try:
        [vector] = await embedder.embed(["a sentence to try the model with"], EmbeddingKind.QUERY)
    except EmbeddingError as error:
        return [str(error)]
    if vector is None or len(vector) != embedder.dimension:
        numbers = 0 if vector is None else len(vector)
        return [f"it answers {numbers} numbers, not {embedder.dimension}: set RICORDO_EMBEDDING__DIMENSION"]
    norm = math.sqrt(math.fsum(float(number) ** 2 for number in vector))
    return [] if abs(norm - 1) < 1e-3 else [f"its vectors have length {norm:.3f}, not 1: use another model"]


async def _faults_of_others(pool: Pool, configured: str) -> list[str]:
    """Those that a project may use: a server loads them when it does."""
    faults = []
    for name, settings in (await list_model_settings(pool)).items():
        try:
            if name != configured:
                await probe_embedder(restore_settings(settings))
        except EmbeddingError as error:
            faults.append(f"{name}: {error}")
    return faults


async def _model_faults(pool: Pool, embedder: Embedder) -> list[str]:
    model = await find_model(pool, embedder.name)
    if model is None:
        return [f"{embedder.name} is not registered: run `ricordo migrate`"]
    if model.dimension != embedder.dimension:
        registered = f"{embedder.name} is registered with {model.dimension} numbers"
        return [f"{registered} and now answers {embedder.dimension}: set RICORDO_EMBEDDING__DIMENSION back"]
    return []
