"""SessionService: short-term memory, sessions of turns."""

from functools import partial
from typing import Any

from ricordo.v1 import paging_pb2, session_service_pb2, session_service_pb2_grpc
from ricordo_server.app import forks, search, sessions, turns
from ricordo_server.app.services import Services
from ricordo_server.app.turns import RecordedBatch
from ricordo_server.domain.filter_fields import SESSION_FIELDS, TURN_FIELDS
from ricordo_server.domain.session import SessionQuery, TurnQuery
from ricordo_server.domain.shared_loop import in_slices
from ricordo_server.rpc.calls import answer_once, read_call
from ricordo_server.rpc.checks import TURN_ID, check_batch, check_pattern
from ricordo_server.rpc.convert.filters import decode_condition
from ricordo_server.rpc.convert.operations import encode_operation
from ricordo_server.rpc.convert.scope import decode_scope_filter
from ricordo_server.rpc.convert.search import decode_options, encode_hit, encode_report
from ricordo_server.rpc.convert.sessions import (
    check_session_mask,
    decode_copy,
    decode_named_session,
    decode_session,
    decode_session_scope,
    encode_forgotten,
    encode_session,
)
from ricordo_server.rpc.convert.streams import decode_stream
from ricordo_server.rpc.convert.turns import decode_turn, encode_basic_turn, encode_turn
from ricordo_server.rpc.pages import decode_order, decode_page, encode_page, omit_excess

pb = session_service_pb2


