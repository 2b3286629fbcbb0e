"""A store of LangGraph on a store of Ricordo."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import islice, takewhile
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)

from ricordo import Client
from ricordo.errors import MemoryNotSupportedError, NotFoundError
from ricordo.filters import field
from ricordo.langgraph import items
from ricordo.models import Exactly, Matching, Memory, MemoryKind, ScopeFilter

DOCUMENTS = (MemoryKind.DOCUMENT,)
# The most that one search gives, and one page.
MOST_HITS = 200
MOST_ROWS = 1_000
# A write leaves nothing of the item before, its end neither.
REPLACED = ("content", "metadata", "tags", "expire_time")


class RicordoStore(BaseStore):
    """A `BaseStore` of LangGraph: items under namespaces, found by words and by meaning without an `index`.

    It serves any number of threads, and coroutines as well. Failures are `MemoryAPIError`s.

    A value is a dict of JSON values, at most 64 KiB and 64 fields. `put(ttl=)` is in minutes, from the write on;
    reads do not prolong it. `list_namespaces` reads the paths of all items below its prefix.

    Args:
        client: The connection; it stays open.
        store: The store; None: `default`.
        user_position: Which label of a namespace is the user's id, from 0, such as 1 for `("memories", user_id)`.
            Then items are the user's: a credential that is bound to another one cannot reach them, and they are
            erased with the user. None: items are nobody's.
        fields: The fields whose text is searched, as LangGraph names them; "$" is the whole value.
    """

    supports_ttl = True
    ttl_config: TTLConfig | None = TTLConfig(refresh_on_read=False)

    def __init__(
        self,
        client: Client,
        *,
        store: str | None = None,
        user_position: int | None = None,
        fields: Sequence[str] = (items.WHOLE,),
    ) -> None:
        self._memories = client.memories
        self._store = store
        self._user_position = user_position
        self._fields = tuple(fields)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Answers each operation in its place. Reads come first; of several writes to an item the last one counts."""
        given = list(ops)
        results = [None if isinstance(op, PutOp) else self._read(op) for op in given]
        for op in {(op.namespace, op.key): op for op in given if isinstance(op, PutOp)}.values():
            self._write(op)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: GetOp | SearchOp | ListNamespacesOp) -> Result:
        match op:
            case GetOp():
                memory = self._find(op)
                return items.item_of(memory) if memory else None
            case SearchOp(query=str(query)) if query:
                return self._search(op, query)
            case SearchOp():
                return self._list(op, op.offset, op.limit)
        return self._list_namespaces(op)

    def _write(self, op: PutOp) -> None:
        if op.value is not None:
            ttl = timedelta(minutes=op.ttl) if op.ttl is not None else None
            new = items.new_item(op, self._fields, self._user_position)
            self._memories.put(new, update_mask=REPLACED, ttl=ttl, store=self._store)
        elif memory := self._find(op):
            self._memories.delete(memory.memory_id, store=self._store)

    def _find(self, op: GetOp | PutOp) -> Memory | None:
        try:
            return self._memories.get_by_key(
                items.path_of(op.namespace, op.key),
                kind=MemoryKind.DOCUMENT,
                scope=self._scope(op.namespace),
                store=self._store,
            )
        except NotFoundError:
            return None

    def _search(self, op: SearchOp, query: str) -> list[SearchItem]:
        wanted = op.offset + op.limit
        if wanted > MOST_HITS:
            raise MemoryNotSupportedError(
                f"a search goes to its first {MOST_HITS} items: limit and offset go to {wanted}"
            )
        found = self._memories.search(
            query,
            top_k=wanted,
            filters=items.condition_of(op.namespace_prefix, op.filter, ~field("tags").has(items.UNINDEXED)),
            **self._where(op.namespace_prefix),
        )
        hits = [items.scored_item(hit) for hit in found.hits]
        # As LangGraph's own stores do: what is not to be searched fills up a page that is not full.
        rest = self._list(
            op, max(op.offset - len(hits), 0), wanted - max(len(hits), op.offset), unindexed=True
        )
        return hits[op.offset :] + rest

    def _list(self, op: SearchOp, offset: int, limit: int, *, unindexed: bool = False) -> list[SearchItem]:
        if limit <= 0:
            return []
        only = (field("tags").has(items.UNINDEXED),) if unindexed else ()
        memories = self._memories.list(
            filters=items.condition_of(op.namespace_prefix, op.filter, *only),
            order_by="key",
            page_size=min(offset + limit, MOST_ROWS),
            **self._where(op.namespace_prefix),
        )
        return [items.found_item(memory) for memory in islice(memories, offset, offset + limit)]

    def _list_namespaces(self, op: ListNamespacesOp) -> list[items.Namespace]:
        conditions = op.match_conditions or ()
        prefixes = [condition.path for condition in conditions if condition.match_type == "prefix"]
        prefix = tuple(takewhile(lambda label: label != "*", prefixes[0])) if prefixes else ()
        memories = self._memories.list(
            filters=field("key").prefix(items.prefix_of(prefix)),
            order_by="key",
            view="basic",
            page_size=MOST_ROWS,
            **self._where(prefix),
        )
        places = (items.place_of(memory.key)[0] for memory in memories)
        found = {
            place[: op.max_depth]
            for place in places
            if all(items.matches(place, each) for each in conditions)
        }
        return sorted(found)[op.offset : op.offset + op.limit]

    def _where(self, namespace: Sequence[str]) -> dict[str, Any]:
        return {"scope": self._scope(namespace), "kinds": DOCUMENTS, "store": self._store}

    def _scope(self, namespace: Sequence[str]) -> ScopeFilter:
        scope = items.scope_of(namespace, self._user_position)
        return Exactly(**scope.model_dump()) if scope else Matching(labels=items.LABELS)
