"""What is learned from turns, in the background: waiting for it."""

import time

from ricordo import identity, models
from ricordo._aio import sleep
from ricordo._async.facade.operations import AsyncOperations
from ricordo._convert.waiting import explain_waiting, failed_kinds, waiting_kinds
from ricordo.errors import DeadlineExceededError, Failure

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0


class AsyncLearning(AsyncOperations):
    """Extraction, for those who want to see its results."""

    async def wait_for_extraction(
        self, session_id: str | None = None, *, user_id: str | None = None, timeout: float = 60.0
    ) -> None:
        """Returns when all that was said in a session before this call has been turned into memories.

        What is not due yet is extracted now, also where the project has extraction switched off. It needs a worker:
        `ricordo up` has one.

        Args:
            session_id: The session; without one here or in the context: all sessions of the user.
            user_id: Whose session.
            timeout: Seconds, for everything together.

        Raises:
            MemoryIdentityError: Nobody names a session or a user.
            NotFoundError: There is no such session.
            DeadlineExceededError: It took longer, or has failed: the message says which kinds are pending, which
                failed, and why.
        """
        deadline = time.monotonic() + timeout
        who = self._who(user_id=user_id, session_id=session_id)
        await self._guard.check()
        if who.session_id:
            scopes = [models.Scope(user_id=who.user_id or "", session_id=who.session_id)]
        else:
            owner = identity.require(who.user_id, "user_id", "wait_for_extraction")
            scopes = await self._sessions_of(owner, timeout)
        for scope in scopes:
            await self._client.sessions.promote(scope, store=self._store, timeout=_left(deadline))
        for scope in scopes:
            await self._wait_for(scope, deadline)

    async def _sessions_of(self, user_id: str, timeout: float) -> list[models.Scope]:
        found = self._client.sessions.list(
            scope=models.Matching(user_id=user_id), page_size=1_000, store=self._store, timeout=timeout
        )
        return [session.scope async for page in found.pages() for session in page.items]

    async def _wait_for(self, scope: models.Scope, deadline: float) -> None:
        target: int | None = None
        pause = FIRST_PAUSE
        while True:
            status = await self._client.sessions.get_extraction_status(
                scope, store=self._store, timeout=_left(deadline)
            )
            target = status.last_turn_seq if target is None else target
            if not waiting_kinds(status, target):
                return
            if failed_kinds(status) or time.monotonic() + pause > deadline:
                message = explain_waiting(status, target, scope.session_id)
                raise DeadlineExceededError(
                    Failure(code="DEADLINE_EXCEEDED", message=message, reason="DEADLINE_EXCEEDED")
                )
            await sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)
