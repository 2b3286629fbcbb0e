"""How memories of a bank are generated from one of three sources."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ricordo import memory_bank as types
from ricordo import models
from ricordo._async.extraction import AsyncExtraction
from ricordo._async.sessions import AsyncSessions
from ricordo._async.stores import AsyncStores
from ricordo._convert.bank_generation import (
    decode_operation,
    decode_response,
    direct_source,
    generation_options,
)
from ricordo._convert.bank_names import Name, session_name
from ricordo._convert.bank_settings import learned_kinds
from ricordo._convert.bank_values import USER, our_scope
from ricordo.errors import MemoryClientError

# Users of memory banks wait for the model for as long as the server lets a call take, which is less: seconds.
LONGEST_GENERATION = 600.0


@dataclass(frozen=True)
class AsyncBankGeneration:
    """One generation, in a bank."""

    stores: AsyncStores
    extraction: AsyncExtraction
    sessions: AsyncSessions
    bank: Name
    scope: Mapping[str, str] | None
    config: types.GenerateMemoriesConfig
    timeout: float | None

    async def of_session(
        self, given: types.GenerateMemoriesRequestVertexSessionSource
    ) -> types.GenerateMemoriesOperation:
        """Of the turns of a session; without a scope, the memories are those of its user."""
        scope = await self._find_session(session_name(given.session, self.bank))
        session = models.SessionRange(scope=scope, start_time=given.start_time, end_time=given.end_time)
        whose = our_scope(self.scope) if self.scope else scope
        return await self._generate(session=session, kinds=await self._kinds(whose))

    async def of_direct(self, contents: Any, memories: Any) -> types.GenerateMemoriesOperation:
        """Of what was said, or of facts; where nothing was said, none."""
        source = direct_source(contents, memories)
        if source.get("facts"):
            return await self._generate(**source)
        if not source.get("turns"):
            return types.GenerateMemoriesOperation(response=types.GenerateMemoriesResponse())
        return await self._generate(**source, kinds=await self._kinds(our_scope(self.scope or {})))

    async def _kinds(self, scope: models.Scope) -> tuple[models.MemoryKind, ...]:
        store = await self.stores.get(self.bank.store_id, timeout=self.timeout)
        return learned_kinds(store.settings, scope)

    async def _find_session(self, session_id: str) -> models.Scope:
        """The scope of the session. Two users may have one of the same id: then the one of the given scope."""
        sessions = self.sessions.list(
            scope=models.Matching(session_id=session_id), store=self.bank.store_id, timeout=self.timeout
        )
        found = [session.scope for session in (await sessions.fetch_page()).items]
        if len(found) > 1:
            found = [scope for scope in found if scope.user_id == (self.scope or {}).get(USER)]
        if len(found) != 1:
            raise MemoryClientError(
                f"{'several sessions of' if found else 'no session of'} {self.bank} fit {session_id!r} and the scope"
            )
        return found[0]

    async def _generate(self, **source: Any) -> types.GenerateMemoriesOperation:
        options: dict[str, Any] = {
            **source,
            "scope": our_scope(self.scope) if self.scope else None,
            **generation_options(self.config),
            "store": self.bank.store_id,
        }
        if self.config.wait_for_completion:
            patience = LONGEST_GENERATION if self.timeout is None else self.timeout
            made = await self.extraction.generate(**options, timeout=patience)
            return types.GenerateMemoriesOperation(response=decode_response(made, self.bank))
        handle = await self.extraction.generate(wait=False, **options, timeout=self.timeout)
        return decode_operation(handle.operation, self.bank)
