"""Retrieval quality on LoCoMo, through the running service and the client: `make bench-quality`.

One store a conversation; turns are recorded, then each question is searched among the turns of its conversation, in
every mode. The figures go to `results/quality.json` and are compared with nothing here: see README.md.
"""

import argparse
import asyncio
import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from benchmarks.locomo import DEFAULT_PATH, Conversation, Dataset, Question, load
from benchmarks.metrics import DEPTHS, Figures, Row, summarise
from benchmarks.stack import running_stack
from ricordo import AsyncClient, NewTurn, Scope

RESULTS = Path(__file__).parent / "results" / "quality.json"
MODES = ("text", "semantic", "hybrid")
CATEGORIES = {"1-4": "categories 1 to 4", "5": "category 5", "all": "all"}
BATCH = 100
CALLERS = 8


@dataclass(frozen=True)
class Outcome:
    mode: str
    row: Row


async def record(client: AsyncClient, conversation: Conversation) -> None:
    """One store, one session of the conversation's for each of its own."""
    store = store_of(conversation.sample_id)
    await client.stores.create(store)
    sessions = dict.fromkeys(turn.session_no for turn in conversation.turns)
    for number in sessions:
        scope = Scope(user_id=conversation.sample_id, session_id=f"session-{number}")
        turns = iter(turn for turn in conversation.turns if turn.session_no == number)
        while batch := list(islice(turns, BATCH)):
            drafts = [
                NewTurn(
                    role="user" if turn.speaker == conversation.speakers[0] else "assistant",
                    content=turn.retrieval_text,
                    event_time=turn.time,
                    metadata={"dia_id": turn.dia_id},
                    idempotency_key=turn.dia_id,
                )
                for turn in batch
            ]
            await client.sessions.batch_record_turns(drafts, scope=scope, store=store)


def store_of(sample_id: str) -> str:
    return f"locomo-{sample_id}".lower()


async def ask(client: AsyncClient, question: Question) -> list[Outcome]:
    outcomes = []
    for mode in MODES:
        result = await client.sessions.search_turns(
            question.question, mode=mode, top_k=max(DEPTHS), store=store_of(question.sample_id)
        )
        ranked = tuple(str(hit.turn.metadata["dia_id"]) for hit in result.hits)
        outcomes.append(Outcome(mode, Row(question.category, question.evidence, ranked)))
    return outcomes


async def measure(target: str, token: str, dataset: Dataset) -> list[Outcome]:
    gate = asyncio.Semaphore(CALLERS)
    async with AsyncClient(target, token=token) as client:
        for conversation in dataset.conversations:
            await record(client, conversation)

        async def asked(question: Question) -> list[Outcome]:
            async with gate:
                return await ask(client, question)

        answers = await asyncio.gather(*map(asked, dataset.questions))
    return [outcome for outcomes in answers for outcome in outcomes]


def tabulate(outcomes: Sequence[Outcome], embedder: str, *, default_model: bool) -> Iterator[dict[str, object]]:
    for mode in MODES:
        groups = summarise(outcome.row for outcome in outcomes if outcome.mode == mode)
        for label, group in CATEGORIES.items():
            if group in groups:
                yield as_row(mode, embedder, default_model, label, groups[group])


def as_row(mode: str, embedder: str, default_model: bool, label: str, figures: Figures) -> dict[str, object]:
    recalls = {f"r_at_{depth}": round(figures.recall[depth], 4) for depth in DEPTHS}
    return {
        "row": mode,
        "embedder": embedder,
        "default_model": default_model,
        "categories": label,
        **recalls,
        "mrr": round(figures.mrr, 4),
        "n": figures.questions,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DEFAULT_PATH)
    parser.add_argument("--conversations", type=int, default=None, help="only the first so many")
    arguments = parser.parse_args()
    dataset = first(load(arguments.data), arguments.conversations)
    with tempfile.TemporaryDirectory() as folder, running_stack(Path(folder)) as stack:
        outcomes = asyncio.run(measure(stack.target, stack.token, dataset))
        rows = list(tabulate(outcomes, stack.embedder, default_model=stack.default_model))
    report = {
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "data_sha256": dataset.sha256,
        "rows": rows,
    }
    for row in rows:
        print(json.dumps(row))
    if arguments.conversations is None:
        RESULTS.write_text(json.dumps(report, indent=2) + "\n")


def first(dataset: Dataset, count: int | None) -> Dataset:
    conversations = dataset.conversations[:count]
    names = {conversation.sample_id for conversation in conversations}
    questions = tuple(question for question in dataset.questions if question.sample_id in names)
    return Dataset(dataset.sha256, conversations, questions, dataset.questions_read)


def commit() -> str:
    return subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()


if __name__ == "__main__":
    main()
