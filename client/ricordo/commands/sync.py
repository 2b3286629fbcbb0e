"""The command `ricordo entries sync`."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from ricordo import Client
from ricordo._convert.store_entries import store_id_of
from ricordo.commands.client_command import of_client
from ricordo.commands.folder.files import Folder
from ricordo.commands.folder.plan import DELETIONS, Action, Side, Step
from ricordo.commands.folder.state import Origin, load_state, save_state
from ricordo.commands.folder.sync import FolderSync
from ricordo.commands.options import Yes
from ricordo.commands.output import FAULT, Format, confirm, print_json, print_line

WORDS = {
    Action.PUSH: "push",
    Action.PULL: "pull",
    Action.DELETE_ENTRY: "delete the entry",
    Action.DELETE_FILE: "delete the file",
    Action.CONFLICT: "conflict",
}


@of_client
def sync(
    client: Client,
    output: Format,
    folder: Annotated[
        Path,
        typer.Argument(help="The folder of Markdown files.", exists=True, file_okay=False, writable=True),
    ],
    actor_id: Annotated[str, typer.Option(help="Whose entries.")],
    prefix: Annotated[str, typer.Option(help="Only entries below this path, such as /notes.")] = "",
    session_id: Annotated[str, typer.Option(help="Entries of this session. [default: of none]")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what there is to do.")] = False,
    prefer: Annotated[Side | None, typer.Option(help="Who wins where both have changed.")] = None,
    yes: Yes = False,
    store: Annotated[str, typer.Option(envvar="RICORDO_STORE", help="The store.")] = "default",
) -> None:
    """Make a folder of Markdown files and the entries of an actor the same: changes go both ways.

    A file's path below the folder is the path of its entry. What has changed on both sides since the last time is
    left alone and named; the status is 1 then. Deletions are asked for first.
    """
    origin = _origin(client, store, actor_id, session_id, prefix)
    run = FolderSync(
        store=client.memory_stores.get(store),
        folder=Folder(folder.resolve(), origin.prefix),
        actor_id=actor_id,
        session_id=session_id,
        digests=load_state(folder, origin),
    )
    steps = run.plan(prefer)
    if not dry_run:
        _confirm_deletions(steps, yes)
        try:
            steps = run.apply(steps)
        finally:
            save_state(folder, origin, run.digests)
    _tell(steps, run.unfit, output, dry_run)
    if any(step.action is Action.CONFLICT for step in steps):
        raise typer.Exit(FAULT)


def _origin(client: Client, store: str, actor_id: str, session_id: str, prefix: str) -> Origin:
    below = "/" + prefix.strip("/") if prefix.strip("/") else ""
    return Origin(client.identity.who_am_i().project_id, store_id_of(store), actor_id, session_id, below)


def _confirm_deletions(steps: list[Step], yes: bool) -> None:
    deletions = [step for step in steps if step.action in DELETIONS]
    for step in deletions:
        typer.echo(_line(step), err=True)
    if deletions:
        confirm(f"Delete {len(deletions)}?", yes)


def _tell(steps: list[Step], unfit: dict[str, str], output: Format, dry_run: bool) -> None:
    if output is Format.JSON:
        print_json({"dry_run": dry_run, "steps": [_describe(step) for step in steps], "left_out": unfit})
        return
    for step in steps:
        print_line(_line(step))
    for path, reason in sorted(unfit.items()):
        print_line(f"left out  {path}", reason)
    counts = Counter(WORDS[step.action] for step in steps)
    done = ", ".join(f"{count} {word}" for word, count in counts.items()) or "nothing to do"
    typer.echo(f"{'Would be done' if dry_run else 'Done'}: {done}", err=True)


def _line(step: Step) -> str:
    return "  ".join(filter(None, [WORDS[step.action], step.path, step.reason]))


def _describe(step: Step) -> dict[str, Any]:
    return {"path": step.path, "action": step.action.value, "reason": step.reason}
