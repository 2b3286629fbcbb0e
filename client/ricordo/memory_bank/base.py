"""What the types of memory banks share."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

from pydantic import ConfigDict, model_validator
from pydantic.alias_generators import to_camel, to_snake

from ricordo.errors import MemoryClientError
from ricordo.models.base import Model


class BankModel(Model):
    """A record that is also made of a dict, in snake_case or camelCase, or of a foreign model of the same shape."""

    model_config: ClassVar[ConfigDict] = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    _none_is_a_value: ClassVar[Collection[str]] = ()
    # What memory banks have here and these have not: what to do instead.
    _elsewhere: ClassVar[Mapping[str, str]] = {"http_options": "give the call a timeout= of seconds"}

    @model_validator(mode="before")
    @classmethod
    def _read_fields(cls, given: Any) -> Any:
        if isinstance(given, cls):
            return given
        fields = fields_of(given, cls._none_is_a_value)
        for name in fields if isinstance(fields, Mapping) else ():
            if advice := cls._elsewhere.get(to_snake(str(name))):
                raise ValueError(f"{name} is not taken here: {advice}")
        return fields

    @classmethod
    def read(cls, given: Self | Mapping[str, Any] | None) -> Self:
        """The record, of one or of what it can be made of; None: its defaults.

        Raises:
            MemoryClientError: A field is unknown, or of a wrong type.
        """
        if isinstance(given, cls):
            return given
        fields = fields_of({} if given is None else given, cls._none_is_a_value)
        if not isinstance(fields, Mapping) or not all(isinstance(name, str) for name in fields):
            raise MemoryClientError(f"{given!r} is no {cls.__name__}: give one, or a dict")
        return cls(**fields)


Fields = TypeVar("Fields", bound=BankModel)

OrDict: TypeAlias = Fields | Mapping[str, Any]
"""A record, or a dict that it can be made of."""


def fields_of(given: Any, kept: Collection[str] = ()) -> Any:
    """The fields of a dict or a foreign model; None means "not given" there, but for those `kept`."""
    if hasattr(given, "model_dump"):
        return given.model_dump(exclude_none=True)
    if not isinstance(given, Mapping):
        return given
    return {name: value for name, value in given.items() if value is not None or name in kept}


class BankWord(StrEnum):
    """An enum whose members are read in any case."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        return cls.__members__.get(value.upper()) if isinstance(value, str) else None
