"""The life of a signing key, told by its times alone, so that all servers agree on it without talking.

A key is published before it signs (NEXT), signs until a newer one does (ACTIVE), verifies until the last token it
signed has expired (PREVIOUS), and is refused from then on (RETIRED).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

MAX_TOKEN_LIFETIME = timedelta(hours=1)
# Clocks differ; beyond this a token is from the future, or expired.
LEEWAY = timedelta(seconds=30)
# Servers read the keys anew this often, or when they meet an unknown one.
KEYS_FRESH = timedelta(seconds=30)
# From publication to the first signature: every server has read the key by then, with room for slow clocks.
PUBLICATION = timedelta(minutes=2)
# After its successor signs: the last token it signed has expired everywhere.
OVERLAP = MAX_TOKEN_LIFETIME + PUBLICATION


class KeyState(StrEnum):
    NEXT = "next"
    ACTIVE = "active"
    PREVIOUS = "previous"
    RETIRED = "retired"


@dataclass(frozen=True)
class SigningKey:
    """`sealed` is the private key, encrypted; `retire_time` is None until a successor is made."""

    key_id: str
    sealed: bytes = field(repr=False)
    sign_time: datetime
    retire_time: datetime | None


def state_of(key: SigningKey, active: SigningKey | None, now: datetime) -> KeyState:
    if key.retire_time is not None and key.retire_time <= now:
        return KeyState.RETIRED
    if key.sign_time > now:
        return KeyState.NEXT
    return KeyState.ACTIVE if key == active else KeyState.PREVIOUS


def find_active(keys: Iterable[SigningKey], now: datetime) -> SigningKey | None:
    """The newest that may sign; None when there is none."""
    ready = [
        key for key in keys if key.sign_time <= now and (key.retire_time is None or key.retire_time > now)
    ]
    return max(ready, key=lambda key: (key.sign_time, key.key_id), default=None)
