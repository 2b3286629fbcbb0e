"""Sessions, stores, projects and identity against the real server."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from ricordo import AsyncClient, errors
from ricordo.models import (
    ExtractionPolicy,
    Matching,
    NewMemory,
    NewTurn,
    Retention,
    Scope,
    ScopedExtraction,
    SessionRange,
    StoreSettings,
    ToolCall,
)

MONDAY = Scope(user_id="ada", session_id="monday")


async def test_a_turn_comes_back_as_it_was_recorded(live: AsyncClient) -> None:
    turn = NewTurn(
        role="assistant",
        content="Green?",
        tool_calls=(ToolCall(tool_call_id="c1", name="offer", arguments_json='{"tea": "green"}'),),
        model_name="m",
        data_json='{"parts": [1]}',
        metadata={"n": 1, "x": 1.0},
        agent_id="bot",
        idempotency_key="k1",
        event_time=datetime(2026, 5, 4, 12, 0, 0, 123456, tzinfo=UTC),
    )
    recorded = await live.sessions.record_turn(turn, scope=MONDAY)
    assert (recorded.created, recorded.turn.turn_seq, recorded.turn.scope) == (True, 1, MONDAY)
    read = await live.sessions.get_turn(recorded.turn.turn_id)
    assert read.model_dump(include=set(NewTurn.model_fields)) == turn.model_dump()


async def test_a_known_idempotency_key_answers_the_first_turn(live: AsyncClient) -> None:
    first = await live.sessions.record_turn(
        NewTurn(role="user", content="a", idempotency_key="k"), scope=MONDAY
    )
    again = await live.sessions.record_turn(
        NewTurn(role="user", content="b", idempotency_key="k"), scope=MONDAY
    )
    assert (again.created, again.turn) == (False, first.turn)


async def test_a_batch_is_numbered_in_order(live: AsyncClient) -> None:
    turns = [NewTurn(role="user", content=str(n)) for n in range(3)]
    recorded = await live.sessions.batch_record_turns(turns, scope=MONDAY)
    assert [one.turn.turn_seq for one in recorded] == [1, 2, 3]
    listed = live.sessions.list_turns(scope=Matching(session_id="monday"), page_size=2)
    assert [turn.content async for turn in listed] == ["0", "1", "2"]


async def test_a_turn_can_be_searched_when_its_write_returns(live: AsyncClient) -> None:
    await live.sessions.record_turn(NewTurn(role="user", content="I only drink green tea"), scope=MONDAY)
    for mode in ("text", "semantic", "hybrid"):
        result = await live.sessions.search_turns("green tea", mode=mode)
        assert [hit.turn.content for hit in result.hits] == ["I only drink green tea"]


async def test_a_turn_needs_a_user_or_labels(live: AsyncClient) -> None:
    with pytest.raises(errors.MemoryBadRequestError) as caught:
        await live.sessions.record_turn(NewTurn(role="user", content="x"), scope=Scope(session_id="s"))
    assert caught.value.reason == "SCOPE_REQUIRED"


async def test_the_life_of_a_session(live: AsyncClient) -> None:
    created = await live.sessions.create(MONDAY, metadata={"n": 1})
    with pytest.raises(errors.AlreadyExistsError):
        await live.sessions.create(MONDAY)
    await live.sessions.record_turn(NewTurn(role="user", content="x"), scope=MONDAY)
    assert (await live.sessions.get(MONDAY)).last_turn_seq == 1
    assert [one.scope async for one in live.sessions.list(filters={"metadata.n": 1})] == [created.scope]
    assert (await live.sessions.delete(MONDAY)).turns == 1
    with pytest.raises(errors.NotFoundError) as caught:
        await live.sessions.get(MONDAY)
    assert caught.value.reason == "SESSION_NOT_FOUND"


async def test_a_deleted_turn_takes_what_was_learned_from_it_alone(live: AsyncClient) -> None:
    turns = [NewTurn(role="user", content=text) for text in ("I live in Rome.", "My cat is called Leo.")]
    rome, cat = await live.sessions.batch_record_turns(turns, scope=MONDAY)
    await live.extraction.generate(session=SessionRange(scope=MONDAY))
    assert (await live.sessions.delete_turn(rome.turn.turn_id)).memories == 1
    assert [turn.turn_id async for turn in live.sessions.list_turns()] == [cat.turn.turn_id]
    assert [memory.content async for memory in live.memories.list()] == ["My cat is called Leo."]


async def test_the_server_names_a_session_without_an_id(live: AsyncClient) -> None:
    session = await live.sessions.create(Scope(user_id="ada"))
    assert UUID(session.scope.session_id).version == 7


async def test_the_life_of_a_store(live: AsyncClient) -> None:
    created = await live.stores.create("notes", description="Notes", language="german")
    assert (created.language, await live.stores.get("notes")) == ("german", created)
    assert [one.store_id async for one in live.stores.list()] == ["default", "notes"]
    assert (await live.stores.update("notes", language="")).language is None
    await live.memories.create(NewMemory(content="x"), store="notes")
    with pytest.raises(errors.StoreNotEmptyError):
        await live.stores.delete("notes")
    await live.stores.delete("notes", force=True)
    with pytest.raises(errors.NotFoundError):
        await live.memories.get("m1", store="notes")


async def test_who_am_i_and_my_project(live: AsyncClient, project_id: UUID) -> None:
    who = await live.identity.who_am_i()
    assert (who.kind, who.project_id, who.user_ids) == ("service", str(project_id), ())
    assert (await live.project.get()).project_id == str(project_id)


async def test_an_end_user_is_bound(service_target: str, token: str) -> None:
    async with AsyncClient(service_target, token=f"{token}:ada") as ada:
        who = await ada.identity.who_am_i()
    assert (who.kind, who.user_ids) == ("user", ("ada",))


async def test_the_operator_makes_organizations_and_projects(service_target: str) -> None:
    async with AsyncClient(service_target, token="development:operator") as operator:
        organization = await operator.admin.create_organization(f"Acme {uuid4()}")
        made = await operator.admin.create_project("One", organization_id=organization.organization_id)
        listed = operator.admin.list_projects(organization_id=organization.organization_id)
        assert [one async for one in listed] == [made]


async def test_others_may_not(live: AsyncClient) -> None:
    with pytest.raises(errors.MemoryAuthError) as caught:
        await live.admin.create_organization("Acme")
    assert caught.value.reason == "PERMISSION_DENIED"


async def test_a_store_keeps_what_its_settings_give_and_nothing_else(live: AsyncClient) -> None:
    own = StoreSettings(
        extraction=ExtractionPolicy(model="small", turn_count=None, kinds=["episodic"]),
        scoped_extraction=(
            ScopedExtraction(scope_keys=("team",), extraction=ExtractionPolicy(enabled=False)),
        ),
        retention=Retention(create_ttl=timedelta(days=1), disable_revisions=True),
    )
    await live.stores.create("notes", language="german", settings=own)
    changed = await live.stores.update("notes", settings=StoreSettings(retention=Retention()))
    kept = own.model_copy(update={"language": "german", "retention": Retention()})
    assert changed.settings == kept
    assert changed.settings.extraction is not None
    assert changed.settings.extraction.model_fields_set == {"model", "turn_count", "kinds"}
