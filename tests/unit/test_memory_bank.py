"""The words of memory banks, read and written, pure."""

import operator
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from ricordo import memory_bank as types
from ricordo._convert import memories
from ricordo._convert.bank_filters import read_filter, read_label_filter
from ricordo._convert.bank_memories import changes_of, decode_revision
from ricordo._convert.bank_names import bank_name, memory_name, revision_name, session_name, target_revision
from ricordo._convert.bank_settings import encode_settings, learned_kinds
from ricordo._convert.bank_values import our_scope, their_scope
from ricordo._convert.filters import encode_condition
from ricordo.errors import MemoryClientError
from ricordo.filters import MEMORY_FIELDS
from ricordo.models import ExtractionPolicy, MemoryKind, Scope, StoreSettings
from ricordo.v1 import memory_pb2, memory_service_pb2
from ricordo_server.domain import filter_fields
from ricordo_server.rpc.convert.filters import decode_condition
from tests.fixtures.client_samples import NOON_WIRE, wire_memory
from tests.unit.filter_oracle import holds

NOON = datetime(2100, 1, 1, 12, tzinfo=UTC)
TIMES = st.datetimes(datetime(2000, 1, 1), datetime(2030, 1, 1)).map(lambda time: time.replace(tzinfo=UTC))
PLAIN = st.one_of(
    st.sampled_from(["red", "blue", "2"]), st.sampled_from([-1.0, 0.0, 2.0]), st.booleans(), TIMES
)
FILTERS = st.builds(
    types.MemoryFilter,
    key=st.sampled_from("ab"),
    op=st.sampled_from(types.Operator),
    value=PLAIN.map(types.MemoryMetadataValue.of),
    negate=st.booleans(),
).filter(lambda one: one.op is types.Operator.EQUAL or one.value.bool_value is None)  # bools have no order
GROUPS = st.builds(types.MemoryConjunctionFilter, filters=st.lists(FILTERS, min_size=1, max_size=3))
COMPARE: dict[types.Operator, Callable[[Any, Any], Any]] = {
    types.Operator.EQUAL: operator.eq,
    types.Operator.GREATER_THAN: operator.gt,
    types.Operator.LESS_THAN: operator.lt,
}


def one_holds(condition: types.MemoryFilter, metadata: dict[str, Any]) -> bool:
    found, value = metadata.get(condition.key), condition.value.value
    compared = type(found) is type(value) and COMPARE[condition.op](found, value)
    return bool(compared) != condition.negate


@given(st.lists(GROUPS, min_size=1, max_size=3), st.dictionaries(st.sampled_from("ab"), PLAIN))
def test_groups_of_filters_hold_as_they_read(
    groups: list[types.MemoryConjunctionFilter], metadata: dict[str, Any]
) -> None:
    condition = encode_condition(read_filter(None, groups), MEMORY_FIELDS)
    tree = decode_condition(memory_service_pb2.ListMemoriesRequest(**condition), filter_fields.MEMORY_FIELDS)
    assert tree is not None
    expected = any(all(one_holds(each, metadata) for each in group.filters) for group in groups)
    assert holds(tree, {"metadata": metadata}) == expected


@pytest.mark.parametrize("nothing", [None, "", " "])
def test_nothing_is_no_filter(nothing: str | None) -> None:
    assert read_filter(nothing) is None


SEGMENT = st.from_regex(r"[a-z0-9-]{1,12}", fullmatch=True)
BANKS = st.builds(
    lambda project, kind, store: f"{project}{kind}/{store}",
    st.one_of(st.just(""), SEGMENT.map(lambda each: f"projects/{each}/locations/here/")),
    st.sampled_from(["memoryBanks", "reasoningEngines"]),
    SEGMENT,
)


@given(BANKS, SEGMENT, st.integers(1, 2**31))
def test_a_name_is_read_as_it_is_written(bank: str, memory: str, revision: int) -> None:
    name = bank_name(bank)
    assert (str(name), name.store_id) == (bank, bank.rpartition("/")[2])
    assert memory_name(str(name.memory(memory))) == name.memory(memory)
    assert revision_name(str(name.memory(memory).at(revision))) == name.memory(memory).at(revision)
    assert target_revision(str(name.memory(memory).at(revision)), name.memory(memory)) == revision
    assert session_name(f"{bank}/sessions/{memory}", name) == memory


