"""Short-term memory: sessions of turns."""

from datetime import datetime, timedelta
from typing import Self

from pydantic import Field, model_validator

from ricordo.models.base import Metadata, Model
from ricordo.models.scope import Scope


class TriggerRule(Model):
    """When turns of a session that wait are made memories of: whatever comes first, 24 hours after the last anyway.

    `turn_count` of them wait, 1 to 1,000; no turn came for the time `idle`; `interval`, in whole minutes, is over
    since the first that waits. `overlap` turns before them are given along, to be understood; at most 20. With
    nothing at all: when the project's policy says.
    """

    turn_count: int | None = None
    idle: timedelta | None = None
    interval: timedelta | None = None
    overlap: int = 0

    @model_validator(mode="after")
    def _check_timing(self) -> Self:
        if self.idle is not None and self.interval is not None:
            raise ValueError("give idle or interval, not both")
        return self


class Session(Model):
    """A conversation, unique by store and scope.

    `last_turn_seq` is 0 before the first turn. Every turn up to `extracted_turn_seq` is extracted, in every kind.
    With a `trigger_rule` it is extracted when that says, else when the project's policy does.
    """

    store_id: str
    scope: Scope
    parent_session_id: str = ""
    root_session_id: str = ""
    metadata: Metadata = Field(default_factory=dict)
    create_time: datetime
    update_time: datetime
    last_activity_time: datetime
    last_turn_seq: int = 0
    trigger_rule: TriggerRule | None = None
    extracted_turn_seq: int = 0


class ToolCall(Model):
    """A tool the model called; `arguments_json` is JSON text."""

    tool_call_id: str = ""
    name: str
    arguments_json: str = ""


class NewTurn(Model):
    """One message to record.

    `role` is "user", "assistant", "system", "tool" or a name of your own (at most 64 bytes); `content` holds
    at most 256 KiB and may be empty beside tool calls or data; `data_json` is any JSON text, stored and
    returned but not searched. Recording an `idempotency_key` again answers the first turn.
    """

    role: str
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    tool_name: str = ""
    is_error: bool = False
    model_name: str = ""
    data_json: str = ""
    metadata: Metadata = Field(default_factory=dict)
    agent_id: str = ""
    idempotency_key: str = ""
    event_time: datetime | None = None


class Turn(NewTurn):
    """A turn as stored: immutable, private to the session's user. `turn_seq` counts from 1."""

    turn_id: str
    store_id: str
    scope: Scope
    turn_seq: int
    create_time: datetime
    has_embedding: bool = False
    content_omitted: bool = False


class RecordedTurn(Model):
    """A turn as stored, and whether it is new (false when its idempotency key was known)."""

    turn: Turn
    created: bool


class DeletedTurn(Model):
    """What went with a turn: the memories that were learned from it alone.

    `restored_memories` say again what they said before.
    """

    memories: int = 0
    restored_memories: int = 0


class DeletedSession(Model):
    """What went with a session: its turns, and what was learned from these alone.

    `restored_memories` say again what they said before; `sessions` counts descendants too.
    """

    turns: int
    memories: int = 0
    restored_memories: int = 0
    sessions: int = 0
