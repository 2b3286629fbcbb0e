"""Turns over a real server: what was said comes back, in its order, and is found."""

from typing import Any
from uuid import UUID

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from ricordo.v1 import filter_pb2, metadata_pb2, scope_pb2, search_pb2, turn_pb2
from ricordo.v1 import session_service_pb2 as pb
from ricordo.v1.paging_pb2 import VIEW_BASIC, OrderBy
from tests.fixtures.calls import as_user, refusal
from tests.fixtures.stubs import Sessions

INVALID, DENIED = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.PERMISSION_DENIED
CONTENT_LIMIT = 256 * 1024
AS_GIVEN = (
    "role",
    "content",
    "tool_calls",
    "model_name",
    "data_json",
    "metadata",
    "agent_id",
    "idempotency_key",
    "event_time",
)


def scope(session_id: str = "s1", user_id: str = "ann", **labels: str) -> scope_pb2.Scope:
    return scope_pb2.Scope(user_id=user_id, session_id=session_id, labels=labels)


def said(content: str, role: str = "user", **fields: Any) -> turn_pb2.Turn:
    return turn_pb2.Turn(role=role, content=content, **fields)


def recording(
    turn: turn_pb2.Turn, given: scope_pb2.Scope | None = None, **fields: Any
) -> pb.RecordTurnRequest:
    return pb.RecordTurnRequest(scope=given or scope(), turn=turn, **fields)


def batch(*turns: turn_pb2.Turn, **fields: Any) -> pb.BatchRecordTurnsRequest:
    return pb.BatchRecordTurnsRequest(scope=scope(), turns=turns, **fields)


async def contents(sessions: Sessions, **fields: Any) -> list[str]:
    return [turn.content for turn in (await sessions.ListTurns(pb.ListTurnsRequest(**fields))).turns]


async def test_a_turn_comes_back_as_it_was_written(sessions: Sessions) -> None:
    turn = said(
        "",
        "assistant",
        tool_calls=[turn_pb2.ToolCall(tool_call_id="c1", name="weather", arguments_json='{"a": "\\u0000"}')],
        model_name="m",
        data_json='{"big": 123456789012345678901234567890, "x": [1e400]}',
        metadata={"n": metadata_pb2.MetadataValue(double_value=1e16)},
        agent_id="agent",
        idempotency_key="k",
        event_time=Timestamp(seconds=1_000_000_000, nanos=5_000),
    )
    recorded = await sessions.RecordTurn(recording(turn, scope(team="blue")))
    read = (await sessions.GetTurn(pb.GetTurnRequest(turn_id=recorded.turn.turn_id))).turn
    assert recorded.created
    assert read == recorded.turn
    for name in AS_GIVEN:
        assert getattr(read, name) == getattr(turn, name)
    assert (read.scope, read.turn_seq, read.store_id) == (scope(team="blue"), 1, "default")
    assert not read.has_embedding  # nothing to embed


async def test_a_tool_s_answer_keeps_its_fields(sessions: Sessions) -> None:
    turn = said("boom", "tool", tool_call_id="c1", tool_name="weather", is_error=True)
    recorded = (await sessions.RecordTurn(recording(turn))).turn
    assert (recorded.tool_call_id, recorded.tool_name, recorded.is_error) == ("c1", "weather", True)
    assert recorded.event_time == recorded.create_time
    assert recorded.has_embedding


async def test_turns_are_numbered_as_they_come_and_the_session_follows(sessions: Sessions) -> None:
    answers = [await sessions.RecordTurn(recording(said(str(number)))) for number in range(3)]
    assert [answer.turn.turn_seq for answer in answers] == [1, 2, 3]
    session = (await sessions.GetSession(pb.GetSessionRequest(scope=scope()))).session
    assert (session.last_turn_seq, session.last_activity_time) == (3, answers[-1].turn.create_time)
    assert session.root_session_id == "s1"


