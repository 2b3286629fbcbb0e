"""A filter read in plain Python, row by row, from the words of the contract: what the SQL is held to.

A row is a dict of a memory's fields as the domain has them; a field that was not given is None or "".
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from ricordo_server.domain.filter import AllOf, AnyOf, Comparator, Comparison, Filter, Negated

Row = Mapping[str, Any]
ABSENT = object()


def holds(tree: Filter, row: Row) -> bool:
    match tree:
        case AllOf(parts=parts):
            return all(holds(part, row) for part in parts)
        case AnyOf(parts=parts):
            return any(holds(part, row) for part in parts)
        case Negated(part=part):
            return not holds(part, row)
        case Comparison(path=path, comparator=comparator, values=values):
            found = look_up(row, path)
            return found is not ABSENT and TESTS[comparator](path, found, list(values))


def look_up(row: Row, path: tuple[str, ...]) -> Any:
    match path:
        case ("metadata", *keys):
            return walk(row["metadata"], keys)
        case ("labels", key):
            return row["labels"].get(key, ABSENT)
        case ("topics", which):
            return [topic.split(":", 1)[1] for topic in row["topics"] if topic.split(":", 1)[0] == which]
        case ("topics",):
            return [topic.split(":", 1)[1] for topic in row["topics"]]
        case ("fact",):
            return row["content"]
        case (name,):
            return ABSENT if row[name] is None else row[name]
    raise AssertionError(path)


def walk(value: Any, keys: list[str]) -> Any:
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return ABSENT
        value = value[key]
    return value


def kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return type(value).__name__


def same(left: Any, right: Any) -> bool:
    """Python compares integers with doubles exactly, as the contract wants it, but takes True for 1."""
    if kind_of(left) != kind_of(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(same(*pair) for pair in zip(left, right, strict=True))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return bool(left == right)


def ordered(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any, list[Any]], bool]:
    def compare(_path: Any, found: Any, values: list[Any]) -> bool:
        comparable = kind_of(found) == kind_of(values[0]) and isinstance(found, int | float | str | datetime)
        return comparable and test(found, values[0])

    return compare


def exists(path: tuple[str, ...], found: Any, _values: list[Any]) -> bool:
    return found is not None if path[0] == "metadata" else found not in ("", [])


def on_text(test: Callable[[str, str], bool]) -> Callable[[Any, Any, list[Any]], bool]:
    return lambda _path, found, values: isinstance(found, str) and test(found, values[0])


def candidates(found: Any) -> Iterator[Any]:
    return iter(found) if isinstance(found, list) else iter(())


TESTS: Mapping[Comparator, Callable[[Any, Any, list[Any]], bool]] = {
    Comparator.EQ: lambda _path, found, values: same(found, values[0]),
    Comparator.IN: lambda _path, found, values: any(same(found, value) for value in values),
    Comparator.LT: ordered(lambda left, right: left < right),
    Comparator.LE: ordered(lambda left, right: left <= right),
    Comparator.GT: ordered(lambda left, right: left > right),
    Comparator.GE: ordered(lambda left, right: left >= right),
    Comparator.EXISTS: exists,
    Comparator.MATCHES: on_text(lambda text, pattern: bool(re.fullmatch(pattern, text, re.DOTALL))),
    Comparator.CONTAINS: on_text(lambda text, part: part in text),
    Comparator.PREFIX: on_text(lambda text, start: text.startswith(start)),
    Comparator.HAS: lambda _path, found, values: any(same(item, values[0]) for item in candidates(found)),
}
