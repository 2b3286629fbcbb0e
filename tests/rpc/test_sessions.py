"""Sessions over a real server, as a generated client sees them."""

from typing import Any
from uuid import UUID

import grpc
import pytest

from ricordo.v1 import filter_pb2, metadata_pb2, scope_pb2, session_pb2, turn_pb2
from ricordo.v1 import session_service_pb2 as pb
from ricordo.v1.paging_pb2 import OrderBy
from tests.fixtures.calls import as_user, refusal
from tests.fixtures.stubs import Sessions

INVALID, DENIED = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.PERMISSION_DENIED


def scope(session_id: str = "", user_id: str = "ann", **labels: str) -> scope_pb2.Scope:
    return scope_pb2.Scope(user_id=user_id, session_id=session_id, labels=labels)


def creation(given: scope_pb2.Scope, **fields: Any) -> pb.CreateSessionRequest:
    return pb.CreateSessionRequest(session=session_pb2.Session(scope=given, **fields))


async def record(sessions: Sessions, given: scope_pb2.Scope, content: str = "hello") -> pb.RecordTurnResponse:
    turn = turn_pb2.Turn(role="user", content=content)
    return await sessions.RecordTurn(pb.RecordTurnRequest(scope=given, turn=turn))


async def test_a_session_comes_back_as_it_was_written(sessions: Sessions) -> None:
    metadata = {"n": metadata_pb2.MetadataValue(int64_value=3)}
    request = creation(scope("s1", team="blue"), metadata=metadata, parent_session_id="s0")
    created = (await sessions.CreateSession(request)).session
    read = (await sessions.GetSession(pb.GetSessionRequest(scope=scope("s1", team="blue")))).session
    assert read == created
    assert (read.scope, read.metadata["n"].int64_value) == (scope("s1", team="blue"), 3)
    assert (read.store_id, read.parent_session_id, read.last_turn_seq) == ("default", "s0", 0)


async def test_a_session_without_an_id_gets_one(sessions: Sessions) -> None:
    first = (await sessions.CreateSession(creation(scope()))).session
    second = (await sessions.CreateSession(creation(scope()))).session
    assert len(first.scope.session_id) == 36
    assert first.scope.session_id != second.scope.session_id
    assert first.root_session_id == first.scope.session_id


async def test_the_id_made_counts_as_a_pair_of_the_scope(sessions: Sessions) -> None:
    request = creation(scope(a="1", b="2", c="3", d="4"))
    assert await refusal(sessions.CreateSession(request)) == (INVALID, "LIMIT_EXCEEDED", "session.scope")


async def test_an_existing_session_is_not_created_again(sessions: Sessions) -> None:
    await record(sessions, scope("s1"))
    code, reason, field = await refusal(sessions.CreateSession(creation(scope("s1"))))
    assert (code, reason) == (grpc.StatusCode.ALREADY_EXISTS, "ID_TAKEN")
    assert field == "session.scope.session_id"
    await sessions.CreateSession(creation(scope("s1", user_id="bob")))


async def test_the_root_is_the_parent_s_among_the_same_user_s_sessions(sessions: Sessions) -> None:
    await sessions.CreateSession(creation(scope("a")))
    await sessions.CreateSession(creation(scope("b"), parent_session_id="a"))
    grandchild = (await sessions.CreateSession(creation(scope("c"), parent_session_id="b"))).session
    assert grandchild.root_session_id == "a"
    stranger = creation(scope("c", user_id="bob"), parent_session_id="b")
    assert (await sessions.CreateSession(stranger)).session.root_session_id == "b"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (scope_pb2.Scope(session_id="s1"), "scope"),
        (scope_pb2.Scope(user_id="", session_id="s1"), "scope"),
        (scope_pb2.Scope(user_id="ann"), "scope.session_id"),
        (scope_pb2.Scope(labels={"team": "blue"}), "scope.session_id"),
    ],
)
async def test_a_session_is_named_by_whose_it_is_and_its_id(
    sessions: Sessions, given: scope_pb2.Scope, field: str
) -> None:
    expected = (INVALID, "SCOPE_REQUIRED", field)
    turn = turn_pb2.Turn(role="user", content="x")
    assert await refusal(sessions.GetSession(pb.GetSessionRequest(scope=given))) == expected
    assert await refusal(sessions.DeleteSession(pb.DeleteSessionRequest(scope=given))) == expected
    assert await refusal(sessions.RecordTurn(pb.RecordTurnRequest(scope=given, turn=turn))) == expected


async def test_a_bad_session_is_refused_with_its_field(sessions: Sessions) -> None:
    for request, field in [
        (creation(scope_pb2.Scope()), "session.scope"),
        (creation(scope("a*b")), "session.scope.session_id"),
        (creation(scope("s"), parent_session_id="s"), "session.parent_session_id"),
        (creation(scope("s"), parent_session_id="x" * 513), "session.parent_session_id"),
        (
            creation(scope("s"), metadata={"a": metadata_pb2.MetadataValue()}),
            'session.metadata["a"]',
        ),
    ]:
        code, _, refused = await refusal(sessions.CreateSession(request))
        assert (code, refused) == (INVALID, field)


