"""Filter trees to the wire."""

from collections.abc import Callable, Collection

from ricordo._convert import enums, values
from ricordo.errors import MemoryClientError
from ricordo.filters import FilterInput, parse
from ricordo.models import ManagedTopic
from ricordo.models.base import Word
from ricordo.models.filter import AllOf, AnyOf, Comparison, Filter, Negated
from ricordo.v1 import filter_pb2
from ricordo.v1.metadata_pb2 import MetadataValue

WORDS: dict[tuple[str, ...], Callable[[str], Word]] = {
    ("kind",): enums.MEMORY_KIND.word,
    ("source",): enums.MEMORY_SOURCE.word,
    ("topics", "managed"): enums.MANAGED_TOPIC.word,
}


def encode_filter(filters: FilterInput | None, accepted: Collection[str]) -> filter_pb2.Filter | None:
    """Reads, checks and encodes a filter on the `accepted` fields; None for no filter.

    Raises:
        MemoryClientError: See `ricordo.filters.parse`.
    """
    tree = parse(filters, accepted)
    return None if tree is None else _encode_node(tree)


def _encode_node(node: Filter) -> filter_pb2.Filter:
    match node:
        case AllOf():
            return filter_pb2.Filter(all_of=_encode_list(node.parts))
        case AnyOf():
            return filter_pb2.Filter(any_of=_encode_list(node.parts))
        case Negated():
            return filter_pb2.Filter(negated=_encode_node(node.part))
        case Comparison():
            return filter_pb2.Filter(comparison=_encode_comparison(node))
    raise MemoryClientError(f"{node!r} is no filter: build one with ricordo.filters")


def _encode_list(parts: tuple[Filter, ...]) -> filter_pb2.FilterList:
    return filter_pb2.FilterList(filters=[_encode_node(part) for part in parts])


def _encode_comparison(node: Comparison) -> filter_pb2.Comparison:
    return filter_pb2.Comparison(
        path=filter_pb2.FieldPath(segments=node.path),
        comparator=enums.COMPARATOR.encode(node.comparator),
        values=[_encode_operand(node.path, value) for value in node.values],
    )


def _encode_operand(path: tuple[str, ...], value: object) -> MetadataValue:
    """Words of the contract are sent as it writes them."""
    if path in WORDS and isinstance(value, str):
        return MetadataValue(string_value=WORDS[path](value).name)
    if path == ("topics",) and isinstance(value, ManagedTopic):
        return MetadataValue(string_value=value.name)
    return values.encode_value(value, ".".join(path))
