"""What the metadata of a call says of how memories are made; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ricordo._convert.bank_ingestion import encode_rule
from ricordo.errors import MemoryNotSupportedError
from ricordo.memory_bank import IngestEventsConfig
from ricordo.models import NewTurn, TriggerRule

# What one call records.
MOST_TURNS = 500
STREAM, TRIGGER, TTL, REVISION_TTL = "stream_id", "generation_trigger_config", "ttl", "revision_ttl"
CONFIG = frozenset(IngestEventsConfig.model_fields)


@dataclass(frozen=True)
class Options:
    """How events are ingested; `metadata` is what is no option."""

    stream_id: str
    rule: TriggerRule | None
    config: IngestEventsConfig
    metadata: dict[str, Any]

    @property
    def does_something(self) -> bool:
        """Also without events."""
        return self.rule is not None or self.config.force_flush


def read_options(given: Mapping[str, object] | None) -> Options:
    """Reads the options of ingesting; `ttl` is another name of `revision_ttl`.

    Raises:
        MemoryClientError: One makes no sense.
    """
    rest: dict[str, Any] = dict(given or {})
    stream_id, trigger, ttl = (rest.pop(name, None) for name in (STREAM, TRIGGER, TTL))
    config = {name: rest.pop(name) for name in CONFIG if name in rest}
    if ttl is not None:
        config.setdefault(REVISION_TTL, ttl)
    return Options(str(stream_id or ""), encode_rule(trigger), IngestEventsConfig.read(config), rest)


def check_no_options(metadata: Mapping[str, object]) -> None:
    """Refuses what only ingesting takes, for silence would say that it holds.

    Raises:
        MemoryNotSupportedError: There is such an option.
    """
    options = sorted({*CONFIG, STREAM, TRIGGER, TTL}.intersection(metadata))
    if options:
        raise MemoryNotSupportedError(
            f"{', '.join(options)}: facts are written with client.memory_banks for that"
        )


def batches(turns: Sequence[NewTurn]) -> list[list[NewTurn]]:
    """The turns, as many as a call records at a time."""
    return [list(turns[start : start + MOST_TURNS]) for start in range(0, len(turns), MOST_TURNS)]
