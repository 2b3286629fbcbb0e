"""Revocation, rotation of signing keys over several servers, and a server that has none."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import grpc
import grpc.aio
import psycopg
import pytest

from ricordo.v1.identity_service_pb2 import WhoAmIRequest
from ricordo_server.app.access_tokens import AccessTokens, TokenNames
from ricordo_server.app.key_ring import KeyRing
from ricordo_server.app.standing import FRESH_SECONDS, Standing
from ricordo_server.config import Settings
from ricordo_server.credentials import secrets
from ricordo_server.credentials.key_sealing import KeySealing, KeySecretError
from ricordo_server.credentials.secrets import PARALLEL, WAITING, SecretHashing, make_secret
from ricordo_server.db.connection import Database
from ricordo_server.db.signing_keys import add_signing_key, read_signing_keys, retire_signing_key
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.principal import Principal, PrincipalKind, Role
from ricordo_server.domain.signing_key import (
    KEYS_FRESH,
    PUBLICATION,
    KeyState,
    SigningKey,
    find_active,
    state_of,
)
from ricordo_server.server import open_services, serving
from tests.fixtures.calls import as_service, as_user, bytes_call
from tests.fixtures.credentials import bearer, identity_of, new_client, token_of
from tests.fixtures.database import KEY_SECRET, TestDatabase, make_project
from tests.isolation.rpc_world import RPCS
from tests.migrations.databases import clone

__all__ = ["clone"]

NAMES = TokenNames("ricordo", "ricordo")


class Clock:
    def __init__(self) -> None:
        self.seconds = 1000.0
        self.start = datetime.now(UTC)

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return self.start + timedelta(seconds=self.seconds - 1000)


@asynccontextmanager
async def served(settings: Settings) -> AsyncIterator[grpc.aio.Channel]:
    async with (
        open_services(settings, pool_size=4) as services,
        serving(settings, services) as running,
        grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel,
    ):
        yield channel


def tokens_on(database: Database, clock: Clock) -> AccessTokens:
    return AccessTokens(
        database.pool,
        NAMES,
        key_ring=KeyRing(database.pool, KeySealing([KEY_SECRET]), clock.now),
        standing=Standing(database.pool, clock.monotonic),
        hashing=SecretHashing(),
        now=clock.now,
    )


async def refused(tokens: AccessTokens, token: str) -> bool:
    try:
        await tokens.authenticate(token)
    except DomainError as error:
        return error.reason is Reason.UNAUTHENTICATED
    return False


# Revocation.

ENDINGS = {
    "disabled": "UPDATE ricordo.service_account SET is_disabled = true WHERE account_id = %(account_id)s",
    "deleted": "DELETE FROM ricordo.service_account WHERE account_id = %(account_id)s",
    "its project deleted": "DELETE FROM ricordo.project WHERE project_id = %(project_id)s",
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", ["service", "user"])
async def test_what_has_ended_is_refused_within_a_minute(
    channel: grpc.aio.Channel,
    database: TestDatabase,
    app_database: Database,
    ending: str,
    kind: str,
) -> None:
    """By another server than the one that ended it; an end user's token ends with the account that issued it."""
    clock = Clock()
    tokens = tokens_on(app_database, clock)
    client = await new_client(channel, None)
    account = await tokens.authenticate_client(client.client_id, client.client_secret)
    issued = (
        await tokens.issue_own(account, None)
        if kind == "service"
        else await tokens.issue_for_users(account, ["ann"], None)
    )
    assert not await refused(tokens, issued.access_token)

    project_id, _, account_id = client.client_id.partition(".")
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute(ENDINGS[ending], {"account_id": account_id, "project_id": project_id})
    clock.seconds += 59
    assert await refused(tokens, issued.access_token)


async def test_between_two_looks_the_database_is_not_asked(
    channel: grpc.aio.Channel, database: TestDatabase, app_database: Database
) -> None:
    clock = Clock()
    tokens = tokens_on(app_database, clock)
    client = await new_client(channel, None)
    account = await tokens.authenticate_client(client.client_id, client.client_secret)
    token = (await tokens.issue_own(account, None)).access_token
    assert not await refused(tokens, token)
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute(
            "DELETE FROM ricordo.service_account WHERE account_id = %s", [client.client_id.partition(".")[2]]
        )
    clock.seconds += FRESH_SECONDS - 1
    assert not await refused(tokens, token)


async def test_an_end_user_s_token_of_the_development_principal_ends_with_the_project(
    database: TestDatabase, app_database: Database, key_secret: str
) -> None:
    clock = Clock()
    tokens = tokens_on(app_database, clock)
    project_id = make_project(database)
    service = Principal("development", PrincipalKind.SERVICE, project_id, Role.WRITER.implied())
    token = (await tokens.issue_for_users(service, ["ann"], None)).access_token
    principal = await tokens.authenticate(token)
    assert (principal.user_ids, principal.roles) == (("ann",), Role.WRITER.implied())
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute("DELETE FROM ricordo.project WHERE project_id = %s", [project_id])
    clock.seconds += 59
    assert await refused(tokens, token)


