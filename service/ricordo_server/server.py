"""The server's composition root: pool, embedder, interceptors in order, servicers, health, shutdown."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import grpc.aio
import httpx
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from ricordo.v1 import (
    admin_service_pb2,
    admin_service_pb2_grpc,
    context_service_pb2,
    context_service_pb2_grpc,
    extraction_service_pb2,
    extraction_service_pb2_grpc,
    identity_service_pb2,
    identity_service_pb2_grpc,
    memory_service_pb2,
    memory_service_pb2_grpc,
    operation_service_pb2,
    operation_service_pb2_grpc,
    pipeline_service_pb2,
    pipeline_service_pb2_grpc,
    project_service_pb2,
    project_service_pb2_grpc,
    session_service_pb2,
    session_service_pb2_grpc,
    store_service_pb2,
    store_service_pb2_grpc,
)
from ricordo_server.app.access_tokens import AccessTokens, TokenNames
from ricordo_server.app.embedders import Embedders
from ricordo_server.app.key_ring import KeyRing
from ricordo_server.app.limiter import Limiter
from ricordo_server.app.services import Services
from ricordo_server.app.standing import Standing
from ricordo_server.app.token_pace import TokenPace
from ricordo_server.config import Settings
from ricordo_server.credentials.key_sealing import KeySealing
from ricordo_server.credentials.oidc import Issuer, make_issuer
from ricordo_server.credentials.secrets import SecretHashing
from ricordo_server.db.checks import find_faults, find_model
from ricordo_server.db.connection import Database, Pool, open_pool
from ricordo_server.domain.limits import MAX_REQUEST_BYTES
from ricordo_server.domain.shared_loop import SharedLoop
from ricordo_server.embedding import load_embedder, load_stored_embedder
from ricordo_server.embedding.tokens import GptTokenCounter
from ricordo_server.extraction import Extractors
from ricordo_server.reranking import load_reranker
from ricordo_server.rpc.admin_service import AdminService
from ricordo_server.rpc.authentication import authenticator
from ricordo_server.rpc.context_service import ContextService
from ricordo_server.rpc.extraction_service import ExtractionService
from ricordo_server.rpc.identity_service import IdentityService
from ricordo_server.rpc.interceptors import (
    AccessLog,
    ActingAs,
    Admission,
    Authentication,
    Deadline,
    Denials,
    ErrorMapping,
    InProject,
    Tracing,
    WithinLimits,
)
from ricordo_server.rpc.memory_service import MemoryService
from ricordo_server.rpc.operation_service import OperationService
from ricordo_server.rpc.pipeline_service import PipelineService
from ricordo_server.rpc.project_service import ProjectService
from ricordo_server.rpc.session_service import SessionService
from ricordo_server.rpc.store_service import StoreService
from ricordo_server.rpc.transport import find_listening_fault, server_credentials

log = logging.getLogger("ricordo.server")

TENANT_SERVICES = (
    memory_service_pb2,
    session_service_pb2,
    context_service_pb2,
    extraction_service_pb2,
    operation_service_pb2,
    pipeline_service_pb2,
    store_service_pb2,
    project_service_pb2,
    identity_service_pb2,
)

# To the pool all operators are one tenant, which gets a third of it: two work at a time.
OPERATOR_CONNECTIONS = 4


class UnsafeToServe(Exception):  # noqa: N818 - a verdict
    """The database, the role or the model is not as it must be; each fault says what to do."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


@dataclass(frozen=True)
class RunningServer:
    grpc: grpc.aio.Server
    health: health.aio.HealthServicer
    port: int
    services: Services


@asynccontextmanager
async def open_services(settings: Settings, *, pool_size: int) -> AsyncIterator[Services]:
    """Pools, embedder and token counter, verified.

    Raises:
        UnsafeToServe: with every fault found.
    """
    async with AsyncExitStack() as stack:
        pool = await _pool(stack, settings.database_url, pool_size, settings)
        if faults := await find_faults(pool):
            raise UnsafeToServe(faults)
        embedder = load_embedder(settings.embedding)
        embedders = Embedders(pool, embedder, load_stored_embedder)
        stack.push_async_callback(embedders.aclose)
        model = await find_model(pool, embedder.name)
        if model is None or model.dimension != embedder.dimension:
            known = f"with dimension {model.dimension}, not {embedder.dimension}" if model else "not at all"
            fault = f"the embedding model {embedder.name} is registered {known}: run `ricordo migrate`"
            raise UnsafeToServe([fault])
        operator_pool = (
            await _pool(stack, settings.operator_url, OPERATOR_CONNECTIONS, settings)
            if settings.operator_url
            else None
        )
        limiter = Limiter(pool, processes=settings.processes, max_concurrent=settings.max_concurrent_calls)
        stack.push_async_callback(limiter.aclose)
        if (reranker := load_reranker(settings.rerank)) is not None:
            stack.push_async_callback(reranker.aclose)
        counter = GptTokenCounter()
        extractors = Extractors(settings.extraction, counter)
        stack.push_async_callback(extractors.aclose)
        hashing = SecretHashing()
        access_tokens = make_access_tokens(settings, pool, hashing, issuers=await _issuers(stack, settings))
        if fault := await access_tokens.key_ring.find_fault():
            log.warning(fault)
        yield Services(
            Database(pool),
            operator_pool,
            embedders,
            counter,
            settings.embed_timeout,
            extractors.choose,
            limiter,
            access_tokens,
            TokenPace(settings.token_requests_per_account, settings.token_requests_per_address),
            hashing,
            reranker,
        )


