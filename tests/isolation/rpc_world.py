"""Every RPC of the contract, and places of tenants filled through the server, each with a canary in its texts."""

import re
from dataclasses import dataclass, field, replace
from importlib import import_module
from pkgutil import iter_modules
from typing import Any
from uuid import UUID, uuid4

import grpc
import grpc.aio
import psycopg
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2
from grpc_status import rpc_status

import ricordo.v1
from ricordo.v1 import (
    extraction_service_pb2,
    identity_service_pb2,
    memory_pb2,
    memory_service_pb2,
    pipeline_pb2,
    pipeline_service_pb2,
    profile_pb2,
    project_pb2,
    project_service_pb2,
    scope_pb2,
    service_account_pb2,
    session_service_pb2,
    turn_pb2,
)
from ricordo_server.db.tables import METADATA, STORE_TABLES
from tests.fixtures.database import TestDatabase, make_project


def list_rpcs() -> dict[str, MethodDescriptor]:
    """By `Service.Method`."""
    names = [
        module.name for module in iter_modules(ricordo.v1.__path__) if module.name.endswith("_service_pb2")
    ]
    files = [import_module(f"ricordo.v1.{name}").DESCRIPTOR for name in names]
    services = [service for file in files for service in file.services_by_name.values()]
    return {f"{service.name}.{method.name}": method for service in services for method in service.methods}


RPCS = list_rpcs()


@dataclass(frozen=True)
class Names:
    """What a request may name of someone else's, or of nobody's. All of one length for each field."""

    user_id: str = "ann"
    memory_id: str = field(default_factory=lambda: f"m-{uuid4().hex}")
    key: str = field(default_factory=lambda: f"key-{uuid4().hex}")
    held_memory_id: str = field(default_factory=lambda: str(uuid4()))
    session_id: str = field(default_factory=lambda: f"session-{uuid4().hex}")
    turn_id: str = field(default_factory=lambda: str(uuid4()))
    operation_id: str = field(default_factory=lambda: str(uuid4()))
    pipeline_id: str = field(default_factory=lambda: str(uuid4()))
    run_id: str = field(default_factory=lambda: str(uuid4()))
    turn_key: str = field(default_factory=lambda: f"turn-{uuid4().hex}")
    request_id: str = field(default_factory=lambda: f"request-{uuid4().hex}")
    store_id: str = field(default_factory=lambda: f"s-{uuid4().hex}")
    account_name: str = field(default_factory=lambda: f"a-{uuid4().hex}")
    client_id: str = field(default_factory=lambda: f"{uuid4()}.{uuid4()}")
    organization_id: str = field(default_factory=lambda: str(uuid4()))
    canary: str = field(default_factory=lambda: f"canary{uuid4().hex}")

    @property
    def scope(self) -> scope_pb2.Scope:
        return scope_pb2.Scope(user_id=self.user_id, session_id=self.session_id)


@dataclass(frozen=True)
class Place:
    """Someone's rows: where they lie and what they are called."""

    project_id: UUID
    store_id: str
    names: Names


@dataclass(frozen=True)
class Answer:
    """A reply, or a refusal with its size; `text` is without what differs from call to call."""

    text: str
    reply: Any = None
    reason: str = ""


def plain(text: str, names: Names) -> str:
    for name, value in sorted(vars(names).items(), key=lambda pair: -len(pair[1])):
        if name != "user_id":
            text = text.replace(value, f"<{name}>")
    text = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{32}\b", "<id>", text)
    text = re.sub(r'rcs-[0-9a-f]{8}-[\w-]{43}|secret_id: "\w+"|access_token: "[\w.-]+"', "<secret>", text)
    return re.sub(r"\b(seconds|nanos): -?\d+|timings \{[^}]*\}", "", text)


async def ask(channel: grpc.aio.Channel, rpc: str, request: Message, token: str, names: Names) -> Answer:
    method = RPCS[rpc]
    call = channel.unary_unary(
        f"/{method.containing_service.full_name}/{method.name}",
        request_serializer=type(request).SerializeToString,
        response_deserializer=GetMessageClass(method.output_type).FromString,
    )
    # A wait is answered shortly before its deadline, which a busy machine may miss; nothing else may take long.
    timeouts = (1.0, 5.0, 25.0) if method.name.startswith("Wait") else (None,)
    for timeout in timeouts:
        try:
            reply = await call(request, metadata=[("authorization", f"Bearer {token}")], timeout=timeout)
        except grpc.aio.AioRpcError as error:
            if timeout == timeouts[-1] or rpc_status.from_call(error):
                return _refusal(error, names)
        else:
            return Answer(plain(str(reply), names), reply)
    raise AssertionError("unreachable: the last attempt returns")