# Signing keys.


@pytest.fixture
def keyed(clone: TestDatabase) -> TestDatabase:
    """A database of this test's own, with one key that signs."""
    add_key(clone)
    return clone


def add_key(database: TestDatabase, lead: timedelta = PUBLICATION) -> str:
    key_id, sealed = KeySealing([KEY_SECRET]).make_key()
    add_signing_key(database.operator_url, key_id, sealed, lead=lead)
    return key_id


def states(database: TestDatabase, later: timedelta = timedelta(0)) -> dict[str, KeyState]:
    keys, now = read_signing_keys(database.operator_url)
    return {key.key_id: state_of(key, find_active(keys, now + later), now + later) for key in keys}


def on(database: TestDatabase, settings: Settings, project_id: UUID) -> Settings:
    return settings.model_copy(
        update={"database_url": database.app_url, "operator_url": "", "development_project": project_id}
    )


async def test_two_servers_rotate_keys_without_refusing_a_token(
    keyed: TestDatabase, settings: Settings
) -> None:
    """Each issues before, while and after the key changes, and each accepts every token of the other."""
    project_id = make_project(keyed)
    there = on(keyed, settings, project_id)
    async with served(there) as one, served(there) as other:
        client = await new_client(one, as_service(project_id))
        tokens = [await token_of(channel, client) for channel in (one, other)]
        add_key(keyed)
        tokens += [await token_of(channel, client) for channel in (one, other)]
        # A key that signs at once, which the second server has not read when the first token comes.
        add_key(keyed, lead=timedelta(0))
        async with served(there) as third:
            tokens += [await token_of(channel, client) for channel in (one, other, third)]
            for channel in (one, other, third):
                for token in tokens:
                    who = await identity_of(channel).WhoAmI(WhoAmIRequest(), metadata=bearer(token))
                    assert who.principal_id == client.client_id


async def test_the_first_key_signs_at_once_and_the_next_when_all_know_it(clone: TestDatabase) -> None:
    first = add_key(clone)
    assert states(clone) == {first: KeyState.ACTIVE}
    second = add_key(clone)
    assert states(clone) == {first: KeyState.ACTIVE, second: KeyState.NEXT}
    assert PUBLICATION > KEYS_FRESH
    assert states(clone, PUBLICATION) == {first: KeyState.PREVIOUS, second: KeyState.ACTIVE}
    an_hour_later = PUBLICATION + timedelta(hours=1)
    assert states(clone, an_hour_later)[first] is KeyState.PREVIOUS
    assert states(clone, an_hour_later + PUBLICATION)[first] is KeyState.RETIRED


async def test_retiring_a_key_ends_its_tokens(keyed: TestDatabase, settings: Settings) -> None:
    project_id = make_project(keyed)
    there = on(keyed, settings, project_id)
    async with served(there) as channel:
        token = await token_of(channel, await new_client(channel, as_service(project_id)))
    [old] = states(keyed)
    add_key(keyed, lead=timedelta(0))
    assert retire_signing_key(keyed.operator_url, old)
    assert not retire_signing_key(keyed.operator_url, old)
    async with served(there) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await identity_of(channel).WhoAmI(WhoAmIRequest(), metadata=bearer(token))
    assert error.value.code() is grpc.StatusCode.UNAUTHENTICATED


async def test_a_key_that_retires_while_it_is_known_is_refused(
    channel: grpc.aio.Channel, app_database: Database, key_secret: str
) -> None:
    """By the clock, not only when the keys are read again."""
    clock = Clock()
    tokens = tokens_on(app_database, clock)
    active = await tokens.key_ring.find_active()
    retiring = SigningKey(active.key.key_id, active.key.sealed, active.key.sign_time, clock.now())
    assert state_of(retiring, None, clock.now()) is KeyState.RETIRED
    assert find_active([retiring], clock.now()) is None


async def test_a_server_without_a_key_says_what_its_operator_does(
    clone: TestDatabase, settings: Settings
) -> None:
    project_id = make_project(clone)
    async with served(on(clone, settings, project_id)) as channel:
        client = await new_client(channel, as_service(project_id))
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await token_of(channel, client)
    assert error.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert "ricordo keys rotate" in error.value.details()


