"""How events are given to a stream of a bank."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ricordo import memory_bank as types
from ricordo import models
from ricordo._async.sessions import AsyncSessions
from ricordo._async.stores import AsyncStores
from ricordo._convert.bank_generation import decode_operation, generation_options
from ricordo._convert.bank_names import Name
from ricordo.errors import NotFoundError

TRIGGERS = {"turn_count", "idle"}
# How long memories are waited for where the caller does not say, in seconds: a worker makes what is due within
# minutes, and a rule has its time within a day of the last event. So nobody waits for ever where no worker runs.
PATIENCE, PATIENCE_WITH_RULE = 600.0, 90_000.0


@dataclass(frozen=True)
class AsyncBankIngestion:
    """One ingestion, into a stream of a bank, which is a session."""

    stores: AsyncStores
    sessions: AsyncSessions
    bank: Name
    stream: models.Scope
    config: types.IngestEventsConfig
    timeout: float | None

    async def ingest(
        self, turns: list[models.NewTurn], rule: models.TriggerRule | None
    ) -> types.MemoryBankIngestEventsOperation:
        """Records the events. Where no rule says when memories are made of them, it is now."""
        if not (turns or rule or self.config.force_flush):
            return types.MemoryBankIngestEventsOperation()
        flush = self.config.force_flush or (bool(turns) and rule is None and not await self._has_rule())
        options: dict[str, Any] = generation_options(self.config)
        ingestion = await self.sessions.ingest(
            turns,
            scope=self.stream,
            trigger_rule=rule,
            force_flush=flush,
            **options,
            store=self.bank.store_id,
            timeout=self.timeout,
        )
        if ingestion.operation is None:
            return types.MemoryBankIngestEventsOperation()
        if self.config.wait_for_completion:
            patience = PATIENCE if flush else PATIENCE_WITH_RULE
            await ingestion.operation.result(patience if self.timeout is None else self.timeout)
        fields: Mapping[str, Any] = dict(decode_operation(ingestion.operation.operation, self.bank))
        return types.MemoryBankIngestEventsOperation(**fields)

    async def _has_rule(self) -> bool:
        """Whether the stream has one by now, or the bank."""
        store = self.bank.store_id
        try:
            session = await self.sessions.get(self.stream, store=store, timeout=self.timeout)
        except NotFoundError:
            session = None
        if session is not None and session.trigger_rule is not None:
            return True
        extraction = (await self.stores.get(store, timeout=self.timeout)).settings.extraction
        return extraction is not None and bool(TRIGGERS & extraction.model_fields_set)
