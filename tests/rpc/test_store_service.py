"""StoreService over a real server."""

import asyncio
from collections.abc import Awaitable
from typing import Any
from uuid import UUID

import grpc
import grpc.aio
import psycopg
import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from ricordo.v1 import (
    memory_pb2,
    memory_service_pb2,
    scope_pb2,
    search_pb2,
    session_service_pb2,
    store_pb2,
    turn_pb2,
)
from ricordo.v1 import store_service_pb2 as pb
from ricordo.v1.paging_pb2 import OrderBy
from tests.fixtures.calls import as_user, read_refusal, refusal
from tests.fixtures.database import TestDatabase
from tests.fixtures.stubs import Memories, Sessions, Stores

INVALID, DENIED = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.PERMISSION_DENIED


def creation(store_id: str, language: str | None = None, **fields: Any) -> pb.CreateStoreRequest:
    request_id = fields.pop("request_id", "")
    settings = store_pb2.StoreSettings(language=language)
    return pb.CreateStoreRequest(
        store=store_pb2.Store(store_id=store_id, settings=settings, **fields), request_id=request_id
    )


def change(paths: list[str], store_id: str, **fields: Any) -> pb.UpdateStoreRequest:
    return pb.UpdateStoreRequest(
        store=store_pb2.Store(store_id=store_id, **fields), update_mask=FieldMask(paths=paths)
    )


async def remember(memories: Memories, store_id: str, content: str) -> memory_pb2.Memory:
    memory = memory_pb2.Memory(kind=memory_pb2.MEMORY_KIND_SEMANTIC, content=content)
    request = memory_service_pb2.CreateMemoryRequest(store_id=store_id, memory=memory)
    return (await memories.CreateMemory(request)).memory


async def find(memories: Memories, store_id: str, query: str) -> list[str]:
    options = search_pb2.SearchOptions(query=query, mode=search_pb2.SEARCH_MODE_TEXT)
    request = memory_service_pb2.SearchMemoriesRequest(store_id=store_id, options=options)
    return [hit.memory.content for hit in (await memories.SearchMemories(request)).hits]


async def test_a_store_comes_back_as_it_was_written(stores: Stores) -> None:
    created = (
        await stores.CreateStore(creation("notes", "german", display_name="Notes", description="of the team"))
    ).store
    read = (await stores.GetStore(pb.GetStoreRequest(store_id="notes"))).store
    assert read == created
    assert (read.display_name, read.description, read.settings.language, read.creator_id) == (
        "Notes",
        "of the team",
        "german",
        "development",
    )
    plain = (await stores.CreateStore(creation("plain"))).store
    assert not plain.settings.HasField("language")
    assert (await stores.GetStore(pb.GetStoreRequest())).store.store_id == "default"


async def test_a_taken_id_is_refused_and_a_repeat_is_not(stores: Stores) -> None:
    request = creation("notes", request_id="r1")
    assert await stores.CreateStore(request) == await stores.CreateStore(request)
    taken = (grpc.StatusCode.ALREADY_EXISTS, "ID_TAKEN", "store.store_id")
    assert await refusal(stores.CreateStore(creation("notes"))) == taken
    assert await refusal(stores.CreateStore(creation("default"))) == taken


@pytest.mark.parametrize(
    ("request_", "reason", "field"),
    [
        (creation(""), "INVALID_FIELD", "store.store_id"),
        (creation("ab"), "INVALID_FIELD", "store.store_id"),
        (creation("a" * 57), "INVALID_FIELD", "store.store_id"),
        (creation("No-caps"), "INVALID_FIELD", "store.store_id"),
        (creation("ends-"), "INVALID_FIELD", "store.store_id"),
        (creation("nul\0"), "INVALID_FIELD", "store.store_id"),
        (creation("notes", "klingon"), "INVALID_FIELD", "store.settings.language"),
        (creation("notes", ""), "INVALID_FIELD", "store.settings.language"),
        (creation("notes", display_name="x" * 513), "LIMIT_EXCEEDED", "store.display_name"),
        (creation("notes", description="a\0"), "INVALID_FIELD", "store.description"),
        (creation("notes", description="x" * 8193), "LIMIT_EXCEEDED", "store.description"),
        (creation("notes", request_id="x" * 129), "LIMIT_EXCEEDED", "request_id"),
    ],
)
async def test_a_bad_store_is_refused_with_its_field(
    stores: Stores, request_: pb.CreateStoreRequest, reason: str, field: str
) -> None:
    assert await refusal(stores.CreateStore(request_)) == (INVALID, reason, field)


