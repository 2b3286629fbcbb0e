"""Work in the background: `client.operations`, and the handle of one operation."""

import time
from collections.abc import Callable
from typing import Generic, TypeVar

from ricordo import models
from ricordo._async.channel import AsyncConnection
from ricordo._async.pager import AsyncPager
from ricordo._convert.operations import (
    cancel_operation_request,
    decode_operation,
    exception_of,
    get_operation_request,
    list_operations_request,
    not_done,
    wait_operation_request,
)
from ricordo._convert.paging import at_page

Result = TypeVar("Result")

# The server lets one call wait for 30 seconds; what is added is for its way there and back.
LONGEST_CALL = 40.0


class AsyncOperations:
    """Operations: asked about, waited for, and ended."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def get(
        self, operation_id: str, *, store: str | None = None, timeout: float | None = None
    ) -> models.Operation:
        """Reads an operation.

        Args:
            operation_id: The id.
            store: The store; None: `default`.
            timeout: Seconds; None: the client's.

        Raises:
            NotFoundError: There is no such operation: they are kept for 7 days after their end.
        """
        request = get_operation_request(operation_id, store=store)
        reply = await self._connection.call(lambda stubs: stubs.operations.GetOperation, request, timeout)
        return decode_operation(reply.operation)

    async def wait(
        self, operation_id: str, *, store: str | None = None, timeout: float | None = None
    ) -> models.Operation:
        """Waits until an operation is over, or the time is; `done` says which.

        Args:
            operation_id: The id.
            store: The store; None: `default`.
            timeout: Seconds; None: as long as it takes.

        Raises:
            NotFoundError: There is no such operation.
        """
        request = wait_operation_request(operation_id, store=store)
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = LONGEST_CALL if deadline is None else max(deadline - time.monotonic(), 0.0)
            seconds = min(left, LONGEST_CALL) + 1.0  # the server answers before the end, as it is then
            reply = await self._connection.call(
                lambda stubs: stubs.operations.WaitOperation, request, seconds
            )
            if reply.operation.done or (deadline is not None and time.monotonic() >= deadline):
                return decode_operation(reply.operation)

    def list(
        self,
        *,
        scope: models.ScopeFilter | None = None,
        page_size: int | None = None,
        page_token: str = "",
        store: str | None = None,
        timeout: float | None = None,
    ) -> AsyncPager[models.Operation]:
        """Lists operations, newest first, without the memories they made; nothing is fetched until iterated.

        Args:
            scope: Whose; None: every one that the credential may read.
            page_size: Rows fetched at a time, 1 to 1,000; None: 50.
            page_token: Where to continue.
            store: The store; None: `default`.
            timeout: Seconds for each page; None: the client's.
        """
        request = list_operations_request(scope=scope, page_size=page_size, store=store)

        async def fetch(token: str) -> models.Page[models.Operation]:
            asked = at_page(request, token)
            reply = await self._connection.call(lambda stubs: stubs.operations.ListOperations, asked, timeout)
            return models.Page(tuple(map(decode_operation, reply.operations)), reply.next_page_token)

        return AsyncPager(fetch, page_token)

    async def cancel(
        self,
        operation_id: str,
        *,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.Operation:
        """Ends an operation: it writes nothing from now on. One that is over stays as it is.

        Args:
            operation_id: The id.
            store: The store; None: `default`.
            request_id: Makes a repeat by the caller safe.
            timeout: Seconds; None: the client's.

        Raises:
            NotFoundError: There is no such operation.
        """
        request = cancel_operation_request(operation_id, store=store, request_id=request_id)
        reply = await self._connection.call(lambda stubs: stubs.operations.CancelOperation, request, timeout)
        return decode_operation(reply.operation)


class AsyncOperationHandle(Generic[Result]):
    """One operation that was started.

    Attributes:
        operation: As it was when it was last asked about.
    """

    def __init__(
        self,
        operations: AsyncOperations,
        operation: models.Operation,
        read: Callable[[models.Operation], Result],
    ) -> None:
        """Made by the call that starts it; `read` picks the result of its kind."""
        self._operations = operations
        self._read = read
        self.operation = operation

    @property
    def operation_id(self) -> str:
        """Its id: `client.operations` takes it, also in another process."""
        return self.operation.operation_id

    async def done(self) -> bool:
        """Whether it is over; asks the server while it is not."""
        if not self.operation.done:
            self.operation = await self._operations.get(self.operation_id, store=self.operation.store_id)
        return self.operation.done

    async def result(self, timeout: float | None = None) -> Result:
        """Waits for what came of it.

        Args:
            timeout: Seconds; None: as long as it takes.

        Raises:
            DeadlineExceededError: It is not over yet, and goes on.
            MemoryAPIError: It failed: what the call would have raised, had it waited; or waiting failed.
            OperationCancelledError: It was cancelled.
        """
        if not self.operation.done:
            self.operation = await self._operations.wait(
                self.operation_id, store=self.operation.store_id, timeout=timeout
            )
        if not self.operation.done:
            raise not_done(self.operation)
        if self.operation.error is not None:
            raise exception_of(self.operation.error)
        return self._read(self.operation)

    async def cancel(self) -> models.Operation:
        """Ends it: it writes nothing from now on. One that is over stays as it is."""
        self.operation = await self._operations.cancel(self.operation_id, store=self.operation.store_id)
        return self.operation
