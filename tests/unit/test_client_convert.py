from datetime import UTC, datetime, timedelta

import pytest
from google.protobuf.message import Message
from pydantic import BaseModel

from ricordo import models
from ricordo._convert import enums, memories, memory_requests, paging, scopes, turns
from ricordo._convert.enums import EnumCodec
from ricordo.errors import MemoryClientError, MemoryServerError
from ricordo.v1 import (
    audit_pb2,
    context_pb2,
    context_service_pb2,
    embedding_model_pb2,
    error_reason_pb2,
    extraction_service_pb2,
    failure_pb2,
    filter_pb2,
    generation_pb2,
    identity_service_pb2,
    memory_pb2,
    memory_service_pb2,
    operation_pb2,
    paging_pb2,
    pipeline_pb2,
    project_pb2,
    scope_pb2,
    search_pb2,
    service_account_pb2,
    snapshot_pb2,
    store_pb2,
    turn_pb2,
)
from ricordo.v1.item_error_pb2 import ItemError
from tests.fixtures.client_samples import NOON, new_memory, wire_memory

MESSAGE_FILES = (
    audit_pb2,
    context_pb2,
    context_service_pb2,
    embedding_model_pb2,
    extraction_service_pb2,
    failure_pb2,
    filter_pb2,
    generation_pb2,
    identity_service_pb2,
    memory_pb2,
    operation_pb2,
    paging_pb2,
    pipeline_pb2,
    project_pb2,
    scope_pb2,
    search_pb2,
    service_account_pb2,
    store_pb2,
    snapshot_pb2,
)
WIRE_ENUMS = {
    name: enum for file in MESSAGE_FILES for name, enum in file.DESCRIPTOR.enum_types_by_name.items()
}
CODECS = {name: codec for name, codec in vars(enums).items() if isinstance(codec, EnumCodec)}


def test_a_memory_survives_the_way_to_the_wire_and_back() -> None:
    sent = memories.encode_memory(new_memory())
    sent.MergeFrom(wire_memory(kind=sent.kind, key=sent.key, content=sent.content, memory_id=sent.memory_id))
    sent.visibility, sent.source = scope_pb2.VISIBILITY_PROJECT, memory_pb2.MEMORY_SOURCE_USER
    read = memories.decode_memory(sent)
    given = new_memory()
    assert read.model_dump(include=set(models.NewMemory.model_fields)) == given.model_dump()
    assert (read.revision, read.update_time) == (1, NOON)


def test_a_memory_as_stored_can_be_written_again() -> None:
    stored = memories.decode_memory(wire_memory())
    assert memories.encode_memory(stored).content == "Ada drinks green tea."


@pytest.mark.parametrize(
    "details",
    [
        models.EpisodicDetails(participants=("ada",), summary="s"),
        models.ProceduralDetails(steps=("a", "b"), license="MIT", source_path="SKILL.md"),
        models.TaxonomicDetails(domain="law", term="tort", related_terms=("delict",)),
        models.CustomDetails(contextual_metadata={"n": 1, "f": 1.0}),
        models.ProfileDetails(schema_id="person", field_name="name"),
        None,
    ],
)
def test_details_survive(details: models.Details | None) -> None:
    sent = memories.encode_memory(models.NewMemory(content="x", details=details))
    sent.MergeFrom(wire_memory())
    assert memories.decode_memory(sent).details == details


def test_a_turn_survives() -> None:
    turn = models.NewTurn(
        role="assistant",
        content="Booked.",
        tool_calls=(models.ToolCall(tool_call_id="c1", name="book", arguments_json="{}"),),
        tool_call_id="c0",
        tool_name="find",
        is_error=True,
        model_name="m",
        data_json="[1]",
        metadata={"n": 1},
        agent_id="bot",
        idempotency_key="k",
        event_time=NOON,
    )
    read = turns.decode_turn(turns.encode_turn(turn))
    assert read.model_dump(include=set(models.NewTurn.model_fields)) == turn.model_dump()


@pytest.mark.parametrize(
    ("message", "model"), [(memory_pb2.Memory, models.Memory), (turn_pb2.Turn, models.Turn)]
)
def test_every_field_of_the_message_has_its_place_in_the_model(
    message: type[Message], model: type[BaseModel]
) -> None:
    detail_fields = {"episodic", "procedural", "taxonomic", "custom", "profile"}
    names = {field.name for field in message.DESCRIPTOR.fields} - detail_fields - {"ttl"}
    assert names == set(model.model_fields) - {"details"}


