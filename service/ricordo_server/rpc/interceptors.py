"""What every call passes, outermost first: `server.py` holds the list."""

import asyncio
import logging
import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, MutableSequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import grpc
import grpc.aio
from google.protobuf.message import DecodeError, Message
from grpc_status import rpc_status

from ricordo_server.app.audit import DenialCounts, record_denial
from ricordo_server.app.limiter import Limiter
from ricordo_server.app.permissions import check_in_project, check_may_act
from ricordo_server.db.connection import Pool
from ricordo_server.domain.errors import DomainError, Reason, invalid_field, unauthenticated
from ricordo_server.domain.principal import Principal
from ricordo_server.domain.shared_loop import SharedLoop
from ricordo_server.rpc.calls import current_deadline, current_method, current_principal
from ricordo_server.rpc.checks import check_text
from ricordo_server.rpc.errors import to_status

log = logging.getLogger("ricordo.rpc")
access_log = logging.getLogger("ricordo.access")

Handler = Callable[[Any, Any], Awaitable[Any]]

current_trace_id: ContextVar[str] = ContextVar("current_trace_id", default="")

# Health and reflection answer even when the server is at its bound.
EXEMPT = ("/grpc.health.", "/grpc.reflection.")
# Everything else is about one project's rows, which an operator has none of.
WITHOUT_PROJECT = ("/ricordo.v1.AdminService/", "/ricordo.v1.IdentityService/")
TRACE_HEADER = "x-trace-id"
ACT_AS_HEADER = "ricordo-act-as"


