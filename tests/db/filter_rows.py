"""Many memories at random from small pools, so that much is equal to something, and filters that fit them."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from ricordo_server.domain.filter import AllOf, AnyOf, Comparator, Comparison, Filter, Negated
from ricordo_server.domain.filter_check import COMPARATORS, NAMES, OPERANDS, type_of
from ricordo_server.domain.filter_fields import MEMORY_FIELDS, FieldType
from ricordo_server.domain.memory import MemoryKind, MemorySource
from tests.unit.filter_oracle import Row

ROWS = 400

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
TIMES = [
    NOON,
    NOON + timedelta(microseconds=1),
    NOON - timedelta(days=1),
    datetime(33, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
]
NUMBERS: list[int | float] = [
    *(0, 1, 2, -1, 2**53, 2**53 + 1, 2**62, 2**62 + 1, 2**63 - 1, -(2**63)),
    *(0.0, -0.0, 1.0, 2.0, 0.1, 2.5, -1.5, 1e16, 2.0**53, 2.0**62, 2.0**63, -(2.0**63), 1e22, 1e308, 5e-324),
]
TEXTS = [
    *(
        "",
        "a",
        "b",
        "ab",
        "abc",
        "A",
        "Zebra",
        "é",
        "e\u0301",
        "\ud7ff",
        "\ue000",
        "\U0001f600",
        "\U0010ffff",
    ),
    *(
        "1",
        "2",
        "true",
        "null",
        "100%",
        "a_b",
        "axb",
        "a\\b",
        "line\nbreak",
        "a\n",
        "/docs/a",
        "/docs/b",
        "USER_X",
    ),
    *(
        "O'Neill",
        "'; DROP TABLE memory; --",
        "%(x)s",
        '{"$double": "1.0"}',
        "$map",
        "2026-01-31T12:00:00.000000Z",
    ),
]
PATTERNS = ["", "a", "a.*", "[ab]+", "a|ab", "(a|b)c?", r"\d+", ".*b.*", "line.*", "/docs/[^/]*", "a?b?c?"]
KEYS = ["k", "list", "map", "a.b", "$map", "$double", "0", "", "it's"]
SCALARS: list[Any] = [None, True, False, *TIMES, *NUMBERS, *TEXTS]
TOPICS = ["managed:USER_X", "custom:USER_X", "custom:a", "custom:custom:a", "custom:", "managed:a"]


def some_value(chance: random.Random, depth: int = 0) -> Any:
    match chance.randrange(10) if depth < 3 else 9:
        case 0:
            return [some_value(chance, depth + 1) for _ in range(chance.randrange(3))]
        case 1:
            return {chance.choice(KEYS): some_value(chance, depth + 1) for _ in range(chance.randrange(3))}
        case _:
            return chance.choice(SCALARS)


def some_row(chance: random.Random) -> dict[str, Any]:
    return {
        **{name: chance.choice(TEXTS) for name in ("content", "title", "description", "agent_id")},
        "key": chance.choice([None, *TEXTS]),
        "kind": str(chance.choice(list(MemoryKind))),
        "source": str(chance.choice(list(MemorySource))),
        "topics": chance.sample(TOPICS, chance.randrange(3)),
        "tags": chance.sample(TEXTS, chance.randrange(3)),
        **{name: chance.choice(TIMES) for name in ("create_time", "update_time")},
        **{name: chance.choice([None, *TIMES]) for name in ("event_time", "expire_time")},
        "metadata": {
            **{key: some_value(chance) for key in chance.sample(KEYS, 5)},
            "list": [some_value(chance, 2) for _ in range(chance.randrange(4))],
            "map": {key: some_value(chance, 1) for key in chance.sample(KEYS, 4)},
        },
        "labels": {key: chance.choice(TEXTS) for key in chance.sample(KEYS, 2)},
    }


CHANCE = random.Random(7)
TABLE: dict[str, Row] = {str(number): some_row(CHANCE) for number in range(ROWS)}


def paths() -> st.SearchStrategy[tuple[str, ...]]:
    keys = st.sampled_from(KEYS)
    metadata = st.lists(keys, min_size=1, max_size=3).map(lambda found: ("metadata", *found))
    system = [tuple(name.split(".")) for name in MEMORY_FIELDS.types if name not in ("metadata", "labels")]
    return st.one_of(metadata, metadata, keys.map(lambda key: ("labels", key)), st.sampled_from(system))


def values(nested: bool = True) -> st.SearchStrategy[Any]:
    """Values of rows, so that some are equal, and values like theirs."""
    maps = [row["metadata"] for row in TABLE.values()]
    stored = [value for metadata in maps for value in metadata.values()]
    items = [item for metadata in maps for item in metadata["list"]]
    scalars = st.sampled_from(SCALARS)
    if not nested:
        return scalars
    return st.one_of(scalars, st.sampled_from(stored), st.sampled_from(items), st.lists(scalars, max_size=2))


@st.composite
def comparisons(draw: st.DrawFn) -> Comparison:
    path = draw(paths())
    kind = MEMORY_FIELDS.find(path)
    assert kind
    comparator = draw(st.sampled_from(sorted(COMPARATORS[kind])))
    if comparator is Comparator.EXISTS:
        return Comparison(path, comparator)
    if comparator is Comparator.MATCHES:
        return Comparison(path, comparator, [draw(st.sampled_from(PATTERNS))])
    count = draw(st.integers(1, 5)) if comparator is Comparator.IN else 1
    return Comparison(path, comparator, [draw(operands(kind, comparator)) for _ in range(count)])


def operands(kind: FieldType, comparator: Comparator) -> st.SearchStrategy[Any]:
    if kind in NAMES:
        return st.sampled_from(sorted(map(str, NAMES[kind])))
    if kind is FieldType.LIST:
        return st.sampled_from([*TEXTS, *(topic.split(":", 1)[1] for topic in TOPICS)])
    if kind is not FieldType.METADATA:
        return st.sampled_from([value for value in SCALARS if type_of(value) == OPERANDS[kind]])
    if comparator in (Comparator.EQ, Comparator.IN, Comparator.HAS):
        return values().filter(lambda value: value is not None or comparator is Comparator.EQ)
    if comparator in (Comparator.CONTAINS, Comparator.PREFIX):
        return st.sampled_from(TEXTS)
    return st.sampled_from([*TIMES, *NUMBERS, *TEXTS])


def trees() -> st.SearchStrategy[Filter]:
    def grow(parts: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
        several = st.lists(parts, min_size=1, max_size=3)
        return st.one_of(parts.map(Negated), several.map(AllOf), several.map(AnyOf))

    return st.recursive(comparisons(), grow, max_leaves=5)
