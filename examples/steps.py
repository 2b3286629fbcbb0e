"""The steps of the tour: what a program does with a client."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from examples.printing import console, one_line, show_line, show_quote, tell
from ricordo import AsyncClient, AsyncMemory, SourceSpec
from ricordo.errors import AlreadyExistsError
from ricordo.models import (
    EpisodicDetails,
    MemoryKind,
    NewMemory,
    NewTurn,
    ProceduralDetails,
    ReadableBy,
    Scope,
    SearchMode,
    TaxonomicDetails,
)

FOLDER = Path(__file__).parent
MODES = {SearchMode.TEXT: "words", SearchMode.SEMANTIC: "meaning", SearchMode.HYBRID: "both"}
# One that only words find, one that only meaning finds, one in Portuguese.
QUESTIONS = ("s5-07", "s3-03", "s3-07")
TASK = "Book a quiet dinner in Faenza: where does she sleep, and what must she not eat?"
CONTEXT_LINES = 32
BED = "Which guesthouse has a room for her?"
HOTEL = "The guesthouse Casa Faentina in Faenza keeps a quiet room for Marta, with a view of the garden."


async def record_conversation(client: AsyncClient) -> list[Scope]:
    """Each session in one call. The keys of the turns make a second run harmless."""
    lines = list(read_lines("conversation.jsonl"))
    recorded, sessions = [], []
    for (session, user), rows in groupby(lines, key=lambda row: (row["session_id"], row["user_id"])):
        turns = [NewTurn(**without(row, "session_id", "user_id")) for row in rows]
        sessions.append(scope := Scope(user_id=user, session_id=session))
        recorded += await client.sessions.batch_record_turns(turns, scope=scope)
    new = sum(turn.created for turn in recorded)
    users = dict.fromkeys(row["user_id"] for row in lines)
    tell(
        2,
        "Recorded",
        f"{len(recorded)} turns of {len(sessions)} sessions with {' and '.join(users)}, in English, Portuguese and "
        f"Italian ({new} new, {len(recorded) - new} known from an earlier run)",
    )
    for turn in (recorded[0].turn, recorded[1].turn):
        show_quote(f"{turn.role}: {turn.content}")
    return sessions


async def learn_from_turns(client: AsyncClient, sessions: Sequence[Scope]) -> None:
    """What the worker makes of the turns, without a language model; each memory names the turns it rests on."""
    memory = AsyncMemory(client=client)
    for scope in sessions:
        await memory.wait_for_extraction(scope.session_id, user_id=scope.user_id)
    statuses = [await client.sessions.get_extraction_status(scope) for scope in sessions]
    extracted = sum(min(kind.extracted_turn_seq for kind in status.kinds) for status in statuses)
    turns = sum(status.last_turn_seq for status in statuses)
    watermark = f"the watermarks stand at {extracted} of {turns} turns"
    learned = [row async for row in client.memories.list(filters={"source": "extraction"}, order_by="key")]
    counts = Counter(row.kind.value for row in learned)
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    tell(3, "Learned", f"{len(learned)} memories ({listed}) by rules, without a language model; {watermark}")
    for kind in (MemoryKind.SEMANTIC, MemoryKind.PROCEDURAL, MemoryKind.TAXONOMIC):
        best = next(row for row in learned if row.kind is kind)
        origin = await memory.why(best.memory_id)
        show_line(f"{kind.value}: {best.content}")
        show_quote(f"from {origin.turns[0].metadata['role']}: {origin.turns[0].content}")


async def save_memories(client: AsyncClient) -> None:
    """By key where the kind has one: written again, a memory is updated. Episodes have an id of ours instead."""
    kinds: Counter[str] = Counter()
    for row in read_lines("memories.jsonl"):
        memory = make_memory(row)
        kinds[memory.kind.value] += 1
        if memory.kind is not MemoryKind.EPISODIC:
            await client.memories.put(memory)
            continue
        with suppress(AlreadyExistsError):  # it does in a second run
            await client.memories.create(memory)
    listed = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    tell(4, "Saved", f"{kinds.total()} typed memories: {listed}")


def make_memory(row: dict[str, Any]) -> NewMemory:
    """The flat line of the file as the client's model."""
    kind = MemoryKind(row["kind"])
    details = {
        MemoryKind.EPISODIC: EpisodicDetails,
        MemoryKind.PROCEDURAL: ProceduralDetails,
        MemoryKind.TAXONOMIC: TaxonomicDetails,
    }.get(kind)
    own = {name: row[name] for name in (details.model_fields if details else ()) if name in row}
    return NewMemory(
        **without(row, "user_id", *own),
        memory_id=row["title"].lower().replace(" ", "-") if kind is MemoryKind.EPISODIC else "",
        scope=Scope(user_id=row["user_id"]),
        details=details(**own) if details else None,
    )


