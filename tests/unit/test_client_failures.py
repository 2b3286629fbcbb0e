import pickle
import re
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from ricordo import Client, errors
from ricordo._convert.failures import BY_REASON, HINTS, to_exception
from ricordo._convert.values import encode_metadata
from ricordo.filters import MEMORY_FIELDS, field, parse
from ricordo.identity import require
from ricordo.v1.error_reason_pb2 import ErrorReason
from tests.fixtures.fake_service import Refusal

PROTO = Path(__file__).parents[2] / "proto" / "ricordo" / "v1" / "error_reason.proto"
DOCUMENTED = re.findall(
    r"// ([A-Z_]+), (not known to be retryable|not retryable|retryable)(?:(?!= ).)*ERROR_REASON_([A-Z_]+) = ",
    PROTO.read_text(),
    re.DOTALL,
)
MORE_THAN_THEIR_CODE = {
    "INVALID_FILTER": errors.InvalidFilterError,
    "ORGANIZATION_NOT_FOUND": errors.MemoryNotProvisionedError,
    "PROJECT_NOT_FOUND": errors.MemoryNotProvisionedError,
    "QUOTA_EXCEEDED": errors.QuotaExceededError,
    "RATE_LIMIT_EXCEEDED": errors.RateLimitError,
    "REQUEST_ID_REUSED": errors.RequestIdReusedError,
    "REVISION_MISMATCH": errors.RevisionMismatchError,
    "STORE_NOT_EMPTY": errors.StoreNotEmptyError,
    "STORE_NOT_FOUND": errors.MemoryNotProvisionedError,
    "METADATA_TYPE_CONFLICT": errors.MetadataTypeConflictError,
    "CUSTOM_TYPE_NOT_EMPTY": errors.CustomTypeNotEmptyError,
    "EMBEDDING_MODEL_NOT_READY": errors.EmbeddingModelNotReadyError,
    "EMBEDDING_MODEL_IN_USE": errors.EmbeddingModelInUseError,
    "UNKNOWN_CUSTOM_TYPE": errors.UnknownCustomTypeError,
    "WRITE_CONFLICT": errors.WriteConflictError,
    "OPERATION_CANCELLED": errors.OperationCancelledError,
}
OF_THEIR_CODE = {
    "INVALID_ARGUMENT": errors.MemoryBadRequestError,
    "NOT_FOUND": errors.NotFoundError,
    "ALREADY_EXISTS": errors.AlreadyExistsError,
    "FAILED_PRECONDITION": errors.MemoryBadRequestError,
    "ABORTED": errors.MemoryBadRequestError,
    "CANCELLED": errors.MemoryConnectionError,
    "UNAVAILABLE": errors.ServiceUnavailableError,
    "RESOURCE_EXHAUSTED": errors.TooManyRequestsError,
    "DEADLINE_EXCEEDED": errors.DeadlineExceededError,
    "UNAUTHENTICATED": errors.MemoryAuthError,
    "PERMISSION_DENIED": errors.MemoryAuthError,
    "INTERNAL": errors.MemoryServerError,
}


Trailing = tuple[tuple[str, str | bytes], ...]


class Failed(grpc.RpcError):
    """A failed call as either kind of channel raises it."""

    def __init__(self, code: grpc.StatusCode, details: str, trailing: Trailing | None = None) -> None:
        self._code, self._details, self._trailing = code, details, trailing

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._details

    def trailing_metadata(self) -> Trailing | None:  # type: ignore[override]
        return self._trailing


def exception(refusal: Refusal) -> errors.MemoryAPIError:
    found = any_exception(refusal)
    assert isinstance(found, errors.MemoryAPIError)
    return found


def any_exception(refusal: Refusal) -> errors.RicordoError:
    trailing = refusal.status().trailing_metadata if refusal.reason else None
    return to_exception(Failed(refusal.code, refusal.message, trailing), "host:1")


def test_the_proto_documents_every_reason() -> None:
    names = {name.removeprefix("ERROR_REASON_") for name in ErrorReason.keys()} - {"UNSPECIFIED"}  # noqa: SIM118
    assert {reason for _, _, reason in DOCUMENTED} == names


@pytest.mark.parametrize(("code", "retryable", "reason"), DOCUMENTED)
def test_a_reason_has_its_exception(code: str, retryable: str, reason: str) -> None:
    error = exception(Refusal(grpc.StatusCode[code], reason=reason))
    assert type(error) is MORE_THAN_THEIR_CODE.get(reason, OF_THEIR_CODE[code])
    assert (error.reason, error.code) == (reason, code)
    assert error.retryable == (retryable == "retryable")


