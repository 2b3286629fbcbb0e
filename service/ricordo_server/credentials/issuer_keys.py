"""The public keys of another issuer, fetched from it and kept for a while."""

import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from ricordo_server.credentials.settings import OidcSettings, is_trustworthy
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.timed_cache import Clock, Pace, TimedCache

log = logging.getLogger("ricordo.credentials")

FETCH_SECONDS = 5.0
MAX_DOCUMENT_BYTES = 1024 * 1024
FRESH_SECONDS = 600.0
# An issuer that is away does not end its tokens; one that took a key away has long been heard of.
STALE_SECONDS = 24 * 3600.0
# So often at most is it asked for a key that is not known, or again after it failed.
UNKNOWN_KEY_SECONDS = 30.0
RETRY_SECONDS = 5.0
LEAST_RSA_BITS = 2048

# By the type of the key alone: never by what a token says, and nothing symmetric.
RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
ALGORITHMS: Mapping[tuple[str, str], Sequence[str]] = {
    ("RSA", ""): RSA,
    ("EC", "P-256"): ("ES256",),
    ("EC", "P-384"): ("ES384",),
    ("EC", "P-521"): ("ES512",),
    ("OKP", "Ed25519"): ("EdDSA",),
}


@dataclass(frozen=True)
class IssuerKey:
    """A public key with the algorithms that it may verify."""

    key: Any
    algorithms: Sequence[str]


class IssuerKeys:
    def __init__(
        self, settings: OidcSettings, client: httpx.AsyncClient, clock: Clock = time.monotonic
    ) -> None:
        self._settings = settings
        self._client = client
        self._clock = clock
        self._known: Mapping[str, IssuerKey] | None = None
        self._fetch_time = 0.0
        self._unknown = Pace(UNKNOWN_KEY_SECONDS, clock)
        self._attempts = Pace(RETRY_SECONDS, clock)
        self._cache: TimedCache[None, Mapping[str, IssuerKey]] = TimedCache(
            self._load, seconds=FRESH_SECONDS, clock=clock
        )

    async def find(self, key_id: str) -> IssuerKey | None:
        """The key of this id; None when the issuer has none.

        Raises:
            DomainError: ISSUER_UNAVAILABLE.
        """
        keys = await self._cache.get(None)
        if key_id not in keys and self._unknown.may_run():
            keys = await self._cache.get(None, newer_than=0)
        return keys.get(key_id)

    async def _load(self, _: None) -> Mapping[str, IssuerKey]:
        if self._known is None and not self._attempts.may_run():
            raise self._unavailable()
        try:
            self._known = read_keys(await self._fetch(await self._find_url()))
        except (httpx.HTTPError, ValueError) as error:
            log.warning(
                "keys of an issuer cannot be fetched",
                extra={"issuer": self._settings.issuer, "cause": type(error).__name__},
            )
            if self._known is None or self._clock() - self._fetch_time > STALE_SECONDS:
                raise self._unavailable() from error
            return self._known
        self._fetch_time = self._clock()
        return self._known

    async def _find_url(self) -> str:
        if self._settings.jwks_url:
            return self._settings.jwks_url
        issuer = self._settings.issuer
        document = await self._fetch(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        url = document.get("jwks_uri")
        if document.get("issuer") != issuer or not isinstance(url, str) or not is_trustworthy(url):
            raise ValueError("a discovery document of another issuer, or without the address of its keys")
        return url

    async def _fetch(self, url: str) -> dict[str, Any]:
        body = b""
        async with self._client.stream("GET", url, timeout=FETCH_SECONDS) as response:
            response.raise_for_status()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > MAX_DOCUMENT_BYTES:
                    raise ValueError("a document that is too long")
        document = json.loads(body)
        if not isinstance(document, dict):
            raise ValueError("a document that is no JSON object")
        return document

    def _unavailable(self) -> DomainError:
        message = "the keys of the token's issuer cannot be had at present: try again shortly"
        return DomainError(Reason.ISSUER_UNAVAILABLE, message)


def read_keys(document: Mapping[str, Any]) -> dict[str, IssuerKey]:
    """Those of a JSON Web Key Set that verify signatures, by their id; others are left out.

    Raises:
        ValueError: it is no key set.
    """
    keys = document.get("keys")
    if not isinstance(keys, list):
        raise ValueError("no JSON Web Key Set")
    found = {}
    for described in keys:
        key = _read_key(described) if isinstance(described, dict) else None
        if key is not None and isinstance(described.get("kid"), str):
            found[described["kid"]] = key
    return found


def _read_key(described: Mapping[str, Any]) -> IssuerKey | None:
    kind = described.get("kty"), described.get("crv") or ""
    algorithms = next((names for known, names in ALGORITHMS.items() if known == kind), ())
    if "alg" in described:
        algorithms = tuple(name for name in algorithms if name == described["alg"])
    if not algorithms or described.get("use", "sig") != "sig":
        return None
    try:
        key = jwt.PyJWK(dict(described), algorithms[0]).key
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    if isinstance(key, RSAPublicKey) and key.key_size < LEAST_RSA_BITS:
        return None
    return IssuerKey(key, algorithms)
