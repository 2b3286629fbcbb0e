"""Forged tokens: each is refused with the same words, whatever is wrong with it."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import grpc
import grpc.aio
import jwt
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ricordo.v1 import identity_service_pb2 as pb
from ricordo_server.config import Settings
from ricordo_server.credentials.key_sealing import KeySealing
from ricordo_server.credentials.signed_tokens import (
    MAX_TOKEN_CHARACTERS,
    BadTokenError,
    public_jwk,
    read_unverified,
)
from ricordo_server.db.signing_keys import add_signing_key, retire_signing_key
from ricordo_server.domain.signing_key import PUBLICATION
from ricordo_server.embedding import EmbeddingSettings
from ricordo_server.server import open_services, serving
from tests.fixtures.calls import as_service
from tests.fixtures.credentials import (
    active_key,
    bearer,
    decode_part,
    encode_part,
    good_claims,
    identity_of,
    new_client,
)
from tests.fixtures.database import KEY_SECRET, TestDatabase, make_project

pytestmark = pytest.mark.asyncio(loop_scope="module")

TYPE = "at+jwt"
STRANGER = Ed25519PrivateKey.generate()
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
CERTIFICATE = "MIIB"
HOUR = 3600


@dataclass(frozen=True)
class Workshop:
    """A real account, and the very key that signs its tokens."""

    client_id: str
    other_client_id: str
    key_id: str
    key: Ed25519PrivateKey
    retired_id: str
    retired_key: Ed25519PrivateKey

    def claims(self, *without: str, **changes: Any) -> dict[str, Any]:
        changed = {**good_claims(self.client_id), **changes}
        return {name: value for name, value in changed.items() if name not in without}

    def header(self, **changes: Any) -> dict[str, Any]:
        return {"alg": "EdDSA", "kid": self.key_id, "typ": TYPE, **changes}

    def signed(
        self,
        claims: dict[str, Any] | str | None = None,
        header: dict[str, Any] | str | None = None,
        key: Ed25519PrivateKey | None = None,
    ) -> str:
        """A token with any header and claims, also such as no library writes."""
        content = encode_part(self.claims() if claims is None else claims)
        text = f"{encode_part(header or self.header())}.{content}"
        return f"{text}.{encode_part((key or self.key).sign(text.encode()))}"

    def by_hmac(self, secret: bytes) -> str:
        text = f"{encode_part(self.header(alg='HS256'))}.{encode_part(self.claims())}"
        return f"{text}.{encode_part(hmac.digest(secret, text.encode(), hashlib.sha256))}"

    def by_library(self, key: Any, algorithm: str) -> str:
        return jwt.encode(self.claims(), key, algorithm, headers={"kid": self.key_id, "typ": TYPE})

    def public_text(self, encoding: serialization.Encoding) -> bytes:
        return self.key.public_key().public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo)


def with_other_content(shop: Workshop) -> str:
    header, content, signature = shop.signed().split(".")
    changed = {**decode_part(content), "role": "admin"}
    return f"{header}.{encode_part(changed)}.{signature}"


def with_flipped_signature(shop: Workshop) -> str:
    text, _, signature = shop.signed().rpartition(".")
    flipped = bytes(byte ^ 1 for byte in base64.urlsafe_b64decode(signature + "=="))
    return f"{text}.{encode_part(flipped)}"


def twice(claims: dict[str, Any], name: str, value: object) -> str:
    """JSON in which a name stands twice, the good value last, as most readers take it."""
    return json.dumps({f"{name}!": value, **claims}).replace(f"{name}!", name)


def far_claims(shop: Workshop) -> dict[str, Any]:
    other_project = shop.other_client_id.partition(".")[0]
    return shop.claims(project_id=other_project)


FORGERIES: dict[str, Callable[[Workshop], str]] = {
    # No signature, or one of another kind.
    "alg none": lambda shop: f"{encode_part(shop.header(alg='none'))}.{encode_part(shop.claims())}.",
    "alg none, any case": lambda shop: (
        f"{encode_part(shop.header(alg='nOnE'))}.{encode_part(shop.claims())}.eA"
    ),
    "alg none, signed": lambda shop: shop.signed(header=shop.header(alg="none")),
    "alg empty": lambda shop: shop.signed(header=shop.header(alg="")),
    "alg missing": lambda shop: shop.signed(header={"kid": shop.key_id, "typ": TYPE}),
    "alg a list": lambda shop: shop.signed(header=shop.header(alg=["EdDSA", "none"])),
    "HMAC with the public key": lambda shop: shop.by_hmac(shop.key.public_key().public_bytes_raw()),
    "HMAC with its PEM": lambda shop: shop.by_hmac(shop.public_text(serialization.Encoding.PEM)),
    "HMAC with its DER": lambda shop: shop.by_hmac(shop.public_text(serialization.Encoding.DER)),
    "HMAC with its JWK": lambda shop: shop.by_hmac(json.dumps(public_jwk(shop.key_id, shop.key)).encode()),
    "HMAC with nothing": lambda shop: shop.by_hmac(b""),
    "RSA under the key's id": lambda shop: shop.by_library(RSA_KEY, "RS256"),
    "ECDSA under the key's id": lambda shop: shop.by_library(EC_KEY, "ES256"),
    "a stranger's key under the key's id": lambda shop: shop.signed(key=STRANGER),
    "the content changed": with_other_content,
    "the signature changed": with_flipped_signature,
    "the signature cut": lambda shop: shop.signed()[:-10],
    "the signature missing": lambda shop: shop.signed().rpartition(".")[0] + ".",
    "a signature of something else": lambda shop: (
        shop.signed().rpartition(".")[0] + "." + shop.signed(shop.claims(jti="2")).rpartition(".")[2]
    ),
    # The key's id is only looked up.
    "kid unknown": lambda shop: shop.signed(header=shop.header(kid=str(uuid4())), key=STRANGER),
    "kid missing": lambda shop: shop.signed(header={"alg": "EdDSA", "typ": TYPE}),
    "kid a path": lambda shop: shop.signed(header=shop.header(kid="../../../../dev/null"), key=STRANGER),
    "kid SQL": lambda shop: shop.signed(header=shop.header(kid="x' OR '1'='1"), key=STRANGER),
    "kid a URL": lambda shop: shop.signed(header=shop.header(kid="http://127.0.0.1:1/k"), key=STRANGER),
    "kid a number": lambda shop: shop.signed(header=shop.header(kid=0)),
    "kid a list": lambda shop: shop.signed(header=shop.header(kid=[shop.key_id])),
    "kid with a blank": lambda shop: shop.signed(header=shop.header(kid=shop.key_id + " ")),
    "kid with NUL": lambda shop: shop.signed(header=shop.header(kid=shop.key_id + "\0")),
    "a retired key": lambda shop: shop.signed(header=shop.header(kid=shop.retired_id), key=shop.retired_key),
    # What would bring a key along, or change what the signature means; each is well signed.
    "jku": lambda shop: shop.signed(header=shop.header(jku="http://127.0.0.1:1/jwks.json")),
    "x5u": lambda shop: shop.signed(header=shop.header(x5u="http://127.0.0.1:1/cert.pem")),
    "x5c": lambda shop: shop.signed(header=shop.header(x5c=[CERTIFICATE])),
    "jwk": lambda shop: shop.signed(header=shop.header(jwk=public_jwk("x", STRANGER)), key=STRANGER),
    "crit": lambda shop: shop.signed(header=shop.header(crit=["exp"])),
    "b64": lambda shop: shop.signed(header=shop.header(b64=False)),
    "zip": lambda shop: shop.signed(header=shop.header(zip="DEF")),
    "typ of an ID token": lambda shop: shop.signed(header=shop.header(typ="JWT")),
    "typ missing": lambda shop: shop.signed(header={"alg": "EdDSA", "kid": shop.key_id}),
    # Claims that are wrong; each is well signed.
    "another audience": lambda shop: shop.signed(shop.claims(aud="elsewhere")),
    "no audience": lambda shop: shop.signed(shop.claims("aud")),
    "an audience that is no text": lambda shop: shop.signed(shop.claims(aud={"ricordo": 1})),
    "another issuer": lambda shop: shop.signed(shop.claims(iss="elsewhere")),
    "an issuer in another case": lambda shop: shop.signed(shop.claims(iss="Ricordo")),
    "no issuer": lambda shop: shop.signed(shop.claims("iss")),
    "expired": lambda shop: shop.signed(shop.claims(exp=int(time.time()) - 60)),
    "no expiry": lambda shop: shop.signed(shop.claims("exp")),
    "an expiry that is no number": lambda shop: shop.signed(shop.claims(exp="never")),
    "an endless expiry": lambda shop: shop.signed(
        json.dumps(shop.claims()).replace('"exp": ', '"exp": 1e400, "x": ')
    ),
    "not valid yet": lambda shop: shop.signed(shop.claims(nbf=int(time.time()) + 120)),
    "issued in the future": lambda shop: shop.signed(shop.claims(iat=int(time.time()) + 120)),
    "no time of issue": lambda shop: shop.signed(shop.claims("iat")),
    "no subject": lambda shop: shop.signed(shop.claims("sub")),
    # Claims about the tenant; each is well signed.
    "no project": lambda shop: shop.signed(shop.claims("project_id")),
    "another project than the account's": lambda shop: shop.signed(far_claims(shop)),
    "two projects": lambda shop: shop.signed(shop.claims(project_id=[str(uuid4()), str(uuid4())])),
    "a project that is no id": lambda shop: shop.signed(shop.claims(project_id="default")),
    "the project twice": lambda shop: shop.signed(twice(shop.claims(), "project_id", str(uuid4()))),
    "the header's alg twice": lambda shop: shop.signed(header=twice(shop.header(), "alg", "none")),
    "no account": lambda shop: shop.signed(shop.claims("client_id")),
    "an account that is not there": lambda shop: shop.signed(
        shop.claims(client_id=f"{shop.client_id.partition('.')[0]}.{uuid4()}")
    ),
    "a service bound to users": lambda shop: shop.signed(shop.claims(user_ids=["ann"])),
    "an end user bound to nobody": lambda shop: shop.signed(shop.claims(kind="user")),
    "an end user bound to a blank": lambda shop: shop.signed(shop.claims(kind="user", user_ids=[""])),
    "users that are no list of texts": lambda shop: shop.signed(shop.claims(kind="user", user_ids=[1])),
    "an operator with a project": lambda shop: shop.signed(shop.claims(kind="operator", role="operator")),
    "a kind that is none": lambda shop: shop.signed(shop.claims(kind="root")),
    "no kind": lambda shop: shop.signed(shop.claims("kind")),
    # What is no token.
    "a word": lambda shop: "secret",
    "three words": lambda shop: "a.b.c",
    "a token twice": lambda shop: f"{shop.signed()} {shop.signed()}",
    "four parts": lambda shop: shop.signed() + ".x",
    "five parts": lambda shop: "eA.eA.eA.eA.eA",
    "padding": lambda shop: shop.signed() + "==",
    "a blank inside": lambda shop: shop.signed().replace(".", ". ", 1),
    "a list for a header": lambda shop: shop.signed(header="[]"),
    "a list for content": lambda shop: shop.signed("[]"),
    "content that is no JSON": lambda shop: shop.signed("{"),
    "content nested without end": lambda shop: shop.signed("[" * 2500 + "]" * 2500),
    "the development token of another project": lambda shop: f"development:{uuid4()}",
    "the development operator": lambda shop: "development:operator",
}


def server_settings(database: TestDatabase, **changes: Any) -> Settings:
    return Settings(
        database_url=database.app_url,
        port=0,
        pool_size=4,
        key_secret=KEY_SECRET,
        embedding=EmbeddingSettings(provider="hashing"),
        shutdown_grace=0,
        **changes,
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shop(database: TestDatabase, key_secret: str) -> Workshop:
    """The account is made through a server with the development principal, which the one under test has not."""
    retired_id, sealed = KeySealing([key_secret]).make_key()
    add_signing_key(database.operator_url, retired_id, sealed, lead=PUBLICATION)
    assert retire_signing_key(database.operator_url, retired_id)
    project_id, other_id = make_project(database), make_project(database)
    settings = server_settings(database, development_project=project_id)
    async with (
        open_services(settings, pool_size=4) as services,
        serving(settings, services) as running,
        grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel,
    ):
        client = await new_client(channel, as_service(project_id))
        other = await new_client(channel, as_service(other_id))
    retired_key = KeySealing([key_secret]).open(sealed)
    key_id, key = active_key(database)
    return Workshop(client.client_id, other.client_id, key_id, key, retired_id, retired_key)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def identity(database: TestDatabase, shop: Workshop) -> AsyncIterator[Any]:
    settings = server_settings(database)
    async with (
        open_services(settings, pool_size=4) as services,
        serving(settings, services) as running,
        grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel,
    ):
        yield identity_of(channel)


async def refusal_of(identity: Any, token: str) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await identity.WhoAmI(pb.WhoAmIRequest(), metadata=bearer(token))
    return refused.value.code(), refused.value.details()


async def test_the_token_they_are_forged_from_is_good(identity: Any, shop: Workshop) -> None:
    who = await identity.WhoAmI(pb.WhoAmIRequest(), metadata=bearer(shop.signed()))
    assert who.principal_id == shop.client_id


@pytest.mark.parametrize("forgery", FORGERIES)
async def test_a_forged_token_is_refused_in_the_same_words(
    identity: Any, shop: Workshop, forgery: str
) -> None:
    missing = await refusal_of(identity, "")
    assert missing[0] is grpc.StatusCode.UNAUTHENTICATED
    assert await refusal_of(identity, FORGERIES[forgery](shop)) == missing


async def test_the_role_of_a_token_is_that_of_its_account(identity: Any, shop: Workshop) -> None:
    """Were a claim forged after all, it would not raise the rights."""
    who = await identity.WhoAmI(pb.WhoAmIRequest(), metadata=bearer(shop.signed(shop.claims(role="admin"))))
    assert list(who.roles) == ["reader", "writer"]


async def test_a_token_of_a_megabyte_is_refused_by_the_transport(identity: Any) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await identity.WhoAmI(pb.WhoAmIRequest(), metadata=bearer("x" * 1_000_000))
    assert refused.value.code() in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE)
    assert (await refusal_of(identity, ""))[0] is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize(("characters", "is_read"), [(MAX_TOKEN_CHARACTERS, True), (1_000_000, False)])
async def test_a_token_is_read_up_to_8_kib(shop: Workshop, characters: int, is_read: bool) -> None:
    """Between 8 and 16 KiB it is chance whether gRPC lets one in."""
    text, _, signature = shop.signed().rpartition(".")
    token = f"{text}.{signature}{'A' * (characters - len(text) - len(signature) - 1)}"
    if is_read:
        assert read_unverified(token).key_id == shop.key_id
        token += "A"
    with pytest.raises(BadTokenError):
        read_unverified(token)


async def test_a_token_within_the_tolerance_of_clocks_is_good(identity: Any, shop: Workshop) -> None:
    just_expired = shop.claims(exp=int(time.time()) - 10, iat=int(time.time()) - HOUR)
    assert await identity.WhoAmI(pb.WhoAmIRequest(), metadata=bearer(shop.signed(just_expired)))


async def test_another_scheme_is_refused_in_the_same_words(identity: Any, shop: Workshop) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await identity.WhoAmI(pb.WhoAmIRequest(), metadata=(("authorization", f"Basic {shop.signed()}"),))
    assert (refused.value.code(), refused.value.details()) == await refusal_of(identity, "")


async def test_a_forgery_is_no_copy_of_the_good_token(shop: Workshop) -> None:
    """Each case differs from the token it is forged from, and from the others."""
    fixed = replace(shop)
    made = [forge(fixed) for forge in FORGERIES.values()]
    assert len({fixed.signed(), *made}) == len(made) + 1