def test_the_table_names_reasons_that_exist() -> None:
    assert set(BY_REASON) <= {reason for _, _, reason in DOCUMENTED}


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("UNAVAILABLE", errors.MemoryConnectionError),
        ("CANCELLED", errors.MemoryConnectionError),
        ("RESOURCE_EXHAUSTED", errors.MemoryBadRequestError),
        ("UNIMPLEMENTED", errors.MemoryRouteNotFoundError),
        ("DEADLINE_EXCEEDED", errors.DeadlineExceededError),
        ("UNAUTHENTICATED", errors.MemoryAuthError),
        ("INTERNAL", errors.MemoryServerError),
        ("UNKNOWN", errors.MemoryServerError),
        ("DATA_LOSS", errors.MemoryServerError),
    ],
)
def test_without_a_reason_the_status_decides(code: str, kind: type[errors.MemoryAPIError]) -> None:
    error = exception(Refusal(grpc.StatusCode[code], "down"))
    assert type(error) is kind
    assert (error.reason, error.trace_id) == (code, "")
    assert error.message.startswith("host:1: down")
    assert HINTS.get(code, "") in error.message


def test_a_server_that_is_not_set_up_for_a_call_does_not_support_it() -> None:
    """An outage of the embedding model is another matter: see the table."""
    error = any_exception(
        Refusal(grpc.StatusCode.UNIMPLEMENTED, "no embedder", reason="EMBEDDER_NOT_CONFIGURED")
    )
    assert type(error) is errors.MemoryNotSupportedError
    assert error.reason
    assert "host:1 is not set up for this: EMBEDDER_NOT_CONFIGURED: no embedder" in str(error)


def test_a_reason_of_a_newer_server_falls_back_to_its_status() -> None:
    error = exception(Refusal(grpc.StatusCode.NOT_FOUND, reason="PIPELINE_NOT_FOUND"))
    assert type(error) is errors.NotFoundError
    assert error.reason == "PIPELINE_NOT_FOUND"


def test_damaged_details_are_as_none() -> None:
    damaged = Refusal(grpc.StatusCode.NOT_FOUND, "one", reason="MEMORY_NOT_FOUND").status().trailing_metadata
    error = to_exception(Failed(grpc.StatusCode.NOT_FOUND, "another", damaged), "host:1")
    assert (type(error), error.reason) == (errors.NotFoundError, "NOT_FOUND")


@pytest.mark.parametrize("name", ["MemoryClientError", "MemoryIdentityError", "MemoryNotSupportedError"])
def test_what_is_raised_before_a_request_is_a_value_error(name: str) -> None:
    kind = getattr(errors, name)
    assert issubclass(kind, ValueError)
    assert issubclass(kind, errors.RicordoError)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: encode_metadata({"a": float("nan")}, "metadata"), "INVALID_FIELD"),
        (lambda: encode_metadata({"a": "\ud800"}, "metadata"), "INVALID_FIELD"),
        (lambda: Client(" "), "INVALID_FIELD"),
        (lambda: parse({"tier": 1}, MEMORY_FIELDS), "INVALID_FILTER"),
        (lambda: parse({"metadata.tier": {"$near": 1}}, MEMORY_FIELDS), "INVALID_FILTER"),
        (lambda: field("metadata", "tier").is_in([]), "INVALID_FILTER"),
        (lambda: require(None, "user_id", "save_semantic"), "SCOPE_REQUIRED"),
    ],
)  # fmt: skip
def test_each_has_a_reason_for_programs(call: Callable[[], object], reason: str) -> None:
    with pytest.raises(ValueError) as refused:
        call()
    assert isinstance(refused.value, errors.RicordoError)
    assert refused.value.reason == reason


def test_a_reason_survives_a_copy() -> None:
    copied = pickle.loads(pickle.dumps(errors.MemoryNotSupportedError("no", reason="NO_MODEL")))
    assert (str(copied), copied.reason) == ("no", "NO_MODEL")


def test_an_error_says_nothing_twice() -> None:
    message = "turn.role is required"
    same = errors.FieldViolation("turn.role", message)
    other = errors.FieldViolation("turn.content", "is too long")
    failure = errors.Failure("INVALID_ARGUMENT", message, "INVALID_FIELD", field_violations=(same, other))
    assert (
        str(errors.MemoryBadRequestError(failure)) == f"INVALID_FIELD: {message}\n  turn.content: is too long"
    )