async def search_in_three_modes(client: AsyncClient) -> None:
    tell(
        5,
        "Searched",
        "Each question by words, by meaning and by both; [green]✓[/green] is the turn that answers it",
    )
    for question in json.loads((FOLDER / "questions.json").read_text()):
        if question["idempotency_key"] not in QUESTIONS:
            continue
        table = Table(box=None, show_header=False, padding=(0, 1), title_justify="left")
        table.title = Text(f"   {question['question']}", style="bold")
        for mode, name in MODES.items():
            found = await client.sessions.search_turns(
                question["question"], mode=mode, top_k=1, scope=ReadableBy(user_id=question["user_id"])
            )
            table.add_row(f"   {name}", *describe_best(found.hits, question["idempotency_key"]))
        console.print(table)


def describe_best(hits: Iterable[Any], answer: str) -> tuple[Text, Text, Text]:
    for hit in hits:
        mark = Text("✓", "green") if hit.turn.idempotency_key == answer else Text("·", "dim")
        return mark, Text(f"{hit.score:.3f}"), one_line(hit.turn.content)
    return Text("·", "dim"), Text("-"), Text("nothing found", "dim")


async def read_by_three_surfaces(client: AsyncClient) -> None:
    """A bank and a memory store are the same store by other names: what one writes, the others find."""
    store = await client.memory_stores.get("default")
    await store.put(actor_id="marta", path="/trips/faenza.md", content=HOTEL)
    found = await AsyncMemory(client=client).search(
        BED, user_id="marta", sources=["semantic", "document"], top_k=1
    )
    retrieved = await client.memory_banks.memories.retrieve(
        name="default",
        scope={"user_id": "marta"},
        similarity_search_params={"search_query": BED, "top_k": 1},
    )
    hits = await store.search(actor_id="marta", query=BED, limit=1, kinds=())
    tell(7, "One store", f"Written as an entry of a memory store, asked for by three surfaces: {BED}")
    show_line(f"Memory.search: {found[0].content}")
    show_line(f"memory_banks.memories.retrieve: {retrieved.page[0].memory.fact}")
    show_line(f"memory_stores.search: {hits[0].memory.content}")


async def build_context(client: AsyncClient) -> None:
    sources = [
        SourceSpec(source="semantic", top_k=8),
        SourceSpec(source="episodic", top_k=1),
        SourceSpec(source="stm", mode=SearchMode.HYBRID, top_k=3),
    ]
    built = await client.context.build(
        TASK, sources=sources, scope=ReadableBy(user_id="marta"), max_tokens=1_000
    )
    counts = ", ".join(f"{count} {source.value}" for source, count in built.source_counts.items())
    milliseconds = sum(built.timings.values()) * 1_000
    tell(
        6, "Built", f"a context of {built.token_count} tokens ({counts}) in {milliseconds:.0f} ms for: {TASK}"
    )
    text = Text("\n".join(line for line in built.text.splitlines() if line.strip()), style="dim")
    lines = text.wrap(console, console.width - 4)
    for line in lines[:CONTEXT_LINES]:
        console.print(Text("   ") + line)
    if len(lines) > CONTEXT_LINES:
        console.print(f"   [dim]... and {len(lines) - CONTEXT_LINES} lines more[/dim]")


def read_lines(name: str) -> Iterable[dict[str, Any]]:
    for line in (FOLDER / name).read_text().splitlines():
        yield json.loads(line)


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}