def _refusal(error: grpc.aio.AioRpcError, names: Names) -> Answer:
    status = rpc_status.from_call(error)
    assert status, error
    details = [error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()]
    for packed in status.details:
        for detail in details:
            packed.Unpack(detail)
    text = f"{error.code().name} of {status.ByteSize()} bytes: {status.message} {details}"
    return Answer(plain(text, names), reason=details[0].reason)


def bound(place: Place, user_id: str) -> str:
    return f"{service(place)}:{user_id}"


def service(place: Place) -> str:
    return f"development:{place.project_id}"


async def fill(channel: grpc.aio.Channel, place: Place, *, by_user: bool = False) -> Place:
    """A memory, a term, a profile, a turn, an operation and something held back under the place's names.

    A bound user's memory has an id of the server's making.
    """
    names = place.names
    token = bound(place, names.user_id) if by_user else service(place)
    memory = memory_pb2.Memory(
        memory_id="" if by_user else names.memory_id,
        kind=memory_pb2.MEMORY_KIND_SEMANTIC,
        key=names.key,
        content=f"{names.canary} green tea",
        scope=scope_pb2.Scope(user_id=names.user_id),
    )
    create = memory_service_pb2.CreateMemoryRequest(
        store_id=place.store_id, memory=memory, request_id=names.request_id
    )
    taxonomic = memory_pb2.TaxonomicDetails(domain=f"{names.canary} black tea", term=names.key)
    term = memory_pb2.Memory(
        kind=memory_pb2.MEMORY_KIND_TAXONOMIC,
        content="leaves",
        taxonomic=taxonomic,
        scope=scope_pb2.Scope(user_id=names.user_id),
        visibility=scope_pb2.VISIBILITY_PRIVATE,
    )
    define = memory_service_pb2.CreateMemoryRequest(store_id=place.store_id, memory=term)
    turn = turn_pb2.Turn(role="user", content=f"{names.canary} black tea", idempotency_key=names.turn_key)
    record = session_service_pb2.RecordTurnRequest(store_id=place.store_id, scope=names.scope, turn=turn)
    made = (await ask(channel, "MemoryService.CreateMemory", create, token, names)).reply
    assert (await ask(channel, "MemoryService.CreateMemory", define, token, names)).reply
    recorded = (await ask(channel, "SessionService.RecordTurn", record, token, names)).reply
    await _add_profile(channel, place)
    held = await _hold(channel, place)
    fact = extraction_service_pb2.DirectFact(content=f"{names.canary} green tea")
    generate = extraction_service_pb2.GenerateMemoriesRequest(
        store_id=place.store_id,
        scope=scope_pb2.Scope(user_id=names.user_id),
        facts=extraction_service_pb2.DirectFacts(facts=[fact]),
        in_background=True,
    )
    started = (await ask(channel, "ExtractionService.GenerateMemories", generate, token, names)).reply
    known = replace(
        held,
        memory_id=made.memory.memory_id,
        turn_id=recorded.turn.turn_id,
        operation_id=started.operation.operation_id,
    )
    if by_user:
        return replace(place, names=known)
    whole = replace(place, names=await _add_account(channel, known, token))
    return await _add_pipeline(channel, whole)


async def _add_pipeline(channel: grpc.aio.Channel, place: Place) -> Place:
    """A pipeline from the store into itself, with a run that waits; a store that is filled again has one already."""
    names, token = place.names, service(place)
    made = pipeline_pb2.Pipeline(target_store_id=place.store_id, display_name=f"{names.canary} green tea")
    create = pipeline_service_pb2.CreatePipelineRequest(store_id=place.store_id, pipeline=made)
    created = (await ask(channel, "PipelineService.CreatePipeline", create, token, names)).reply
    if created is None:
        return place
    pipeline_id = created.pipeline.pipeline_id
    start = pipeline_service_pb2.RunPipelineRequest(store_id=place.store_id, pipeline_id=pipeline_id)
    started = (await ask(channel, "PipelineService.RunPipeline", start, token, names)).reply
    return replace(place, names=replace(names, pipeline_id=pipeline_id, run_id=started.run.run_id))