async def test_the_server_can_add_no_key(keyed: TestDatabase) -> None:
    with (
        psycopg.connect(keyed.app_url) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("INSERT INTO ricordo.signing_key VALUES ('k', 'x', now(), NULL)")


async def test_a_key_that_somebody_wrote_into_the_table_signs_nothing(
    keyed: TestDatabase, settings: Settings
) -> None:
    """Who can write the database but has not the key secret cannot make a key that is believed."""
    project_id = make_project(keyed)
    key_id, sealed = KeySealing(["another secret, of thirty-two characters"]).make_key()
    add_signing_key(keyed.operator_url, key_id, sealed, lead=timedelta(0))
    async with served(on(keyed, settings, project_id)) as channel:
        token = await token_of(channel, await new_client(channel, as_service(project_id)))
        who = await identity_of(channel).WhoAmI(WhoAmIRequest(), metadata=bearer(token))
    assert who.project_id == str(project_id)


def test_the_key_secret_is_changed_by_giving_both() -> None:
    old, new = "o" * 32, "n" * 32
    _, sealed = KeySealing([old]).make_key()
    assert KeySealing([new, old]).open(sealed)
    with pytest.raises(KeySecretError):
        KeySealing([new]).open(sealed)
    _, sealed = KeySealing([new, old]).make_key()
    assert KeySealing([new]).open(sealed)


@pytest.mark.parametrize("secrets", [[], ["short"], ["x" * 32, "short"]])
def test_a_short_key_secret_is_refused(secrets: list[str]) -> None:
    with pytest.raises(KeySecretError):
        KeySealing(secrets)


# Hashing.


async def test_hashing_is_bounded() -> None:
    hashing = SecretHashing()
    kept = make_secret()
    calls = [asyncio.create_task(hashing.matches("x", kept.hash)) for _ in range(WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(DomainError) as refused_call:
        await hashing.matches("x", kept.hash)
    assert refused_call.value.reason is Reason.TOO_MANY_REQUESTS
    for call in calls[PARALLEL:]:
        call.cancel()
    assert await asyncio.gather(*calls[:PARALLEL]) == [False] * PARALLEL
    await asyncio.gather(*calls, return_exceptions=True)
    assert await hashing.matches(kept.text, kept.hash)


class Counter:
    """Counts how often a secret is compared with a hash."""

    def __init__(self, hasher: Any) -> None:
        self.hasher, self.compared = hasher, 0

    def verify(self, kept_hash: str, text: str) -> bool:
        self.compared += 1
        return bool(self.hasher.verify(kept_hash, text))


async def test_every_wrong_credential_costs_one_comparison(
    channel: grpc.aio.Channel, app_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that neither the answer nor the time tells an unknown client from a wrong secret."""
    client = await new_client(channel, None)
    tokens = tokens_on(app_database, Clock())
    counter = Counter(secrets._hasher)
    monkeypatch.setattr(secrets, "_hasher", counter)
    unknown = f"{client.client_id.partition('.')[0]}.{uuid4()}"
    wrong = [
        (client.client_id, client.client_secret[:-2] + "xx"),
        (client.client_id, f"rcs-00000000-{'x' * 43}"),
        (client.client_id, ""),
        (unknown, client.client_secret),
        ("nobody", client.client_secret),
    ]
    for number, (client_id, client_secret) in enumerate(wrong, 1):
        with pytest.raises(DomainError):
            await tokens.authenticate_client(client_id, client_secret)
        assert counter.compared == number


def test_a_secret_is_not_in_its_repr() -> None:
    secret = make_secret()
    assert secret.text not in repr(secret)
    assert secret.hash not in repr(secret)


# Every RPC.


@pytest.fixture
def strict(settings: Settings) -> Settings:
    return settings.model_copy(update={"development_project": None})


@pytest.mark.parametrize("metadata", [None, bearer(""), bearer("x.y.z"), (("authorization", "Basic eDp4"),)])
async def test_every_rpc_is_refused_without_a_good_token(strict: Settings, metadata: Any) -> None:
    async with served(strict) as channel:
        codes = {}
        for name, method in RPCS.items():
            call = bytes_call(channel, f"/{method.containing_service.full_name}/{method.name}")
            with pytest.raises(grpc.aio.AioRpcError) as refusal:
                await call(b"", metadata=metadata)
            codes[name] = refusal.value.code()
    assert set(codes.values()) == {grpc.StatusCode.UNAUTHENTICATED}, codes


async def test_health_needs_no_token(strict: Settings) -> None:
    async with served(strict) as channel:
        assert await bytes_call(channel, "/grpc.health.v1.Health/Check")(b"")


async def test_without_the_development_principal_its_tokens_are_none(
    strict: Settings, project_id: UUID
) -> None:
    async with served(strict) as channel:
        for metadata in (as_service(project_id), as_user(project_id, "ann")):
            with pytest.raises(grpc.aio.AioRpcError) as refusal:
                await identity_of(channel).WhoAmI(WhoAmIRequest(), metadata=metadata)
            assert refusal.value.code() is grpc.StatusCode.UNAUTHENTICATED
