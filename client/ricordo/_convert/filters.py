"""Filter trees to the wire."""

from collections.abc import Callable, Collection
from typing import Any

from ricordo._convert import enums, values
from ricordo.errors import MemoryClientError
from ricordo.filters import FilterInput, all_of, parse
from ricordo.models import ManagedTopic
from ricordo.models.base import Word
from ricordo.models.filter import AllOf, AnyOf, Comparison, Expression, Filter, Negated, parts_of
from ricordo.v1 import filter_pb2
from ricordo.v1.metadata_pb2 import MetadataValue

WORDS: dict[tuple[str, ...], Callable[[str], Word]] = {
    ("kind",): enums.MEMORY_KIND.word,
    ("source",): enums.MEMORY_SOURCE.word,
    ("topics", "managed"): enums.MANAGED_TOPIC.word,
}


def encode_condition(filters: FilterInput | None, accepted: Collection[str]) -> dict[str, Any]:
    """Reads and checks a filter on the `accepted` fields, for a request: `filter`, `filter_expression` or both.

    Raises:
        MemoryClientError: See `ricordo.filters.parse`.
    """
    tree = parse(filters, accepted)
    parts = () if tree is None else parts_of(tree, AllOf)
    texts = [part.text for part in parts if isinstance(part, Expression)]
    others = [part for part in parts if not isinstance(part, Expression)]
    condition: dict[str, Any] = {}
    if texts:
        condition["filter_expression"] = (
            texts[0] if len(texts) == 1 else " AND ".join(f"({t})" for t in texts)
        )
    if others:
        condition["filter"] = _encode_node(all_of(*others))
    return condition


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
        case Expression():
            raise MemoryClientError(
                "an expression can be joined by & only: write the rest into its text", reason="INVALID_FILTER"
            )
    raise MemoryClientError(f"{node!r} is no filter: build one with ricordo.filters", reason="INVALID_FILTER")


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
