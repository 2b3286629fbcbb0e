"""Service accounts and their tokens, on a running server."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import grpc
import grpc.aio
import jwt
import psycopg
import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask

from ricordo.v1 import identity_service_pb2 as pb
from ricordo.v1 import memory_pb2, memory_service_pb2, memory_service_pb2_grpc, scope_pb2, service_account_pb2
from tests.fixtures.calls import OPERATOR, as_service, as_user, refusal
from tests.fixtures.credentials import (
    ADMIN,
    READER,
    WRITER,
    Client,
    bearer,
    decode_part,
    identity_of,
    new_client,
    token_of,
)
from tests.fixtures.database import TestDatabase, make_project

UNAUTHENTICATED = (grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED", "client_id")
NOT_FOUND = (grpc.StatusCode.NOT_FOUND, "SERVICE_ACCOUNT_NOT_FOUND", "client_id")
INVALID = grpc.StatusCode.INVALID_ARGUMENT
UNKNOWN_SECRET = f"rcs-00000000-{'x' * 43}"


@pytest.fixture
def identity(channel: grpc.aio.Channel) -> Any:
    return identity_of(channel)


async def issue(identity: Any, client: Client, **fields: Any) -> pb.IssueTokenResponse:
    request = pb.IssueTokenRequest(client_id=client.client_id, client_secret=client.client_secret, **fields)
    issued: pb.IssueTokenResponse = await identity.IssueToken(request)
    return issued


async def who_is(identity: Any, token: str) -> pb.WhoAmIResponse:
    who: pb.WhoAmIResponse = await identity.WhoAmI(pb.WhoAmIRequest(), metadata=bearer(token))
    return who


async def list_accounts(identity: Any, **fields: Any) -> list[service_account_pb2.ServiceAccount]:
    answer = await identity.ListServiceAccounts(pb.ListServiceAccountsRequest(**fields))
    return list(answer.service_accounts)


@pytest.mark.parametrize(
    ("role", "roles"),
    [(READER, ["reader"]), (WRITER, ["reader", "writer"]), (ADMIN, ["admin", "reader", "writer"])],
)
async def test_an_account_gets_a_token_that_stands_for_it(
    channel: grpc.aio.Channel,
    identity: Any,
    project_id: Any,
    role: "service_account_pb2.ProjectRole.ValueType",
    roles: list[str],
) -> None:
    client = await new_client(channel, None, role=role)
    who = await who_is(identity, await token_of(channel, client))
    assert (who.principal_id, who.project_id) == (client.client_id, str(project_id))
    assert (who.kind, list(who.roles)) == (pb.PRINCIPAL_KIND_SERVICE, roles)


async def test_a_writer_s_token_writes_and_a_reader_s_does_not(channel: grpc.aio.Channel) -> None:
    memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
    memory = memory_pb2.Memory(content="tea", scope=scope_pb2.Scope(user_id="ann"))
    request = memory_service_pb2.CreateMemoryRequest(memory=memory)
    memory.kind = memory_pb2.MEMORY_KIND_SEMANTIC
    request.memory.CopyFrom(memory)
    writer = await token_of(channel, await new_client(channel, None, name="writer"))
    assert (await memories.CreateMemory(request, metadata=bearer(writer))).memory.content == "tea"
    reader = await token_of(channel, await new_client(channel, None, name="reader", role=READER))
    refused = await refusal(memories.CreateMemory(request, metadata=bearer(reader)))
    assert refused[0] is grpc.StatusCode.PERMISSION_DENIED


async def test_only_an_admin_s_token_manages_accounts(channel: grpc.aio.Channel) -> None:
    admin = await token_of(channel, await new_client(channel, None, name="admin", role=ADMIN))
    assert (await new_client(channel, bearer(admin), name="made-by-admin")).client_secret
    writer = await token_of(channel, await new_client(channel, None, name="writer"))
    denied = await refusal(new_client(channel, bearer(writer), name="made-by-writer"))
    assert denied[0] is grpc.StatusCode.PERMISSION_DENIED


@pytest.mark.parametrize("who", ["user", "operator"])
async def test_end_users_and_operators_manage_no_accounts(identity: Any, project_id: Any, who: str) -> None:
    metadata = OPERATOR if who == "operator" else as_user(project_id, "ann")
    refused = await refusal(identity.ListServiceAccounts(pb.ListServiceAccountsRequest(), metadata=metadata))
    assert refused[0] is grpc.StatusCode.PERMISSION_DENIED


async def test_accounts_are_listed_by_name_without_their_secrets(
    channel: grpc.aio.Channel, identity: Any
) -> None:
    clients = [await new_client(channel, None, name=name) for name in ("bob", "ann")]
    listed = await list_accounts(identity)
    assert [account.name for account in listed] == ["ann", "bob"]
    assert not any(client.client_secret in str(listed) for client in clients)
    [secret] = listed[1].secrets
    assert clients[0].client_secret.startswith(f"rcs-{secret.secret_id}-")


async def test_the_list_tells_the_last_use(channel: grpc.aio.Channel, identity: Any) -> None:
    client = await new_client(channel, None)
    [unused] = await list_accounts(identity)
    assert not unused.HasField("last_use_time")
    await token_of(channel, client)
    [used] = await list_accounts(identity)
    assert used.last_use_time.ToDatetime() > used.create_time.ToDatetime()


async def test_only_a_hash_of_the_secret_is_kept(
    channel: grpc.aio.Channel, database: TestDatabase, project_id: Any
) -> None:
    account = service_account_pb2.ServiceAccount(name="agent", role=READER)
    request = pb.CreateServiceAccountRequest(service_account=account, request_id="once")
    secret = (await identity_of(channel).CreateServiceAccount(request)).client_secret
    with psycopg.connect(database.superuser_url) as connection:
        tables = ("service_account", "service_account_secret", "idempotency")
        rows = [
            connection.execute(
                f"SELECT * FROM ricordo.{table} WHERE project_id = %s", [project_id]
            ).fetchall()
            for table in tables
        ]
    assert all(rows)
    assert secret not in str(rows)
    assert "$argon2id$" in str(rows)


async def test_a_repeat_makes_no_second_account_and_shows_no_secret(identity: Any) -> None:
    account = service_account_pb2.ServiceAccount(name="agent", role=READER)
    request = pb.CreateServiceAccountRequest(service_account=account, request_id="once")
    first = await identity.CreateServiceAccount(request)
    again = await identity.CreateServiceAccount(request)
    assert first.client_secret
    assert (again.service_account, again.client_secret) == (first.service_account, "")
    assert len(await list_accounts(identity)) == 1


async def test_a_name_is_taken_once_in_a_project(channel: grpc.aio.Channel, database: TestDatabase) -> None:
    await new_client(channel, None)
    refused = await refusal(new_client(channel, None))
    assert refused == (grpc.StatusCode.ALREADY_EXISTS, "ID_TAKEN", "service_account.name")
    assert await new_client(channel, as_service(make_project(database)))


@pytest.mark.parametrize(
    ("name", "role", "field"),
    [
        ("", READER, "service_account.name"),
        ("Agent", READER, "service_account.name"),
        ("a" * 64, READER, "service_account.name"),
        ("agent", 0, "service_account.role"),
        ("agent", 99, "service_account.role"),
    ],
)
async def test_an_account_needs_a_name_and_a_role(
    channel: grpc.aio.Channel, name: str, role: "service_account_pb2.ProjectRole.ValueType", field: str
) -> None:
    refused = await refusal(new_client(channel, None, name=name, role=role))
    assert refused == (INVALID, "INVALID_FIELD", field)


async def test_a_new_role_holds_for_tokens_to_come(channel: grpc.aio.Channel, identity: Any) -> None:
    client = await new_client(channel, None)
    account = service_account_pb2.ServiceAccount(client_id=client.client_id, role=READER)
    request = pb.UpdateServiceAccountRequest(service_account=account, update_mask=FieldMask(paths=["role"]))
    assert (await identity.UpdateServiceAccount(request)).service_account.role == READER
    assert list((await who_is(identity, await token_of(channel, client))).roles) == ["reader"]


async def test_nothing_but_the_role_is_changed(channel: grpc.aio.Channel, identity: Any) -> None:
    account = service_account_pb2.ServiceAccount(client_id=(await new_client(channel, None)).client_id)
    for paths in ([], ["name"], ["role", "name"]):
        request = pb.UpdateServiceAccountRequest(service_account=account, update_mask=FieldMask(paths=paths))
        refused = await refusal(identity.UpdateServiceAccount(request))
        assert refused == (INVALID, "INVALID_FIELD", "update_mask")


# Secrets.


async def rotate(identity: Any, client: Client, overlap: int | None = None) -> Client:
    given = None if overlap is None else Duration(seconds=overlap)
    request = pb.RotateSecretRequest(client_id=client.client_id, overlap=given)
    answer = await identity.RotateSecret(request)
    return Client(client.client_id, answer.client_secret)


async def test_a_rotated_secret_stays_good_for_the_overlap(channel: grpc.aio.Channel, identity: Any) -> None:
    old = await new_client(channel, None)
    new = await rotate(identity, old)
    assert await token_of(channel, old)
    assert await token_of(channel, new)
    [account] = await list_accounts(identity)
    newest, oldest = account.secrets
    assert not newest.HasField("expire_time")
    left = oldest.expire_time.ToDatetime() - newest.create_time.ToDatetime()
    assert left == timedelta(days=1)


async def test_without_overlap_the_old_secret_ends_at_once(channel: grpc.aio.Channel, identity: Any) -> None:
    old = await new_client(channel, None)
    new = await rotate(identity, old, overlap=0)
    assert await refusal(token_of(channel, old)) == UNAUTHENTICATED
    assert await token_of(channel, new)


async def test_at_most_two_secrets_are_good(channel: grpc.aio.Channel, identity: Any) -> None:
    first = await new_client(channel, None)
    second = await rotate(identity, first)
    third = await rotate(identity, second)
    assert await refusal(token_of(channel, first)) == UNAUTHENTICATED
    assert await token_of(channel, second)
    assert await token_of(channel, third)


async def test_a_secret_whose_overlap_is_over_is_refused(
    channel: grpc.aio.Channel, identity: Any, database: TestDatabase
) -> None:
    client = await new_client(channel, None)
    await rotate(identity, client)
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute(
            "UPDATE ricordo.service_account_secret SET expire_time = now() WHERE account_id = %s"
            " AND expire_time IS NOT NULL",
            [client.client_id.partition(".")[2]],
        )
    assert await refusal(token_of(channel, client)) == UNAUTHENTICATED


@pytest.mark.parametrize("overlap", [-1, 31 * 24 * 3600])
async def test_an_overlap_is_at_most_30_days(channel: grpc.aio.Channel, identity: Any, overlap: int) -> None:
    client = await new_client(channel, None)
    assert await refusal(rotate(identity, client, overlap)) == (INVALID, "INVALID_FIELD", "overlap")


# An unknown client, a wrong secret and a disabled account are told apart by nothing.


async def refused_in_full(call: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await call
    return refused.value.code(), refused.value.details()


async def test_whatever_is_wrong_with_credentials_the_answer_is_one(
    channel: grpc.aio.Channel, identity: Any, project_id: Any
) -> None:
    client = await new_client(channel, None)
    disabled = await new_client(channel, None, name="disabled")
    await identity.DisableServiceAccount(pb.DisableServiceAccountRequest(client_id=disabled.client_id))
    wrong = [
        Client(
            client.client_id, client.client_secret[:-1] + ("A" if client.client_secret[-1] != "A" else "B")
        ),
        Client(client.client_id, UNKNOWN_SECRET),
        Client(client.client_id, "x"),
        Client(client.client_id, ""),
        Client(client.client_id.upper(), client.client_secret),
        Client(disabled.client_id, disabled.client_secret),
        Client(client.client_id, disabled.client_secret),
        Client(f"{project_id}.{uuid4()}", client.client_secret),
        Client(f"{uuid4()}.{client.client_id.partition('.')[2]}", client.client_secret),
        Client("nobody", client.client_secret),
        Client("' OR 1=1 --", client.client_secret),
        Client("", client.client_secret),
    ]
    answers = {await refused_in_full(token_of(channel, each)) for each in wrong}
    assert [code for code, _ in answers] == [grpc.StatusCode.UNAUTHENTICATED]


async def test_no_credential_at_all_gets_no_token(identity: Any, project_id: Any) -> None:
    """Also where a caller without one is the development principal: it must be said."""
    refused = await refusal(identity.IssueToken(pb.IssueTokenRequest()))
    assert refused[0] is grpc.StatusCode.UNAUTHENTICATED
    for request in (pb.IssueTokenRequest(), pb.IssueTokenRequest(client_secret="x")):
        refused = await refusal(identity.IssueToken(request, metadata=as_service(project_id)))
        assert refused[1] in ("INVALID_FIELD", "UNAUTHENTICATED")


async def test_a_disabled_account_gets_no_token_until_it_is_enabled(
    channel: grpc.aio.Channel, identity: Any
) -> None:
    client = await new_client(channel, None)
    answer = await identity.DisableServiceAccount(pb.DisableServiceAccountRequest(client_id=client.client_id))
    assert answer.service_account.disabled
    assert await refusal(token_of(channel, client)) == UNAUTHENTICATED
    await identity.EnableServiceAccount(pb.EnableServiceAccountRequest(client_id=client.client_id))
    assert await token_of(channel, client)


async def test_a_deleted_account_is_gone(channel: grpc.aio.Channel, identity: Any) -> None:
    client = await new_client(channel, None)
    request = pb.DeleteServiceAccountRequest(client_id=client.client_id)
    await identity.DeleteServiceAccount(request)
    assert await refusal(token_of(channel, client)) == UNAUTHENTICATED
    assert await list_accounts(identity) == []
    assert await refusal(identity.DeleteServiceAccount(request)) == NOT_FOUND


@pytest.mark.parametrize("whose", ["another project's", "nobody's", "no id at all"])
async def test_what_is_not_of_the_project_is_not_found(
    channel: grpc.aio.Channel, identity: Any, database: TestDatabase, project_id: Any, whose: str
) -> None:
    theirs = await new_client(channel, as_service(make_project(database)))
    client_id = {"another project's": theirs.client_id, "nobody's": f"{project_id}.{uuid4()}"}.get(whose, "x")
    for call in (
        identity.RotateSecret(pb.RotateSecretRequest(client_id=client_id)),
        identity.DisableServiceAccount(pb.DisableServiceAccountRequest(client_id=client_id)),
        identity.EnableServiceAccount(pb.EnableServiceAccountRequest(client_id=client_id)),
        identity.DeleteServiceAccount(pb.DeleteServiceAccountRequest(client_id=client_id)),
    ):
        assert await refusal(call) == NOT_FOUND
    assert await token_of(channel, theirs)


# Tokens.


async def test_a_token_says_what_others_need(
    channel: grpc.aio.Channel, identity: Any, project_id: Any
) -> None:
    client = await new_client(channel, None)
    issued = await issue(identity, client)
    claims = decode_part(issued.access_token.split(".")[1])
    lifetime = claims.pop("exp") - claims.pop("iat")
    assert claims.pop("jti")
    assert lifetime == 3600
    assert claims == {
        "iss": "ricordo",
        "aud": "ricordo",
        "sub": client.client_id,
        "kind": "service",
        "project_id": str(project_id),
        "role": "writer",
        "client_id": client.client_id,
    }


async def test_others_verify_a_token_by_the_published_keys(channel: grpc.aio.Channel, identity: Any) -> None:
    issued = await issue(identity, await new_client(channel, None))
    published = jwt.PyJWKSet.from_json((await identity.GetSigningKeys(pb.GetSigningKeysRequest())).jwks_json)
    key = published[jwt.get_unverified_header(issued.access_token)["kid"]]
    assert jwt.decode(issued.access_token, key, algorithms=["EdDSA"], audience="ricordo")["role"] == "writer"


async def test_the_published_keys_hold_nothing_private(identity: Any) -> None:
    published = (await identity.GetSigningKeys(pb.GetSigningKeysRequest())).jwks_json
    assert '"d"' not in published
    assert '"x"' in published


@pytest.mark.parametrize(("seconds", "field"), [(0, "lifetime"), (-1, "lifetime"), (3601, "lifetime")])
async def test_a_token_is_good_for_at_most_an_hour(
    channel: grpc.aio.Channel, identity: Any, seconds: int, field: str
) -> None:
    client = await new_client(channel, None)
    call = issue(identity, client, lifetime=Duration(seconds=seconds))
    assert await refusal(call) == (INVALID, "INVALID_FIELD", field)


async def test_a_shorter_life_is_had_for_the_asking(channel: grpc.aio.Channel, identity: Any) -> None:
    issued = await issue(identity, await new_client(channel, None), lifetime=Duration(seconds=90))
    claims = decode_part(issued.access_token.split(".")[1])
    assert (claims["exp"] - claims["iat"], issued.expire_time.seconds) == (90, claims["exp"])


async def test_a_service_gets_a_token_for_an_end_user(channel: grpc.aio.Channel, identity: Any) -> None:
    issued = await issue(identity, await new_client(channel, None), user_ids=["ann", "team"])
    who = await who_is(identity, issued.access_token)
    assert (who.kind, list(who.user_ids)) == (pb.PRINCIPAL_KIND_USER, ["ann", "team"])
    assert (who.principal_id, list(who.roles)) == ("user:ann", ["reader", "writer"])
    claims = decode_part(issued.access_token.split(".")[1])
    assert claims["exp"] - claims["iat"] == 900


async def test_a_token_of_a_service_gets_one_for_an_end_user(
    channel: grpc.aio.Channel, identity: Any
) -> None:
    token = await token_of(channel, await new_client(channel, None, role=ADMIN))
    request = pb.IssueTokenRequest(user_ids=["ann"])
    issued = await identity.IssueToken(request, metadata=bearer(token))
    who = await who_is(identity, issued.access_token)
    assert (list(who.user_ids), list(who.roles)) == (["ann"], ["reader", "writer"])


async def test_a_reader_and_an_end_user_get_none_for_end_users(
    channel: grpc.aio.Channel, identity: Any
) -> None:
    reader = await token_of(channel, await new_client(channel, None, name="reader", role=READER))
    writer = await new_client(channel, None, name="writer")
    user = (await issue(identity, writer, user_ids=["ann"])).access_token
    for token in (reader, user):
        request = pb.IssueTokenRequest(user_ids=["ann"])
        refused = await refusal(identity.IssueToken(request, metadata=bearer(token)))
        assert refused[0] is grpc.StatusCode.PERMISSION_DENIED


async def test_a_token_does_not_prolong_itself(channel: grpc.aio.Channel, identity: Any) -> None:
    token = await token_of(channel, await new_client(channel, None))
    refused = await refusal(identity.IssueToken(pb.IssueTokenRequest(), metadata=bearer(token)))
    assert refused == (INVALID, "INVALID_FIELD", "client_id")


@pytest.mark.parametrize(
    ("users", "reason"),
    [([""], "INVALID_FIELD"), (["u"] * 17, "LIMIT_EXCEEDED"), (["u" * 500] * 5, "LIMIT_EXCEEDED")],
)
async def test_the_users_of_a_token_are_few_and_named(
    channel: grpc.aio.Channel, identity: Any, users: list[str], reason: str
) -> None:
    call = issue(identity, await new_client(channel, None), user_ids=users)
    assert (await refusal(call))[1] == reason