async def _add_profile(channel: grpc.aio.Channel, place: Place) -> None:
    names, token = place.names, service(place)
    schema = profile_pb2.ProfileSchema(
        schema_id="drinks", json_schema='{"type": "object", "properties": {"tea": {"type": "string"}}}'
    )
    settings = project_pb2.ProjectSettings(profile_schemas=[schema])
    update = project_service_pb2.UpdateProjectRequest(
        project=project_pb2.Project(settings=settings),
        update_mask=FieldMask(paths=["settings.profile_schemas"]),
    )
    field = memory_pb2.Memory(
        kind=memory_pb2.MEMORY_KIND_PROFILE,
        content=f"{names.canary} green tea",
        profile=memory_pb2.ProfileDetails(schema_id="drinks", field_name="tea"),
        scope=scope_pb2.Scope(user_id=names.user_id),
    )
    put = memory_service_pb2.PutMemoryRequest(store_id=place.store_id, memory=field)
    assert (await ask(channel, "ProjectService.UpdateProject", update, token, names)).reply
    assert (await ask(channel, "MemoryService.PutMemory", put, token, names)).reply


async def _hold(channel: grpc.aio.Channel, place: Place) -> Names:
    """Something that a tool said waits for a review."""
    names, token = place.names, service(place)
    extraction = project_pb2.ExtractionPolicy(least_trust="user")
    settings = project_pb2.ProjectSettings(extraction=extraction)
    update = project_service_pb2.UpdateProjectRequest(
        project=project_pb2.Project(settings=settings), update_mask=FieldMask(paths=["settings.extraction"])
    )
    said = extraction_service_pb2.InlineTurn(role="tool", content=f"{names.canary} green tea means leaves.")
    learn = extraction_service_pb2.GenerateMemoriesRequest(
        store_id=place.store_id,
        scope=scope_pb2.Scope(user_id=names.user_id),
        turns=extraction_service_pb2.InlineTurns(turns=[said]),
        kinds=[memory_pb2.MEMORY_KIND_TAXONOMIC],
    )
    listed = extraction_service_pb2.ListHeldMemoriesRequest(
        store_id=place.store_id, scope=scope_pb2.ScopeFilter(exactly=learn.scope), page_size=1000
    )
    assert (await ask(channel, "ProjectService.UpdateProject", update, token, names)).reply
    assert (await ask(channel, "ExtractionService.GenerateMemories", learn, token, names)).reply
    found = (await ask(channel, "ExtractionService.ListHeldMemories", listed, token, names)).reply
    return replace(names, held_memory_id=found.held_memories[-1].held_memory_id)


async def _add_account(channel: grpc.aio.Channel, names: Names, token: str) -> Names:
    account = service_account_pb2.ServiceAccount(
        name=names.account_name, role=service_account_pb2.PROJECT_ROLE_READER
    )
    create = identity_service_pb2.CreateServiceAccountRequest(service_account=account)
    made = (await ask(channel, "IdentityService.CreateServiceAccount", create, token, names)).reply
    return replace(names, client_id=made.service_account.client_id)


def make_place(database: TestDatabase, **names: str) -> Place:
    """The store `default` of a new project, which has one more named by `store_id`."""
    made = Names(**names)
    project_id = make_project(database, made.store_id)
    return Place(project_id, "default", replace(made, organization_id=str(project_id)))


def make_store(database: TestDatabase, project_id: UUID) -> Place:
    names = Names()
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute(
            "INSERT INTO ricordo.store (project_id, store_id, name, languages_in_use, creator_id)"
            " VALUES (%s, %s, %s, '{english}', 'test')",
            [project_id, uuid4(), names.store_id],
        )
    return Place(project_id, names.store_id, names)


def digest(database: TestDatabase, place: Place) -> list[Any]:
    """Of every row of the place's user: changes when one changes."""
    statement = (
        "SELECT count(*), md5(string_agg(t::text, '' ORDER BY t::text)) FROM ricordo.{} AS t"
        " JOIN ricordo.store AS s USING (project_id, store_id)"
        " WHERE project_id = %(project)s AND s.name = %(store)s {}"
    )
    whose = {"project": place.project_id, "store": place.store_id, "user": place.names.user_id}
    of_user = {
        table: "AND t.user_id = %(user)s" if "user_id" in METADATA.tables[f"ricordo.{table}"].c else ""
        for table in STORE_TABLES
    }
    with psycopg.connect(database.superuser_url) as connection:
        return [
            connection.execute(statement.format(table, condition), whose).fetchone()
            for table, condition in of_user.items()
        ]


def absent(names: Names) -> Names:
    """Names of the same shape that nobody has."""
    made = replace(Names(), user_id=names.user_id)
    return made if names.memory_id.startswith("m-") else replace(made, memory_id=str(uuid4()))