class SessionService(session_service_pb2_grpc.SessionServiceServicer):
    def __init__(self, services: Services) -> None:
        self._services = services

    async def CreateSession(self, request: pb.CreateSessionRequest, context: Any) -> pb.CreateSessionResponse:
        draft = decode_session(request.session)
        return await answer_once(
            request,
            pb.CreateSessionResponse,
            lambda session: pb.CreateSessionResponse(session=encode_session(session)),
            lambda call: sessions.create_session(self._services, call, request.store_id, draft),
        )

    async def GetSession(self, request: pb.GetSessionRequest, context: Any) -> pb.GetSessionResponse:
        scope = decode_session_scope(request.scope)
        session = await sessions.get_session(self._services, read_call(), request.store_id, scope)
        return pb.GetSessionResponse(session=encode_session(session))

    async def ListSessions(self, request: pb.ListSessionsRequest, context: Any) -> pb.ListSessionsResponse:
        call = read_call()
        found = await sessions.list_sessions(
            self._services,
            call,
            request.store_id,
            decode_session_query(request),
            decode_order(request),
            decode_page(request, call.principal),
        )
        messages, token = await encode_page(request, call.principal, found, encode_session)
        return pb.ListSessionsResponse(sessions=messages, next_page_token=token)

    async def UpdateSession(self, request: pb.UpdateSessionRequest, context: Any) -> pb.UpdateSessionResponse:
        check_session_mask(request.update_mask.paths)
        draft = decode_named_session(request.session)
        return await answer_once(
            request,
            pb.UpdateSessionResponse,
            lambda session: pb.UpdateSessionResponse(session=encode_session(session)),
            lambda call: sessions.update_session(
                self._services, call, request.store_id, draft.scope, draft.metadata
            ),
        )

    async def DeleteSession(self, request: pb.DeleteSessionRequest, context: Any) -> pb.DeleteSessionResponse:
        scope = decode_session_scope(request.scope)
        return await answer_once(
            request,
            pb.DeleteSessionResponse,
            lambda deleted: pb.DeleteSessionResponse(
                deleted_turn_count=deleted.turns.count,
                deleted_session_count=deleted.count,
                **encode_forgotten(deleted.turns.forgotten),
            ),
            lambda call: sessions.delete_session(
                self._services, call, request.store_id, scope, cascade=request.cascade
            ),
        )

    async def PopTurn(self, request: pb.PopTurnRequest, context: Any) -> pb.PopTurnResponse:
        scope = decode_session_scope(request.scope)
        return await answer_once(
            request,
            pb.PopTurnResponse,
            lambda popped: pb.PopTurnResponse(
                turn=encode_turn(popped.turn), **encode_forgotten(popped.forgotten)
            ),
            lambda call: sessions.pop_turn(self._services, call, request.store_id, scope),
        )

    async def ClearSession(self, request: pb.ClearSessionRequest, context: Any) -> pb.ClearSessionResponse:
        scope = decode_session_scope(request.scope)
        return await answer_once(
            request,
            pb.ClearSessionResponse,
            lambda removed: pb.ClearSessionResponse(
                deleted_turn_count=removed.count, **encode_forgotten(removed.forgotten)
            ),
            lambda call: sessions.clear_session(self._services, call, request.store_id, scope),
        )

    async def ForkSession(self, request: pb.ForkSessionRequest, context: Any) -> pb.ForkSessionResponse:
        scope, copy = decode_session_scope(request.scope), decode_copy(request)
        turn_id = request.up_to_turn_id and check_pattern("up_to_turn_id", request.up_to_turn_id, TURN_ID)
        return await answer_once(
            request,
            pb.ForkSessionResponse,
            lambda forked: pb.ForkSessionResponse(
                session=encode_session(forked.session), copied_turn_count=forked.turn_count
            ),
            lambda call: forks.fork_session(self._services, call, request.store_id, scope, turn_id, copy),
        )

    async def RecordTurn(self, request: pb.RecordTurnRequest, context: Any) -> pb.RecordTurnResponse:
        scope, draft = decode_session_scope(request.scope), decode_turn(request.turn)
        return await answer_once(
            request,
            pb.RecordTurnResponse,
            lambda recorded: pb.RecordTurnResponse(turn=encode_turn(recorded.turn), created=recorded.created),
            lambda call: turns.record_turn(self._services, call, request.store_id, scope, draft),
        )

    async def BatchRecordTurns(
        self, request: pb.BatchRecordTurnsRequest, context: Any
    ) -> pb.BatchRecordTurnsResponse:
        stream = decode_stream(request)
        if request.turns or not (stream.sets_rule or stream.force_flush):
            check_batch("turns", len(request.turns))
        scope = decode_session_scope(request.scope)
        given = in_slices(enumerate(request.turns))
        drafts = [decode_turn(message, f"turns[{number}]") async for number, message in given]
        return await answer_once(
            request,
            pb.BatchRecordTurnsResponse,
            encode_recorded,
            lambda call: turns.batch_record_turns(
                self._services, call, request.store_id, scope, drafts, stream
            ),
        )

    async def GetTurn(self, request: pb.GetTurnRequest, context: Any) -> pb.GetTurnResponse:
        turn_id = check_pattern("turn_id", request.turn_id, TURN_ID)
        turn = await turns.get_turn(self._services, read_call(), request.store_id, turn_id)
        return pb.GetTurnResponse(turn=encode_turn(turn))

    async def DeleteTurn(self, request: pb.DeleteTurnRequest, context: Any) -> pb.DeleteTurnResponse:
        turn_id = check_pattern("turn_id", request.turn_id, TURN_ID)
        return await answer_once(
            request,
            pb.DeleteTurnResponse,
            lambda forgotten: pb.DeleteTurnResponse(**encode_forgotten(forgotten)),
            lambda call: turns.delete_turn(self._services, call, request.store_id, turn_id),
        )

    async def ListTurns(self, request: pb.ListTurnsRequest, context: Any) -> pb.ListTurnsResponse:
        call = read_call()
        found = await turns.list_turns(
            self._services,
            call,
            request.store_id,
            decode_turn_query(request),
            decode_order(request),
            decode_page(request, call.principal),
        )
        encode = encode_turn if request.view != paging_pb2.VIEW_BASIC else encode_basic_turn
        messages, token = await encode_page(request, call.principal, found, encode)
        return pb.ListTurnsResponse(turns=messages, next_page_token=token)

    async def SearchTurns(self, request: pb.SearchTurnsRequest, context: Any) -> pb.SearchTurnsResponse:
        options = decode_options(request.options)
        result = await search.search_turns(
            self._services,
            read_call(),
            request.store_id,
            decode_turn_query(request),
            options,
            include_embedding=request.include_embedding,
        )
        encode = partial(encode_hit, pb.TurnHit, "turn", encode_turn, explain=request.options.explain)
        report = encode_report(result, options.mode)
        answer = pb.SearchTurnsResponse(hits=[encode(hit) for hit in result.hits], report=report)
        omit_excess(answer, answer.hits)
        return answer


async def encode_recorded(recorded: RecordedBatch) -> pb.BatchRecordTurnsResponse:
    results = [
        pb.RecordedTurn(turn=encode_turn(each.turn), created=each.created)
        async for each in in_slices(recorded.turns)
    ]
    operation = encode_operation(recorded.operation) if recorded.operation else None
    answer = pb.BatchRecordTurnsResponse(results=results, operation=operation)
    omit_excess(answer, answer.results)
    return answer


def decode_session_query(request: pb.ListSessionsRequest) -> SessionQuery:
    return SessionQuery(
        scope=decode_scope_filter(request.scope),
        filter=decode_condition(request, SESSION_FIELDS),
    )


def decode_turn_query(request: pb.ListTurnsRequest | pb.SearchTurnsRequest) -> TurnQuery:
    return TurnQuery(
        scope=decode_scope_filter(request.scope),
        filter=decode_condition(request, TURN_FIELDS),
    )