@pytest.mark.parametrize(
    ("read", "name"),
    [
        (bank_name, ""),
        (bank_name, "b/memories/m"),
        (bank_name, "projects/p/reasoningEngines/b"),
        (bank_name, "stores/b"),
        (memory_name, "b"),
        (memory_name, "b/memories/m/revisions/1"),
        (memory_name, "b/memories/"),
        (revision_name, "b/memories/m"),
        (revision_name, "b/memories/m/revisions/0"),
        (revision_name, "b/memories/m/revisions/one"),
        (lambda name: session_name(name, bank_name("b")), "other/sessions/s"),
        (lambda name: target_revision(name, memory_name("b/memories/m")), "b/memories/n/revisions/1"),
        (lambda name: target_revision(name, memory_name("b/memories/m")), "0"),
    ],
)
def test_a_name_of_something_else_is_refused(read: Any, name: str) -> None:
    with pytest.raises(MemoryClientError):
        read(name)


@given(st.dictionaries(st.text(min_size=1), st.text(min_size=1), min_size=1))
def test_a_scope_comes_back(scope: dict[str, str]) -> None:
    assert their_scope(our_scope(scope)) == scope


def test_the_user_and_the_session_of_a_scope_are_those_of_every_surface() -> None:
    scope = {"user_id": "ada", "session_id": "s1", "app": "tea"}
    assert our_scope(scope) == Scope(user_id="ada", session_id="s1", labels={"app": "tea"})


@given(st.one_of(PLAIN, st.none(), st.integers(min_value=2**53 + 1), st.lists(PLAIN)))
def test_a_value_comes_back_as_what_it_is(value: Any) -> None:
    found = types.MemoryMetadataValue.of(value).value
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("given", [{}, {"bool_value": True, "string_value": "x"}, {"string": "x"}])
def test_a_value_is_of_one_type(given: dict[str, Any]) -> None:
    with pytest.raises(MemoryClientError):
        types.MemoryMetadataValue(**given)


@pytest.mark.parametrize(
    "given", [{}, {"customMemoryTopicLabel": "x", "managedMemoryTopic": "USER_PREFERENCES"}]
)
def test_a_topic_is_of_one_kind(given: dict[str, Any]) -> None:
    with pytest.raises(MemoryClientError):
        types.MemoryTopicId(**given)


@pytest.mark.parametrize(("text", "seconds"), [("3600s", 3600.0), ("1.5s", 1.5)])
def test_a_duration_is_text_in_seconds(text: str, seconds: float) -> None:
    assert types.MemoryConfig(ttl=text).ttl == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["3600", "1h", "s", "-1s", ""])
def test_another_text_is_no_duration(text: str) -> None:
    with pytest.raises(MemoryClientError, match="3600s"):
        types.MemoryConfig(ttl=text)


def test_a_memory_ends_in_one_way() -> None:
    with pytest.raises(MemoryClientError, match="not both"):
        types.MemoryConfig(ttl="1s", expire_time=datetime(2100, 1, 1, tzinfo=UTC))


def test_what_is_unknown_is_refused() -> None:
    with pytest.raises(MemoryClientError, match=r"RetrieveMemoriesConfig\.filters"):
        types.RetrieveMemoriesConfig.read({"filters": []})


def test_models_of_another_package_are_read_as_dicts() -> None:
    class Value(BaseModel):
        string_value: str | None = None
        double_value: float | None = None

    class Foreign(BaseModel):
        key: str
        op: str | None = None
        value: Value

    foreign = Foreign(key="colour", value=Value(string_value="red"))
    ours = types.MemoryFilter(key="colour", value=types.MemoryMetadataValue(string_value="red"))
    assert types.MemoryFilter.read(foreign) == ours  # type: ignore[arg-type]
    assert types.MemoryConjunctionFilter(filters=[foreign]).filters == [ours]


@pytest.mark.parametrize("mask", ["scope", "fact,", "name"])
def test_a_mask_of_what_cannot_change_is_refused(mask: str) -> None:
    with pytest.raises(MemoryClientError, match="choose from"):
        changes_of("x", types.UpdateMemoryConfig(update_mask=mask))


def test_an_update_of_nothing_is_refused() -> None:
    with pytest.raises(MemoryClientError, match="give one of fact, display_name"):
        changes_of(None, types.UpdateMemoryConfig())


