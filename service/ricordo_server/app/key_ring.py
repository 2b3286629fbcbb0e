"""The installation's signing keys, as this process has read them lately."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from ricordo_server.credentials.key_sealing import KeySealing, KeySecretError
from ricordo_server.credentials.signed_tokens import public_jwk
from ricordo_server.db.connection import Pool
from ricordo_server.db.signing_keys import list_signing_keys
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.signing_key import KEYS_FRESH, SigningKey, find_active
from ricordo_server.domain.timed_cache import Pace, TimedCache

log = logging.getLogger("ricordo.credentials")

LOAD_SECONDS = 5.0
# A key that is not known may be new, and the keys are read for it; not more often, however many tokens name one.
UNKNOWN_KEY_SECONDS = 5.0

Now = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class OpenKey:
    key: SigningKey
    private_key: Ed25519PrivateKey


class KeyRing:
    """Without a `sealing` (a server without a key secret) it is empty."""

    def __init__(self, pool: Pool, sealing: KeySealing | None, now: Now = utc_now) -> None:
        self._pool = pool
        self._sealing = sealing
        self._now = now
        self._refresh = Pace(UNKNOWN_KEY_SECONDS)
        self._cache: TimedCache[None, Mapping[str, OpenKey]] = TimedCache(
            self._load, seconds=KEYS_FRESH.total_seconds()
        )

    async def find_active(self) -> OpenKey:
        """
        Raises:
            DomainError: NO_SIGNING_KEY.
        """
        keys = await self._cache.get(None)
        active = find_active((each.key for each in keys.values()), self._now())
        if active is None:
            message = (
                "this server has no key to sign tokens with: its operator sets RICORDO_KEY_SECRET and runs "
                "`ricordo keys rotate`"
            )
            raise DomainError(Reason.NO_SIGNING_KEY, message)
        return keys[active.key_id]

    async def find_public(self, key_id: str) -> Ed25519PublicKey | None:
        """The key that tokens of this id must be signed with; None when there is none, or it is retired.

        It is made of the private key, which only the holder of the key secret can have written.
        """
        keys = await self._cache.get(None)
        if key_id not in keys and self._refresh.may_run():
            keys = await self._cache.get(None, newer_than=0)
        found = keys.get(key_id)
        if found is None or (found.key.retire_time and found.key.retire_time <= self._now()):
            return None
        return found.private_key.public_key()

    async def list_public(self) -> list[dict[str, str]]:
        """As JSON Web Keys: all that sign, will sign, or have signed tokens that are still good."""
        keys = await self._cache.get(None)
        return [public_jwk(key_id, each.private_key) for key_id, each in sorted(keys.items())]

    async def find_fault(self) -> str:
        """Why the server could neither sign nor verify; empty when it can, or has no key secret."""
        if self._sealing is None or await self._cache.get(None):
            return ""
        if await list_signing_keys(self._pool, timeout=LOAD_SECONDS):
            return "the key secret is not the one that the signing keys were sealed under: give that one"
        return "there is no signing key: run `ricordo keys rotate`"

    async def _load(self, _: None) -> Mapping[str, OpenKey]:
        if self._sealing is None:
            return {}
        opened = {}
        for key in await list_signing_keys(self._pool, timeout=LOAD_SECONDS):
            try:
                opened[key.key_id] = OpenKey(key, self._sealing.open(key.sealed))
            except KeySecretError:  # the others still serve
                log.exception("a signing key cannot be opened", extra={"key_id": key.key_id})
        return opened
