"""What the rules learn from a LoCoMo conversation: how much, how often the same, and whether it was said.

python -m benchmarks.learning [--data PATH] [--conversation N]
"""

import argparse
import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.locomo import DEFAULT_PATH, Conversation, load
from benchmarks.stack import Stack, running_stack
from ricordo import AsyncClient, AsyncMemory
from ricordo.models import Matching, Memory, MemoryKind, NewTurn, Scope, SessionRange
from ricordo_server.domain.ports import EmbeddingKind
from ricordo_server.embedding import EmbeddingSettings, load_embedder

NEAR = 0.95  # cosine
QUOTED = (MemoryKind.SEMANTIC, MemoryKind.TAXONOMIC)
KINDS = ("semantic", "episodic", "procedural", "taxonomic")


async def record(client: AsyncClient, conversation: Conversation) -> list[Scope]:
    """One session for each of its sessions, all of them one user's."""
    scopes = []
    for number, turns in groupby(conversation.turns, key=lambda turn: turn.session_no):
        scope = Scope(user_id=conversation.sample_id, session_id=str(number))
        said = [
            NewTurn(
                role="user", content=turn.retrieval_text, event_time=turn.time, idempotency_key=turn.dia_id
            )
            for turn in turns
        ]
        await client.sessions.batch_record_turns(said, scope=scope)
        scopes.append(scope)
    return scopes


async def learned(client: AsyncClient, scopes: Sequence[Scope]) -> list[Memory]:
    user = Matching(user_id=scopes[0].user_id)
    await AsyncMemory(client=client).wait_for_extraction(user_id=scopes[0].user_id, timeout=600)
    return [
        each
        async for each in client.memories.list(scope=user, filters={"source": "extraction"}, page_size=1_000)
    ]


async def count_near(memories: Sequence[Memory]) -> int:
    """Pairs of one kind whose vectors are closer than `NEAR`."""
    embedder = load_embedder(EmbeddingSettings())
    pairs = 0
    for kind in {memory.kind for memory in memories}:
        texts = [memory.content for memory in memories if memory.kind is kind]
        vectors = np.array([each for each in await embedder.embed(texts, EmbeddingKind.DOCUMENT) if each])
        pairs += int((np.triu(vectors @ vectors.T, 1) > NEAR).sum())
    return pairs


async def count_quoted(client: AsyncClient, memories: Sequence[Memory]) -> int:
    """Those whose content stands, word for word, in the turns that they rest on."""
    turns = {turn.turn_id: turn.content async for turn in client.sessions.list_turns(page_size=1_000)}
    found = 0
    for memory in memories:
        said = " ".join(" ".join(turns[turn_id].split()) for turn_id in memory.provenance.turn_ids)
        found += " ".join(memory.content.split()) in said
    return found


async def measure(stack: Stack, conversation: Conversation) -> dict[str, Any]:
    async with AsyncClient(stack.target, token=stack.token, timeout=300) as client:
        scopes = await record(client, conversation)
        memories = await learned(client, scopes)
        quotable = [memory for memory in memories if memory.kind in QUOTED]
        again: Counter[str] = Counter()
        for scope in scopes:
            second = await client.extraction.generate(session=SessionRange(scope=scope), kinds=KINDS)
            again.update(change.action.value for change in second.memories)
        return {
            "turns": len(conversation.turns),
            "memories": len(memories),
            "per_100_turns": round(100 * len(memories) / len(conversation.turns), 1),
            "by_kind": Counter(memory.kind.value for memory in memories),
            "exact_duplicates": len(memories) - len({(memory.kind, memory.content) for memory in memories}),
            "near_duplicate_pairs": await count_near(memories),
            "quoted": f"{await count_quoted(client, quotable)} of {len(quotable)}",
            "second_pass": again,
        }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, default=DEFAULT_PATH)
    arguments.add_argument("--conversation", type=int, default=0, help="its place in the file")
    given = arguments.parse_args()
    conversation = load(given.data).conversations[given.conversation]
    with (
        tempfile.TemporaryDirectory() as folder,
        running_stack(Path(folder) / "data", with_worker=True) as stack,
    ):
        print(json.dumps(asyncio.run(measure(stack, conversation))))


if __name__ == "__main__":
    main()
