"""A lone surrogate is refused before the request, by the name of its field."""

import pytest

from ricordo._convert.audit import list_audit_records_request
from ricordo._convert.memory_requests import create_request, get_request
from ricordo._convert.project_limits import update_project_limits_request
from ricordo._convert.searches import encode_options
from ricordo._convert.session_requests import record_turn_request
from ricordo.errors import MemoryClientError
from ricordo.models import NewMemory, NewTurn, ProjectLimits, Scope

HALF = "a\ud800b"


def memory(**fields: object) -> NewMemory:
    return NewMemory(**{"kind": "semantic", "content": "x", **fields})


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"content": HALF}, "memory.content"),
        ({"scope": Scope(user_id=HALF)}, "memory.scope.user_id"),
        ({"scope": Scope(labels={HALF: "x"})}, "a key of memory.scope.labels"),
        ({"tags": ["ok", HALF]}, r"memory.tags\[1\]"),
        ({"metadata": {"note": {"deep": [HALF]}}}, r"metadata.note.deep\[0\]"),
    ],
)
def test_the_field_is_named(fields: dict[str, object], name: str) -> None:
    with pytest.raises(MemoryClientError, match=f"^{name} "):
        create_request(memory(**fields), ttl=None, revision_options=None, store=None, request_id=None)


def test_arguments_are_named_too() -> None:
    with pytest.raises(MemoryClientError, match=r"^memory_id holds the lone surrogate"):
        get_request(HALF, include_deleted=False, store=None)
    with pytest.raises(MemoryClientError, match=r"^turn.content"):
        record_turn_request(
            NewTurn(role="user", content=HALF),
            scope=Scope(user_id="a", session_id="s"),
            store=None,
            request_id=None,
        )


def test_a_query_is_named() -> None:
    with pytest.raises(MemoryClientError, match=r"^query "):
        encode_options(
            HALF,
            query_embedding=(),
            mode="text",
            fusion=None,
            semantic_weight=None,
            top_k=None,
            min_similarity=None,
            explain=False,
        )


@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 2**70])
def test_a_number_that_does_not_fit_is_named(number: int) -> None:
    with pytest.raises(MemoryClientError, match=r"^page_size does not fit its field"):
        list_audit_records_request(page_size=number)


def test_a_number_inside_an_argument_is_named_too() -> None:
    with pytest.raises(MemoryClientError, match=r"^changes.stored_memories does not fit its field"):
        update_project_limits_request(
            "p", ProjectLimits(stored_bytes=2, stored_memories=2**63), request_id=None
        )
