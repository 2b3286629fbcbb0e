"""The store of LangGraph on a real server: what its own tests ask of a store, in both colours of its interface."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore, GetOp, InvalidNamespaceError, Op, PutOp, SearchOp

from ricordo import Client, errors
from ricordo.langgraph import RicordoStore
from ricordo.models import Matching

NAMESPACES = [
    ("a", "b", "c"),
    ("a", "b", "d", "e"),
    ("a", "b", "d", "i"),
    ("a", "b", "f"),
    ("a", "c", "f"),
    ("b", "a", "f"),
    ("users", "123"),
    ("users", "456", "settings"),
]


@pytest.fixture
def items(client: Client) -> RicordoStore:
    return RicordoStore(client)


@pytest.fixture
def named(items: RicordoStore) -> RicordoStore:
    """With an item in each of the namespaces."""
    items.batch([PutOp(namespace, str(number), {"n": number}) for number, namespace in enumerate(NAMESPACES)])
    return items


def keys(found: Any) -> list[str]:
    return [item.key for item in found]


def test_an_item_comes_back_as_it_was_put(items: RicordoStore) -> None:
    value = {
        "text": "tea",
        "n": 1,
        "f": 1.0,
        "yes": True,
        "none": None,
        "list": [1, {"a": "b"}],
        "a.b": {"$c": "d"},
    }
    items.put(("notes", "ada"), "a/b c", value)
    item = items.get(("notes", "ada"), "a/b c")
    assert item is not None
    assert (item.namespace, item.key, item.value) == (("notes", "ada"), "a/b c", value)
    assert type(item.value["f"]) is float
    assert item.created_at == item.updated_at
    assert items.get(("notes", "bob"), "a/b c") is None


def test_a_put_replaces_the_whole_value(items: RicordoStore) -> None:
    items.put(("notes",), "k", {"a": 1})
    items.put(("notes",), "k", {"b": 2})
    item = items.get(("notes",), "k")
    assert item is not None
    assert item.value == {"b": 2}
    assert item.updated_at > item.created_at


def test_a_deleted_item_is_gone_and_may_come_back(items: RicordoStore) -> None:
    items.put(("notes",), "k", {"a": 1})
    items.delete(("notes",), "k")
    items.delete(("notes",), "k")
    assert items.get(("notes",), "k") is None
    items.put(("notes",), "k", {"a": 2})
    assert items.get(("notes",), "k") is not None


def test_a_batch_answers_in_its_order(items: RicordoStore) -> None:
    items.put(("notes",), "k", {"n": 0})
    ops: list[Op] = [
        PutOp(("notes",), "k", {"n": 1}),
        GetOp(("notes",), "k"),
        PutOp(("notes",), "k", {"n": 2}),
    ]
    results: list[Any] = items.batch(ops)
    nothing, before, _ = results
    assert nothing is None
    assert before.value == {"n": 0}
    assert items.get(("notes",), "k").value == {"n": 2}


async def test_coroutines_work_on_the_same_items(items: RicordoStore) -> None:
    await asyncio.gather(*(items.aput(("notes",), str(number), {"n": number}) for number in range(5)))
    assert sorted(keys(await items.asearch(("notes",)))) == ["0", "1", "2", "3", "4"]
    await items.adelete(("notes",), "0")
    assert await items.aget(("notes",), "0") is None
    assert await items.alist_namespaces() == [("notes",)]


@pytest.mark.parametrize("namespace", [(), ("a.b",), ("",), ("langgraph", "x")])
def test_a_namespace_that_langgraph_refuses_is_refused(
    items: RicordoStore, namespace: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidNamespaceError):
        items.put(namespace, "k", {"a": 1})


def test_namespaces_by_prefix(named: RicordoStore) -> None:
    assert named.list_namespaces(prefix=("a", "b")) == NAMESPACES[:4]
    assert named.list_namespaces(prefix=("users", "123")) == [("users", "123")]
    assert named.list_namespaces(prefix=("nowhere",)) == []
    assert named.list_namespaces() == NAMESPACES


def test_namespaces_by_suffix(named: RicordoStore) -> None:
    assert named.list_namespaces(suffix=("f",)) == NAMESPACES[3:6]
    assert named.list_namespaces(prefix=("a",), suffix=("f",)) == NAMESPACES[3:5]


def test_namespaces_by_wildcard(named: RicordoStore) -> None:
    assert named.list_namespaces(prefix=("a", "*", "f")) == NAMESPACES[3:5]
    assert named.list_namespaces(suffix=("*", "settings")) == NAMESPACES[7:]
    assert named.list_namespaces(prefix=("*", "a")) == [("b", "a", "f")]


def test_namespaces_are_cut_at_a_depth(named: RicordoStore) -> None:
    cut = [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")]
    assert named.list_namespaces(prefix=("a", "b"), max_depth=3) == cut


def test_namespaces_come_in_pages(named: RicordoStore) -> None:
    assert named.list_namespaces(limit=2) == NAMESPACES[:2]
    assert named.list_namespaces(limit=2, offset=6) == NAMESPACES[6:]


def test_a_search_lists_what_is_below_its_prefix(items: RicordoStore) -> None:
    for namespace in (("a",), ("a", "b"), ("ab",)):
        items.batch([PutOp(namespace, str(number), {"even": number % 2 == 0}) for number in range(4)])
    whole = [(item.namespace, item.key) for item in items.search(("a",), limit=100)]
    assert {namespace for namespace, _ in whole} == {("a",), ("a", "b")}
    paged = [item for offset in range(0, 8, 3) for item in items.search(("a",), limit=3, offset=offset)]
    assert [(item.namespace, item.key) for item in paged] == whole
    assert len(items.search(("a",), filter={"even": True}, limit=100)) == 4
    assert len(items.search((), limit=100)) == 12


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"color": "red"}, ["1", "2"]),
        ({"score": {"$gt": 3.2}}, ["1", "3"]),
        ({"score": {"$gte": 3, "$lt": 4.5}}, ["2", "3"]),
        ({"score": {"$lte": 4.0}, "color": "green"}, ["3"]),
        ({"color": {"$ne": "red"}}, ["3"]),
        ({"color": {"$eq": "red"}, "score": {"$gt": 3.2}}, ["1"]),
        ({"made": {"by": "ada"}}, ["1"]),
        ({"tags": ["a", "b"]}, ["2"]),
        ({"none": None}, ["1", "2", "3"]),
    ],
)
def test_a_filter_compares_fields(items: RicordoStore, wanted: dict[str, Any], found: list[str]) -> None:
    items.put(("t",), "1", {"color": "red", "score": 4.5, "made": {"by": "ada", "at": "home"}})
    items.put(("t",), "2", {"color": "red", "score": 3.0, "tags": ["a", "b"]})
    items.put(("t",), "3", {"color": "green", "score": 4.0, "tags": ["b", "a"]})
    assert keys(items.search(("t",), filter=wanted)) == found


def test_a_query_finds_the_best_first(items: RicordoStore) -> None:
    items.put(("t",), "1", {"text": "red apple", "color": "red"})
    items.put(("t",), "2", {"text": "red car", "color": "red"})
    items.put(("t",), "3", {"text": "green apple", "color": "green"})
    best, *_ = found = items.search(("t",), query="car", filter={"color": "red"})
    assert (best.key, sorted(keys(found))) == ("2", ["1", "2"])
    assert (best.score or 0) > (found[1].score or 0)


def test_what_is_replaced_is_not_found_any_more(items: RicordoStore) -> None:
    items.put(("t",), "1", {"text": "zany zebra"})
    items.put(("t",), "2", {"text": "birds"})
    [before, *_] = items.search(("t",), query="zany zebra")
    items.put(("t",), "1", {"text": "dogs"})
    after = {item.key: item.score for item in items.search(("t",), query="zany zebra")}
    assert before.key == "1"
    assert after["1"] < before.score


def test_a_query_s_pages_follow_each_other(items: RicordoStore) -> None:
    items.batch([PutOp(("t",), str(number), {"text": f"test number {number}"}) for number in range(5)])
    whole = keys(items.search(("t",), query="test", limit=5))
    paged = [
        key
        for offset in (0, 2, 4)
        for key in keys(items.search(("t",), query="test", limit=2, offset=offset))
    ]
    assert paged == whole


def test_what_is_not_indexed_only_fills_up(items: RicordoStore) -> None:
    items.put(("t",), "dogs", {"text": "dogs"}, index=False)
    items.put(("t",), "1", {"text": "dogs and cats"})
    items.put(("t",), "2", {"text": "birds"})
    assert sorted(keys(items.search(("t",), query="dogs", limit=2))) == ["1", "2"]
    *_, last = items.search(("t",), query="dogs")
    assert (last.key, last.score) == ("dogs", None)
    assert keys(items.search(("t",), query="dogs", limit=2, offset=2)) == ["dogs"]


def test_only_the_chosen_fields_are_searched(client: Client) -> None:
    chosen = RicordoStore(client, fields=["text", "more[*].text"])
    chosen.put(("t",), "1", {"text": "tea", "other": "walrus", "more": [{"text": "milk"}]})
    chosen.put(("t",), "2", {"text": "coffee", "other": "tea"}, index=["other"])
    contents = {memory.key: memory.content for memory in client.memories.list()}
    assert contents == {"/t/1": "tea\fmilk", "/t/2": "tea"}


def test_the_best_of_its_fields_is_the_score_of_an_item(client: Client) -> None:
    by_field = RicordoStore(client, fields=["first", "second", "third"])
    by_field.put(("t",), "1", {"first": "oolong", "second": "walrus"})
    by_field.put(("t",), "2", {"first": "stamps", "second": "cello", "third": "oolong"})
    one, other = by_field.search(("t",), query="oolong")
    assert one.score == other.score
    best, least = by_field.search(("t",), query="cello")
    assert (best.key, best.score) == ("2", one.score)
    assert (least.score or 0) < (best.score or 0)


@pytest.mark.parametrize("text", ["这是中文", "これは日本語です", "이건 한국어야", "Это русский", "यह रूसी है"])
def test_text_of_any_script_is_found(items: RicordoStore, text: str) -> None:
    for number, other in enumerate(
        ["这是中文", "これは日本語です", "이건 한국어야", "Это русский", "यह रूसी है"]
    ):
        items.put(("t",), str(number), {"text": other})
    assert items.search(("t",), query=text)[0].value == {"text": text}


def test_an_item_may_end(items: RicordoStore, client: Client) -> None:
    items.put(("t",), "k", {"a": 1}, ttl=10)
    [memory] = client.memories.list()
    assert memory.expire_time is not None
    assert 590 < (memory.expire_time - memory.create_time).total_seconds() < 610
    items.put(("t",), "k", {"a": 1})
    [memory] = client.memories.list()
    assert memory.expire_time is None


def test_a_search_beyond_what_a_search_gives_is_refused(items: RicordoStore) -> None:
    with pytest.raises(errors.MemoryNotSupportedError, match="200"):
        items.search(("t",), query="x", limit=10, offset=195)
    with pytest.raises(errors.MemoryClientError, match=r"\$near"):
        items.search(("t",), filter={"a": {"$near": 1}})


def test_two_stores_know_nothing_of_each_other(client: Client, items: RicordoStore) -> None:
    other = RicordoStore(client, store=client.stores.create("other").store_id)
    items.put(("t",), "k", {"a": 1})
    assert other.get(("t",), "k") is None
    assert other.search(("t",)) == []


@pytest.fixture
def of_users(client: Client) -> RicordoStore:
    """Whose namespaces name the user at their second place."""
    made = RicordoStore(client, user_position=1)
    made.batch([PutOp(("memories", user), "k", {"text": f"{user} drinks tea"}) for user in ("ada", "bob")])
    return made


def test_an_item_is_its_user_s(client: Client, of_users: RicordoStore) -> None:
    [memory] = client.memories.list(scope=Matching(user_id="ada"))
    assert memory.metadata == {"text": "ada drinks tea"}
    assert keys(of_users.search(("memories", "ada"), query="tea")) == ["k"]
    assert len(of_users.search(("memories",), query="tea")) == 2
    assert of_users.list_namespaces() == [("memories", "ada"), ("memories", "bob")]


def test_an_item_of_nobody_is_refused(of_users: RicordoStore) -> None:
    with pytest.raises(errors.MemoryClientError, match="no label 1"):
        of_users.put(("memories",), "k", {"a": 1})
    with pytest.raises(errors.MemoryIdentityError):
        of_users.put(("memories", " "), "k", {"a": 1})
    with pytest.raises(errors.MemoryIdentityError):
        of_users.batch([SearchOp(("memories", ""))])


def test_a_user_s_credential_reaches_no_other_user(client: Client, of_users: RicordoStore) -> None:
    as_ada = RicordoStore(client.acting_as("ada"), user_position=1)
    assert as_ada.get(("memories", "ada"), "k") is not None
    assert [item.namespace for item in as_ada.search(("memories",))] == [("memories", "ada")]
    with pytest.raises(errors.MemoryAuthError):
        as_ada.get(("memories", "bob"), "k")
    with pytest.raises(errors.MemoryAuthError):
        as_ada.put(("memories", "bob"), "k", {"a": 1})


def test_a_graph_remembers_across_its_threads(of_users: RicordoStore) -> None:
    def node(state: MessagesState, runtime: Runtime[None]) -> dict[str, Any]:
        assert isinstance(runtime.store, BaseStore)
        [hit, *_] = runtime.store.search(("memories", "ada"), query=str(state["messages"][-1].content))
        return {"messages": [("assistant", hit.value["text"])]}

    graph = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile(store=of_users)
    answered = graph.invoke({"messages": [HumanMessage("What do I drink?")]})
    assert answered["messages"][-1].content == "ada drinks tea"


def test_an_operation_as_such_is_answered(items: RicordoStore) -> None:
    assert items.batch([SearchOp(("t",)), GetOp(("t",), "k")]) == [[], None]
