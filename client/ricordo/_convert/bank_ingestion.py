"""Events of a stream: turns of the session that the stream is."""

from collections.abc import Mapping

from ricordo import memory_bank as types
from ricordo import models
from ricordo._convert.bank_contents import encode_event
from ricordo._convert.bank_values import our_scope
from ricordo.errors import MemoryClientError
from ricordo.memory_bank.base import OrDict

DEFAULT_STREAM = "default"


def stream_scope(scope: Mapping[str, str], stream_id: str) -> models.Scope:
    """The session that the stream of a scope is.

    Raises:
        MemoryClientError: The scope names a session of its own.
    """
    whose = our_scope(scope)
    if whose.session_id:
        raise MemoryClientError("a stream is a session itself: leave session_id out of its scope")
    return models.Scope(user_id=whose.user_id, session_id=stream_id or DEFAULT_STREAM, labels=whose.labels)


def encode_events(
    source: OrDict[types.IngestionDirectContentsSource] | None,
) -> list[models.NewTurn]:
    """The events as turns, without those that say nothing."""
    events = [] if source is None else types.IngestionDirectContentsSource.read(source).events
    return [turn for turn in map(encode_event, events) if turn is not None]


def encode_rule(
    config: OrDict[types.MemoryGenerationTriggerConfig] | None,
) -> models.TriggerRule | None:
    """When memories are made; None: as it was said before."""
    if config is None:
        return None
    rule = types.MemoryGenerationTriggerConfig.read(config).generation_rule
    return models.TriggerRule(
        turn_count=rule.event_count,
        idle=rule.idle_duration,
        interval=rule.fixed_interval,
        overlap=rule.overlap_event_count,
    )
