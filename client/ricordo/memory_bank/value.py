"""What memories carry: typed metadata, topics, structured content."""

import re
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from ricordo.memory_bank.base import BankModel, BankWord

DURATION = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?s")
EXACT_DOUBLES = 2**53
"""Up to here every integer is a double too."""


def _read_duration(value: object) -> object:
    """Reads a duration as JSON has it: "3600s"."""
    if not isinstance(value, str):
        return value
    if not DURATION.fullmatch(value):
        raise ValueError(f"{value!r} is no duration: write it in seconds, such as '3600s'")
    return timedelta(seconds=float(value[:-1]))


BankDuration = Annotated[timedelta, BeforeValidator(_read_duration)]
"""A `timedelta`, or text such as "3600s"."""


class ManagedTopicEnum(BankWord):
    """The topics every bank has."""

    USER_PERSONAL_INFO = "USER_PERSONAL_INFO"
    USER_PREFERENCES = "USER_PREFERENCES"
    KEY_CONVERSATION_DETAILS = "KEY_CONVERSATION_DETAILS"
    EXPLICIT_INSTRUCTIONS = "EXPLICIT_INSTRUCTIONS"


class MemoryTopicId(BankModel):
    """A topic: one that every bank has, or a label of your own."""

    custom_memory_topic_label: Annotated[str, StringConstraints(min_length=1)] | None = None
    managed_memory_topic: ManagedTopicEnum | None = None

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.custom_memory_topic_label is None) == (self.managed_memory_topic is None):
            raise ValueError("give custom_memory_topic_label or managed_memory_topic")
        return self


class MemoryMetadataValue(BankModel):
    """A value of metadata: one of the fields. Text, numbers, bools and times may be given bare.

    `other_value` is what other surfaces write and no other field holds: None, lists, maps, integers beyond 2^53.
    """

    _none_is_a_value: ClassVar[Collection[str]] = ("other_value",)

    bool_value: bool | None = None
    double_value: float | None = None
    string_value: str | None = None
    timestamp_value: datetime | None = None
    other_value: Any = None

    @model_validator(mode="before")
    @classmethod
    def _read_bare(cls, given: Any) -> Any:
        return _typed(given) if isinstance(given, bool | int | float | str | datetime) else given

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if len(self._given()) != 1:
            raise ValueError("give one of bool_value, double_value, string_value and timestamp_value")
        return self

    def _given(self) -> list[str]:
        fields = self.model_fields_set
        return [name for name in fields if name == "other_value" or getattr(self, name) is not None]

    @property
    def value(self) -> Any:
        """The value itself."""
        return getattr(self, self._given()[0])

    @classmethod
    def of(cls, value: Any) -> Self:
        """The typed value of a plain one."""
        return cls(**_typed(value))


def _typed(value: Any) -> dict[str, Any]:
    match value:
        case bool():  # before int: True is one
            return {"bool_value": value}
        case int() if abs(value) > EXACT_DOUBLES:
            return {"other_value": value}
        case int() | float():
            return {"double_value": value}
        case str():
            return {"string_value": value}
        case datetime():
            return {"timestamp_value": value}
    return {"other_value": value}


BankMetadata = Mapping[str, MemoryMetadataValue]
"""Metadata: typed values by key."""


class MemoryType(BankWord):
    """What a memory is: facts in natural language, or a field of a structured profile."""

    NATURAL_LANGUAGE_COLLECTION = "NATURAL_LANGUAGE_COLLECTION"
    STRUCTURED_PROFILE = "STRUCTURED_PROFILE"


class MemoryStructuredContent(BankModel):
    """The field of a profile that a memory is: its schema, and {field: value}.

    The value is of the type that the schema says; text where the schema does not allow it by now.
    """

    data: dict[str, Any] = Field(default_factory=dict)
    schema_id: str