async def test_a_known_idempotency_key_answers_the_first_turn(sessions: Sessions) -> None:
    first = await sessions.RecordTurn(recording(said("one", idempotency_key="k")))
    before = (await sessions.GetSession(pb.GetSessionRequest(scope=scope()))).session
    again = await sessions.RecordTurn(recording(said("other", idempotency_key="k")))
    assert (again.created, again.turn) == (False, first.turn)
    assert (await sessions.GetSession(pb.GetSessionRequest(scope=scope()))).session == before
    elsewhere = await sessions.RecordTurn(recording(said("x", idempotency_key="k"), scope("s2")))
    assert (elsewhere.created, elsewhere.turn.turn_seq) == (True, 1)
    assert (await sessions.RecordTurn(recording(said("next")))).turn.turn_seq == 2


async def test_a_batch_is_numbered_in_its_order_and_a_key_counts_once(sessions: Sessions) -> None:
    await sessions.RecordTurn(recording(said("known", idempotency_key="k")))
    answer = await sessions.BatchRecordTurns(
        batch(
            said("a"),
            said("ignored", idempotency_key="k"),
            said("b", idempotency_key="new"),
            said("ignored", idempotency_key="new"),
            said("c"),
        )
    )
    results = [(r.turn.content, r.turn.turn_seq, r.created) for r in answer.results]
    assert results == [("a", 2, True), ("known", 1, False), ("b", 3, True), ("b", 3, False), ("c", 4, True)]
    assert await contents(sessions) == ["known", "a", "b", "c"]
    assert len({result.turn.create_time.ToNanoseconds() for result in answer.results}) == 2


async def test_a_batch_is_all_or_nothing(sessions: Sessions) -> None:
    code, _, field = await refusal(sessions.BatchRecordTurns(batch(said("a"), said(""))))
    assert (code, field) == (INVALID, "turns[1].content")
    assert await contents(sessions) == []


async def test_a_repeated_request_id_records_once(sessions: Sessions) -> None:
    request = batch(said("a"), said("b"), request_id="r1")
    assert await sessions.BatchRecordTurns(request) == await sessions.BatchRecordTurns(request)
    single = recording(said("c"), request_id="r1")
    assert await sessions.RecordTurn(single) == await sessions.RecordTurn(single)
    assert await contents(sessions) == ["a", "b", "c"]


LONG = "x" * (CONTENT_LIMIT + 1)
CALL = turn_pb2.ToolCall


@pytest.mark.parametrize(
    ("turn", "reason", "field"),
    [
        (said("x", ""), "INVALID_FIELD", "turn.role"),
        (said("x", "r" * 65), "LIMIT_EXCEEDED", "turn.role"),
        (said(""), "INVALID_FIELD", "turn.content"),
        (said("  \n"), "INVALID_FIELD", "turn.content"),
        (said("a\0b"), "INVALID_FIELD", "turn.content"),
        (said(LONG), "LIMIT_EXCEEDED", "turn.content"),
        (said("", data_json="{"), "INVALID_FIELD", "turn.data_json"),
        (said("", data_json="NaN"), "INVALID_FIELD", "turn.data_json"),
        (said("", data_json="[" * 100_000), "INVALID_FIELD", "turn.data_json"),
        (said("", data_json='"' + LONG + '"'), "LIMIT_EXCEEDED", "turn.data_json"),
        (said("", tool_calls=[CALL()]), "INVALID_FIELD", "turn.tool_calls[0].name"),
        (
            said("", tool_calls=[CALL(name="t"), CALL(name="t", arguments_json="nope")]),
            "INVALID_FIELD",
            "turn.tool_calls[1].arguments_json",
        ),
        (said("", tool_calls=[CALL(name="t")] * 129), "LIMIT_EXCEEDED", "turn.tool_calls"),
        (
            said("", tool_calls=[CALL(name="t", arguments_json=f'"{"x" * 200_000}"')] * 2),
            "LIMIT_EXCEEDED",
            "turn.tool_calls",
        ),
        (said("x", tool_call_id="x" * 513), "LIMIT_EXCEEDED", "turn.tool_call_id"),
        (said("x", idempotency_key="a\0"), "INVALID_FIELD", "turn.idempotency_key"),
        (said("x", agent_id="x" * 513), "LIMIT_EXCEEDED", "turn.agent_id"),
        (said("x", event_time=Timestamp(seconds=-(10**12))), "INVALID_FIELD", "turn.event_time"),
        (
            said("x", metadata={"a": metadata_pb2.MetadataValue(double_value=float("nan"))}),
            "INVALID_FIELD",
            'turn.metadata["a"]',
        ),
    ],
)
async def test_a_bad_turn_is_refused_with_its_field(
    sessions: Sessions, turn: turn_pb2.Turn, reason: str, field: str
) -> None:
    assert await refusal(sessions.RecordTurn(recording(turn))) == (INVALID, reason, field)


