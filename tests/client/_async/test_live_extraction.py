"""Extraction through the client, against a real server."""

from datetime import timedelta

import pytest

from ricordo import AsyncClient, models
from ricordo.errors import MemoryBadRequestError

ANN = models.Scope(user_id="ann")
POLICY = models.ExtractionPolicy(
    endpoint="builtin",
    prompts={models.MemoryKind.SEMANTIC: "Only pets."},
    topics=[
        models.TopicOfInterest(topic="pets", description="animals"),
        models.TopicOfInterest(topic=models.ManagedTopic.USER_PREFERENCES),
    ],
    examples=[models.ExtractionExample(conversation="a cat!", learned=["I have a cat."])],
    time_zone="Europe/Rome",
    least_trust="assistant",
)


async def test_a_policy_comes_back_as_it_was_given(live: AsyncClient) -> None:
    changed = await live.project.update(models.ProjectChanges(extraction=POLICY))
    assert changed.settings.extraction == POLICY


async def test_single_fields_of_a_policy_are_changed_and_the_others_stay(live: AsyncClient) -> None:
    await live.project.update(models.ProjectChanges(extraction=POLICY))
    given = {"idle": timedelta(minutes=9), "turn_count": None, "kinds": ["semantic"]}
    changed = await live.project.update(
        models.ProjectChanges(extraction=models.ExtractionChanges(**given), language="german")
    )
    assert changed.settings.extraction == models.ExtractionPolicy(**{**POLICY.model_dump(), **given})
    assert changed.settings.language == "german"


async def test_an_endpoint_that_is_not_set_up_is_refused(live: AsyncClient) -> None:
    changes = models.ProjectChanges(extraction=models.ExtractionPolicy(endpoint="nowhere"))
    with pytest.raises(MemoryBadRequestError, match="choose one of builtin"):
        await live.project.update(changes)


async def test_what_was_learned_can_be_updated_and_rolled_back(live: AsyncClient) -> None:
    await live.extraction.generate(facts=["I live in Rome."], scope=ANN)
    [made] = (await live.extraction.generate(facts=["I live in Berlin."], scope=ANN)).memories
    assert (made.action, made.previous_revision) == (models.RevisionAction.UPDATED, 1)
    restored = await live.memories.rollback(made.memory.memory_id, made.previous_revision)
    assert restored.content == "I live in Rome."


async def test_what_a_tool_said_is_a_memory_once_it_is_approved(live: AsyncClient) -> None:
    await live.project.update(
        models.ProjectChanges(extraction=models.ExtractionPolicy(least_trust="assistant"))
    )
    turns = [models.SpokenTurn(role="tool", content=f"A {word} means a boat.") for word in ("brig", "cutter")]
    made = await live.extraction.generate(turns=turns, scope=ANN, kinds=["taxonomic"])
    assert (made.memories, made.held) == ((), 2)
    brig, cutter = [held async for held in live.extraction.list_held()]
    [approved] = await live.extraction.approve(brig.held_memory_id)
    await live.extraction.reject(cutter.held_memory_id)
    assert approved.memory.content == brig.memory.content == "A brig means a boat."
    assert [held async for held in live.extraction.list_held()] == []
