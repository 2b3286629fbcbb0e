"""Rules of the contract that no linter knows."""

import keyword
from importlib import import_module
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor, FileDescriptor, MethodDescriptor

from ricordo.v1 import error_reason_pb2
from ricordo_server.domain.errors import Reason
from ricordo_server.rpc.errors import CODE_BY_REASON

PROTOS = Path(__file__).parents[2] / "proto" / "ricordo" / "v1"

# Go, Java, TypeScript, Rust and C#, where they differ from Python's.
KEYWORDS = """
abstract base bool boolean break byte case catch chan char checked const continue crate decimal default
defer delegate do double else enum event explicit extends extern fallthrough final finally fixed float fn
for foreach func function go goto if impl implements implicit import in instanceof int interface internal is
let lock long loop map match mod move mut namespace native new object operator out override package params
private protected pub public range readonly ref return sbyte sealed select self short sizeof stackalloc
static string struct super switch synchronized this throw throws trait transient type typeof uint ulong
unchecked unsafe use ushort using var virtual void volatile where
"""
OTHER_KEYWORDS = frozenset(KEYWORDS.split())
MUTATING = (
    *("Create", "BatchCreate", "Update", "Put", "Delete", "Record", "BatchRecord"),
    *("Rotate", "Disable", "Enable", "Generate", "Promote", "Rollback", "Grant", "Revoke", "Purge"),
    *("Register", "Switch", "Drop", "Pop", "Clear", "Fork", "Move", "Run"),
    *("Retry", "Approve", "Reject", "Cancel"),
)


def files() -> list[FileDescriptor]:
    return [
        import_module(f"ricordo.v1.{path.stem}_pb2").DESCRIPTOR for path in sorted(PROTOS.glob("*.proto"))
    ]


def messages(parents: list[Descriptor]) -> list[Descriptor]:
    return [message for parent in parents for message in (parent, *messages(list(parent.nested_types)))]


def all_messages() -> list[Descriptor]:
    return messages([message for file in files() for message in file.message_types_by_name.values()])


def methods() -> list[MethodDescriptor]:
    services = [service for file in files() for service in file.services_by_name.values()]
    return [method for service in services for method in service.methods]


def test_no_field_is_a_keyword_of_a_client_language() -> None:
    names = {field.name for message in all_messages() for field in message.fields}
    assert not {name for name in names if keyword.iskeyword(name) or name in OTHER_KEYWORDS}


def test_no_request_names_its_tenant() -> None:
    requests = [method.input_type for method in methods() if method.containing_service.name != "AdminService"]
    assert not [request.full_name for request in requests if "project_id" in request.fields_by_name]


@pytest.mark.parametrize("method", methods(), ids=lambda method: method.full_name)
def test_every_rpc_has_its_own_envelopes_and_every_mutation_a_request_id(method: MethodDescriptor) -> None:
    assert method.input_type.name == f"{method.name}Request"
    assert method.output_type.name == f"{method.name}Response"
    assert ("request_id" in method.input_type.fields_by_name) == method.name.startswith(MUTATING)


def test_no_rpc_is_a_stream() -> None:
    """The interceptors guard single requests and answers alone, and refuse the rest."""
    assert not [each.full_name for each in methods() if each.client_streaming or each.server_streaming]


def test_the_domain_knows_each_reason_of_the_contract_and_rpc_its_code() -> None:
    names = {name.removeprefix("ERROR_REASON_") for name in error_reason_pb2.ErrorReason.keys()}  # noqa: SIM118
    assert names - {"UNSPECIFIED"} == set(Reason) == set(CODE_BY_REASON)


def test_the_comment_of_each_reason_names_its_status_code() -> None:
    lines = (PROTOS / "error_reason.proto").read_text().splitlines()
    for reason, code in CODE_BY_REASON.items():
        position = next(i for i, line in enumerate(lines) if f"ERROR_REASON_{reason} =" in line)
        comment: list[str] = []
        while lines[position - 1].strip().startswith("//"):
            position -= 1
            comment.insert(0, lines[position])
        assert code.name in " ".join(comment), reason
