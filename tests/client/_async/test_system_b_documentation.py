"""Each operation that memory banks document, as their users call it, against the real server."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ricordo import AsyncClient, errors, models
from ricordo import memory_bank as types
from ricordo._aio import sleep
from ricordo._async.memory_banks import AsyncMemoryBanks

SCOPE = {"user_id": "ada", "app_name": "tea-shop"}


@pytest.fixture
def banks(live: AsyncClient) -> AsyncMemoryBanks:
    return live.memory_banks


@pytest.fixture
async def bank(banks: AsyncMemoryBanks) -> str:
    return (await banks.create(config={"memory_bank_id": "tea-bank", "description": "Of tea"})).name


async def remember(banks: AsyncMemoryBanks, bank: str, fact: str, **config: Any) -> types.Memory:
    scope = config.pop("scope", SCOPE)
    operation = await banks.memories.create(name=bank, fact=fact, scope=scope, config=config)
    assert operation.response is not None
    return operation.response


async def facts(banks: AsyncMemoryBanks, bank: str, **config: Any) -> list[str | None]:
    found = await banks.memories.retrieve(name=bank, scope=SCOPE, config=config)
    return sorted([each.memory.fact async for each in found])


# Banks


async def test_a_bank_is_created_found_changed_and_listed(banks: AsyncMemoryBanks, bank: str) -> None:
    assert (bank, (await banks.get(name=bank)).description) == ("memoryBanks/tea-bank", "Of tea")
    config = types.UpdateMemoryBankConfig(display_name="Tea", description="Of all tea")
    changed = await banks.update(name=bank, config=config)
    assert (changed.display_name, changed.description) == ("Tea", "Of all tea")
    found = await banks.list(config={"page_size": 1})
    assert [each.name for each in found.page] == ["memoryBanks/default"]
    assert [each.name async for each in found] == ["memoryBanks/default", bank]


async def test_a_bank_without_an_id_is_given_one(banks: AsyncMemoryBanks) -> None:
    made = await banks.create(config={"display_name": "Tea"})
    found = await banks.get(name=made.store_id)
    assert (found.name, found.display_name) == (made.name, "Tea")


PROFILE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "cups": {"type": "integer", "minimum": 0}},
}
OPENAPI = {
    "type": "OBJECT",
    "properties": {"name": {"type": "STRING"}, "cups": {"type": "INTEGER", "minimum": 0}},
    "property_ordering": ["name", "cups"],
}
CONFIG: dict[str, Any] = {
    "generation_config": {
        "model": "a-model",
        "generation_trigger_config": {"generation_rule": {"event_count": 5, "idle_duration": "60s"}},
    },
    "ttl_config": {
        "granular_ttl_config": {"create_ttl": "3600s"},
        "memory_revision_default_ttl": "86400s",
    },
    "unstructured_memory_configs": [
        {
            "memory_topics": [
                {"managed_memory_topic": {"managed_topic_enum": "USER_PREFERENCES"}},
                {"custom_memory_topic": {"label": "tea", "description": "What is drunk"}},
            ],
            "generate_memories_examples": [
                {
                    "conversation_source": {
                        "events": [
                            {"content": {"role": "user", "parts": [{"text": "Oolong,\nplease."}]}},
                            {"content": {"role": "model", "parts": [{"text": "Here it is."}]}},
                        ]
                    },
                    "generated_memories": [
                        {"fact": "I drink oolong.", "topics": [{"custom_memory_topic_label": "tea"}]},
                        {"fact": "I am polite."},
                    ],
                }
            ],
        },
        {
            "scope_keys": ["user_id", "app_name"],
            "enable_third_person_memories": True,
            "disable_natural_language_memories": True,
        },
    ],
    "structured_memory_configs": [
        {"scope_keys": ["user_id"], "schema_configs": [{"id": "tea-drinker", "json_schema": PROFILE}]}
    ],
}


async def test_how_a_bank_works_is_said_when_it_is_created(banks: AsyncMemoryBanks) -> None:
    config = types.ManagedSemanticMemoryConfig(**CONFIG)
    made = await banks.create(managed_semantic_memory_config=CONFIG)
    assert (await banks.get(name=made.name)).managed_semantic_memory_config == config


async def test_how_a_bank_works_is_changed_whole(banks: AsyncMemoryBanks) -> None:
    made = await banks.create(managed_semantic_memory_config=CONFIG, config={"description": "Of tea"})
    config = types.ManagedSemanticMemoryConfig(disable_memory_revisions=True)
    changed = await banks.update(name=made.name, managed_semantic_memory_config=config)
    assert (changed.managed_semantic_memory_config, changed.description) == (config, "Of tea")


async def test_a_bank_has_none_of_what_its_project_has(live: AsyncClient, banks: AsyncMemoryBanks) -> None:
    schema = models.ProfileSchema(schema_id="tea-drinker", json_schema=PROFILE)
    policy = models.ExtractionPolicy(topics=[models.TopicOfInterest(topic="tea")])
    await live.project.update(models.ProjectChanges(extraction=policy, profile_schemas=(schema,)))
    customization = types.MemoryBankCustomizationConfig(memory_topics=[], generate_memories_examples=[])
    config = types.ManagedSemanticMemoryConfig(
        unstructured_memory_configs=[customization], structured_memory_configs=[]
    )
    made = await banks.create(managed_semantic_memory_config=config)
    assert (await banks.get(name=made.name)).managed_semantic_memory_config == config
    settings = (await live.stores.get(made.store_id)).settings
    assert settings.profile_schemas == ()
    assert settings.extraction is not None
    assert {"topics", "examples"} <= settings.extraction.model_fields_set


@pytest.mark.parametrize(
    ("config", "advice"),
    [
        ({"similarity_search_config": {"embedding_model": "text-embedding-005"}}, "register_embedding_model"),
        (
            {"unstructured_memory_configs": [{"consolidation_config": {"revisions_per_candidate_count": 2}}]},
            "revisions_per_candidate_count",
        ),
    ],
)
async def test_what_no_bank_has_is_refused_with_advice(
    banks: AsyncMemoryBanks, config: dict[str, Any], advice: str
) -> None:
    with pytest.raises(errors.MemoryClientError, match=advice):
        await banks.create(managed_semantic_memory_config=config)


async def test_a_new_fact_is_compared_with_memories_as_they_are(banks: AsyncMemoryBanks) -> None:
    one = {"consolidation_config": {"revisionsPerCandidateCount": 1}, "memory_topics": []}
    made = await banks.create(managed_semantic_memory_config={"customization_configs": [one]})
    assert made.managed_semantic_memory_config.unstructured_memory_configs[0].memory_topics == []


async def test_a_bank_says_how_long_memories_are_kept(banks: AsyncMemoryBanks) -> None:
    bank = (await banks.create(managed_semantic_memory_config=CONFIG)).name
    kept = await remember(banks, bank, "Likes oolong.")
    assert kept.expire_time is not None
    assert timedelta(minutes=59) < kept.expire_time - kept.create_time < timedelta(minutes=61)


async def test_one_customization_may_be_for_every_scope(banks: AsyncMemoryBanks) -> None:
    with pytest.raises(ValueError, match="without scope_keys"):
        await banks.create(managed_semantic_memory_config={"unstructured_memory_configs": [{}, {}]})


async def test_a_bank_with_memories_goes_by_force_only(banks: AsyncMemoryBanks, bank: str) -> None:
    await remember(banks, bank, "Likes oolong.")
    with pytest.raises(errors.StoreNotEmptyError) as caught:
        await banks.delete(name=bank)
    assert caught.value.code == "FAILED_PRECONDITION"
    assert (await banks.delete(name=bank, force=True)).done
    with pytest.raises(errors.NotFoundError):
        await banks.get(name=bank)


async def test_a_name_comes_back_as_it_was_given(
    live: AsyncClient, banks: AsyncMemoryBanks, bank: str
) -> None:
    project = (await live.identity.who_am_i()).project_id
    for prefix in ("reasoningEngines", f"projects/{project}/locations/here/memoryBanks"):
        name = f"{prefix}/tea-bank"
        memory = await remember(banks, name, "Likes oolong.")
        assert memory.name == f"{name}/memories/{memory.memory_id}"
        assert (await banks.memories.get(name=memory.name)).name == memory.name


async def test_a_name_of_another_project_is_refused(banks: AsyncMemoryBanks, bank: str) -> None:
    with pytest.raises(errors.MemoryAuthError, match="not to 123"):
        await banks.get(name="projects/123/locations/here/reasoningEngines/tea-bank")


# Memories


async def test_a_memory_is_created_with_all_it_has(banks: AsyncMemoryBanks, bank: str) -> None:
    config = types.MemoryConfig(
        display_name="tea",
        description="said at breakfast",
        memory_id="oolong",
        ttl="3600s",
        topics=[
            types.MemoryTopicId(managed_memory_topic=types.ManagedTopicEnum.USER_PREFERENCES),
            types.MemoryTopicId(custom_memory_topic_label="drinks"),
        ],
        metadata={
            "cups": types.MemoryMetadataValue(double_value=3),
            "since": types.MemoryMetadataValue(timestamp_value=datetime(2026, 1, 31, tzinfo=UTC)),
        },
    )
    operation = await banks.memories.create(name=bank, fact="Likes oolong.", scope=SCOPE, config=config)
    assert (operation.done, operation.error) == (True, None)
    memory = await banks.memories.get(name=f"{bank}/memories/oolong")
    assert memory == operation.response
    assert (memory.fact, memory.scope, memory.display_name) == ("Likes oolong.", SCOPE, "tea")
    assert (memory.topics, memory.metadata) == (config.topics, config.metadata)
    assert memory.memory_type is types.MemoryType.NATURAL_LANGUAGE_COLLECTION
    assert memory.expire_time is not None
    assert timedelta(minutes=59) < memory.expire_time - memory.create_time < timedelta(minutes=61)


async def test_metadata_may_be_bare_and_configurations_dicts(banks: AsyncMemoryBanks, bank: str) -> None:
    metadata = {"a": "x", "b": {"stringValue": "x"}, "c": 2, "d": True}
    memory = await remember(banks, bank, "Likes oolong.", metadata=metadata, displayName="tea")
    assert {key: value.value for key, value in memory.metadata.items()} == {
        "a": "x",
        "b": "x",
        "c": 2.0,
        "d": True,
    }
    assert memory.display_name == "tea"


async def test_what_other_surfaces_write_is_kept(
    live: AsyncClient, banks: AsyncMemoryBanks, bank: str
) -> None:
    scope = models.Scope(user_id="ada", labels={"app_name": "tea-shop"})
    given: dict[str, Any] = {"list": [1, None], "null": None, "large": 2**60}
    written = await live.memories.create(
        models.NewMemory(content="Said it.", kind="episodic", scope=scope, metadata=given), store="tea-bank"
    )
    memory = await banks.memories.get(name=f"{bank}/memories/{written.memory_id}")
    assert {key: value.value for key, value in memory.metadata.items()} == given
    assert await facts(banks, bank) == ["Said it."]


@pytest.mark.parametrize("scope", [{}, {"user_id": ""}, {"user_id": "*"}, {str(n): "x" for n in range(6)}])
async def test_a_scope_that_breaks_the_rule_is_refused(
    banks: AsyncMemoryBanks, bank: str, scope: dict[str, str]
) -> None:
    with pytest.raises((ValueError, errors.MemoryBadRequestError)):
        await banks.memories.create(name=bank, fact="x", scope=scope)


async def test_an_update_changes_what_is_given(banks: AsyncMemoryBanks, bank: str) -> None:
    memory = await remember(banks, bank, "Likes oolong.", display_name="tea", metadata={"cups": 3})
    operation = await banks.memories.update(name=memory.name, fact="Likes sencha.", config={"ttl": "60s"})
    assert operation.response is not None
    changed = operation.response
    assert (changed.fact, changed.display_name, changed.revision) == ("Likes sencha.", "tea", 2)
    assert (changed.metadata, changed.expire_time is None) == (memory.metadata, False)


async def test_a_memory_stays_in_its_scope(banks: AsyncMemoryBanks, bank: str) -> None:
    memory = await remember(banks, bank, "Likes oolong.")
    changed = await banks.memories.update(name=memory.name, fact="Likes sencha.", scope=dict(SCOPE))
    assert changed.response is not None
    assert changed.response.fact == "Likes sencha."
    with pytest.raises(errors.MemoryClientError, match="immutable"):
        await banks.memories.update(name=memory.name, fact="Likes none.", scope={"user_id": "eve"})
    assert (await banks.memories.get(name=memory.name)).fact == "Likes sencha."


async def test_an_update_mask_clears_what_it_names_and_is_not_given(
    banks: AsyncMemoryBanks, bank: str
) -> None:
    memory = await remember(banks, bank, "Likes oolong.", display_name="tea", metadata={"cups": 3}, ttl="60s")
    mask = types.UpdateMemoryConfig(update_mask="fact,displayName,metadata,ttl")
    operation = await banks.memories.update(name=memory.name, fact="Likes sencha.", config=mask)
    assert operation.response is not None
    changed = operation.response
    assert (changed.fact, changed.display_name, changed.metadata) == ("Likes sencha.", None, {})
    assert changed.expire_time is None


async def test_a_deleted_memory_is_gone(banks: AsyncMemoryBanks, bank: str) -> None:
    memory = await remember(banks, bank, "Likes oolong.")
    assert (await banks.memories.delete(name=memory.name)).done
    with pytest.raises(errors.NotFoundError) as caught:
        await banks.memories.get(name=memory.name)
    assert caught.value.code == "NOT_FOUND"


async def test_an_expired_memory_is_not_returned(banks: AsyncMemoryBanks, bank: str) -> None:
    memory = await remember(banks, bank, "Likes oolong.", ttl="1s")
    patience = time.monotonic() + 60
    while await facts(banks, bank):
        assert time.monotonic() < patience
        await sleep(0.1)
    with pytest.raises(errors.NotFoundError):
        await banks.memories.get(name=memory.name)
    assert (await banks.memories.list(name=bank)).page == []


async def test_a_list_is_of_every_scope_and_newest_first(banks: AsyncMemoryBanks, bank: str) -> None:
    for fact, scope in (("one", {"user_id": "ada"}), ("two", {"team": "tea"}), ("three", SCOPE)):
        await remember(banks, bank, fact, scope=scope)
    listed = await banks.memories.list(name=bank, config={"page_size": 2})
    assert ([each.fact for each in listed.page], len(listed)) == (["three", "two"], 2)
    assert [each.fact for each in await listed.next_page()] == ["one"]
    with pytest.raises(IndexError):
        await listed.next_page()
    oldest = await banks.memories.list(name=bank, config={"order_by": "create_time", "page_size": 1})
    assert [each.fact async for each in oldest] == ["one", "two", "three"]


# Retrieving


async def test_a_scope_is_matched_exactly(banks: AsyncMemoryBanks, bank: str) -> None:
    for scope in (SCOPE, {"user_id": "ada"}, {**SCOPE, "more": "x"}, {**SCOPE, "user_id": "Ada"}):
        await remember(banks, bank, str(sorted(scope.items())), scope=scope)
    turned = dict(reversed(SCOPE.items()))
    found = await banks.memories.retrieve(name=bank, scope=turned)
    assert [each.memory.scope async for each in found] == [SCOPE]


async def test_all_of_a_scope_comes_in_pages(banks: AsyncMemoryBanks, bank: str) -> None:
    for number in range(5):
        await remember(banks, bank, f"fact {number}")
    found = await banks.memories.retrieve(name=bank, scope=SCOPE, simple_retrieval_params={"page_size": 2})
    assert [each.distance for each in found.page] == [None, None]
    assert [each.memory.fact async for each in found] == [f"fact {number}" for number in range(4, -1, -1)]
    rest = await banks.memories.retrieve(
        name=bank,
        scope=SCOPE,
        simple_retrieval_params={"page_size": 2, "page_token": found.next_page_token},
    )
    assert [each.memory.fact for each in rest.page] == ["fact 2", "fact 1"]


async def test_the_closest_come_first_with_their_distance(banks: AsyncMemoryBanks, bank: str) -> None:
    for fact in ("Oolong tea is what Ada drinks.", "The bicycle is red.", "Tea is hot.", "A dog barks."):
        await remember(banks, bank, fact)
    found = await banks.memories.retrieve(
        name=bank,
        scope=SCOPE,
        similarity_search_params=types.RetrieveMemoriesRequestSimilaritySearchParams(
            search_query="oolong tea"
        ),
    )
    distances = [each.distance for each in found.page if each.distance is not None]
    assert (len(distances), distances) == (3, sorted(distances))
    assert (found[0].memory.fact, found.next_page_token) == ("Oolong tea is what Ada drinks.", "")


async def test_more_than_a_hundred_is_a_hundred(banks: AsyncMemoryBanks, bank: str) -> None:
    await remember(banks, bank, "Oolong.")
    search = {"search_query": "oolong", "top_k": 5000}
    found = await banks.memories.retrieve(name=bank, scope=SCOPE, similarity_search_params=search)
    assert len(found) == 1
    simple = {"page_size": 5000}
    assert len(await banks.memories.retrieve(name=bank, scope=SCOPE, simple_retrieval_params=simple)) == 1


async def test_a_search_may_look_for_words_too(banks: AsyncMemoryBanks, bank: str) -> None:
    await remember(banks, bank, "Oolong.")
    search = {"search_query": "oolong", "mode": "hybrid"}
    found = await banks.memories.retrieve(name=bank, scope=SCOPE, similarity_search_params=search)
    assert [each.memory.fact for each in found.page] == ["Oolong."]


async def test_one_way_of_retrieving_is_chosen(banks: AsyncMemoryBanks, bank: str) -> None:
    with pytest.raises(ValueError, match="not both"):
        await banks.memories.retrieve(
            name=bank,
            scope=SCOPE,
            similarity_search_params={"search_query": "x"},
            simple_retrieval_params={"page_size": 1},
        )


@pytest.fixture
async def cups(banks: AsyncMemoryBanks, bank: str) -> str:
    for number, kind in ((1, "oolong"), (2, "oolong"), (3, "sencha")):
        time = datetime(2026, 1, number, tzinfo=UTC)
        await remember(banks, bank, f"cup {number}", metadata={"cups": number, "kind": kind, "at": time})
    return bank


async def test_groups_of_filters_are_joined_by_or(banks: AsyncMemoryBanks, cups: str) -> None:
    groups = [
        types.MemoryConjunctionFilter(
            filters=[
                types.MemoryFilter(key="kind", value=types.MemoryMetadataValue(string_value="oolong")),
                types.MemoryFilter(key="cups", op=types.Operator.GREATER_THAN, value=1),
            ]
        ),
        {
            "filters": [
                {"key": "at", "op": "GREATER_THAN", "value": {"timestamp_value": "2026-01-02T00:00:00Z"}}
            ]
        },
    ]
    assert await facts(banks, cups, filter_groups=groups) == ["cup 2", "cup 3"]


async def test_a_negated_filter(banks: AsyncMemoryBanks, cups: str) -> None:
    at_least_two = {"key": "cups", "op": "LESS_THAN", "value": {"doubleValue": 2}, "negate": True}
    assert await facts(banks, cups, filter_groups=[{"filters": [at_least_two]}]) == ["cup 2", "cup 3"]


async def test_a_filter_string_and_groups_hold_together(banks: AsyncMemoryBanks, cups: str) -> None:
    oolong = [{"filters": [{"key": "kind", "value": {"string_value": "oolong"}}]}]
    text = 'fact =~ "cup [23]" AND create_time > "2020-01-01T00:00:00Z"'
    assert await facts(banks, cups, filter=text, filter_groups=oolong) == ["cup 2"]
    search = {"search_query": "cup"}
    found = await banks.memories.retrieve(
        name=cups,
        scope=SCOPE,
        similarity_search_params=search,
        config=types.RetrieveMemoriesConfig(filter=text, filter_groups=oolong),
    )
    assert [each.memory.fact for each in found.page] == ["cup 2"]
    config = {"filter": text, "filter_groups": oolong}
    assert [each.fact async for each in await banks.memories.list(name=cups, config=config)] == ["cup 2"]
    counted = await banks.memories.purge(name=cups, filter=text, filter_groups=oolong)
    assert counted.response == types.PurgeMemoriesResponse(purge_count=1)


async def test_topics_in_a_filter_string(banks: AsyncMemoryBanks, bank: str) -> None:
    await remember(banks, bank, "managed", topics=[{"managed_memory_topic": "USER_PREFERENCES"}])
    await remember(banks, bank, "custom", topics=[{"custom_memory_topic_label": "drinks"}])
    managed = "topics.managed_memory_topic: USER_PREFERENCES"
    assert await facts(banks, bank, filter=managed) == ["managed"]
    assert await facts(banks, bank, filter='topics.custom_memory_topic_label: "drinks"') == ["custom"]


async def test_microseconds_since_the_epoch_in_a_filter_string(banks: AsyncMemoryBanks, bank: str) -> None:
    memory = await remember(banks, bank, "Likes oolong.")
    micros = (memory.create_time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert await facts(banks, bank, filter=f"createTime >= {micros}") == ["Likes oolong."]
    assert await facts(banks, bank, filter=f"create_time > {micros}") == []


async def test_a_filter_string_holds_for_a_list(banks: AsyncMemoryBanks, cups: str) -> None:
    listed = await banks.memories.list(name=cups, config={"filter": 'fact = "cup 1" OR fact = "cup 3"'})
    assert [each.fact async for each in listed] == ["cup 3", "cup 1"]


async def test_a_filter_that_cannot_be_read_says_where(banks: AsyncMemoryBanks, bank: str) -> None:
    with pytest.raises(errors.InvalidFilterError) as caught:
        await banks.memories.list(name=bank, config={"filter": "fact = = "})
    assert caught.value.metadata["position"] == "7"


async def test_kinds_and_types_choose_what_is_read(
    live: AsyncClient, banks: AsyncMemoryBanks, bank: str
) -> None:
    await remember(banks, bank, "a fact")
    scope = models.Scope(user_id="ada", labels={"app_name": "tea-shop"})
    for kind, key in (("procedural", "brew"), ("document", "/tea.md")):
        await live.memories.create(
            models.NewMemory(kind=kind, key=key, content=kind, scope=scope), store="tea-bank"
        )
    assert await facts(banks, bank) == ["a fact", "document"]
    assert await facts(banks, bank, kinds=["procedural"]) == ["procedural"]
    assert await facts(banks, bank, memory_types=["STRUCTURED_PROFILE"]) == []


async def test_calls_that_need_no_config_take_an_empty_one(banks: AsyncMemoryBanks, bank: str) -> None:
    memory = await remember(banks, bank, "Likes oolong.")
    await banks.get(name=bank, config=types.GetMemoryBankConfig())
    await banks.memories.get(name=memory.name, config={})
    await banks.memories.revisions.get(name=f"{memory.name}/revisions/1", config=None)
    await banks.memories.retrieve_profiles(name=bank, scope=SCOPE, config={})
    with pytest.raises(errors.MemoryClientError, match="timeout="):
        await banks.memories.delete(name=memory.name, config={"http_options": {"timeout": 1}})
    await banks.memories.delete(name=memory.name, config=types.DeleteMemoryConfig())
    await banks.delete(name=bank, force=None, config={})


# Profiles


async def test_a_profile_is_read_without_a_search(live: AsyncClient, banks: AsyncMemoryBanks) -> None:
    bank = await banks.create(managed_semantic_memory_config=CONFIG, config={"memory_bank_id": "tea-bank"})
    assert (await banks.memories.retrieve_profiles(name=bank.name, scope=SCOPE)).profiles == {}
    scope = models.Scope(user_id="ada", labels={"app_name": "tea-shop"})
    for field, value in (("name", "Ada"), ("cups", "3")):
        details = models.ProfileDetails(schema_id="tea-drinker", field_name=field)
        await live.memories.put(
            models.NewMemory(kind="profile", content=value, scope=scope, details=details),
            store="tea-bank",
        )
    found = await banks.memories.retrieve_profiles(name=bank.name, scope=SCOPE)
    assert found.profiles["tea-drinker"].profile == {"name": "Ada", "cups": 3}
    assert (await banks.memories.retrieve_profiles(name=bank.name, scope={"user_id": "bob"})).profiles == {}


async def test_a_field_of_a_profile_is_a_memory(live: AsyncClient, banks: AsyncMemoryBanks) -> None:
    bank = await banks.create(managed_semantic_memory_config=CONFIG, config={"memory_bank_id": "tea-bank"})
    details = models.ProfileDetails(schema_id="tea-drinker", field_name="cups")
    scope = models.Scope(user_id="ada", labels={"app_name": "tea-shop"})
    await live.memories.put(
        models.NewMemory(kind="profile", content="3", scope=scope, details=details),
        store="tea-bank",
    )
    found = await banks.memories.retrieve(
        name=bank.name, scope=SCOPE, config={"memory_types": ["STRUCTURED_PROFILE"]}
    )
    (memory,) = [each.memory for each in found.page]
    assert memory.memory_type is types.MemoryType.STRUCTURED_PROFILE
    assert memory.structured_content == types.MemoryStructuredContent(
        schema_id="tea-drinker", data={"cups": 3}
    )
    assert [each.memory_id async for each in await banks.memories.list(name=bank.name)] == [memory.memory_id]


@pytest.mark.parametrize("name", ["memory_schema", "memorySchema", "schema"])
async def test_a_schema_may_be_written_as_openapi_does(banks: AsyncMemoryBanks, name: str) -> None:
    config = {"structured_memory_configs": [{"schema_configs": [{"id": "tea", name: OPENAPI}]}]}
    made = await banks.create(managed_semantic_memory_config=config)
    (structured,) = made.managed_semantic_memory_config.structured_memory_configs
    assert structured.schema_configs == [types.StructuredMemorySchemaConfig(id="tea", json_schema=PROFILE)]


# Generating


async def test_facts_are_consolidated(banks: AsyncMemoryBanks, bank: str) -> None:
    source = types.GenerateMemoriesRequestDirectMemoriesSource(
        direct_memories=[{"fact": "Ada likes oolong.", "topics": [{"custom_memory_topic_label": "drinks"}]}]
    )
    operation = await banks.memories.generate(
        name=bank,
        direct_memories_source=source,
        scope=SCOPE,
        config={"wait_for_completion": True, "metadata": {"from": "import"}},
    )
    assert operation.response is not None
    (made,) = operation.response.generated_memories
    assert (operation.done, made.action, made.previous_revision) == (True, "CREATED", None)
    memory = await banks.memories.get(name=made.memory.name)
    assert (memory.fact, memory.scope) == ("Ada likes oolong.", SCOPE)
    assert memory.metadata["from"].string_value == "import"
    assert memory.topics == source.direct_memories[0].topics


async def test_facts_are_kept_whatever_the_topics_of_their_bank(banks: AsyncMemoryBanks) -> None:
    topics = [{"custom_memory_topic": {"label": "pets"}}]
    config = {"unstructured_memory_configs": [{"memory_topics": topics}]}
    made = await banks.create(managed_semantic_memory_config=config)
    operation = await banks.memories.generate(
        name=made.name,
        direct_memories_source={"direct_memories": [{"fact": "I live in Rome."}]},
        scope=SCOPE,
    )
    assert operation.response is not None
    assert [each.memory.fact for each in operation.response.generated_memories] == ["I live in Rome."]


async def test_what_was_said_becomes_memories(banks: AsyncMemoryBanks, bank: str) -> None:
    events = [
        {"content": {"role": "user", "parts": [{"text": "I only drink oolong tea."}]}},
        {"content": {"role": "model", "parts": [{"text": "Noted."}]}},
    ]
    operation = await banks.memories.generate(
        name=bank, direct_contents_source={"events": events}, scope={"user_id": "ada"}
    )
    assert operation.response is not None
    made = operation.response.generated_memories
    assert any("oolong" in (each.memory.fact or "") for each in made)
    assert {str(each.memory.scope) for each in made} == {str({"user_id": "ada"})}


async def test_a_session_becomes_memories_of_its_user(
    live: AsyncClient, banks: AsyncMemoryBanks, bank: str
) -> None:
    session = models.Scope(user_id="ada", session_id="breakfast")
    said = models.NewTurn(role="user", content="I only drink oolong tea.")
    await live.sessions.record_turn(said, scope=session, store="tea-bank")
    operation = await banks.memories.generate(
        name=bank, vertex_session_source={"session": f"{bank}/sessions/breakfast"}
    )
    assert operation.response is not None
    made = operation.response.generated_memories
    assert made
    assert {str(each.memory.scope) for each in made} == {str({"user_id": "ada"})}


async def test_a_session_that_is_not_there(banks: AsyncMemoryBanks, bank: str) -> None:
    with pytest.raises(ValueError, match="no session"):
        await banks.memories.generate(name=bank, vertex_session_source={"session": "breakfast"})


async def test_a_scope_chooses_between_sessions_of_one_id(
    live: AsyncClient, banks: AsyncMemoryBanks, bank: str
) -> None:
    for user in ("ada", "bob"):
        said = models.NewTurn(role="user", content=f"I am {user} and I only drink oolong tea.")
        scope = models.Scope(user_id=user, session_id="breakfast")
        await live.sessions.record_turn(said, scope=scope, store="tea-bank")
    operation = await banks.memories.generate(
        name=bank, vertex_session_source={"session": "breakfast"}, scope={"user_id": "bob"}
    )
    assert operation.response is not None
    texts = [each.memory.fact or "" for each in operation.response.generated_memories]
    assert any("bob" in text for text in texts)
    assert not any("ada" in text for text in texts)


async def test_a_source_is_chosen(banks: AsyncMemoryBanks, bank: str) -> None:
    with pytest.raises(ValueError, match="give one of"):
        await banks.memories.generate(name=bank, scope=SCOPE)
    with pytest.raises(ValueError, match="scope is required"):
        await banks.memories.generate(name=bank, direct_memories_source={"direct_memories": [{"fact": "x"}]})


async def test_what_is_not_waited_for_is_an_operation(banks: AsyncMemoryBanks, bank: str) -> None:
    operation = await banks.memories.generate(
        name=bank,
        direct_memories_source={"direct_memories": [{"fact": "I live in Rome."}]},
        scope=SCOPE,
        config={"wait_for_completion": False},
    )
    assert (operation.done, operation.response) == (False, None)
    assert operation.name is not None
    assert operation.name.startswith(f"{bank}/operations/")
    assert await banks.get_operation(name=operation.name) == operation
    assert await banks.wait_operation(name=operation.name, timeout=0.1) == operation


async def test_an_operation_that_is_not_there(banks: AsyncMemoryBanks, bank: str) -> None:
    with pytest.raises(errors.NotFoundError):
        await banks.get_operation(name=f"{bank}/operations/01a22d9d-6f51-71c9-99ad-948100000000")


async def test_what_generate_changed_can_be_rolled_back(banks: AsyncMemoryBanks, bank: str) -> None:
    async def generate(fact: str) -> types.GenerateMemoriesResponseGeneratedMemory:
        operation = await banks.memories.generate(
            name=bank, direct_memories_source={"direct_memories": [{"fact": fact}]}, scope=SCOPE
        )
        assert operation.response is not None
        return operation.response.generated_memories[0]

    await generate("I live in Rome.")
    changed = await generate("I live in Berlin.")
    assert changed.previous_revision == f"{changed.memory.name}/revisions/1"
    rolled = await banks.memories.rollback(
        name=changed.memory.name, target_revision_id=changed.previous_revision
    )
    assert rolled.response is not None
    assert rolled.response.fact == "I live in Rome."


async def test_metadata_meets_that_of_a_changed_memory(banks: AsyncMemoryBanks, bank: str) -> None:
    async def learn(
        fact: str, strategy: str, **metadata: str
    ) -> types.GenerateMemoriesResponseGeneratedMemory:
        operation = await banks.memories.generate(
            name=bank,
            direct_memories_source={"direct_memories": [{"fact": fact}]},
            scope=SCOPE,
            config={"metadata": metadata, "metadata_merge_strategy": strategy},
        )
        assert operation.response is not None
        return operation.response.generated_memories[0]

    def plain(made: types.GenerateMemoriesResponseGeneratedMemory) -> dict[str, Any]:
        return {key: value.value for key, value in made.memory.metadata.items()}

    await learn("I live in Rome.", "OVERWRITE", a="1", b="1")
    merged = await learn("I live in Berlin.", "MERGE", b="2")
    assert (merged.action, plain(merged)) == ("UPDATED", {"a": "1", "b": "2"})
    replaced = await learn("I live in Paris.", "overwrite", c="3")
    assert (replaced.action, plain(replaced)) == ("UPDATED", {"c": "3"})
    apart = await learn("I live in Oslo.", "REQUIRE_EXACT_MATCH", d="4")
    assert (apart.action, plain(apart)) == ("CREATED", {"d": "4"})


async def test_without_consolidation_nothing_is_changed(banks: AsyncMemoryBanks, bank: str) -> None:
    for fact in ("I live in Rome.", "I live in Berlin."):
        await banks.memories.generate(
            name=bank,
            direct_memories_source={"direct_memories": [{"fact": fact}]},
            scope=SCOPE,
            config={"disable_consolidation": True},
        )
    assert await facts(banks, bank) == ["I live in Berlin.", "I live in Rome."]


async def test_only_allowed_topics_are_kept(banks: AsyncMemoryBanks, bank: str) -> None:
    tea, work = ({"custom_memory_topic_label": label} for label in ("tea", "work"))
    await banks.memories.generate(
        name=bank,
        direct_memories_source={
            "direct_memories": [
                {"fact": "I drink oolong.", "topics": [tea]},
                {"fact": "I am a welder.", "topics": [work]},
            ]
        },
        scope=SCOPE,
        config={"allowed_topics": [tea]},
    )
    assert await facts(banks, bank) == ["I drink oolong."]


# Whose


async def test_a_credential_of_a_user_reaches_that_user_s_memories_only(
    live: AsyncClient, banks: AsyncMemoryBanks, bank: str
) -> None:
    for user in ("ada", "bob"):
        await remember(banks, bank, f"of {user}", scope={"user_id": user})
    ada = live.acting_as("ada").memory_banks.memories
    listed = await ada.list(name=bank)
    assert [each.fact async for each in listed] == ["of ada"]
    with pytest.raises(errors.MemoryAuthError):
        await ada.retrieve(name=bank, scope={"user_id": "bob"})
    with pytest.raises(errors.MemoryAuthError):
        await ada.create(name=bank, fact="x", scope={"user_id": "bob"})


# Purging


async def test_a_purge_counts_until_it_is_forced(banks: AsyncMemoryBanks, cups: str) -> None:
    oolong = [types.MemoryConjunctionFilter(filters=[{"key": "kind", "value": {"string_value": "oolong"}}])]
    counted = await banks.memories.purge(name=cups, filter_groups=oolong)
    assert counted.response == types.PurgeMemoriesResponse(purge_count=2)
    assert len(await facts(banks, cups)) == 3
    text = 'fact = "cup 1" OR fact = "cup 3"'
    purged = await banks.memories.purge(name=cups, filter=text, filter_groups=oolong, force=True)
    assert (purged.done, purged.response) == (True, types.PurgeMemoriesResponse(purge_count=1))
    assert await facts(banks, cups) == ["cup 2", "cup 3"]


async def test_a_purge_is_of_every_scope(banks: AsyncMemoryBanks, cups: str) -> None:
    await remember(banks, cups, "cup of Bob", scope={"user_id": "bob"})
    purged = await banks.memories.purge(
        name=cups, filter='create_time > "2020-01-01T00:00:00Z"', force=True, config={}
    )
    assert purged.response == types.PurgeMemoriesResponse(purge_count=4)


async def test_a_list_and_a_purge_may_be_of_one_scope(banks: AsyncMemoryBanks, cups: str) -> None:
    await remember(banks, cups, "cup of Bob", scope={"user_id": "bob"})
    listed = await banks.memories.list(name=cups, config={"scope": {"user_id": "bob"}})
    assert [each.fact async for each in listed] == ["cup of Bob"]
    purged = await banks.memories.purge(name=cups, scope={"user_id": "bob"}, force=True)
    assert purged.response == types.PurgeMemoriesResponse(purge_count=1)
    assert len((await banks.memories.list(name=cups)).page) == 3


async def test_a_purge_says_which(banks: AsyncMemoryBanks, bank: str) -> None:
    with pytest.raises(ValueError, match="needs a filter"):
        await banks.memories.purge(name=bank, force=True)


# Revisions


async def test_revisions_are_found_by_their_labels(banks: AsyncMemoryBanks, bank: str) -> None:
    memory = await remember(banks, bank, "Likes oolong.", revision_labels={"source": "form", "run": "7"})
    await banks.memories.update(
        name=memory.name, fact="Likes sencha.", config={"revision_labels": {"source": "chat", "run": "7"}}
    )
    revisions = await banks.memories.revisions.list(
        name=memory.name, config={"filter": 'labels.source = "form" AND labels.run="7"'}
    )
    assert [(each.fact, each.labels) async for each in revisions] == [
        ("Likes oolong.", {"source": "form", "run": "7"})
    ]


async def test_a_revision_may_end(banks: AsyncMemoryBanks, bank: str) -> None:
    memory = await remember(banks, bank, "Likes oolong.", revision_ttl="3600s")
    (revision,) = (await banks.memories.revisions.list(name=memory.name)).page
    assert revision.expire_time is not None
    assert timedelta(minutes=59) < revision.expire_time - revision.create_time < timedelta(minutes=61)
    assert (await banks.memories.get(name=memory.name)).expire_time is None


async def test_a_change_may_be_no_revision(banks: AsyncMemoryBanks, bank: str) -> None:
    memory = await remember(banks, bank, "Likes oolong.", disable_memory_revisions=True)
    assert (await banks.memories.revisions.list(name=memory.name)).page == []


async def test_a_revision_shows_what_was_learned(banks: AsyncMemoryBanks, bank: str) -> None:
    operation = await banks.memories.generate(
        name=bank,
        direct_memories_source={"direct_memories": [{"fact": "I live in Rome."}]},
        scope=SCOPE,
        config={"revision_labels": {"source": "import"}},
    )
    assert operation.response is not None
    (made,) = operation.response.generated_memories
    (revision,) = (await banks.memories.revisions.list(name=made.memory.name)).page
    assert revision.extracted_memories == [types.IntermediateExtractedMemory(fact="I live in Rome.")]
    assert revision.labels == {"source": "import"}


async def test_every_change_is_a_revision(banks: AsyncMemoryBanks, bank: str) -> None:
    memory = await remember(banks, bank, "Likes oolong.")
    await banks.memories.update(name=memory.name, fact="Likes sencha.")
    await banks.memories.delete(name=memory.name)
    revisions = await banks.memories.revisions.list(name=memory.name, config={"page_size": 2})
    listed = [(each.revision, each.fact, str(each.action)) async for each in revisions]
    assert listed == [
        (3, "Likes sencha.", "deleted"),
        (2, "Likes sencha.", "updated"),
        (1, "Likes oolong.", "created"),
    ]
    one = await banks.memories.revisions.get(name=f"{memory.name}/revisions/1")
    assert (one.name, one.fact) == (f"{memory.name}/revisions/1", "Likes oolong.")


async def test_a_memory_goes_back_to_a_revision(banks: AsyncMemoryBanks, bank: str) -> None:
    memory = await remember(banks, bank, "Likes oolong.")
    await banks.memories.update(name=memory.name, fact="Likes sencha.")
    operation = await banks.memories.rollback(
        name=memory.name, target_revision_id="1", config={"wait_for_completion": True}
    )
    assert operation.response is not None
    assert (operation.response.fact, operation.response.revision) == ("Likes oolong.", 3)


async def test_a_revision_that_is_not_there(banks: AsyncMemoryBanks, bank: str) -> None:
    memory = await remember(banks, bank, "Likes oolong.")
    with pytest.raises(errors.NotFoundError):
        await banks.memories.revisions.get(name=f"{memory.name}/revisions/7")
