"""Sessions and turns."""

from ricordo import models
from ricordo.v1 import extraction_service_pb2 as extraction
from ricordo.v1 import memory_pb2, snapshot_pb2
from ricordo.v1 import session_service_pb2 as sessions
from tests.client._async.calls.case import SESSION, Case, first
from tests.fixtures.client_samples import wire_report, wire_session, wire_turn

TURN = models.NewTurn(role="user", content="Hello")

CASES: dict[str, Case] = {
    "CreateSession": Case(
        lambda client: client.sessions.create(SESSION, parent_session_id="s0", metadata={"n": 1}),
        sessions.CreateSessionResponse(session=wire_session()),
        lambda session: session.scope == SESSION,
        {"session.scope.session_id": "s1", "session.parent_session_id": "s0"},
    ),
    "GetSession": Case(
        lambda client: client.sessions.get(SESSION),
        sessions.GetSessionResponse(session=wire_session()),
        lambda session: session.last_turn_seq == 2,
        {"scope.user_id": "ada", "scope.session_id": "s1"},
    ),
    "ListSessions": Case(
        lambda client: first(
            client.sessions.list(scope=models.Matching(user_id="ada"), order_by="session_id")
        ),
        sessions.ListSessionsResponse(sessions=[wire_session()]),
        lambda session: session.root_session_id == "s1",
        {"scope.matching.user_id": "ada"},
    ),
    "UpdateSession": Case(
        lambda client: client.sessions.update(SESSION, metadata={"n": 2}),
        sessions.UpdateSessionResponse(session=wire_session()),
        lambda session: session.scope == SESSION,
        {"session.scope.session_id": "s1", "update_mask.paths": ["metadata"]},
    ),
    "DeleteSession": Case(
        lambda client: client.sessions.delete(SESSION, cascade=True),
        sessions.DeleteSessionResponse(deleted_turn_count=2, deleted_memory_count=1, deleted_session_count=3),
        lambda deleted: (deleted.turns, deleted.memories, deleted.sessions) == (2, 1, 3),
        {"scope.session_id": "s1", "cascade": True},
    ),
    "ForkSession": Case(
        lambda client: client.sessions.fork(SESSION, up_to_turn_id="t1", session_id="s2", metadata={"n": 1}),
        sessions.ForkSessionResponse(session=wire_session()),
        lambda session: session.scope == SESSION,
        {"scope.session_id": "s1", "up_to_turn_id": "t1", "session_id": "s2"},
    ),
    "ClearSession": Case(
        lambda client: client.sessions.clear(SESSION),
        sessions.ClearSessionResponse(deleted_turn_count=2, restored_memory_count=1),
        lambda deleted: (deleted.turns, deleted.restored_memories, deleted.sessions) == (2, 1, 0),
        {"scope.session_id": "s1"},
    ),
    "PopTurn": Case(
        lambda client: client.sessions.pop_turn(SESSION),
        sessions.PopTurnResponse(turn=wire_turn()),
        lambda turn: turn.turn_seq == 1,
        {"scope.session_id": "s1"},
    ),
    "RecordTurn": Case(
        lambda client: client.sessions.record_turn(TURN, scope=SESSION),
        sessions.RecordTurnResponse(turn=wire_turn(), created=True),
        lambda recorded: recorded.created and recorded.turn.turn_seq == 1,
        {"scope.session_id": "s1", "turn.role": "user", "turn.content": "Hello"},
    ),
    "BatchRecordTurns": Case(
        lambda client: client.sessions.batch_record_turns([TURN, TURN], scope=SESSION),
        sessions.BatchRecordTurnsResponse(results=[sessions.RecordedTurn(turn=wire_turn())] * 2),
        lambda recorded: [one.created for one in recorded] == [False, False],
        {"scope.user_id": "ada"},
    ),
    "GetTurn": Case(
        lambda client: client.sessions.get_turn("t1"),
        sessions.GetTurnResponse(turn=wire_turn()),
        lambda turn: turn.turn_id == "t1",
        {"turn_id": "t1"},
    ),
    "DeleteTurn": Case(
        lambda client: client.sessions.delete_turn("t1"),
        sessions.DeleteTurnResponse(deleted_memory_count=2, restored_memory_count=1),
        lambda deleted: (deleted.memories, deleted.restored_memories) == (2, 1),
        {"turn_id": "t1"},
    ),
    "ListTurns": Case(
        lambda client: first(
            client.sessions.list_turns(scope=models.Matching(session_id="s1"), filters={"role": "user"})
        ),
        sessions.ListTurnsResponse(turns=[wire_turn()]),
        lambda turn: turn.role == "user",
        {"scope.matching.session_id": "s1"},
    ),
    "SearchTurns": Case(
        lambda client: client.sessions.search_turns("tea", mode="text", include_embedding=True),
        sessions.SearchTurnsResponse(
            hits=[sessions.TurnHit(turn=wire_turn(), score=0.5, embedding=[0.5])], report=wire_report()
        ),
        lambda result: result.hits[0].embedding == (0.5,) and result.hits[0].distance is None,
        {"options.query": "tea", "options.mode": 1, "include_embedding": True},
    ),
    "PromoteSession": Case(
        lambda client: client.sessions.promote(SESSION),
        extraction.PromoteSessionResponse(snapshot_ids=["n1"]),
        lambda ids: ids == ("n1",),
        {"scope.session_id": SESSION.session_id},
    ),
    "ListSnapshots": Case(
        lambda client: first(client.sessions.list_snapshots(scope=models.Matching(user_id="ada"))),
        extraction.ListSnapshotsResponse(
            snapshots=[
                snapshot_pb2.Snapshot(
                    snapshot_id="n1",
                    from_turn_seq=3,
                    cause=snapshot_pb2.PROMOTION_CAUSE_IDLE,
                    extractions=[
                        snapshot_pb2.KindExtraction(
                            kind=memory_pb2.MEMORY_KIND_SEMANTIC, state=snapshot_pb2.EXTRACTION_STATE_DONE
                        )
                    ],
                )
            ]
        ),
        lambda found: (found.from_turn_seq, found.cause, found.extractions[0].state) == (3, "idle", "done"),
        {"scope.matching.user_id": "ada"},
    ),
    "GetExtractionStatus": Case(
        lambda client: client.sessions.get_extraction_status(SESSION),
        extraction.GetExtractionStatusResponse(
            last_turn_seq=5,
            kinds=[extraction.KindProgress(kind=memory_pb2.MEMORY_KIND_SEMANTIC, extracted_turn_seq=4)],
        ),
        lambda status: (status.last_turn_seq, status.kinds[0].extracted_turn_seq) == (5, 4),
        {"scope.session_id": SESSION.session_id},
    ),
}
