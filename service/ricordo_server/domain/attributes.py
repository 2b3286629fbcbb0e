"""Values of declared metadata keys as text that sorts as they do: what an index holds of them."""

import struct
from collections.abc import Mapping
from datetime import datetime

from ricordo_server.domain.declarations import VALUE_TYPES, find_value
from ricordo_server.domain.filter_check import type_of
from ricordo_server.domain.metadata import Metadata, MetadataValue, encode_time
from ricordo_server.domain.project_settings import MetadataType

# A B-tree entry holds at most 2,704 bytes, and a character takes up to 4.
INDEXED_CHARACTERS = 256


def attributes_of(metadata: Metadata, declared: Mapping[str, MetadataType]) -> dict[str, str]:
    """The indexed form of each declared key's value; null, and nothing at all, have none."""
    found = {name: find_value(metadata, name) for name in declared}
    return {
        name: indexed(value)
        for name, value in found.items()
        if value is not None and type_of(value) is VALUE_TYPES[declared[name]]
    }


def indexed(value: MetadataValue) -> str:
    """Equal values, equal texts; a greater value, no smaller text. Not the other way round: texts are cut, and
    integers rounded to doubles, so what an index finds by it is still compared with the value itself.
    """
    match value:
        case str():
            return value[:INDEXED_CHARACTERS]
        case bool():  # a bool is an int to Python
            return "true" if value else "false"
        case int() | float():
            return _sortable(float(value))
        case datetime():
            return encode_time(value)
        case _:
            raise TypeError(f"no declared type has {value!r}")


def _sortable(number: float) -> str:
    """The bits of a double sort as its values, once those of negative ones are turned round. -0.0 is 0.0."""
    [bits] = struct.unpack(">Q", struct.pack(">d", number + 0.0))
    return format(bits ^ (2**64 - 1 if bits >> 63 else 2**63), "016x")
