"""Filter trees from messages."""

from collections.abc import Sequence
from typing import Any

from ricordo.v1 import filter_pb2 as pb
from ricordo_server.domain.errors import invalid_filter
from ricordo_server.domain.filter import AllOf, AnyOf, Comparator, Comparison, Filter, Negated
from ricordo_server.domain.filter_check import check_filter, check_size
from ricordo_server.domain.filter_fields import FilterFields
from ricordo_server.rpc.convert.filter_expressions import decode_filter_expression
from ricordo_server.rpc.convert.metadata import decode_value

PREFIX = "COMPARATOR_"


def decode_condition(request: Any, fields: FilterFields, parent: str = "") -> Filter | None:
    """What a request or a part of one asks in `filter` and `filter_expression`; `parent` is its path with a dot.

    Raises:
        DomainError: LIMIT_EXCEEDED, INVALID_FILTER or INVALID_FIELD, with the path of the part at fault.
    """
    message = request.filter if request.HasField("filter") else None
    tree = decode_filter(message, fields, f"{parent}filter")
    expression = decode_filter_expression(request.filter_expression, fields, f"{parent}filter_expression")
    return AllOf((tree, expression)) if tree and expression else tree or expression


def decode_filter(message: pb.Filter | None, fields: FilterFields, field: str = "filter") -> Filter | None:
    """A message that is there but empty is refused: taken for "no filter" it would select every row.

    So give None, not the empty message that protobuf makes up, where the request has no filter.

    Raises:
        DomainError: LIMIT_EXCEEDED, INVALID_FILTER or INVALID_FIELD, with the path of the part at fault.
    """
    if message is None:
        return None
    check_size(message, _parts_of, field)  # before the recursion below
    tree = _decode(message, field)
    check_filter(tree, fields, field)
    return tree


def _parts_of(message: pb.Filter) -> Sequence[pb.Filter] | None:
    match message.WhichOneof("node"):
        case "all_of":
            return message.all_of.filters
        case "any_of":
            return message.any_of.filters
        case "negated":
            return (message.negated,)
        case _:
            return None


def _decode(message: pb.Filter, field: str) -> Filter:
    match message.WhichOneof("node"):
        case "all_of":
            return AllOf(_decode_list(message.all_of, f"{field}.all_of"))
        case "any_of":
            return AnyOf(_decode_list(message.any_of, f"{field}.any_of"))
        case "negated":
            return Negated(_decode(message.negated, f"{field}.negated"))
        case "comparison":
            return _decode_comparison(message.comparison, f"{field}.comparison")
        case _:
            raise invalid_filter(f"{field} is empty", "all_of, any_of, negated or comparison", field)


def _decode_list(message: pb.FilterList, field: str) -> tuple[Filter, ...]:
    return tuple(_decode(part, f"{field}.filters[{index}]") for index, part in enumerate(message.filters))


def _decode_comparison(message: pb.Comparison, field: str) -> Comparison:
    return Comparison(
        path=tuple(message.path.segments),
        comparator=_decode_comparator(message.comparator, f"{field}.comparator"),
        values=tuple(
            decode_value(value, f"{field}.values[{index}]") for index, value in enumerate(message.values)
        ),
    )


def _decode_comparator(number: pb.Comparator.ValueType, field: str) -> Comparator:
    """An enum is open: an unknown number arrives as it was sent."""
    descriptor = pb.DESCRIPTOR.enum_types_by_name["Comparator"].values_by_number.get(number)
    name = descriptor.name.removeprefix(PREFIX) if descriptor else ""
    if name not in Comparator.__members__:
        raise invalid_filter(f"{number} is no comparator", ", ".join(Comparator), field)
    return Comparator[name]
