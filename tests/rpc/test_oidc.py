"""Tokens of another issuer, whose keys are fetched over real HTTP."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from uuid import UUID, uuid4

import grpc
import grpc.aio
import httpx
import jwt
import pytest

from ricordo.v1 import identity_service_pb2 as pb
from ricordo_server.config import Settings
from ricordo_server.credentials.issuer_keys import (
    FRESH_SECONDS,
    RETRY_SECONDS,
    STALE_SECONDS,
    UNKNOWN_KEY_SECONDS,
    IssuerKeys,
)
from ricordo_server.credentials.settings import OidcSettings
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.server import UnsafeToServe, open_services, serving
from tests.fixtures.credentials import bearer, identity_of
from tests.fixtures.fake_issuer import AUDIENCE, FakeIssuer

PROJECT = UUID(int=1)


@pytest.fixture
def issuer() -> Iterator[FakeIssuer]:
    with FakeIssuer() as made:
        yield made


def oidc(issuer: FakeIssuer, **changes: Any) -> OidcSettings:
    given: dict[str, Any] = {"issuer": issuer.url, "audience": AUDIENCE, "project": PROJECT, "role": "writer"}
    return OidcSettings(**{**given, **changes})


class Served:
    """A server that takes tokens of the issuer, and no development principal's."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._identity = identity_of(channel)

    async def who(self, token: str) -> pb.WhoAmIResponse:
        answer: pb.WhoAmIResponse = await self._identity.WhoAmI(pb.WhoAmIRequest(), metadata=bearer(token))
        return answer

    async def refusal(self, token: str) -> tuple[grpc.StatusCode, str]:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await self.who(token)
        return refused.value.code(), refused.value.details()


async def served(settings: Settings, **issuers: OidcSettings) -> AsyncIterator[Served]:
    strict = settings.model_copy(update={"development_project": None, "oidc": issuers})
    async with (
        open_services(strict, pool_size=2) as services,
        serving(strict, services) as running,
        grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel,
    ):
        yield Served(channel)


@pytest.fixture
async def server(settings: Settings, issuer: FakeIssuer, project_id: UUID) -> AsyncIterator[Served]:
    """Its tokens are end users of the test's project."""
    async for one in served(settings, corp=oidc(issuer, project=project_id)):
        yield one


async def test_a_token_stands_for_its_end_user(server: Served, issuer: FakeIssuer, project_id: UUID) -> None:
    who = await server.who(issuer.token())
    assert (who.kind, list(who.user_ids)) == (pb.PRINCIPAL_KIND_USER, ["ann"])
    assert (who.project_id, list(who.roles)) == (str(project_id), ["reader", "writer"])


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
async def test_every_kind_of_key_verifies(server: Served, issuer: FakeIssuer, algorithm: str) -> None:
    issuer.add_key("k2", algorithm)
    assert (await server.who(issuer.token("k2"))).principal_id == "user:ann"


async def test_keys_are_fetched_once(server: Served, issuer: FakeIssuer) -> None:
    for _ in range(5):
        await server.who(issuer.token())
    assert issuer.fetches == 1


async def test_a_rotated_key_is_found_at_once(server: Served, issuer: FakeIssuer) -> None:
    await server.who(issuer.token())
    issuer.add_key("k2")
    assert await server.who(issuer.token("k2"))
    assert issuer.fetches == 2


async def test_tokens_of_unknown_keys_do_not_make_the_server_ask_again_and_again(
    server: Served, issuer: FakeIssuer
) -> None:
    await server.who(issuer.token())
    with FakeIssuer() as stranger:
        for number in range(10):
            stranger.add_key(f"unknown-{number}", "EdDSA")
            token = stranger.token(f"unknown-{number}", iss=issuer.url)
            assert (await server.refusal(token))[0] is grpc.StatusCode.UNAUTHENTICATED
    assert issuer.fetches == 2


