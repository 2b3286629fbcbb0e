"""The revision that a caller expects, or asks for."""

from ricordo_server.domain.errors import DomainError, Reason


def check_revision(actual: int, expected: int | None, what: str) -> None:
    """What is changed stands where the caller saw it, if it said where that was.

    Raises:
        DomainError: REVISION_MISMATCH.
    """
    if expected is not None and actual != expected:
        raise DomainError(
            Reason.REVISION_MISMATCH,
            f"the {what} is at revision {actual}, not {expected}: read it again",
            "expected_revision",
            {"expected": str(expected), "actual": str(actual)},
        )


def revision_not_found(memory_id: str, revision: int) -> DomainError:
    message = f"the memory {memory_id!r} has no revision {revision} to be seen here: list its revisions"
    return DomainError(Reason.REVISION_NOT_FOUND, message, "revision")
