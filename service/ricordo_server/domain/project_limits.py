"""What a project may use and has used, and the refusal of what is beyond."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from ricordo_server.domain.errors import DomainError, Reason


@dataclass(frozen=True)
class ProjectLimits:
    """None: no limit. The two of requests are divided among the server's processes; days are UTC's."""

    requests_per_second: int | None = None
    concurrent_requests: int | None = None
    stored_memories: int | None = None
    stored_bytes: int | None = None
    embedding_tokens_per_day: int | None = None
    llm_tokens_per_day: int | None = None


NO_LIMITS = ProjectLimits()
LIMIT_NAMES = tuple(field.name for field in fields(ProjectLimits))
# New values by field name.
LimitChanges = Mapping[str, int | None]


class TokenKind(StrEnum):
    """Whose tokens; the limit is that name and `_per_day`."""

    EMBEDDING = "embedding_tokens"
    LLM = "llm_tokens"


@dataclass(frozen=True)
class ProjectUsage:
    """`stored_bytes` counts texts, metadata and details of turns and of every revision; tokens are today's."""

    stored_memories: int = 0
    stored_bytes: int = 0
    embedding_tokens: int = 0
    llm_tokens: int = 0


def rate_exceeded(limit: str, value: int, retry_after: float) -> DomainError:
    """Beyond a limit that time lifts; `retry_after` is in seconds."""
    message = f"the project is at its limit {limit} of {value}: try again in {retry_after:.1f} s, or ask the operator"
    return DomainError(
        Reason.RATE_LIMIT_EXCEEDED, message, metadata=_metadata(limit, value), retry_after=retry_after
    )


def quota_exceeded(limit: str, value: int, used: int) -> DomainError:
    """Beyond a limit that purging or the operator lifts, or in time the expiry of what is stored."""
    message = f"the project would hold {used} {limit}, its limit is {value}: purge some, or ask the operator"
    return DomainError(
        Reason.QUOTA_EXCEEDED, message, metadata={**_metadata(limit, value), "actual": str(used)}
    )


def _metadata(limit: str, value: int) -> dict[str, str]:
    return {"limit_name": limit, "limit": str(value)}


def limits_from(stored: Mapping[str, Any]) -> ProjectLimits:
    """Of the names that are known here: a newer release may have written more."""
    return ProjectLimits(**{name: stored[name] for name in LIMIT_NAMES if name in stored})