class Around(grpc.aio.ServerInterceptor):
    """Wraps every handler of ours; a subclass says in `around` with what.

    The contract has no streams. One would pass by unwrapped, without a credential: it is refused.
    """

    async def intercept_service(self, continuation: Any, details: grpc.HandlerCallDetails) -> Any:
        handler = await continuation(details)
        if handler is None or details.method.startswith(EXEMPT):
            return handler
        if handler.unary_unary is None:
            raise NotImplementedError(f"{details.method} is a stream, which no interceptor guards")
        return grpc.unary_unary_rpc_method_handler(
            self.around(handler.unary_unary, details),
            request_deserializer=self.deserializer(handler.request_deserializer),
            response_serializer=handler.response_serializer,
        )

    @abstractmethod
    def around(self, handler: Handler, details: grpc.HandlerCallDetails) -> Handler: ...

    def deserializer(self, deserialize: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
        return deserialize


def _metadata(details: grpc.HandlerCallDetails, key: str) -> str:
    """The text of a metadata key, empty when it is not sent."""
    values = [value for name, value in details.invocation_metadata or () if name == key]
    return values[0] if values and isinstance(values[0], str) else ""


class Admission(Around):
    """Refuses malformed bytes with a reason, and bounds how many calls run at once."""

    MALFORMED = object()

    def __init__(self, max_concurrent: int) -> None:
        self._free = max_concurrent

    def deserializer(self, deserialize: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
        """gRPC would answer INTERNAL to bytes that are no message; this lets the call in, to be refused."""

        def tolerant(data: bytes) -> Any:
            try:
                return deserialize(data)
            except DecodeError:
                return self.MALFORMED

        return tolerant

    def around(self, handler: Handler, details: grpc.HandlerCallDetails) -> Handler:
        async def admitted(request: Any, context: Any) -> Any:
            if request is self.MALFORMED:
                message = (
                    "the bytes are no valid message: check the contract's version, and that text is UTF-8"
                )
                await refuse(context, DomainError(Reason.MALFORMED_REQUEST, message))
            if self._free <= 0:
                message = "the server is at its bound of concurrent calls: try again shortly"
                await refuse(context, DomainError(Reason.TOO_MANY_REQUESTS, message))
            self._free -= 1
            try:
                return await handler(request, context)
            finally:
                self._free += 1

        return admitted


class Tracing(Around):
    """Gives each call an id, the caller's own if it sends one, and says it in the trailers."""

    def around(self, handler: Handler, details: grpc.HandlerCallDetails) -> Handler:
        given = _metadata(details, TRACE_HEADER)

        async def traced(request: Any, context: Any) -> Any:
            trace_id = given if given.isalnum() and len(given) <= 64 else uuid4().hex
            current_trace_id.set(trace_id)
            current_method.set(str(details.method))
            context.set_trailing_metadata(((TRACE_HEADER, trace_id),))
            return await handler(request, context)

        return traced


class AccessLog(Around):
    """One record a call: no content, no ids of people."""

    def around(self, handler: Handler, details: grpc.HandlerCallDetails) -> Handler:
        async def logged(request: Any, context: Any) -> Any:
            start = time.monotonic()
            try:
                return await handler(request, context)
            except asyncio.CancelledError:
                context.set_code(grpc.StatusCode.CANCELLED)
                raise
            finally:
                code = context.code() or grpc.StatusCode.OK
                line = {
                    "method": details.method,
                    "code": code.name if isinstance(code, grpc.StatusCode) else str(code),
                    "seconds": round(time.monotonic() - start, 6),
                    "trace_id": current_trace_id.get(),
                }
                access_log.info("call", extra=line)

        return logged


class ErrorMapping(Around):
    """Domain errors by THE table; anything else is INTERNAL with the trace id and no detail."""

    def around(self, handler: Handler, details: grpc.HandlerCallDetails) -> Handler:
        async def mapped(request: Any, context: Any) -> Any:
            try:
                return await handler(request, context)
            except DomainError as error:
                await refuse(context, error)
            except (asyncio.CancelledError, grpc.aio.AbortError):
                raise
            except Exception:  # the outermost edge: whatever it is, it is logged and answered
                log.exception("call failed", extra={"trace_id": current_trace_id.get()})
                message = (
                    f"the server failed; its operator finds the cause under trace_id {current_trace_id.get()}"
                )
                await refuse(context, DomainError(Reason.INTERNAL, message))

        return mapped


async def refuse(context: Any, error: DomainError) -> None:
    await context.abort_with_status(rpc_status.to_status(to_status(error, current_trace_id.get())))


Authenticator = Callable[[str, str], Awaitable[Principal]]

# It brings a credential of its own; with another in the metadata, that one must be good.
WITHOUT_CREDENTIAL = "/ricordo.v1.IdentityService/IssueToken"


class Authentication(Around):
    """Turns the bearer token and the peer's address into a principal; raises UNAUTHENTICATED."""

    def __init__(self, authenticate: Authenticator) -> None:
        self._authenticate = authenticate

    def around(self, handler: Handler, details: grpc.HandlerCallDetails) -> Handler:
        header = _metadata(details, "authorization")

        async def authenticated(request: Any, context: Any) -> Any:
            scheme, _, token = header.partition(" ")
            if header and scheme.lower() != "bearer":
                raise unauthenticated()
            if header or details.method != WITHOUT_CREDENTIAL:
                current_principal.set(await self._authenticate(token, context.peer()))
            return await handler(request, context)

        return authenticated


class Denials(Around):
    """Leaves a record of a call that was denied, in the audit of the caller's project."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._counts = DenialCounts()

    def around(self, handler: Handler, details: grpc.HandlerCallDetails) -> Handler:
        async def watched(request: Any, context: Any) -> Any:
            try:
                return await handler(request, context)
            except DomainError as error:
                if error.reason is Reason.PERMISSION_DENIED:
                    principal = current_principal.get()
                    await record_denial(self._pool, self._counts, principal, details.method)
                raise

        return watched


class ActingAs(Around):
    """Binds a service's call to the end user that its metadata names, percent-encoded; others may not send that."""

    def around(self, handler: Handler, details: grpc.HandlerCallDetails) -> Handler:
        given = _metadata(details, ACT_AS_HEADER)
        if not given:
            return handler

        async def acted(request: Any, context: Any) -> Any:
            principal = current_principal.get()
            check_may_act(principal)
            current_principal.set(principal.acting_as(_decode_user(given)))
            return await handler(request, context)

        return acted


def _decode_user(encoded: str) -> str:
    try:
        user_id = unquote(encoded, errors="strict")
    except UnicodeDecodeError as error:
        raise invalid_field(ACT_AS_HEADER, f"{ACT_AS_HEADER} must be percent-encoded UTF-8") from error
    return check_text(ACT_AS_HEADER, user_id, required=True)


class InProject(Around):
    """Keeps operators out of the projects, before their requests are even decoded."""

    def around(self, handler: Handler, details: grpc.HandlerCallDetails) -> Handler:
        if details.method.startswith(WITHOUT_PROJECT):
            return handler

        async def checked(request: Any, context: Any) -> Any:
            check_in_project(current_principal.get())
            return await handler(request, context)

        return checked


@dataclass(frozen=True)
class WithinLimits(Around):
    """Lets in what the caller's project may use of this process. Who asks for a token by a secret is nobody's yet."""

    limiter: Limiter
    shared_loop: SharedLoop

    def around(self, handler: Handler, details: grpc.HandlerCallDetails) -> Handler:
        async def limited(request: Any, context: Any) -> Any:
            principal = current_principal.get(None)
            if principal is None:
                return await handler(request, context)
            async with self.limiter.admitted(principal):
                with self.shared_loop.entered(principal.project_id):
                    async with self.shared_loop.in_turn(principal.project_id, count_items(request)):
                        return await handler(request, context)

        return limited


def count_items(request: Message) -> int:
    """How many items the request brings, or asks for."""
    brought = [len(value) for _, value in request.ListFields() if isinstance(value, MutableSequence)]
    return max(getattr(request, "page_size", 0), *brought, 0)


@dataclass(frozen=True)
class Deadline(Around):
    """Bounds a call by the caller's deadline, or by the server's when that is earlier. In seconds."""

    longest: float

    def around(self, handler: Handler, details: grpc.HandlerCallDetails) -> Handler:
        async def bounded(request: Any, context: Any) -> Any:
            left = context.time_remaining()  # None without a deadline, 0.0 when it has passed
            remaining = self.longest if left is None else min(left, self.longest)
            deadline = time.monotonic() + remaining
            current_deadline.set(deadline)
            work = asyncio.ensure_future(handler(request, context))
            await _finish(work, remaining)
            # What waits within the call's time may give up a moment before the call does.
            if work.cancelled() or (work.exception() and time.monotonic() >= deadline):
                message = "the deadline passed before the work was done: allow more time"
                raise DomainError(Reason.DEADLINE_EXCEEDED, message)
            return work.result()

        return bounded


async def _finish(work: asyncio.Future[Any], seconds: float) -> None:
    """Waits until it has ended; cancels it once, when it has not after so long, or when the caller goes away.

    Around a deadline both happen. What is cancelled tells the database to stop its statement; a second cancellation
    would cut that short, the connection would be lost, and the statement go on.
    """
    work.add_done_callback(_take_outcome)
    try:
        await asyncio.wait({work}, timeout=seconds)
    finally:
        if not work.done():
            work.cancel()
            await asyncio.wait({work})


def _take_outcome(work: asyncio.Future[Any]) -> None:
    """Whoever waited may be gone: an error that nobody asks for would be logged as lost."""
    if not work.cancelled():
        work.exception()
