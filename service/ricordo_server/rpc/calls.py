"""From a request to a `Call`, and from a mutation to an answer that a repeat gets again."""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from inspect import isawaitable
from typing import Any, TypeVar

import grpc.aio
from google.protobuf.message import Message

from ricordo_server.domain.call import AlreadyAnswered, Call, Once
from ricordo_server.domain.errors import over_limit, unauthenticated
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
    """The call of a request that changes nothing.

    Raises:
        DomainError: UNAUTHENTICATED, where the interceptors let a call through without a credential.
    """
    return Call(_principal(), current_deadline.get())


def _principal() -> Principal:
    principal = current_principal.get(None)
    if principal is None:
        raise unauthenticated()
    return principal


async def answer_once(
    request: Message,
    answer_type: type[Answer],
    encode: Callable[[Result], Answer | Awaitable[Answer]],
    work: Callable[[Call], Awaitable[Result]],
    *,
    forget: Sequence[str] = (),
) -> Answer:
    """Runs a mutation; with a request id, a repeat gets the bytes of the first answer.

    `forget` names fields of the answer that are not kept for a repeat: what may be shown once only.
    """

    async def encode_kept(result: Result) -> bytes:
        answer = await _encoded(encode, result)
        for name in forget:
            answer.ClearField(name)
        return answer.SerializeToString()

    call = Call(_principal(), current_deadline.get(), _once(request, encode_kept))
    try:
        return await _encoded(encode, await work(call))
    except AlreadyAnswered as first:
        return answer_type.FromString(first.answer)


async def _encoded(encode: Callable[[Result], Answer | Awaitable[Answer]], result: Result) -> Answer:
    """Long answers are encoded in slices, others at once."""
    answer = encode(result)
    return await answer if isawaitable(answer) else answer


def _once(request: Message, encode: Callable[[Any], Awaitable[bytes]]) -> Once | None:
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
    return Once(current_method.get(), request_id, digest, encode)
