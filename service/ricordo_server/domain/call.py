"""One request on its way through the layers."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ricordo_server.domain.principal import Principal


@dataclass(frozen=True)
class Once:
    """What makes a mutation safe to repeat.

    `encode` turns the result of the work into the bytes of the answer, which a repeat gets again.
    """

    method: str
    request_id: str
    payload_digest: bytes
    encode: Callable[[Any], Awaitable[bytes]]


@dataclass(frozen=True)
class Call:
    """`deadline` is a time of `time.monotonic`; `once` is set on mutations with a request id."""

    principal: Principal
    deadline: float
    once: Once | None = None

    @property
    def remaining(self) -> float:
        """Seconds left, at least a millisecond."""
        return max(self.deadline - time.monotonic(), 0.001)


class AlreadyAnswered(Exception):  # noqa: N818 - no error: the answer of the first call
    """The request id was answered before with the same payload."""

    def __init__(self, answer: bytes) -> None:
        super().__init__("answered before")
        self.answer = answer
