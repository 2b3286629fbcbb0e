"""The client with every type in place: checked by mypy in the tests, and runnable against a server on localhost."""

import asyncio
from datetime import UTC, datetime, timedelta

from ricordo import AsyncClient, Client, Memory, MemoryRequestContext, SourceSpec, errors
from ricordo.filters import field
from ricordo.models import (
    ContextSource,
    Exactly,
    Matching,
    MemoryChanges,
    MemoryHit,
    MemoryKind,
    NewMemory,
    NewTurn,
    Scope,
    SearchMode,
    SearchResult,
    Visibility,
)
from ricordo.models import Memory as StoredMemory

ADA = Scope(user_id="ada", session_id="monday")


def remember(client: Client) -> StoredMemory:
    """Writes a fact over an earlier one of the same key."""
    fact = NewMemory(
        kind=MemoryKind.SEMANTIC,
        key="drink",
        content="Ada drinks green tea.",
        scope=Scope(user_id="ada"),
        visibility=Visibility.PRIVATE,
        metadata={"cups": 3, "since": datetime(2026, 1, 1, tzinfo=UTC)},
        tags=("tea",),
    )
    return client.memories.put(fact, ttl=timedelta(days=90)).memory


def correct(client: Client, memory: StoredMemory) -> StoredMemory:
    """Changes it, unless somebody else has meanwhile."""
    try:
        changes = MemoryChanges(content="Ada drinks black tea.")
        return client.memories.update(memory.memory_id, changes, expected_revision=memory.revision)
    except errors.RevisionMismatchError as error:
        print(f"at revision {error.metadata['actual']} by now")
        return client.memories.get(memory.memory_id)


def find(client: Client) -> SearchResult[MemoryHit]:
    """Searches by words and by meaning, with a condition."""
    return client.memories.search(
        "what does she drink?",
        mode=SearchMode.HYBRID,
        scope=Exactly(user_id="ada"),
        filters=field("metadata", "cups").ge(2) & ~field("tags").has("coffee"),
        top_k=3,
        explain=True,
    )


def converse(client: Client) -> list[str]:
    """Records a conversation and reads it back, page by page."""
    turns = [NewTurn(role="user", content="Tea, please."), NewTurn(role="assistant", content="Green?")]
    client.sessions.batch_record_turns(turns, scope=ADA)
    return [turn.content for turn in client.sessions.list_turns(scope=Matching(session_id="monday"))]


def prompt(client: Client) -> str:
    """Builds context in the words of the facade."""
    ada = Memory(client=client).bind(MemoryRequestContext(user_id="ada", session_id="monday"))
    sources = [SourceSpec(source=ContextSource.STM, top_k=5), SourceSpec(source=ContextSource.SEMANTIC)]
    context = ada.build_context_from_sources(
        "What shall I offer?", sources, max_tokens=2_000
    ).formatted_context
    return context if isinstance(context, str) else ""


async def count(target: str) -> int:
    """Counts the facts of everybody, without their contents."""
    async with AsyncClient(target) as client:
        return sum([1 async for _ in client.memories.list(kinds=[MemoryKind.SEMANTIC], view="basic")])


def main() -> None:
    """Shows all of it; needs a server on localhost that takes calls without a token."""
    with Client() as client:
        memory = correct(client, remember(client))
        print(memory.content, converse(client), prompt(client), sep="\n")
        print([(hit.memory.content, hit.score, hit.legs) for hit in find(client).hits])
    print(asyncio.run(count("localhost:7483")), "facts")


if __name__ == "__main__":
    main()
