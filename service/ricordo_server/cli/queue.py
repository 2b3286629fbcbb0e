"""The command `queue`: how much background work waits. It asks the server, as an operator."""

from collections.abc import Iterator
from datetime import UTC, datetime

import typer

import ricordo
from ricordo_server.cli import options
from ricordo_server.cli.failures import failures_told

QueueStatus = ricordo.models.QueueStatus
QueueCounts = ricordo.models.QueueCounts


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("queue")(show_queue)


def show_queue(
    as_json: options.AsJson = False,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Show the jobs that wait, run and failed, by project. Needs an operator's credential."""
    with failures_told(), options.connect(target, token) as client:
        status = client.admin.get_queue_status()
    if as_json:
        options.print_json(status.model_dump(mode="json"))
        return
    for line in _lines(status):
        typer.echo(line)


def _lines(status: QueueStatus) -> Iterator[str]:
    yield f"workers: {status.workers}"
    yield f"all: {describe(status.total)}"
    for queue in status.projects:
        yield f"{queue.project_id or 'housekeeping'}: {describe(queue.counts)}"


def describe(counts: QueueCounts) -> str:
    """One line, without what is zero or absent."""
    numbers = [(counts.waiting, "waiting"), (counts.scheduled, "scheduled"), (counts.running, "running")]
    parts = [f"{number} {name}" for number, name in [*numbers, (counts.failed, "failed")] if number]
    if counts.oldest_due_time is not None:
        parts.append(f"due for {(datetime.now(UTC) - counts.oldest_due_time).total_seconds():.0f} s")
    if counts.last_failure_class is not None:
        parts.append(f"last failure {counts.last_failure_class}")
    return ", ".join(parts) or "nothing"