async def test_get_wants_the_exact_scope(sessions: Sessions) -> None:
    await sessions.CreateSession(creation(scope("s1", team="blue")))
    code, reason, _ = await refusal(sessions.GetSession(pb.GetSessionRequest(scope=scope("s1"))))
    assert (code, reason) == (grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND")


async def test_a_deleted_session_takes_its_turns_along(sessions: Sessions) -> None:
    turns = [(await record(sessions, scope("s1"), content)).turn for content in ("one", "two", "three")]
    await record(sessions, scope("s2"))
    request = pb.DeleteSessionRequest(scope=scope("s1"), request_id="r1")
    assert (await sessions.DeleteSession(request)).deleted_turn_count == 3
    assert (await sessions.DeleteSession(request)).deleted_turn_count == 3  # the first answer again
    code, reason, _ = await refusal(sessions.GetTurn(pb.GetTurnRequest(turn_id=turns[0].turn_id)))
    assert (code, reason) == (grpc.StatusCode.NOT_FOUND, "TURN_NOT_FOUND")
    code, reason, _ = await refusal(sessions.DeleteSession(pb.DeleteSessionRequest(scope=scope("s1"))))
    assert (code, reason) == (grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND")
    listed = await sessions.ListTurns(pb.ListTurnsRequest())
    assert [turn.scope.session_id for turn in listed.turns] == ["s2"]


async def test_lists_are_ordered_by_activity_and_paged(sessions: Sessions) -> None:
    for name in ("a", "b", "c"):
        await sessions.CreateSession(creation(scope(name)))
    await record(sessions, scope("a"))
    names, token = [], ""
    while True:
        page = await sessions.ListSessions(pb.ListSessionsRequest(page_size=2, page_token=token))
        names += [session.scope.session_id for session in page.sessions]
        token = page.next_page_token
        if not token:
            break
    assert names == ["a", "c", "b"]


async def test_lists_take_scope_filter_and_order(sessions: Sessions) -> None:
    for name, user_id in (("a", "ann"), ("b", "bob"), ("c", "ann")):
        await sessions.CreateSession(creation(scope(name, user_id=user_id)))
    comparison = filter_pb2.Comparison(
        path=filter_pb2.FieldPath(segments=["session_id"]),
        comparator=filter_pb2.COMPARATOR_GT,
        values=[metadata_pb2.MetadataValue(string_value="a")],
    )
    request = pb.ListSessionsRequest(
        scope=scope_pb2.ScopeFilter(matching=scope()),
        filter=filter_pb2.Filter(comparison=comparison),
    )
    assert [s.scope.session_id for s in (await sessions.ListSessions(request)).sessions] == ["c"]
    request = pb.ListSessionsRequest(order_by=[OrderBy(field="session_id", descending=True)])
    assert [s.scope.session_id for s in (await sessions.ListSessions(request)).sessions] == ["c", "b", "a"]
    shared = scope_pb2.ScopeFilter(readable_by=scope_pb2.ReadableBy(user_id="bob"))
    request = pb.ListSessionsRequest(scope=shared)
    assert [s.scope.session_id for s in (await sessions.ListSessions(request)).sessions] == ["b"]


async def test_a_list_names_what_it_accepts(sessions: Sessions) -> None:
    request = pb.ListSessionsRequest(order_by=[OrderBy(field="metadata")])
    code, reason, field = await refusal(sessions.ListSessions(request))
    assert (code, reason, field) == (INVALID, "INVALID_FIELD", "order_by[0].field")
    comparison = filter_pb2.Comparison(
        path=filter_pb2.FieldPath(segments=["content"]),
        comparator=filter_pb2.COMPARATOR_EXISTS,
    )
    request = pb.ListSessionsRequest(filter=filter_pb2.Filter(comparison=comparison))
    code, reason, _ = await refusal(sessions.ListSessions(request))
    assert (code, reason) == (INVALID, "INVALID_FILTER")
    code, reason, _ = await refusal(sessions.ListSessions(pb.ListSessionsRequest(page_token="xxxx")))
    assert (code, reason) == (INVALID, "INVALID_PAGE_TOKEN")


async def test_a_bound_user_has_its_own_sessions_only(sessions: Sessions, project_id: UUID) -> None:
    await record(sessions, scope("s1", user_id="bob"))
    await record(sessions, scope_pb2.Scope(session_id="s1", labels={"team": "blue"}))
    ann = as_user(project_id, "ann")
    await sessions.CreateSession(creation(scope("s1")), metadata=ann)
    listed = await sessions.ListSessions(pb.ListSessionsRequest(), metadata=ann)
    assert [session.scope.user_id for session in listed.sessions] == ["ann"]
    of_bob = scope("s1", user_id="bob")
    for call in (
        sessions.GetSession(pb.GetSessionRequest(scope=of_bob), metadata=ann),
        sessions.DeleteSession(pb.DeleteSessionRequest(scope=of_bob), metadata=ann),
        sessions.CreateSession(creation(scope("s2", user_id="bob")), metadata=ann),
        sessions.ListSessions(
            pb.ListSessionsRequest(scope=scope_pb2.ScopeFilter(exactly=of_bob)), metadata=ann
        ),
    ):
        assert (await refusal(call))[:2] == (DENIED, "PERMISSION_DENIED")
    of_team = scope_pb2.Scope(session_id="s1", labels={"team": "blue"})
    code, reason, _ = await refusal(sessions.GetSession(pb.GetSessionRequest(scope=of_team), metadata=ann))
    assert (code, reason) == (grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND")
    assert (await sessions.GetSession(pb.GetSessionRequest(scope=of_bob))).session.last_turn_seq == 1


async def test_a_store_that_is_not_there_is_named(sessions: Sessions) -> None:
    for store_id in ("nowhere", "No", "a\0b", "x" * 100_000):
        request = pb.GetSessionRequest(store_id=store_id, scope=scope("s1"))
        code, reason, field = await refusal(sessions.GetSession(request))
        assert (code, reason, field) == (grpc.StatusCode.NOT_FOUND, "STORE_NOT_FOUND", "store_id")
