"""The commands `ricordo pipelines`: sessions that become documents in the background."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from ricordo import Client, models
from ricordo._sync.pager import Pager
from ricordo.commands.client_command import of_client
from ricordo.commands.entries import read_text
from ricordo.commands.options import PageToken, Yes
from ricordo.commands.output import Format, confirm, print_json, print_line, tell_done, tell_following

PipelineId = Annotated[str, typer.Argument(help="The pipeline's id.")]
SessionStore = Annotated[str, typer.Option("--session-store", help="The store whose sessions it reads.")]
Name = Annotated[str | None, typer.Option("--name", help="A name for people.")]
Endpoint = Annotated[str | None, typer.Option(help='What reads the sessions; "" is what the store says.')]
ModelName = Annotated[str | None, typer.Option("--model", help="A model of the endpoint.")]
Instructions = Annotated[
    str | None, typer.Option(help="In place of the prompt for facts; @FILE reads them from a file.")
]
Trigger = Annotated[models.PipelineTrigger | None, typer.Option(help="When it runs.", case_sensitive=False)]
Hours = Annotated[
    float | None, typer.Option("--every", help="Hours from one run to the next.", min=1, max=720)
]
PageSize = Annotated[int, typer.Option(help="Rows a page.", min=1, max=1000)]

Item = TypeVar("Item")

commands = typer.Typer(help="Sessions that become documents in the background.", no_args_is_help=True)
runs = typer.Typer(help="What runs of a pipeline came to.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds the commands to the program."""
    commands.command("create")(create)
    commands.command("list")(list_pipelines)
    commands.command("get")(get)
    commands.command("update")(update)
    commands.command("pause")(pause)
    commands.command("resume")(resume)
    commands.command("delete")(delete)
    commands.command("run")(run)
    runs.command("list")(list_runs)
    runs.command("get")(get_run)
    commands.add_typer(runs, name="runs")
    app.add_typer(commands, name="pipelines")


@of_client
def create(
    client: Client,
    output: Format,
    session_store: SessionStore,
    memory_store: Annotated[str, typer.Option("--memory-store", help="The store whose documents it writes.")],
    name: Name = None,
    endpoint: Endpoint = None,
    model: ModelName = None,
    instructions: Instructions = None,
    trigger: Trigger = None,
    every: Hours = None,
) -> None:
    """Make a pipeline: one for each pair of stores."""
    made = client.memory_pipelines.create(
        session_store,
        memory_store,
        display_name=name or "",
        endpoint=endpoint or "",
        model=model or "",
        instructions=_text(instructions) or "",
        trigger=trigger or models.PipelineTrigger.MANUAL,
        period=_period(every),
    )
    _print_pipeline(made, output)


def _text(given: str | None) -> str | None:
    """Instructions as they are, or those in the file of that name."""
    return read_text(Path(given[1:])) if given and given.startswith("@") else given


def _period(hours: float | None) -> timedelta | None:
    return None if hours is None else timedelta(hours=hours)


@of_client
def list_pipelines(
    client: Client,
    output: Format,
    session_store: SessionStore,
    page_size: PageSize = 50,
    page_token: PageToken = "",
) -> None:
    """List the pipelines that read a store."""
    pager = client.memory_pipelines.list(session_store, page_size=page_size, page_token=page_token)
    pipelines, following = _page(pager)
    if output is Format.JSON:
        print_json({"pipelines": [_described(each) for each in pipelines], "next_page_token": following})
        return
    for pipeline in pipelines:
        _print_pipeline(pipeline, output)
    tell_following(following)


def _page(pager: Pager[Item]) -> tuple[list[Item], str]:
    page = next(pager.pages())
    return list(page.items), page.next_page_token


@of_client
def get(client: Client, output: Format, pipeline_id: PipelineId, session_store: SessionStore) -> None:
    """Show a pipeline."""
    _print_pipeline(client.memory_pipelines.get(pipeline_id, session_store=session_store), output)


@of_client
def update(
    client: Client,
    output: Format,
    pipeline_id: PipelineId,
    session_store: SessionStore,
    name: Name = None,
    endpoint: Endpoint = None,
    model: ModelName = None,
    instructions: Instructions = None,
    trigger: Trigger = None,
    every: Hours = None,
) -> None:
    """Change a pipeline; "" clears a text."""
    changed = client.memory_pipelines.update(
        pipeline_id,
        session_store=session_store,
        display_name=name,
        endpoint=endpoint,
        model=model,
        instructions=_text(instructions),
        trigger=trigger,
        period=_period(every),
    )
    _print_pipeline(changed, output)


@of_client
def pause(client: Client, output: Format, pipeline_id: PipelineId, session_store: SessionStore) -> None:
    """Have the schedule rest."""
    _print_pipeline(client.memory_pipelines.pause(pipeline_id, session_store=session_store), output)


@of_client
def resume(client: Client, output: Format, pipeline_id: PipelineId, session_store: SessionStore) -> None:
    """End a pause."""
    _print_pipeline(client.memory_pipelines.resume(pipeline_id, session_store=session_store), output)


@of_client
def delete(
    client: Client, output: Format, pipeline_id: PipelineId, session_store: SessionStore, yes: Yes = False
) -> None:
    """Delete a pipeline with its runs; the documents stay."""
    confirm(f"Delete the pipeline {pipeline_id} with its runs?", yes)
    client.memory_pipelines.delete(pipeline_id, session_store=session_store)
    tell_done(output, "deleted", pipeline_id)


@of_client
def run(client: Client, output: Format, pipeline_id: PipelineId, session_store: SessionStore) -> None:
    """Begin a run in the background."""
    _print_run(client.memory_pipelines.run(pipeline_id, session_store=session_store), output)


@of_client
def list_runs(
    client: Client,
    output: Format,
    pipeline_id: PipelineId,
    session_store: SessionStore,
    page_size: PageSize = 50,
    page_token: PageToken = "",
) -> None:
    """List the runs of a pipeline, newest first."""
    pager = client.memory_pipelines.list_runs(
        pipeline_id, session_store=session_store, page_size=page_size, page_token=page_token
    )
    found, following = _page(pager)
    if output is Format.JSON:
        print_json({"runs": [each.model_dump(mode="json") for each in found], "next_page_token": following})
        return
    for each in found:
        _print_run(each, output)
    tell_following(following)


@of_client
def get_run(
    client: Client,
    output: Format,
    run_id: Annotated[str, typer.Argument(help="The run's id.")],
    session_store: SessionStore,
) -> None:
    """Show a run."""
    _print_run(client.memory_pipelines.get_run(run_id, session_store=session_store), output)


def _described(pipeline: models.Pipeline) -> dict[str, Any]:
    return pipeline.model_dump(mode="json")


def _print_pipeline(pipeline: models.Pipeline, output: Format) -> None:
    if output is Format.JSON:
        print_json(_described(pipeline))
        return
    stores = f"{pipeline.session_store} -> {pipeline.memory_store}"
    rests = "" if pipeline.enabled else "paused"
    print_line(pipeline.pipeline_id, stores, pipeline.trigger.value, rests, pipeline.display_name)


def _print_run(run: models.PipelineRun, output: Format) -> None:
    if output is Format.JSON:
        print_json(run.model_dump(mode="json"))
        return
    counts = f"{run.actors} users, {run.failed_actors} failed, {run.created} made, {run.updated} changed"
    print_line(run.run_id, run.state.value, f"{run.create_time:%Y-%m-%d %H:%M}", counts, run.error)
