import grpc
import pytest

from ricordo import AsyncClient, errors
from ricordo.v1.store_pb2 import Store
from ricordo.v1.store_service_pb2 import ListStoresResponse
from tests.fixtures.fake_service import FakeService, Refusal


def page(*store_ids: str, token: str = "") -> ListStoresResponse:
    return ListStoresResponse(stores=[Store(store_id=one) for one in store_ids], next_page_token=token)


async def test_nothing_is_fetched_before_the_first_item(fake: FakeService, client: AsyncClient) -> None:
    client.stores.list()
    assert fake.calls == []


async def test_the_pages_join_to_one_list(fake: FakeService, client: AsyncClient) -> None:
    fake.answer("ListStores", page("one", "two", token="t"), page("three"))
    found = [store.store_id async for store in client.stores.list(page_size=2)]
    assert found == ["one", "two", "three"]
    assert [call.request.page_token for call in fake.calls] == ["", "t"]


async def test_no_page_is_fetched_before_its_first_item(fake: FakeService, client: AsyncClient) -> None:
    fake.answer("ListStores", page("one", "two", token="t"))
    async for store in client.stores.list():
        if store.store_id == "two":
            break
    assert len(fake.calls) == 1


async def test_an_empty_page_is_not_the_end(fake: FakeService, client: AsyncClient) -> None:
    fake.answer("ListStores", page("one", token="t"), page(token="u"), page("two"))
    found = [store.store_id async for store in client.stores.list()]
    assert found == ["one", "two"]


async def test_pages_give_their_token_and_a_list_continues_from_it(
    fake: FakeService, client: AsyncClient
) -> None:
    fake.answer("ListStores", page("one", token="t"), page("two"))
    tokens = [one.next_page_token async for one in client.stores.list().pages()]
    fake.answer("ListStores", page("two"))
    found = [store.store_id async for store in client.stores.list(page_token=tokens[0])]
    assert (tokens, found) == (["t", ""], ["two"])
    assert fake.calls[-1].request.page_token == "t"


async def test_each_iteration_starts_anew(fake: FakeService, client: AsyncClient) -> None:
    fake.answer("ListStores", page("one"), page("one"))
    stores = client.stores.list()
    twice = [[store.store_id async for store in stores] for _ in range(2)]
    assert twice == [["one"], ["one"]]


async def test_a_failing_page_raises(fake: FakeService, client: AsyncClient) -> None:
    fake.answer("ListStores", Refusal(grpc.StatusCode.INVALID_ARGUMENT, reason="INVALID_PAGE_TOKEN"))
    with pytest.raises(errors.MemoryBadRequestError) as caught:
        _ = [store async for store in client.stores.list(page_token="damaged")]
    assert caught.value.reason == "INVALID_PAGE_TOKEN"
