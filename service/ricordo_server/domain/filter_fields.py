"""What a filter may name: the fields of each kind of row, with their types."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class FieldType(StrEnum):
    """As a message about a filter names it."""

    TEXT = "a text field"
    NUMBER = "a number field"
    TIME = "a time field"
    KIND = "a kind of memory"
    SOURCE = "a source of memories"
    LIST = "a list of texts"
    METADATA = "a metadata value"
    LABEL = "a label"


KEYED = {FieldType.METADATA, FieldType.LABEL}


@dataclass(frozen=True)
class FilterFields:
    """Types by name. "metadata" and "labels" stand for their keys; "topics.managed" is two segments."""

    types: Mapping[str, FieldType]

    @property
    def accepted(self) -> str:
        return ", ".join(f"{name}.<key>" if kind in KEYED else name for name, kind in self.types.items())

    def find(self, path: tuple[str, ...]) -> FieldType | None:
        """The type of what the path names, None for nothing."""
        if not path:
            return None
        head = self.types.get(path[0])
        if head is FieldType.METADATA and len(path) > 1:
            return head
        if head is FieldType.LABEL and len(path) == 2:
            return head
        # No segment of a system field has a dot: ("topics.managed",) is no field.
        if head in KEYED or any("." in segment for segment in path):
            return None
        return self.types.get(".".join(path))


def _fields(kind: FieldType, names: str) -> Iterable[tuple[str, FieldType]]:
    return ((name, kind) for name in names.split())


KEYED_FIELDS = {"metadata": FieldType.METADATA, "labels": FieldType.LABEL}

MEMORY_FIELDS = FilterFields(
    {
        **dict(_fields(FieldType.TEXT, "content fact title description key")),
        "kind": FieldType.KIND,
        "agent_id": FieldType.TEXT,
        "source": FieldType.SOURCE,
        **dict(_fields(FieldType.LIST, "topics topics.managed topics.custom tags")),
        **dict(_fields(FieldType.TIME, "create_time update_time event_time expire_time")),
        **KEYED_FIELDS,
    }
)

TURN_FIELDS = FilterFields(
    {
        **dict(_fields(FieldType.TEXT, "content role agent_id tool_name model_name")),
        "turn_seq": FieldType.NUMBER,
        **dict(_fields(FieldType.TIME, "create_time event_time")),
        **KEYED_FIELDS,
    }
)

SESSION_FIELDS = FilterFields(
    {
        "session_id": FieldType.TEXT,
        **dict(_fields(FieldType.TIME, "create_time update_time last_activity_time")),
        **KEYED_FIELDS,
    }
)
