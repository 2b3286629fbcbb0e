"""Sessions and turns: what was said."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ricordo_server.domain.filter import Filter
from ricordo_server.domain.metadata import Metadata
from ricordo_server.domain.promotion import PromotionTriggers
from ricordo_server.domain.scope import EVERY_SCOPE, Scope, ScopeFilter


@dataclass(frozen=True)
class SessionDraft:
    """`scope.session_id` is given; the edge makes one when the caller has none. No `trigger_rule`: the policy's."""

    scope: Scope
    parent_session_id: str = ""
    metadata: Metadata = field(default_factory=dict)
    trigger_rule: PromotionTriggers | None = None


@dataclass(frozen=True)
class Session:
    store_id: str
    scope: Scope
    parent_session_id: str
    root_session_id: str
    metadata: Metadata
    create_time: datetime
    update_time: datetime
    last_activity_time: datetime
    last_turn_seq: int
    promoted_seq: int = 0
    extracted_seq: int = 0
    trigger_rule: PromotionTriggers | None = None


@dataclass(frozen=True)
class ToolCall:
    tool_call_id: str
    name: str
    arguments_json: str


@dataclass(frozen=True)
class TurnDraft:
    role: str
    content: str = ""
    tool_calls: Sequence[ToolCall] = ()
    tool_call_id: str = ""
    tool_name: str = ""
    is_error: bool = False
    model_name: str = ""
    data_json: str = ""
    metadata: Metadata = field(default_factory=dict)
    agent_id: str = ""
    idempotency_key: str | None = None
    event_time: datetime | None = None


@dataclass(frozen=True)
class Turn:
    turn_id: str
    store_id: str
    scope: Scope
    turn_seq: int
    role: str
    content: str
    tool_calls: Sequence[ToolCall]
    tool_call_id: str
    tool_name: str
    is_error: bool
    model_name: str
    data_json: str
    metadata: Metadata
    agent_id: str
    idempotency_key: str | None
    event_time: datetime
    create_time: datetime
    has_embedding: bool
    content_omitted: bool = False


@dataclass(frozen=True)
class RecordedTurn:
    turn: Turn
    created: bool


@dataclass(frozen=True)
class SessionQuery:
    """Which sessions a read may see."""

    scope: ScopeFilter = EVERY_SCOPE
    filter: Filter | None = None


@dataclass(frozen=True)
class TurnQuery:
    """Which turns a read may see."""

    scope: ScopeFilter = EVERY_SCOPE
    filter: Filter | None = None