async def test_lists_go_by_id_or_time_page_by_page(stores: Stores) -> None:
    for store_id in ("zoo", "abc"):
        await stores.CreateStore(creation(store_id))
    first = await stores.ListStores(pb.ListStoresRequest(page_size=2))
    rest = await stores.ListStores(pb.ListStoresRequest(page_size=2, page_token=first.next_page_token))
    assert [store.store_id for store in (*first.stores, *rest.stores)] == ["abc", "default", "zoo"]
    newest = pb.ListStoresRequest(order_by=[OrderBy(field="create_time", descending=True)])
    assert [s.store_id for s in (await stores.ListStores(newest)).stores] == ["abc", "zoo", "default"]
    wrong = pb.ListStoresRequest(order_by=[OrderBy(field="description")])
    assert await refusal(stores.ListStores(wrong)) == (INVALID, "INVALID_FIELD", "order_by[0].field")


async def test_update_changes_the_masked_fields_only(stores: Stores) -> None:
    created = (await stores.CreateStore(creation("notes", "german", description="old"))).store
    updated = (await stores.UpdateStore(change(["description"], "notes", description="new"))).store
    assert (updated.description, updated.settings.language) == ("new", "german")
    assert updated.update_time.ToNanoseconds() > created.update_time.ToNanoseconds()
    inherits = (await stores.UpdateStore(change(["settings"], "notes"))).store
    assert (inherits.description, inherits.settings.HasField("language")) == ("new", False)


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (change([], "notes"), "update_mask"),
        (change(["creator_id"], "notes"), "update_mask"),
        (change(["description"], ""), "store.store_id"),
        (
            change(["settings.language"], "notes", settings=store_pb2.StoreSettings(language="x")),
            "store.settings.language",
        ),
    ],
)
async def test_a_bad_update_is_refused_with_its_field(
    stores: Stores, request_: pb.UpdateStoreRequest, field: str
) -> None:
    assert await refusal(stores.UpdateStore(request_)) == (INVALID, "INVALID_FIELD", field)


async def test_a_store_that_is_not_there_is_not_found(stores: Stores) -> None:
    expected = (grpc.StatusCode.NOT_FOUND, "STORE_NOT_FOUND", "store_id")
    assert await refusal(stores.GetStore(pb.GetStoreRequest(store_id="nowhere"))) == expected
    assert await refusal(stores.UpdateStore(change(["description"], "nowhere"))) == expected
    assert await refusal(stores.DeleteStore(pb.DeleteStoreRequest(store_id="nowhere"))) == expected


async def test_rows_of_every_language_a_store_had_are_found(stores: Stores, memories: Memories) -> None:
    """Stems differ: "häuser" finds "haus" in German only, "running" finds "runs" in English only."""
    await stores.CreateStore(creation("notes"))
    await remember(memories, "notes", "she runs")
    for language, content in (("german", "das Haus"), ("portuguese", "ela correndo")):
        settings = store_pb2.StoreSettings(language=language)
        await stores.UpdateStore(change(["settings.language"], "notes", settings=settings))
        await remember(memories, "notes", content)
    assert await find(memories, "notes", "running") == ["she runs"]
    assert await find(memories, "notes", "Häuser") == ["das Haus"]
    assert await find(memories, "notes", "correr") == ["ela correndo"]


async def test_rows_are_found_after_the_project_s_language_changes(
    stores: Stores, memories: Memories, database: TestDatabase, project_id: UUID
) -> None:
    await stores.CreateStore(creation("notes"))
    for language, content in (("german", "das Haus"), ("french", "les chevaux")):
        with psycopg.connect(database.superuser_url) as connection:
            connection.execute(
                "UPDATE ricordo.project SET language = %s WHERE project_id = %s", [language, project_id]
            )
        await remember(memories, "notes", content)
    assert await find(memories, "notes", "Häuser") == ["das Haus"]
    assert await find(memories, "notes", "cheval") == ["les chevaux"]


async def test_an_end_user_s_first_row_in_a_new_language_is_found(
    stores: Stores, memories: Memories, project_id: UUID
) -> None:
    ann = as_user(project_id, "ann")
    for language, content in (("german", "das Haus"), ("french", "les chevaux")):
        settings = store_pb2.StoreSettings(language=language)
        await stores.UpdateStore(change(["settings.language"], "default", settings=settings))
        memory = memory_pb2.Memory(
            kind=memory_pb2.MEMORY_KIND_SEMANTIC, content=content, scope=scope_pb2.Scope(user_id="ann")
        )
        await memories.CreateMemory(memory_service_pb2.CreateMemoryRequest(memory=memory), metadata=ann)
    assert await find(memories, "", "Häuser") == ["das Haus"]
    assert await find(memories, "", "cheval") == ["les chevaux"]


