"""What is to be known of a scope in a structured form: JSON Schemas whose properties are memories of their own."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from math import isfinite
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match

from ricordo_server.domain.limits import MAX_PROFILE_FIELDS, MAX_PROFILE_VALUE_BYTES, MAX_SCHEMA_DEPTH

TYPES = ("string", "integer", "number", "boolean", "array", "object")
# No references and no patterns: whoever declares a schema decides neither what is fetched nor how long a check takes.
KEYWORDS = frozenset(
    [
        "$schema",
        "type",
        "title",
        "description",
        "default",
        "examples",
        "enum",
        "const",
        "items",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "properties",
        "required",
        "additionalProperties",
    ]
)
SHOWN_CHARACTERS = 200
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


class ProfileSchemaError(ValueError):
    """What is wrong with a schema, or with a value by it, in words for whoever wrote it."""


@dataclass(frozen=True)
class ProfileSchema:
    """`json_schema` is a text that `check_schema` accepts; it is for scopes with all of `scope_keys`."""

    schema_id: str
    json_schema: str
    scope_keys: Sequence[str] = ()

    @cached_property
    def properties(self) -> Mapping[str, Mapping[str, Any]]:
        properties: Mapping[str, Mapping[str, Any]] = json.loads(self.json_schema)["properties"]
        return properties

    def value_of(self, field_name: str, content: str) -> Any:
        """What the content of a field's memory says: a string is its own text, any other value is JSON.

        Raises:
            ProfileSchemaError: the schema has no such property, or does not allow the value.
        """
        if field_name not in self.properties:
            known = ", ".join(self.properties)
            raise ProfileSchemaError(
                f"the schema {self.schema_id!r} has no property {field_name!r:.64}; it has: {known}"
            )
        size = len(content.encode())
        if size > MAX_PROFILE_VALUE_BYTES:
            raise ProfileSchemaError(
                f"the value has {size} bytes, at most {MAX_PROFILE_VALUE_BYTES} are allowed"
            )
        property_ = self.properties[field_name]
        value = content if property_["type"] == "string" else _parse(content)
        fault = best_match(Draft202012Validator(property_).iter_errors(value))
        if fault is not None:
            raise ProfileSchemaError(f"{fault.json_path}: {fault.message}"[:SHOWN_CHARACTERS])
        return value

    def holds_json(self, field_name: str, content: str) -> bool:
        """Whether the content of a field's memory is an allowed value that is no string."""
        try:
            self.value_of(field_name, content)
        except ProfileSchemaError:
            return False
        return bool(self.properties[field_name]["type"] != "string")


@dataclass(frozen=True)
class ProfileField:
    value: Any
    memory_id: str
    revision: int
    update_time: datetime


@dataclass(frozen=True)
class Profile:
    """What is known by one schema, by property."""

    schema: ProfileSchema
    fields: Mapping[str, ProfileField]


def _parse(text: str) -> Any:
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_int=_bounded, parse_float=_finite)
        json.dumps(value, ensure_ascii=False).encode()  # no lone surrogate, which an escape may hide
        return value
    except (ValueError, RecursionError) as error:
        raise ProfileSchemaError(f"it is no JSON: {error}"[:SHOWN_CHARACTERS]) from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _bounded(digits: str) -> int:
    if not -(2**63) <= (number := int(digits)) < 2**63:
        raise ValueError("an integer is beyond 64 bits")
    return number


def _finite(digits: str) -> float:
    if not isfinite(number := float(digits)):
        raise ValueError("a number is beyond a double")
    return number


def check_schema(text: str) -> None:
    """Raises ProfileSchemaError, with the place, for what is no schema of a profile."""
    schema = _parse(text)
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise ProfileSchemaError('$: a profile is an object: give {"type": "object", "properties": ...}')
    _check_node(schema, "$", MAX_SCHEMA_DEPTH)
    fields = len(schema.get("properties", {}))
    if not 1 <= fields <= MAX_PROFILE_FIELDS:
        raise ProfileSchemaError(
            f"$.properties: a profile has 1 to {MAX_PROFILE_FIELDS} fields, and this one {fields}"
        )
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise ProfileSchemaError(f"{error.json_path}: {error.message}"[:SHOWN_CHARACTERS]) from error


def _check_node(node: Any, place: str, depth: int) -> None:
    if depth == 0:
        raise ProfileSchemaError(f"{place}: a schema is at most {MAX_SCHEMA_DEPTH} deep")
    if not isinstance(node, dict) or node.get("type") not in TYPES:
        raise ProfileSchemaError(f"{place}: every schema has one type of {', '.join(TYPES)}")
    if unknown := sorted(node.keys() - KEYWORDS):
        raise ProfileSchemaError(
            f"{place}.{unknown[0]:.64}: this keyword is not supported; accepted: {', '.join(sorted(KEYWORDS))}"
        )
    if not isinstance(node.get("additionalProperties", False), bool):
        raise ProfileSchemaError(f"{place}.additionalProperties: give true or false")
    properties = node.get("properties", {})
    if not isinstance(properties, dict):
        raise ProfileSchemaError(f"{place}.properties: give an object of schemas")
    for name, each in properties.items():
        if not NAME.fullmatch(name):
            raise ProfileSchemaError(
                f"{place}.properties: the name {name!r:.64} does not match ^{NAME.pattern}$"
            )
        _check_node(each, f"{place}.properties.{name:.64}", depth - 1)
    if "items" in node:
        _check_node(node["items"], f"{place}.items", depth - 1)