async def test_a_batch_has_1_to_500_turns(sessions: Sessions) -> None:
    assert await refusal(sessions.BatchRecordTurns(batch())) == (INVALID, "INVALID_FIELD", "turns")
    expected = (INVALID, "LIMIT_EXCEEDED", "turns")
    assert await refusal(sessions.BatchRecordTurns(batch(*[said("x")] * 501))) == expected
    answer = await sessions.BatchRecordTurns(batch(*[said(str(n)) for n in range(500)]))
    assert [result.turn.turn_seq for result in answer.results] == list(range(1, 501))


async def test_get_turn_wants_an_id_of_a_turn(sessions: Sessions) -> None:
    assert await refusal(sessions.GetTurn(pb.GetTurnRequest(turn_id="x"))) == (
        INVALID,
        "INVALID_FIELD",
        "turn_id",
    )
    unknown = pb.GetTurnRequest(turn_id="01890000-0000-7000-8000-000000000000")
    assert (await refusal(sessions.GetTurn(unknown)))[1] == "TURN_NOT_FOUND"


async def test_a_list_goes_on_where_the_page_ended(sessions: Sessions) -> None:
    await sessions.BatchRecordTurns(batch(*[said(str(n)) for n in range(5)]))
    seen, token = [], ""
    while True:
        page = await sessions.ListTurns(pb.ListTurnsRequest(page_size=2, page_token=token))
        seen += [turn.content for turn in page.turns]
        token = page.next_page_token
        if not token:
            break
    assert seen == ["0", "1", "2", "3", "4"]
    latest = pb.ListTurnsRequest(order_by=[OrderBy(field="turn_seq", descending=True)], page_size=2)
    page = await sessions.ListTurns(latest)
    latest.page_token = page.next_page_token
    pages = [*page.turns, *(await sessions.ListTurns(latest)).turns]
    assert [turn.content for turn in pages] == ["4", "3", "2", "1"]


async def test_a_list_takes_scope_filter_and_view(sessions: Sessions) -> None:
    call = turn_pb2.ToolCall(name="t")
    await sessions.BatchRecordTurns(
        batch(said("a"), said("b", "assistant", tool_calls=[call], data_json="1"))
    )
    await sessions.RecordTurn(recording(said("c"), scope(user_id="bob")))
    comparison = filter_pb2.Comparison(
        path=filter_pb2.FieldPath(segments=["role"]),
        comparator=filter_pb2.COMPARATOR_EQ,
        values=[metadata_pb2.MetadataValue(string_value="user")],
    )
    users = filter_pb2.Filter(comparison=comparison)
    assert await contents(sessions, filter=users) == ["a", "c"]
    of_ann = scope_pb2.ScopeFilter(matching=scope_pb2.Scope(user_id="ann"))
    assert await contents(sessions, scope=of_ann) == ["a", "b"]
    assert await contents(sessions, scope=scope_pb2.ScopeFilter(exactly=scope())) == ["a", "b"]
    basic = await sessions.ListTurns(pb.ListTurnsRequest(scope=of_ann, view=VIEW_BASIC))
    assert [(t.content, list(t.tool_calls), t.data_json, t.role) for t in basic.turns] == [
        ("", [], "", "user"),
        ("", [], "", "assistant"),
    ]


async def test_a_list_refuses_what_it_does_not_know(sessions: Sessions) -> None:
    request = pb.ListTurnsRequest(order_by=[OrderBy(field="content")])
    assert await refusal(sessions.ListTurns(request)) == (INVALID, "INVALID_FIELD", "order_by[0].field")
    assert (await refusal(sessions.ListTurns(pb.ListTurnsRequest(page_size=0))))[2] == "page_size"
    empty = filter_pb2.Filter()
    assert (await refusal(sessions.ListTurns(pb.ListTurnsRequest(filter=empty))))[1] == "INVALID_FILTER"


