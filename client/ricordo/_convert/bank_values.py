"""Metadata, topics and scopes, in the words of memory banks and in ours."""

from collections.abc import Iterable, Mapping

from ricordo import models
from ricordo.errors import MemoryClientError
from ricordo.memory_bank import ManagedTopicEnum, MemoryMetadataValue, MemoryTopicId
from ricordo.models import ManagedTopic, Metadata

USER, SESSION = "user_id", "session_id"


def plain_metadata(metadata: Mapping[str, MemoryMetadataValue]) -> Metadata:
    """Metadata without its types."""
    return {key: value.value for key, value in metadata.items()}


def typed_metadata(metadata: Metadata) -> dict[str, MemoryMetadataValue]:
    """Metadata with its types."""
    return {key: MemoryMetadataValue.of(value) for key, value in metadata.items()}


def our_topics(topics: Iterable[MemoryTopicId]) -> tuple[models.Topic, ...]:
    """Topics, in our words."""
    return tuple(map(our_topic, topics))


def our_topic(topic: MemoryTopicId) -> models.Topic:
    """A topic, in our words."""
    if topic.managed_memory_topic is not None:
        return ManagedTopic(topic.managed_memory_topic)
    return topic.custom_memory_topic_label or ""


def their_topics(topics: Iterable[models.Topic]) -> list[MemoryTopicId]:
    """Topics, in the words of memory banks."""
    return list(map(their_topic, topics))


def their_topic(topic: models.Topic) -> MemoryTopicId:
    """A topic, in the words of memory banks."""
    if isinstance(topic, ManagedTopic):
        return MemoryTopicId(managed_memory_topic=ManagedTopicEnum(topic))
    return MemoryTopicId(custom_memory_topic_label=topic)


def our_scope(scope: Mapping[str, str]) -> models.Scope:
    """The scope that the pairs are: `user_id` and `session_id` are those of every surface.

    Raises:
        MemoryClientError: A value is empty, or it is no mapping of texts.
    """
    return models.Scope(**_fields(scope))


def exactly(scope: Mapping[str, str]) -> models.Exactly:
    """The rule that a scope has these pairs and no others.

    Raises:
        MemoryClientError: A value is empty, or it is no mapping of texts.
    """
    return models.Exactly(**_fields(scope))


def check_same_scope(scope: Mapping[str, str], memory: models.Memory) -> None:
    """A scope that is given for a memory there is.

    Raises:
        MemoryClientError: It is another one.
    """
    if our_scope(scope) != memory.scope:
        raise MemoryClientError(
            "scope is immutable: leave it out, or delete the memory and create it in the other scope"
        )


def _fields(scope: Mapping[str, str]) -> dict[str, object]:
    if not isinstance(scope, Mapping) or not scope:
        raise MemoryClientError(
            f"scope is a dict of at least one pair, such as {{'user_id': 'ada'}}, not {scope!r}"
        )
    empty = [key for key, value in scope.items() if value == ""]
    if empty:
        raise MemoryClientError(f"scope[{empty[0]!r}] is empty: leave the pair out, or give it a value")
    labels = {key: value for key, value in scope.items() if key not in (USER, SESSION)}
    return {USER: scope.get(USER, ""), SESSION: scope.get(SESSION, ""), "labels": labels}


def their_scope(scope: models.Scope) -> dict[str, str]:
    """The pairs of a scope."""
    own = {USER: scope.user_id, SESSION: scope.session_id}
    return {**{key: value for key, value in own.items() if value}, **scope.labels}
