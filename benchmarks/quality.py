"""Retrieval quality on LoCoMo, through the running service and the client: `make bench-quality`.

One store a conversation; turns are recorded, then each question is searched among the turns of its conversation, in
every mode. The figures go to `results/quality.json` and are compared with nothing here: see README.md. `--weights`
adds other fusions, each measured over all questions, never question by question.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.facts import commit, today, write_result
from benchmarks.locomo import DEFAULT_PATH, Conversation, Dataset, Question, load
from benchmarks.metrics import DEPTHS, Figures, Row, summarise
from benchmarks.stack import Stack, running_stack
from ricordo import AsyncClient
from ricordo.models import NewTurn, Scope

CATEGORIES = {"1-4": "categories 1 to 4", "5": "category 5", "all": "all"}
BATCH = 100
CALLERS = 8


@dataclass(frozen=True)
class Variant:
    """A way to search, and the name of its rows."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


MODES = [Variant(mode, {"mode": mode}) for mode in ("text", "semantic", "hybrid")]
FUSIONS = [
    *(
        Variant(f"convex {weight}", {"fusion": "convex", "semantic_weight": weight})
        for weight in (0.2, 0.25, 0.4, 0.5)
    ),
    *(Variant(f"rrf {weight}", {"fusion": "rrf", "semantic_weight": weight}) for weight in (0.3, 0.5)),
]


@dataclass(frozen=True)
class Outcome:
    """What one search of one question found."""

    variant: str
    row: Row


async def record(client: AsyncClient, conversation: Conversation) -> None:
    """A store for the conversation, and in it a session for each of its sessions."""
    store = store_of(conversation.sample_id)
    await client.stores.create(store)
    for number in dict.fromkeys(turn.session_no for turn in conversation.turns):
        scope = Scope(user_id=conversation.sample_id, session_id=f"session-{number}")
        drafts = new_turns(conversation, number)
        while batch := list(islice(drafts, BATCH)):
            await client.sessions.batch_record_turns(batch, scope=scope, store=store)


def new_turns(conversation: Conversation, session_no: int) -> Iterator[NewTurn]:
    for turn in conversation.turns:
        if turn.session_no == session_no:
            yield NewTurn(
                role="user" if turn.speaker == conversation.speakers[0] else "assistant",
                content=turn.retrieval_text,
                event_time=turn.time,
                metadata={"dia_id": turn.dia_id},
                idempotency_key=turn.dia_id,
            )


def store_of(sample_id: str) -> str:
    return f"locomo-{sample_id}".lower()


async def ask(client: AsyncClient, question: Question, variants: Sequence[Variant]) -> list[Outcome]:
    outcomes = []
    for variant in variants:
        result = await client.sessions.search_turns(
            question.question, top_k=max(DEPTHS), store=store_of(question.sample_id), **variant.options
        )
        ranked = tuple(str(hit.turn.metadata["dia_id"]) for hit in result.hits)
        outcomes.append(Outcome(variant.name, Row(question.category, question.evidence, ranked)))
    return outcomes


async def measure(stack: Stack, dataset: Dataset, variants: Sequence[Variant]) -> list[Outcome]:
    gate = asyncio.Semaphore(CALLERS)
    async with AsyncClient(stack.target, token=stack.token, timeout=60) as client:
        for conversation in dataset.conversations:
            await record(client, conversation)

        async def asked(question: Question) -> list[Outcome]:
            async with gate:
                return await ask(client, question, variants)

        answers = await asyncio.gather(*map(asked, dataset.questions))
    return [outcome for outcomes in answers for outcome in outcomes]


def tabulate(
    outcomes: Sequence[Outcome], variants: Sequence[Variant], stack: Stack
) -> Iterator[dict[str, Any]]:
    for variant in variants:
        groups = summarise(outcome.row for outcome in outcomes if outcome.variant == variant.name)
        for label, group in CATEGORIES.items():
            if group in groups:
                yield as_row(variant.name, stack, label, groups[group])


def as_row(name: str, stack: Stack, label: str, figures: Figures) -> dict[str, Any]:
    recalls = {f"r_at_{depth}": round(figures.recall[depth], 4) for depth in DEPTHS}
    return {
        "row": name,
        "embedder": stack.embedder,
        "default_model": stack.default_model,
        "categories": label,
        **recalls,
        "mrr": round(figures.mrr, 4),
        "n": figures.questions,
    }


def first(dataset: Dataset, count: int | None) -> Dataset:
    conversations = dataset.conversations[:count]
    names = {conversation.sample_id for conversation in conversations}
    questions = tuple(question for question in dataset.questions if question.sample_id in names)
    return Dataset(dataset.sha256, conversations, questions, dataset.questions_read)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DEFAULT_PATH)
    parser.add_argument("--conversations", type=int, help="only the first so many; writes no result")
    parser.add_argument(
        "--embedder", choices=["local", "hashing"], default="local", help="local: the default"
    )
    parser.add_argument("--weights", action="store_true", help="measure other fusions too")
    arguments = parser.parse_args()
    measured_commit = commit()  # now: others may commit while this runs
    dataset = first(load(arguments.data), arguments.conversations)
    fusions = FUSIONS if arguments.weights else []
    with (
        tempfile.TemporaryDirectory() as folder,
        running_stack(Path(folder), provider=arguments.embedder) as stack,
    ):
        outcomes = asyncio.run(measure(stack, dataset, [*MODES, *fusions]))
        rows = list(tabulate(outcomes, MODES, stack))
        others = list(tabulate(outcomes, fusions, stack))
    report = {"commit": measured_commit, "date": today(), "data_sha256": dataset.sha256, "rows": rows}
    for row in (*rows, *others):
        print(json.dumps(row))
    if arguments.conversations is None:
        print(write_result("quality.json", {**report, "fusions": others} if others else report))


if __name__ == "__main__":
    main()