async def test_search_finds_turns_by_words_and_by_meaning(sessions: Sessions) -> None:
    await sessions.BatchRecordTurns(batch(said("Ann likes green tea"), said("Bob drives a red car")))
    await sessions.RecordTurn(recording(said("green tea for Bob"), scope(user_id="bob")))
    of_ann = scope_pb2.ScopeFilter(readable_by=scope_pb2.ReadableBy(user_id="ann"))
    for mode in (search_pb2.SEARCH_MODE_TEXT, search_pb2.SEARCH_MODE_SEMANTIC, search_pb2.SEARCH_MODE_HYBRID):
        options = search_pb2.SearchOptions(query="green tea", mode=mode, explain=True, top_k=1)
        request = pb.SearchTurnsRequest(options=options, scope=of_ann, include_embedding=True)
        answer = await sessions.SearchTurns(request)
        [hit] = answer.hits
        assert hit.turn.content == "Ann likes green tea"
        assert (len(hit.embedding), answer.report.effective_mode) == (64, mode)
        assert hit.HasField("legs")


async def test_search_refuses_an_empty_query(sessions: Sessions) -> None:
    request = pb.SearchTurnsRequest(options=search_pb2.SearchOptions(query=" "))
    assert await refusal(sessions.SearchTurns(request)) == (INVALID, "EMPTY_QUERY", "options.query")


async def test_a_bound_user_records_and_reads_in_its_own_name_only(
    sessions: Sessions, project_id: UUID
) -> None:
    ann = as_user(project_id, "ann")
    of_bob = scope(user_id="bob")
    theirs = (await sessions.RecordTurn(recording(said("tea of bob"), of_bob))).turn
    nobody = scope_pb2.Scope(session_id="s1", labels={"team": "blue"})
    for given in (of_bob, nobody):
        expected = (DENIED, "PERMISSION_DENIED", "scope.user_id")
        assert await refusal(sessions.RecordTurn(recording(said("x"), given), metadata=ann)) == expected
    await sessions.RecordTurn(recording(said("tea of ann")), metadata=ann)
    listed = await sessions.ListTurns(pb.ListTurnsRequest(), metadata=ann)
    assert [turn.content for turn in listed.turns] == ["tea of ann"]
    options = search_pb2.SearchOptions(query="tea")
    found = await sessions.SearchTurns(pb.SearchTurnsRequest(options=options), metadata=ann)
    assert [hit.turn.content for hit in found.hits] == ["tea of ann"]
    code, reason, _ = await refusal(sessions.GetTurn(pb.GetTurnRequest(turn_id=theirs.turn_id), metadata=ann))
    assert (code, reason) == (grpc.StatusCode.NOT_FOUND, "TURN_NOT_FOUND")
    named = scope_pb2.ScopeFilter(matching=of_bob)
    for call in (
        sessions.ListTurns(pb.ListTurnsRequest(scope=named), metadata=ann),
        sessions.SearchTurns(pb.SearchTurnsRequest(scope=named, options=options), metadata=ann),
    ):
        assert (await refusal(call))[:2] == (DENIED, "PERMISSION_DENIED")


async def test_an_answer_stays_below_4_mib(sessions: Sessions) -> None:
    """17 turns of 250 KiB: the list ends its page, the batch and the search leave content out."""
    turns = [said(f"tea {number} " + "y" * 250_000) for number in range(17)]
    answer = await sessions.BatchRecordTurns(batch(*turns))
    omitted = [result.turn.content_omitted for result in answer.results]
    assert len(omitted) == 17
    assert not omitted[0]
    assert omitted[-1]
    page = await sessions.ListTurns(pb.ListTurnsRequest())
    assert 10 <= len(page.turns) < 17
    rest = await sessions.ListTurns(pb.ListTurnsRequest(page_token=page.next_page_token))
    assert [turn.turn_seq for turn in (*page.turns, *rest.turns)] == list(range(1, 18))
    options = search_pb2.SearchOptions(query="tea", mode=search_pb2.SEARCH_MODE_TEXT, top_k=20)
    hits = (await sessions.SearchTurns(pb.SearchTurnsRequest(options=options))).hits
    assert len(hits) == 17
    assert hits[-1].turn.content_omitted
