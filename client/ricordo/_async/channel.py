"""The one road of every call: a channel opened at first use, deadlines, failures made exceptions."""

import time
from collections.abc import Callable
from copy import copy
from threading import Lock
from typing import Self, TypeVar

import grpc

from ricordo._aio import Channel, Method, current_loop, insecure_channel, secure_channel
from ricordo._async.credentials import AsyncCredentials
from ricordo._convert.failures import is_unauthenticated, to_exception
from ricordo._settings import Settings, call_metadata, check_timeout
from ricordo.errors import MemoryClientError
from ricordo.v1.admin_service_pb2_grpc import AdminServiceStub
from ricordo.v1.context_service_pb2_grpc import ContextServiceStub
from ricordo.v1.extraction_service_pb2_grpc import ExtractionServiceStub
from ricordo.v1.identity_service_pb2 import IssueTokenRequest, IssueTokenResponse
from ricordo.v1.identity_service_pb2_grpc import IdentityServiceStub
from ricordo.v1.memory_service_pb2_grpc import MemoryServiceStub
from ricordo.v1.operation_service_pb2_grpc import OperationServiceStub
from ricordo.v1.pipeline_service_pb2_grpc import PipelineServiceStub
from ricordo.v1.project_service_pb2_grpc import ProjectServiceStub
from ricordo.v1.session_service_pb2_grpc import SessionServiceStub
from ricordo.v1.store_service_pb2_grpc import StoreServiceStub

Request = TypeVar("Request")
Reply = TypeVar("Reply")


class AsyncStubs:
    """The generated stubs on one channel."""

    def __init__(self, channel: Channel) -> None:
        self.admin = AdminServiceStub(channel)
        self.contexts = ContextServiceStub(channel)
        self.extraction = ExtractionServiceStub(channel)
        self.identity = IdentityServiceStub(channel)
        self.memories = MemoryServiceStub(channel)
        self.operations = OperationServiceStub(channel)
        self.pipelines = PipelineServiceStub(channel)
        self.projects = ProjectServiceStub(channel)
        self.sessions = SessionServiceStub(channel)
        self.stores = StoreServiceStub(channel)


class AsyncConnection:
    """A channel that is opened at the first call, and belongs to the event loop of that call."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._credentials = AsyncCredentials(settings.credential)
        self._act_as = ""
        self._root = self
        self._lock = Lock()
        self._channel: Channel | None = None
        self._stubs: AsyncStubs | None = None
        self._loop: object = None
        self._closed = False

    def acting_as(self, user_id: str) -> Self:
        """The same channel, for calls bound to one end user."""
        acting = copy(self)
        acting._act_as = user_id
        return acting

    async def call(
        self, method: Callable[[AsyncStubs], Method[Request, Reply]], request: Request, timeout: float | None
    ) -> Reply:
        """Sends one request.

        Args:
            method: Picks the call from the stubs.
            request: The message.
            timeout: Seconds, retries included; None for the client's own.

        Raises:
            MemoryClientError: The client is closed, or belongs to another event loop.
            MemoryAPIError: The call failed.
        """
        seconds = self._settings.timeout if timeout is None else check_timeout(timeout)
        deadline = time.monotonic() + seconds
        stubs = self._root._open()
        send = method(stubs)

        async def issue(asked: IssueTokenRequest) -> IssueTokenResponse:
            return await stubs.identity.IssueToken(asked, timeout=_left(deadline), metadata=())

        try:
            token = await self._credentials.get(issue)
            try:
                return await send(
                    request, timeout=_left(deadline), metadata=call_metadata(token, self._act_as)
                )
            except grpc.RpcError as error:
                if not is_unauthenticated(error):
                    raise
                other = await self._credentials.renew(issue, token)
                if other is None:
                    raise
            return await send(request, timeout=_left(deadline), metadata=call_metadata(other, self._act_as))
        except grpc.RpcError as error:
            raise to_exception(error, self._settings.target, tls=self._settings.tls) from error

    async def close(self) -> None:
        """Closes the channel; calls in flight are cancelled. Closing again does nothing."""
        root = self._root
        with root._lock:
            channel, root._channel, root._stubs, root._closed = root._channel, None, None, True
        if channel is not None:
            await channel.close()

    def _open(self) -> AsyncStubs:
        with self._lock:
            if self._closed:
                raise MemoryClientError("this client is closed: make a new one", reason="CLIENT_CLOSED")
            if self._stubs is None:
                self._loop = current_loop()
                self._channel = self._make_channel()
                self._stubs = AsyncStubs(self._channel)
            elif self._loop is not current_loop():
                raise MemoryClientError(
                    "this client was first used in another event loop, to which its channel belongs: "
                    "make one client for each event loop",
                    reason="WRONG_EVENT_LOOP",
                )
            return self._stubs

    def _make_channel(self) -> Channel:
        credentials = self._settings.credentials()
        if credentials is None:
            return insecure_channel(self._settings.target, self._settings.options())
        return secure_channel(self._settings.target, credentials, self._settings.options())


def _left(deadline: float) -> float:
    """Seconds left; at the end a moment, so that it is the call that reports it."""
    return max(deadline - time.monotonic(), 0.001)
