"""Mongo-style filters read in plain Python, document by document, and random ones that fit random documents.

A document is a dict of metadata. A key that is missing, or null, has no value: it equals nothing, is in no list and
in no order, so `$ne`, `$nin`, `$nor` and `$not` hold for it; None stands for "without a value".
"""

import operator
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

Path = tuple[str, ...]


def holds(condition: Mapping[Any, Any], document: Mapping[str, Any]) -> bool:
    return all(member_holds(name, value, document) for name, value in condition.items())


def member_holds(name: Any, value: Any, document: Mapping[str, Any]) -> bool:
    if name == "$and":
        return all(holds(part, document) for part in value)
    if name == "$or":
        return any(holds(part, document) for part in value)
    if name == "$nor":
        return not any(holds(part, document) for part in value)
    path = name if isinstance(name, tuple) else tuple(name.split("."))
    return compared(find(path[1:], document), value)


def find(path: Path, document: Any) -> Any:
    for key in path:
        if not isinstance(document, Mapping) or key not in document:
            return None
        document = document[key]
    return document


def compared(found: Any, value: Any) -> bool:
    if isinstance(value, Mapping) and any(str(key).startswith("$") for key in value):
        return all(TESTS[name](found, operand) for name, operand in value.items())
    return equal(found, value)


def kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    return "number" if isinstance(value, int | float) else type(value).__name__


def equal(found: Any, value: Any) -> bool:
    if kind(found) != kind(value):
        return False
    if isinstance(found, list):
        return len(found) == len(value) and all(map(equal, found, value))
    if isinstance(found, dict):
        return found.keys() == value.keys() and all(equal(found[key], value[key]) for key in found)
    return bool(found == value)


def ordered(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    comparable = int | float | str | datetime
    return lambda found, value: (
        kind(found) == kind(value) and isinstance(found, comparable) and test(found, value)
    )


TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": equal,
    "$ne": lambda found, value: not equal(found, value),
    "$gt": ordered(operator.gt),
    "$gte": ordered(operator.ge),
    "$lt": ordered(operator.lt),
    "$lte": ordered(operator.le),
    "$in": lambda found, values: any(equal(found, value) for value in values),
    "$nin": lambda found, values: not any(equal(found, value) for value in values),
    "$exists": lambda found, wanted: (found is not None) is wanted,
    "$not": lambda found, value: not compared(found, value),
}

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
TEXTS = ["gold", "Gold", "gold-tier", "", "1", "true", "$gold"]
SCALARS = [*TEXTS, 0, 1, 2, 1.0, 2.5, -1, 2**53 + 1, True, False, NOON]
COMPARABLE = [value for value in SCALARS if not isinstance(value, bool)]

scalars = st.sampled_from(SCALARS)
leaves = st.one_of(scalars, scalars, st.none(), st.lists(scalars, max_size=2))
documents = st.fixed_dictionaries(
    {"tier": st.sampled_from(TEXTS), "n": st.sampled_from(COMPARABLE)},
    optional={
        "Tier": leaves,
        "$foo": leaves,
        "a.b.c": leaves,
        "nested": st.fixed_dictionaries({}, optional={"tier": leaves, "n": scalars}),
    },
)


def paths() -> st.SearchStrategy[Any]:
    plain = st.sampled_from(
        ["metadata.tier", "metadata.n", "metadata.Tier", "metadata.$foo", "metadata.nested.n"]
    )
    return st.one_of(plain, st.sampled_from([("metadata", "a.b.c"), ("metadata", "nested", "tier")]))


def comparisons() -> st.SearchStrategy[dict[str, Any]]:
    some = st.lists(st.one_of(scalars, st.none()), min_size=1, max_size=3)
    each: dict[str, st.SearchStrategy[Any]] = {
        **dict.fromkeys(("$eq", "$ne"), leaves),
        **dict.fromkeys(("$gt", "$gte", "$lt", "$lte"), st.sampled_from(COMPARABLE)),
        **dict.fromkeys(("$in", "$nin"), some),
        "$exists": st.booleans(),
    }
    single = st.sampled_from(sorted(each)).flatmap(lambda name: st.fixed_dictionaries({name: each[name]}))
    bounds = st.fixed_dictionaries({"$gte": each["$gte"], "$lt": each["$lt"]})
    return st.one_of(single, single, bounds, single.map(lambda inner: {"$not": inner}))


def conditions() -> st.SearchStrategy[dict[Any, Any]]:
    alone = st.dictionaries(paths(), st.one_of(leaves, comparisons()), min_size=1, max_size=2)

    def grow(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        several = st.lists(parts, min_size=1, max_size=3)
        return st.sampled_from(["$and", "$or", "$nor"]).flatmap(
            lambda name: st.fixed_dictionaries({name: several})
        )

    return st.recursive(alone, grow, max_leaves=4)
