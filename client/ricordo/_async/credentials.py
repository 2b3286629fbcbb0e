"""What a client shows with its calls: a token of its own, one that a provider gives, or one it obtains and renews."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta

from ricordo._aio import Lock, resolved
from ricordo._convert.identities import decode_token, issue_token_request
from ricordo._settings import Credential
from ricordo.errors import MemoryClientError
from ricordo.v1.identity_service_pb2 import IssueTokenRequest, IssueTokenResponse

Issue = Callable[[IssueTokenRequest], Awaitable[IssueTokenResponse]]

# As long as servers allow.
TOKEN_LIFETIME = timedelta(hours=1)
# Renewed while a tenth of its life is left, so that no call meets its end.
RENEW_AT = 0.9


@dataclass(frozen=True)
class Obtained:
    """A token with the times, of `time.monotonic`, at which it is to be renewed and at which it ends.

    Measured here from the moment it was asked for: the server's clock may be another.
    """

    token: str = field(repr=False)
    renew_time: float
    end_time: float


class AsyncCredentials:
    """The token of each call. Whoever comes while one is being obtained waits for it, or uses the one before."""

    def __init__(self, credential: Credential) -> None:
        self._credential = credential
        self._lock = Lock()
        self._obtained: Obtained | None = None

    async def get(self, issue: Issue) -> str | None:
        """The token to send; None without a credential.

        Args:
            issue: Sends a request for a token, which needs none.
        """
        given = self._credential
        if given.token_provider is not None:
            return check_token(await resolved(given.token_provider()))
        if not given.client_id:
            return given.token
        known = self._obtained
        if known is not None and self._is_good(known):
            return known.token
        async with self._lock:
            known = self._obtained
            if known is None or time.monotonic() >= known.renew_time:
                known = self._obtained = await self._obtain(issue)
            return known.token

    async def renew(self, issue: Issue, refused: str | None) -> str | None:
        """Another token in place of one that the server refused; None where there is no other."""
        if self._credential.client_id:
            async with self._lock:
                if self._obtained is not None and self._obtained.token == refused:
                    self._obtained = None
        elif self._credential.token_provider is None:
            return None
        token = await self.get(issue)
        return None if token == refused else token

    def _is_good(self, obtained: Obtained) -> bool:
        """Also a token that is to be renewed, when that is under way."""
        now = time.monotonic()
        return now < obtained.renew_time or (now < obtained.end_time and self._lock.locked())

    async def _obtain(self, issue: Issue) -> Obtained:
        start = time.monotonic()
        request = issue_token_request(
            client_id=self._credential.client_id,
            client_secret=self._credential.client_secret,
            lifetime=TOKEN_LIFETIME,
        )
        issued = decode_token(await issue(request))
        seconds = TOKEN_LIFETIME.total_seconds()
        return Obtained(issued.access_token, start + RENEW_AT * seconds, start + seconds)


def check_token(token: object) -> str:
    """What a provider gave, when it is a token.

    Raises:
        MemoryClientError: It is none.
    """
    if not isinstance(token, str) or not token.strip():
        raise MemoryClientError("the token_provider gave no token: it must return a text that is not blank")
    return token.strip()