async def test_a_store_that_holds_something_is_deleted_by_force_only(
    stores: Stores, memories: Memories, sessions: Sessions
) -> None:
    not_empty = (grpc.StatusCode.FAILED_PRECONDITION, "STORE_NOT_EMPTY", "force")
    await stores.CreateStore(creation("notes"))
    memory = await remember(memories, "notes", "tea")
    request = pb.DeleteStoreRequest(store_id="notes")
    assert await refusal(stores.DeleteStore(request)) == not_empty
    await memories.DeleteMemory(
        memory_service_pb2.DeleteMemoryRequest(store_id="notes", memory_id=memory.memory_id)
    )
    await sessions.RecordTurn(
        session_service_pb2.RecordTurnRequest(
            store_id="notes",
            scope=scope_pb2.Scope(user_id="ann", session_id="s1"),
            turn=turn_pb2.Turn(role="user", content="tea"),
        )
    )
    assert await refusal(stores.DeleteStore(request)) == not_empty
    await stores.DeleteStore(pb.DeleteStoreRequest(store_id="notes", force=True))
    assert (await refusal(stores.GetStore(pb.GetStoreRequest(store_id="notes"))))[1] == "STORE_NOT_FOUND"
    await stores.CreateStore(creation("notes"))
    assert await find(memories, "notes", "tea") == []


async def test_an_empty_store_is_deleted_once_for_a_request_id(stores: Stores, memories: Memories) -> None:
    await stores.CreateStore(creation("notes"))
    memory = await remember(memories, "notes", "tea")
    gone = memory_service_pb2.DeleteMemoryRequest(store_id="notes", memory_id=memory.memory_id)
    await memories.DeleteMemory(gone)  # may still be rolled back, but keeps no store
    request = pb.DeleteStoreRequest(store_id="notes", request_id="r1")
    await stores.DeleteStore(request)
    await stores.CreateStore(creation("notes"))
    await stores.DeleteStore(request)  # the first answer again
    await stores.GetStore(pb.GetStoreRequest(store_id="notes"))


async def test_the_default_store_stays(stores: Stores) -> None:
    for store_id in ("default", ""):
        request = pb.DeleteStoreRequest(store_id=store_id, force=True)
        assert await refusal(stores.DeleteStore(request)) == (INVALID, "INVALID_FIELD", "store_id")


async def test_end_users_read_stores_but_do_not_manage_them(stores: Stores, project_id: UUID) -> None:
    ann = as_user(project_id, "ann")
    assert len((await stores.ListStores(pb.ListStoresRequest(), metadata=ann)).stores) == 1
    for call in (
        stores.CreateStore(creation("notes"), metadata=ann),
        stores.UpdateStore(change(["description"], "default"), metadata=ann),
        stores.DeleteStore(pb.DeleteStoreRequest(store_id="notes", force=True), metadata=ann),
    ):
        assert (await refusal(call))[:2] == (DENIED, "PERMISSION_DENIED")


async def test_writers_of_a_store_being_deleted_succeed_or_learn_that_it_is_gone(
    stores: Stores, memories: Memories, sessions: Sessions, database: TestDatabase, project_id: UUID
) -> None:
    await stores.CreateStore(creation("notes"))

    def record(number: int) -> Awaitable[object]:
        return sessions.RecordTurn(
            session_service_pb2.RecordTurnRequest(
                store_id="notes",
                scope=scope_pb2.Scope(user_id="ann", session_id=f"s{number % 3}"),
                turn=turn_pb2.Turn(role="user", content="tea"),
            )
        )

    async def delete() -> None:
        await asyncio.sleep(0.05)
        await stores.DeleteStore(pb.DeleteStoreRequest(store_id="notes", force=True))

    writers = [record(number) for number in range(30)]
    writers += [remember(memories, "notes", "tea") for _ in range(30)]
    outcomes = await asyncio.gather(delete(), *writers, return_exceptions=True)
    errors: list[Any] = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert {read_refusal(error)[1] for error in errors} <= {"STORE_NOT_FOUND"}
    with psycopg.connect(database.superuser_url) as connection:
        for table in ("memory", "memory_embedding", "session", "turn", "turn_embedding"):
            query = f"SELECT count(*) FROM ricordo.{table} WHERE project_id = %s"
            assert connection.execute(query, [project_id]).fetchone() == (0,)
