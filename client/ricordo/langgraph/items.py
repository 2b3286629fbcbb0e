"""Items of a LangGraph store, to memories and back; pure.

An item is a document. Its key is the path of namespace and key, its metadata is the value, so that every field can be
filtered by, and its content is the text that is searched.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langgraph.store.base import Item, MatchCondition, PutOp, SearchItem, get_text_at_path

from ricordo.errors import MemoryClientError
from ricordo.filters import Filter, all_of, field, parse
from ricordo.identity import require_given
from ricordo.models import Memory, MemoryHit, MemoryKind, NewMemory, Scope

# What of a store is LangGraph's: part of the scope of every item, so that nothing else is taken for one.
LABELS = {"surface": "langgraph"}
# A form feed: what stands between two of them has a vector of its own.
NEXT_TEXT = "\f"
# On items that no search is to find.
UNINDEXED = "unindexed"
WHOLE = "$"
Namespace = tuple[str, ...]


def path_of(namespace: Namespace, key: str) -> str:
    """The path of an item; any label and key has one, and it is of no other."""
    return "".join(f"/{_escape(label)}" for label in (*namespace, key))


def prefix_of(namespace: Sequence[str]) -> str:
    """How the paths begin of all items in a namespace and those below it."""
    return "".join(f"/{_escape(label)}" for label in namespace) + "/"


def place_of(path: str) -> tuple[Namespace, str]:
    """The namespace and the key that a path is of."""
    *namespace, key = map(_unescape, path[1:].split("/"))
    return tuple(namespace), key


def _escape(label: str) -> str:
    if label in ("", ".", ".."):  # no segment of a path
        return f"%_{label.replace('.', '%2E')}"
    return label.replace("%", "%25").replace("/", "%2F").replace("\0", "%00")


def _unescape(segment: str) -> str:
    found = segment.removeprefix("%_")
    return found.replace("%2E", ".").replace("%00", "\0").replace("%2F", "/").replace("%25", "%")


def scope_of(namespace: Sequence[str], user_position: int | None) -> Scope | None:
    """Whose the items of a namespace are; None: the namespace is too short to say.

    Raises:
        MemoryIdentityError: The label of the user is blank.
    """
    if user_position is None:
        return Scope(labels=LABELS)
    if len(namespace) <= user_position:
        return None
    user = require_given(namespace[user_position], f"label {user_position} of the namespace")
    return Scope(user_id=user, labels=LABELS)


def new_item(op: PutOp, fields: Sequence[str], user_position: int | None) -> NewMemory:
    """The memory that an item is.

    Raises:
        MemoryClientError: The namespace names no user, or the value is none to store.
    """
    scope = scope_of(op.namespace, user_position)
    if scope is None:
        raise MemoryClientError(f"the namespace {op.namespace} has no label {user_position}, the user's id")
    value = dict(op.value or {})
    paths = () if op.index is False else fields if op.index is None else op.index
    content = NEXT_TEXT.join(text for path in paths for text in _texts_at(value, path))
    return NewMemory(
        kind=MemoryKind.DOCUMENT,
        key=path_of(op.namespace, op.key),
        content=content,
        scope=scope,
        metadata=value,
        tags=() if content else (UNINDEXED,),
    )


def _texts_at(value: Mapping[str, Any], path: str) -> list[str]:
    if path != WHOLE:
        return get_text_at_path(value, path)
    try:
        return [json.dumps(value, ensure_ascii=False, sort_keys=True)]
    except TypeError as error:
        raise MemoryClientError(f"a value is made of JSON values: {error}") from None


def item_of(memory: Memory) -> Item:
    """A memory as an item."""
    return Item(**_fields(memory))


def found_item(memory: Memory, score: float | None = None) -> SearchItem:
    """A memory as an item that was searched for."""
    return SearchItem(**_fields(memory), score=score)


def scored_item(hit: MemoryHit) -> SearchItem:
    """A hit as an item."""
    return found_item(hit.memory, hit.score)


def _fields(memory: Memory) -> dict[str, Any]:
    namespace, key = place_of(memory.key)
    return {
        "namespace": namespace,
        "key": key,
        "value": dict(memory.metadata),
        "created_at": memory.create_time,
        "updated_at": memory.update_time,
    }


def condition_of(prefix: Sequence[str], wanted: Mapping[str, Any] | None, *more: Filter) -> Filter:
    """Items below a namespace, whose value has these fields: equal, or by operator; of a map those that are named.

    Raises:
        MemoryClientError: An operator is unknown.
    """
    conditions: dict[str | tuple[str, ...], Any] = dict(_conditions(("metadata",), wanted or {}))
    filters = [parse(conditions, ("metadata",))] if conditions else []
    return all_of(field("key").prefix(prefix_of(prefix)), *filter(None, filters), *more)


def _conditions(path: tuple[str, ...], wanted: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in wanted.items():
        if isinstance(value, Mapping) and value and not any(key.startswith("$") for key in value):
            yield from _conditions((*path, name), value)
        else:
            yield (*path, name), list(value) if isinstance(value, tuple) else value


def matches(namespace: Namespace, condition: MatchCondition) -> bool:
    """Whether a namespace begins, or ends, as the condition says; "*" is any label."""
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = (
        namespace[: len(path)]
        if condition.match_type == "prefix"
        else namespace[len(namespace) - len(path) :]
    )
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))
