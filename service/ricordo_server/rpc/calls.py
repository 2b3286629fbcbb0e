"""From a request to a `Call`, and from a mutation to an answer that a repeat gets again."""

import hashlib
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, TypeVar

import grpc.aio
from google.protobuf.message import Message

from ricordo_server.domain.call import AlreadyAnswered, Call, Once
from ricordo_server.domain.errors import over_limit
from ricordo_server.domain.limits import MAX_REQUEST_ID_CHARACTERS
from ricordo_server.domain.principal import Principal
from ricordo_server.rpc.checks import check_text

Context = grpc.aio.ServicerContext[Any, Any]
Answer = TypeVar("Answer", bound=Message)
Result = TypeVar("Result")

# Set by the interceptors, read here.
current_principal: ContextVar[Principal] = ContextVar("current_principal")
current_deadline: ContextVar[float] = ContextVar("current_deadline")
current_method: ContextVar[str] = ContextVar("current_method")


def read_call() -> Call:
    """The call of a request that changes nothing."""
    return Call(current_principal.get(), current_deadline.get())


async def answer_once(
    request: Message,
    answer_type: type[Answer],
    encode: Callable[[Result], Answer],
    work: Callable[[Call], Awaitable[Result]],
) -> Answer:
    """Runs a mutation; with a request id, a repeat gets the bytes of the first answer."""
    call = Call(current_principal.get(), current_deadline.get(), _once(request, encode))
    try:
        return encode(await work(call))
    except AlreadyAnswered as first:
        return answer_type.FromString(first.answer)


def _once(request: Message, encode: Callable[[Result], Message]) -> Once | None:
    request_id: str = request.request_id  # type: ignore[attr-defined] # every mutation has one; a test holds them to it
    if not request_id:
        return None
    check_text("request_id", request_id)
    if len(request_id) > MAX_REQUEST_ID_CHARACTERS:
        raise over_limit("request_id", "characters", MAX_REQUEST_ID_CHARACTERS, len(request_id))
    payload = type(request)()
    payload.CopyFrom(request)
    payload.ClearField("request_id")
    digest = hashlib.sha256(payload.SerializeToString(deterministic=True)).digest()
    return Once(current_method.get(), request_id, digest, lambda result: encode(result).SerializeToString())
