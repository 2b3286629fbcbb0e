"""What `ingest_events` is given: events of a stream, and when memories are made of them."""

from datetime import datetime

from pydantic import Field

from ricordo.memory_bank.base import BankModel
from ricordo.memory_bank.content import Content
from ricordo.memory_bank.generation import GenerationConfig


class IngestionDirectContentsSourceEvent(BankModel):
    """Something said. An `event_id` that the stream has is not ingested again; `event_time` is when it was said."""

    content: Content
    event_id: str = ""
    event_time: datetime | None = None


class IngestionDirectContentsSource(BankModel):
    """What was said: 1 to 500 events."""

    events: list[IngestionDirectContentsSourceEvent] = Field(min_length=1)


class IngestEventsConfig(GenerationConfig):
    """How memories are made of all events of the stream that wait; with `force_flush`, now."""

    wait_for_completion: bool = False
    force_flush: bool = False