FORGERIES: dict[str, Callable[[FakeIssuer], str]] = {
    "another audience": lambda issuer: issuer.token(aud="elsewhere"),
    "another issuer": lambda issuer: issuer.token(iss="https://elsewhere.example"),
    "expired": lambda issuer: issuer.token(exp=1),
    "no subject": lambda issuer: issuer.token("k1", "sub"),
    "no time of issue": lambda issuer: issuer.token("k1", "iat"),
    "a blank user": lambda issuer: issuer.token(sub=" "),
    "a user with NUL": lambda issuer: issuer.token(sub="a\0b"),
    "a user of 513 bytes": lambda issuer: issuer.token(sub="u" * 513),
    "HMAC with the public key": lambda issuer: jwt.encode(
        jwt.decode(issuer.token(), options={"verify_signature": False}),
        issuer.jwk("k1")["n"],
        "HS256",
        headers={"kid": "k1"},
    ),
    "HMAC with a key of the set": lambda issuer: jwt.encode(
        jwt.decode(issuer.token(), options={"verify_signature": False}),
        "x" * 32,
        "HS256",
        headers={"kid": "oct"},
    ),
    "our own issuer": lambda issuer: issuer.token(iss="ricordo", aud="ricordo"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
async def test_what_is_not_of_the_issuer_is_refused_in_the_same_words(
    server: Served, issuer: FakeIssuer, forgery: str
) -> None:
    secret = jwt.utils.base64url_encode(b"x" * 32).decode()
    issuer.extra_keys.append({"kty": "oct", "kid": "oct", "k": secret, "use": "sig"})
    missing = await server.refusal("")
    assert missing[0] is grpc.StatusCode.UNAUTHENTICATED
    assert await server.refusal(FORGERIES[forgery](issuer)) == missing


async def test_a_key_that_is_not_for_signatures_verifies_nothing(server: Served, issuer: FakeIssuer) -> None:
    issuer.add_key("k2")
    issuer.extra_keys.append({**issuer.jwk("k2"), "kid": "enc", "use": "enc"})
    algorithm, key = issuer.keys["k2"]
    claims = jwt.decode(issuer.token(), options={"verify_signature": False})
    token = jwt.encode(claims, key, algorithm, headers={"kid": "enc"})
    assert (await server.refusal(token))[0] is grpc.StatusCode.UNAUTHENTICATED


async def test_an_issuer_that_is_away_is_unavailable(server: Served, issuer: FakeIssuer) -> None:
    issuer.is_down = True
    assert (await server.refusal(issuer.token()))[0] is grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize(
    "discovery",
    [{"issuer": "https://elsewhere.example"}, {"jwks_uri": None}, {"jwks_uri": "http://elsewhere.example/k"}],
)
async def test_a_discovery_document_of_another_issuer_is_not_believed(
    server: Served, issuer: FakeIssuer, discovery: dict[str, Any]
) -> None:
    issuer.discovery = discovery
    assert (await server.refusal(issuer.token()))[0] is grpc.StatusCode.UNAVAILABLE
    assert issuer.fetches == 0


async def test_a_key_set_without_end_is_not_read(server: Served, issuer: FakeIssuer) -> None:
    issuer.padding = 2 * 1024 * 1024
    assert (await server.refusal(issuer.token()))[0] is grpc.StatusCode.UNAVAILABLE


# What claims mean.

MAPPINGS: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[Any, ...]]] = {
    "a user's own claim": ({"user_claim": "email"}, {"email": "a@b"}, ("user:a@b", ["reader", "writer"])),
    "a list of users": (
        {"user_claim": "actors"},
        {"actors": ["ann", "team"]},
        ("user:ann", ["reader", "writer"]),
    ),
    "a role by its name": ({"role": "", "role_claim": "role"}, {"role": "reader"}, ("user:ann", ["reader"])),
    "an end user is no admin": ({"role": "admin"}, {}, ("user:ann", ["reader", "writer"])),
    "the highest of several": (
        {"role": "", "role_claim": "roles"},
        {"roles": ["reader", "other", "writer"]},
        ("user:ann", ["reader", "writer"]),
    ),
    "a claim inside another": (
        {"role": "", "role_claim": "resource_access.ricordo.roles", "user_claim": ""},
        {"resource_access": {"ricordo": {"roles": ["admin"]}}},
        ("corp:ann", ["admin", "reader", "writer"]),
    ),
    "a claim with dots in its name": (
        {"role": "", "role_claim": "https://x.example/role"},
        {"https://x.example/role": "reader"},
        ("user:ann", ["reader"]),
    ),
    "values of one's own": (
        {"role": "", "role_claim": "groups", "role_values": "staff=writer, bosses=admin", "user_claim": ""},
        {"groups": ["bosses"]},
        ("corp:ann", ["admin", "reader", "writer"]),
    ),
    "a role beside the claim": (
        {"role": "reader", "role_claim": "role"},
        {},
        ("user:ann", ["reader"]),
    ),
    "a service": ({"user_claim": ""}, {"sub": "job"}, ("corp:job", ["reader", "writer"])),
}


@pytest.mark.parametrize("mapping", MAPPINGS)
async def test_claims_are_mapped(
    settings: Settings, issuer: FakeIssuer, project_id: UUID, mapping: str
) -> None:
    changes, claims, expected = MAPPINGS[mapping]
    async for server in served(settings, corp=oidc(issuer, **{"project": project_id, **changes})):
        who = await server.who(issuer.token(**claims))
    assert (who.principal_id, list(who.roles)) == expected


UNMAPPED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "no role": ({"role": "", "role_claim": "role"}, {}),
    "a role that is none": ({"role": "", "role_claim": "role"}, {"role": "root"}),
    "operator is no role of a project": ({"role": "", "role_claim": "role"}, {"role": "operator"}),
    "a role that is an object": ({"role": "", "role_claim": "role"}, {"role": {"admin": 1}}),
    "no user": ({"user_claim": "email"}, {}),
    "an empty list of users": ({"user_claim": "email"}, {"email": []}),
    "users that are no texts": ({"user_claim": "email"}, {"email": [1]}),
    "too many users": ({"user_claim": "email"}, {"email": ["u"] * 17}),
    "no project": ({"project": None, "project_claim": "tenant"}, {}),
    "two projects": ({"project": None, "project_claim": "tenant"}, {"tenant": [str(uuid4()), str(uuid4())]}),
    "a project that is no id": ({"project": None, "project_claim": "tenant"}, {"tenant": "x"}),
    "a project that is not there": ({"project": None, "project_claim": "tenant"}, {"tenant": str(uuid4())}),
}