def test_a_ttl_wins_over_the_expire_time() -> None:
    sent = memories.encode_memory(new_memory(), ttl=timedelta(hours=1, milliseconds=1))
    assert (sent.WhichOneof("expiration"), sent.ttl.seconds, sent.ttl.nanos) == ("ttl", 3600, 1_000_000)


def update(
    changes: models.MemoryChanges, ttl: timedelta | None = None
) -> memory_service_pb2.UpdateMemoryRequest:
    return memory_requests.update_request(
        "m1", changes, ttl=ttl, revision_options=None, expected_revision=None, store=None, request_id=None
    )


def test_exactly_the_given_fields_are_changed() -> None:
    request = update(models.MemoryChanges(title="", expire_time=None))
    assert request.update_mask.paths == ["expire_time", "title"]
    assert request.memory.WhichOneof("expiration") is None
    assert not request.HasField("expected_revision")


def test_a_ttl_is_a_change() -> None:
    request = update(models.MemoryChanges(), ttl=timedelta(seconds=5))
    assert request.update_mask.paths == ["ttl"]


def test_an_update_of_nothing_is_refused() -> None:
    with pytest.raises(MemoryClientError, match="none is"):
        update(models.MemoryChanges())


@pytest.mark.parametrize("name", CODECS)
def test_every_number_of_the_enum_has_its_word(name: str) -> None:
    enum = WIRE_ENUMS["".join(part.capitalize() for part in name.split("_"))]
    assert set(CODECS[name]._members) == {value.number for value in enum.values} - {0}


@pytest.mark.parametrize(("word", "number"), [("org", 2), ("shared", 2), ("PRIVATE", 1), (None, 0)])
@pytest.mark.filterwarnings("ignore:visibility 'shared'")
def test_visibility_in_every_spelling(word: str | None, number: int) -> None:
    assert enums.VISIBILITY.encode(word) == number


def test_shared_is_deprecated() -> None:
    with pytest.warns(DeprecationWarning, match="org"):
        enums.VISIBILITY.encode("shared")


def test_a_wrong_word_is_refused_with_the_choices() -> None:
    with pytest.raises(
        MemoryClientError, match="'neural' is no SearchMode: choose from text, semantic, hybrid"
    ):
        enums.SEARCH_MODE.encode("neural")


def test_a_word_of_a_newer_server_is_an_error_that_says_so() -> None:
    with pytest.raises(MemoryServerError, match="upgrade"):
        enums.MEMORY_KIND.decode(99)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scope", "rule"),
    [
        (models.Matching(user_id="ada"), "matching"),
        (models.Exactly(), "exactly"),
        (models.ReadableBy(user_id="ada"), "readable_by"),
    ],
)
def test_scope_rules(scope: models.ScopeFilter, rule: str) -> None:
    encoded = scopes.encode_scope_filter(scope)
    assert encoded is not None
    assert encoded.WhichOneof("rule") == rule


def test_a_bare_scope_is_no_rule() -> None:
    with pytest.raises(MemoryClientError, match="Matching, Exactly or ReadableBy"):
        scopes.encode_scope_filter(models.Scope(user_id="ada"))  # type: ignore[arg-type]


def test_orders() -> None:
    keys = paging.encode_order("create_time desc, key asc,title")
    assert [(key.field, key.descending) for key in keys] == [
        ("create_time", True),
        ("key", False),
        ("title", False),
    ]
    assert paging.encode_order("") == []


@pytest.mark.parametrize("order", ["create_time down", "a b c", ",", "key,"])
def test_a_malformed_order_is_refused(order: str) -> None:
    with pytest.raises(MemoryClientError, match="is no order"):
        paging.encode_order(order)


def test_the_error_of_an_item_has_names() -> None:
    taken = error_reason_pb2.ERROR_REASON_KEY_TAKEN
    error = ItemError(code=6, reason=taken, field="memories[1].key", message="taken")
    (result,) = memories.decode_results([memory_service_pb2.MemoryResult(error=error)])
    assert result.memory is None
    assert result.error is not None
    assert (result.error.code, result.error.reason) == ("ALREADY_EXISTS", "KEY_TAKEN")


def test_models_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        models.Scope(user_id="ada").user_id = "eve"  # type: ignore[misc]


def test_a_naive_time_is_refused_by_name() -> None:
    with pytest.raises(MemoryClientError, match="event_time has no time zone"):
        memories.encode_memory(models.NewMemory(content="x", event_time=datetime(2026, 1, 1)))
    aware = models.NewMemory(content="x", event_time=datetime(2026, 1, 1, tzinfo=UTC))
    assert memories.encode_memory(aware).HasField("event_time")
