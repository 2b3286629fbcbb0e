"""Client secrets: made here, shown once, kept as an Argon2id hash."""

import asyncio
import re
import secrets as random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

from ricordo_server.domain.errors import DomainError, Reason

# OWASP's parameters for Argon2id, 19 MiB and about 30 ms: a secret has 256 random bits, so nobody guesses it, and
# whoever asks for tokens costs the server little.
_hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)

# The prefix is for scanners of leaked secrets; the id tells which hash to compare with, so that it is always one.
SECRET = re.compile(r"rcs-(?P<secret_id>[0-9a-f]{8})-[A-Za-z0-9_-]{43}")

# Hashing holds a core and 19 MiB for its time: so many at once in one process, and so many that wait for it.
PARALLEL, WAITING = 2, 64


@dataclass(frozen=True)
class ClientSecret:
    """A new secret with what is kept of it."""

    secret_id: str
    text: str = field(repr=False)
    hash: str = field(repr=False)


def make_secret() -> ClientSecret:
    """Takes about 30 ms of CPU."""
    secret_id = random.token_hex(4)
    text = f"rcs-{secret_id}-{random.token_urlsafe(32)}"
    return ClientSecret(secret_id, text, _hasher.hash(text))


def find_secret_id(text: str) -> str:
    """Which of an account's secrets this one claims to be; empty when it is none."""
    found = SECRET.fullmatch(text)
    return found["secret_id"] if found else ""


# What an unknown client's secret is compared with, so that it takes as long as a wrong one.
_NOBODYS_HASH = _hasher.hash(random.token_urlsafe(32))


def _matches(text: str, kept_hash: str | None) -> bool:
    try:
        return _hasher.verify(kept_hash or _NOBODYS_HASH, text) and kept_hash is not None
    except (VerifyMismatchError, InvalidHashError):
        return False


class SecretHashing:
    """Hashes in threads, a bounded number at once."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(PARALLEL)
        self._waiting = 0

    async def make(self) -> ClientSecret:
        """A new secret.

        Raises:
            DomainError: TOO_MANY_REQUESTS.
        """
        async with self._turn():
            return await asyncio.to_thread(make_secret)

    async def matches(self, text: str, kept_hash: str | None) -> bool:
        """Whether the secret is the one kept; with None the same work, for nothing.

        Raises:
            DomainError: TOO_MANY_REQUESTS.
        """
        async with self._turn():
            return await asyncio.to_thread(_matches, text, kept_hash)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        if self._waiting >= WAITING:
            message = "too many clients ask for tokens at once: try again shortly"
            raise DomainError(Reason.TOO_MANY_REQUESTS, message)
        self._waiting += 1
        try:
            async with self._free:
                yield
        finally:
            self._waiting -= 1
