"""How often tokens are asked for with a secret: to compare one takes 30 ms of CPU, whoever asks."""

import time
from collections.abc import Callable

from ricordo_server.credentials.secrets import find_secret_id
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.fairness import TokenBuckets

# A token lasts an hour. A fleet that starts at once may have its tokens at once, who goes on like that may not.
SECONDS_OF_BURST = 10.0
# Of how many accounts, and addresses, a process remembers.
MOST_REMEMBERED = 10_000


class TokenPace:
    """Requests a second that one account may make, and one address, in this process."""

    def __init__(
        self, per_account: float, per_address: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._buckets = {
            name: TokenBuckets(rate, rate * SECONDS_OF_BURST, size=MOST_REMEMBERED, clock=clock)
            for name, rate in (
                ("token_requests_per_address", per_address),
                ("token_requests_per_account", per_account),
            )
        }

    def check(self, address: str, client_id: str, client_secret: str) -> None:
        """Before the secret is compared.

        Accounts are told apart by the id in their secret too: who does not have it cannot use up what its owner may.

        Raises:
            DomainError: RATE_LIMIT_EXCEEDED.
        """
        keys = (address, (client_id, find_secret_id(client_secret)))
        for (name, buckets), key in zip(self._buckets.items(), keys, strict=True):
            if wait := buckets.take(key):
                raise _too_often(name, buckets.rate, wait)


def _too_often(name: str, rate: float, wait: float) -> DomainError:
    message = (
        f"tokens are asked for more often than {name} ({rate:g} a second) allows: keep a token for its hour"
    )
    metadata = {"limit_name": name, "limit": f"{rate:g}"}
    return DomainError(Reason.RATE_LIMIT_EXCEEDED, message, metadata=metadata, retry_after=wait)
