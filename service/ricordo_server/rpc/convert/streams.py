"""What a call says of the session that it records turns in."""

from ricordo.v1 import session_service_pb2
from ricordo_server.domain.promotion import Stream
from ricordo_server.rpc.convert.generation import decode_options
from ricordo_server.rpc.convert.trigger_rules import decode_rule


def decode_stream(request: session_service_pb2.BatchRecordTurnsRequest) -> Stream:
    is_given = request.HasField("generation")
    options = decode_options(request.generation, "generation")
    return Stream(
        sets_rule=request.HasField("trigger_rule"),
        rule=decode_rule(request.trigger_rule, "trigger_rule"),
        force_flush=request.force_flush,
        options=request.generation.SerializeToString() if is_given else None,
        metadata=options.metadata,
    )
