"""Commands of a client: search, context, import turns. They use the public names of `ricordo` only."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

import ricordo
from ricordo_server.cli import options, output
from ricordo_server.cli.failures import Refusal, failures_told
from ricordo_server.cli.import_turns import Summary, TurnImport
from ricordo_server.cli.turn_file import BadLineError

SearchMode = ricordo.models.SearchMode
ContextFormat = ricordo.models.ContextFormat
ContextSource = ricordo.models.ContextSource

User = Annotated[str | None, typer.Option(help="Only what this user may read.")]
Session = Annotated[str | None, typer.Option(help="Only this session.")]
Explain = Annotated[bool, typer.Option("--explain", help="Say why.")]

importing = typer.Typer(help="Bring in what is elsewhere.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds the commands to the program."""
    app.command()(search)
    app.command()(context)
    importing.command("turns")(import_turns)
    app.add_typer(importing, name="import")


@importing.callback()
def choose_what() -> None:
    """Keeps `turns` a command of its own, though it is the only one."""


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    turns: Annotated[bool, typer.Option("--turns", help="Among recorded turns, not memories.")] = False,
    mode: Annotated[SearchMode, typer.Option(help="By words, by meaning, or both.")] = SearchMode.HYBRID,
    top_k: Annotated[int, typer.Option(help="How many hits.", min=1, max=200)] = 10,
    user: User = None,
    session: Session = None,
    store: options.Store = None,
    explain: Explain = False,
    as_json: options.AsJson = False,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Find memories, or turns."""
    with failures_told(), options.connect(target, token) as client:
        scope = make_scope(user, session)
        result: output.Result
        if turns:
            result = client.sessions.search_turns(
                query, mode=mode, top_k=top_k, scope=scope, explain=explain, store=store
            )
        else:
            result = client.memories.search(
                query, mode=mode, top_k=top_k, scope=scope, explain=explain, store=store
            )
        if as_json:
            options.print_json(output.describe_result(result))
        else:
            output.print_result(result)


def context(
    query: Annotated[str, typer.Argument(help="What the context is for.")],
    source: Annotated[
        list[ContextSource] | None,
        typer.Option(help="Where to look; several times for several. [default: episodic, semantic]"),
    ] = None,
    format_style: Annotated[
        ContextFormat, typer.Option("--format", help="How to render.")
    ] = ContextFormat.MARKDOWN,
    mode: Annotated[SearchMode, typer.Option(help="How the sources are asked.")] = SearchMode.SEMANTIC,
    max_tokens: Annotated[
        int | None, typer.Option(help="The budget, of which 500 are kept. [default: 4000]", min=1)
    ] = None,
    user: User = None,
    session: Session = None,
    store: options.Store = None,
    explain: Explain = False,
    as_json: options.AsJson = False,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Build one block of context for the next prompt."""
    chosen = source or [ContextSource.EPISODIC, ContextSource.SEMANTIC]
    with failures_told(), options.connect(target, token) as client:
        built = client.context.build(
            query,
            sources=[ricordo.SourceSpec(source=each, mode=mode) for each in dict.fromkeys(chosen)],
            scope=make_scope(user, session),
            max_tokens=max_tokens,
            format_style=format_style,
            include_memories=as_json,
            explain=explain,
            store=store,
        )
        if as_json:
            options.print_json(output.describe_context(built))
        else:
            output.print_context(built)


def make_scope(user: str | None, session: str | None) -> ricordo.models.ScopeFilter | None:
    """A user alone also reads what is shared; a session is exactly that session."""
    if session:
        return ricordo.models.Matching(user_id=user or "", session_id=session)
    return ricordo.models.ReadableBy(user_id=user) if user else None


def import_turns(
    file: Annotated[
        Path,
        typer.Argument(
            exists=True,
            dir_okay=False,
            readable=True,
            help="A JSON object a line: session_id, user_id, role, content; optional agent_id, event_time, "
            "metadata, idempotency_key.",
        ),
    ],
    user: Annotated[str, typer.Option(help="The user of lines without a user_id.")] = "",
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Go on after a bad line.")] = False,
    position: Annotated[
        Path | None, typer.Option(help="Where to keep how far it got. [default: FILE.position]")
    ] = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Record the turns of a file; a rerun goes on where it ended, and records nothing twice."""
    with failures_told(), options.connect(target, token) as client, progress_bar(file) as progress:
        run = TurnImport(
            client=client,
            path=file,
            position_path=position or file.with_name(file.name + ".position"),
            store=store,
            default_user=user,
            skip_bad=skip_bad,
            on_skip=lambda bad_line: typer.echo(f"skipped {file}, {bad_line}", err=True),
            on_progress=lambda done: progress.update(progress.task_ids[0], completed=done),
        )
        try:
            run.run()
        except BadLineError as error:
            raise Refusal(
                f"{file}, {error}",
                f"{summarize(run.summary)}; correct the line and run it again, or pass --skip-bad",
            ) from error
        except ricordo.RicordoError:
            typer.echo(f"Stopped: {summarize(run.summary)}; run it again to go on.", err=True)
            raise
    if as_json:
        options.print_json(asdict(run.summary))
    else:
        typer.echo(f"{file}: {summarize(run.summary)}.")


@contextmanager
def progress_bar(file: Path) -> Iterator[Progress]:
    """On stderr, and only on a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        progress.add_task(file.name, total=file.stat().st_size)
        yield progress


def summarize(summary: Summary) -> str:
    parts = [f"{summary.recorded} turns recorded", f"{summary.known} known already"]
    if summary.skipped:
        parts.append(f"{summary.skipped} bad lines skipped")
    if summary.resumed_after:
        parts.append(f"continued after line {summary.resumed_after}")
    return ", ".join(parts)