def test_a_revision_of_a_profile_says_what_was_learned_with_its_type() -> None:
    profile = memory_pb2.ProfileDetails(schema_id="person", field_name="age", content_is_json=True)
    wire = memory_pb2.MemoryRevision(
        memory=wire_memory(kind=memory_pb2.MEMORY_KIND_PROFILE, content="36", profile=profile),
        revision_time=NOON_WIRE,
        action=memory_pb2.REVISION_ACTION_UPDATED,
        extracted_memories=["36"],
    )
    read = decode_revision(memories.decode_revision(wire), memory_name("bank/memories/m1"))
    (learned,) = read.extracted_memories
    assert (learned.fact, learned.structured_data, read.structured_data) == ("36", {"age": 36}, {"age": 36})


def test_what_is_not_given_as_memory_banks_do_is_refused_with_advice() -> None:
    with pytest.raises(MemoryClientError, match="httpOptions is not taken here: give the call a timeout="):
        types.MemoryConfig.read({"httpOptions": {"timeout": 1}})


def test_what_is_given_must_be_in_the_mask() -> None:
    with pytest.raises(MemoryClientError, match="leaves it out"):
        changes_of("x", types.UpdateMemoryConfig(update_mask="description"))


@given(
    st.dictionaries(st.from_regex(r"[a-z_]{1,9}", fullmatch=True), st.from_regex(r"[^\"]*", fullmatch=True))
)
def test_labels_are_read_as_they_are_written(labels: dict[str, str]) -> None:
    text = " AND ".join(f'labels.{key} = "{value}"' for key, value in labels.items())
    assert read_label_filter(text) == labels


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("labels.a", 0),
        ("labels.a = x", 0),
        ('labels.a = "x" OR labels.b = "y"', 0),
        ('labels.a = "x" AND', 18),
        ('labels.a = "x" AND fact = "y"', 18),
    ],
)
def test_another_filter_of_revisions_is_refused(text: str, position: int) -> None:
    with pytest.raises(MemoryClientError, match=f"character {position} ") as caught:
        read_label_filter(text)
    assert caught.value.reason == "INVALID_FILTER"


@pytest.mark.parametrize(
    "given",
    [
        {"revision_ttl": "1s", "disable_memory_revisions": True},
        {"revision_ttl": "1s", "revisionExpireTime": NOON},
    ],
)
def test_a_revision_ends_in_one_way(given: dict[str, Any]) -> None:
    with pytest.raises(MemoryClientError, match="give one of"):
        types.MemoryConfig(**given)


SETTINGS = encode_settings(
    types.ManagedSemanticMemoryConfig.read(
        {
            "unstructured_memory_configs": [
                {"scope_keys": ["user_id"], "disable_natural_language_memories": True},
                {"scope_keys": ["user_id", "app"], "disable_natural_language_memories": False},
                {"scope_keys": ["user_id", "org"]},
            ]
        }
    )
)
FACTS, FIELDS = MemoryKind.SEMANTIC, MemoryKind.PROFILE


@pytest.mark.parametrize(
    ("scope", "kinds"),
    [
        ({"team": "x"}, (FACTS, FIELDS)),
        ({"user_id": "ada"}, (FIELDS,)),
        ({"user_id": "ada", "app": "x"}, (FACTS, FIELDS)),
        ({"user_id": "ada", "app": "x", "org": "y"}, (FACTS, FIELDS)),
        ({"user_id": "ada", "org": "y"}, (FACTS, FIELDS)),
    ],
)
def test_the_closest_customization_says_what_is_learned(
    scope: dict[str, str], kinds: tuple[MemoryKind, ...]
) -> None:
    assert learned_kinds(SETTINGS, our_scope(scope)) == kinds


def test_what_another_surface_said_of_a_store_holds_for_its_bank() -> None:
    settings = StoreSettings(extraction=ExtractionPolicy(kinds=(MemoryKind.EPISODIC,)))
    assert learned_kinds(settings, Scope(user_id="ada")) == (MemoryKind.EPISODIC,)
    assert learned_kinds(StoreSettings(), Scope(user_id="ada")) == (FACTS, FIELDS)


def test_a_rule_waits_for_a_pause_or_a_time() -> None:
    with pytest.raises(MemoryClientError, match="not both"):
        types.MemoryGenerationTriggerConfig.read(
            {"generation_rule": {"idle_duration": "60s", "fixed_interval": "60s"}}
        )