@pytest.mark.parametrize("mapping", UNMAPPED)
async def test_claims_that_say_too_little_are_refused(
    settings: Settings, issuer: FakeIssuer, project_id: UUID, mapping: str
) -> None:
    changes, claims = UNMAPPED[mapping]
    async for server in served(settings, corp=oidc(issuer, **{"project": project_id, **changes})):
        assert (await server.refusal(issuer.token(**claims)))[0] is grpc.StatusCode.UNAUTHENTICATED


async def test_a_claim_names_the_project(settings: Settings, issuer: FakeIssuer, project_id: UUID) -> None:
    by_claim = oidc(issuer, project=None, project_claim="tenant")
    async for server in served(settings, corp=by_claim):
        who = await server.who(issuer.token(tenant=str(project_id)))
    assert who.project_id == str(project_id)


async def test_one_issuer_for_two_audiences(settings: Settings, issuer: FakeIssuer, project_id: UUID) -> None:
    users = oidc(issuer, project=project_id)
    jobs = oidc(issuer, project=project_id, audience="memory-jobs", user_claim="")
    async for server in served(settings, users=users, jobs=jobs):
        assert (await server.who(issuer.token())).principal_id == "user:ann"
        assert (await server.who(issuer.token(aud=["x", "memory-jobs"]))).principal_id == "jobs:ann"


async def test_our_own_issuer_cannot_be_another_s(settings: Settings, issuer: FakeIssuer) -> None:
    same = settings.model_copy(update={"oidc": {"corp": oidc(issuer)}, "token_issuer": issuer.url})
    with pytest.raises(UnsafeToServe):
        async with open_services(same, pool_size=2):
            pass


@pytest.mark.parametrize(
    "changes",
    [
        {"issuer": ""},
        {"audience": ""},
        {"issuer": "http://issuer.example"},
        {"jwks_url": "ftp://127.0.0.1/keys"},
        {"project": None},
        {"project_claim": "tenant"},
        {"role": ""},
        {"role": "operator"},
        {"role_values": "staff"},
        {"role_values": "staff=operator"},
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, Any]) -> None:
    given = {"issuer": "https://x.example", "audience": "a", "project": PROJECT, "role": "writer"}
    with pytest.raises(ValueError):
        OidcSettings(**{**given, **changes})


def test_issuers_are_set_up_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"ISSUER": "https://x.example", "AUDIENCE": "a", "PROJECT": str(PROJECT), "ROLE": "reader"}
    for name, value in values.items():
        monkeypatch.setenv(f"RICORDO_OIDC__CORP__{name}", value)
    assert Settings().oidc == {"corp": OidcSettings("https://x.example", "a", project=PROJECT, role="reader")}


# An issuer that comes and goes.


class Clock:
    seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient() as client:
        yield client


async def test_known_keys_serve_for_a_day_while_the_issuer_is_away(
    issuer: FakeIssuer, http: httpx.AsyncClient
) -> None:
    clock = Clock()
    keys = IssuerKeys(oidc(issuer, jwks_url=f"{issuer.url}/keys"), http, clock)
    assert await keys.find("k1")
    issuer.is_down = True
    clock.seconds += STALE_SECONDS - 1
    assert await keys.find("k1")
    clock.seconds += FRESH_SECONDS
    with pytest.raises(DomainError) as refused:
        await keys.find("k1")
    assert refused.value.reason is Reason.ISSUER_UNAVAILABLE
    issuer.is_down = False
    assert await keys.find("k1")


async def test_a_key_that_was_taken_away_is_forgotten(issuer: FakeIssuer, http: httpx.AsyncClient) -> None:
    clock = Clock()
    keys = IssuerKeys(oidc(issuer), http, clock)
    assert await keys.find("k1")
    issuer.add_key("k2")
    del issuer.keys["k1"]
    clock.seconds += FRESH_SECONDS
    assert await keys.find("k1") is None
    assert await keys.find("k2")


async def test_an_issuer_that_failed_is_not_asked_again_at_once(
    issuer: FakeIssuer, http: httpx.AsyncClient
) -> None:
    clock = Clock()
    keys = IssuerKeys(oidc(issuer, jwks_url=f"{issuer.url}/keys"), http, clock)
    issuer.is_down = True
    for _ in range(2):
        with pytest.raises(DomainError):
            await keys.find("k1")
        issuer.is_down = False
    clock.seconds += RETRY_SECONDS
    assert await keys.find("k1")


async def test_an_unknown_key_is_asked_for_again_later(issuer: FakeIssuer, http: httpx.AsyncClient) -> None:
    clock = Clock()
    keys = IssuerKeys(oidc(issuer), http, clock)
    assert await keys.find("k9") is None
    issuer.add_key("k9")
    assert await keys.find("k9") is None
    clock.seconds += UNKNOWN_KEY_SECONDS
    assert await keys.find("k9")