async def _issuers(stack: AsyncExitStack, settings: Settings) -> list[Issuer]:
    if any(issuer.issuer == settings.token_issuer for issuer in settings.oidc.values()):
        raise UnsafeToServe(
            ["RICORDO_TOKEN_ISSUER is that of another issuer: give this server one of its own"]
        )
    if not settings.oidc:
        return []
    client = await stack.enter_async_context(httpx.AsyncClient())
    return [make_issuer(name, issuer, client) for name, issuer in settings.oidc.items()]


def make_access_tokens(
    settings: Settings, pool: Pool, hashing: SecretHashing, *, issuers: Sequence[Issuer] = ()
) -> AccessTokens:
    """
    Raises:
        KeySecretError: a key secret is too short.
    """
    secrets = settings.key_secrets()
    return AccessTokens(
        pool,
        TokenNames(settings.token_issuer, settings.token_audience),
        key_ring=KeyRing(pool, KeySealing(secrets) if secrets else None),
        standing=Standing(pool),
        hashing=hashing,
        issuers=issuers,
    )


async def _pool(stack: AsyncExitStack, url: str, size: int, settings: Settings) -> Pool:
    pool = await open_pool(url, size=size, prepare=not settings.transaction_pooler)
    stack.push_async_callback(pool.close)
    return pool


@asynccontextmanager
async def serving(
    settings: Settings, services: Services, *, reuse_port: bool = False
) -> AsyncIterator[RunningServer]:
    """A server that answers on `port`; stops gently when the block is left.

    Raises:
        UnsafeToServe: strangers could reach it.
        BadCertificateError: it could not serve with the certificate that it was given.
    """
    if fault := listening_fault(settings):
        raise UnsafeToServe([fault])
    server = grpc.aio.server(
        # Outermost first.
        interceptors=[
            Tracing(),
            Admission(settings.max_concurrent_calls),
            AccessLog(),
            ErrorMapping(),
            Deadline(settings.max_call_seconds),
            Authentication(authenticator(settings.development_project, services.access_tokens.authenticate)),
            Denials(services.database.pool),
            ActingAs(),
            InProject(),
            WithinLimits(services.limiter, SharedLoop()),
        ],
        options=[
            ("grpc.so_reuseport", int(reuse_port)),
            ("grpc.max_receive_message_length", MAX_REQUEST_BYTES),
            ("grpc.keepalive_permit_without_calls", 0),
            ("grpc.http2.min_ping_interval_without_data_ms", 20_000),
            # Minutes with jitter of its own, so that clients spread over processes again.
            ("grpc.max_connection_age_ms", 15 * 60_000),
            ("grpc.max_connection_age_grace_ms", int(settings.max_call_seconds * 1000)),
        ],
    )
    health_servicer = health.aio.HealthServicer()
    names = add_servicers(server, services)
    health_pb2_grpc.add_HealthServicer_to_server(health_servicer, server)
    reflection.enable_server_reflection((*names, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
    port = _listen(server, f"{settings.host}:{settings.port}", server_credentials(settings.tls))
    await server.start()
    for name in ("", *names):
        await health_servicer.set(name, health_pb2.HealthCheckResponse.SERVING)
    if settings.development_project:
        log.warning("development principal: anyone on this machine may read and write every project")
    try:
        yield RunningServer(server, health_servicer, port, services)
    finally:
        await health_servicer.enter_graceful_shutdown()
        await asyncio.sleep(settings.shutdown_delay)
        await server.stop(settings.shutdown_grace)


def listening_fault(settings: Settings, *, development: bool = False) -> str:
    """Why strangers could reach the server; empty when they could not. `development`: it will have that principal."""
    return find_listening_fault(
        settings.host,
        tls=settings.tls.certificate is not None,
        behind_proxy=settings.insecure_behind_proxy,
        development=development or settings.development_project is not None,
    )


def _listen(server: grpc.aio.Server, address: str, credentials: grpc.ServerCredentials | None) -> int:
    if credentials is None:
        return server.add_insecure_port(address)
    return server.add_secure_port(address, credentials)


def add_servicers(server: grpc.aio.Server, services: Services) -> list[str]:
    """Registers every service and answers their full names."""
    memory_service_pb2_grpc.add_MemoryServiceServicer_to_server(MemoryService(services), server)
    pipeline_service_pb2_grpc.add_PipelineServiceServicer_to_server(PipelineService(services), server)
    session_service_pb2_grpc.add_SessionServiceServicer_to_server(SessionService(services), server)
    context_service_pb2_grpc.add_ContextServiceServicer_to_server(ContextService(services), server)
    extraction_service_pb2_grpc.add_ExtractionServiceServicer_to_server(ExtractionService(services), server)
    operation_service_pb2_grpc.add_OperationServiceServicer_to_server(OperationService(services), server)
    store_service_pb2_grpc.add_StoreServiceServicer_to_server(StoreService(services), server)
    project_service_pb2_grpc.add_ProjectServiceServicer_to_server(ProjectService(services), server)
    identity_service_pb2_grpc.add_IdentityServiceServicer_to_server(IdentityService(services), server)
    files = list(TENANT_SERVICES)
    if services.operator_pool is not None:
        admin = AdminService(services.operator_pool)
        admin_service_pb2_grpc.add_AdminServiceServicer_to_server(admin, server)
        files.append(admin_service_pb2)
    return [service.full_name for file in files for service in file.DESCRIPTOR.services_by_name.values()]


@asynccontextmanager
async def running_server(settings: Settings, *, reuse_port: bool = False) -> AsyncIterator[RunningServer]:
    """All that one process serves with, its share of the pool included."""
    pool_size = max(1, settings.pool_size // settings.processes)
    async with (
        open_services(settings, pool_size=pool_size) as services,
        serving(settings, services, reuse_port=reuse_port) as running,
    ):
        log.info("ready", extra={"port": running.port})
        yield running


def stop_signals() -> asyncio.Event:
    """Set by the first SIGTERM or SIGINT."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    return stopped
