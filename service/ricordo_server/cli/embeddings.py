"""Commands on embedding models: `add` brings one to the installation, the others change what a project uses."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import ricordo
from ricordo.commands.output import printable
from ricordo_server.cli import options
from ricordo_server.cli.failures import MISUSE, Refusal, failures_told
from ricordo_server.cli.stack import existing_stack
from ricordo_server.db.migrations import register_embedding_model
from ricordo_server.embedding import EmbeddingSettings, probe_embedder
from ricordo_server.embedding.stored import store_settings

EmbeddingModel = ricordo.models.EmbeddingModel
State = ricordo.models.EmbeddingModelState

# Seconds between two looks at how far the background is, and without progress until somebody is told.
LOOK_SECONDS = 1.0
PATIENCE_SECONDS = 60.0

Name = Annotated[str, typer.Argument(help="The model's name, as `list` shows it.")]
Wait = Annotated[bool, typer.Option(help="Wait until the background is done, and show how far it is.")]

commands = typer.Typer(help="Embedding models: add, prepare, switch, drop.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds the commands to the program."""
    commands.command("list")(list_models)
    for command in (add, prepare, switch, drop):
        commands.command()(command)
    app.add_typer(commands, name="embeddings")


def list_models(
    as_json: options.AsJson = False,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """List the models of the installation, and what the project does with each."""
    with failures_told(), options.connect(target, token) as client:
        models = client.project.list_embedding_models(timeout=options.LONG)
    if as_json:
        options.print_json([model.model_dump(mode="json") for model in models])
        return
    for model in models:
        typer.echo(printable(describe(model)))


def describe(model: EmbeddingModel) -> str:
    parts = [model.name, f"{model.dimension} numbers", model.state.value]
    if model.state is not State.AVAILABLE:
        parts.append(f"{model.done_count} of {model.total_count} rows")
    if model.refused_count:
        parts.append(f"{model.refused_count} of them without a text it can embed")
    return "  ".join(parts)


def add(
    provider: Annotated[str, typer.Option(help="local, openai (any compatible /v1/embeddings) or hashing.")],
    model: Annotated[str, typer.Option(help="Its name as the provider knows it.")] = "",
    dimension: Annotated[int, typer.Option(help="Numbers of its vectors.", min=0)] = 0,
    base_url: Annotated[
        str, typer.Option(help="Address of the provider, up to and with /v1. [default: OpenAI's]")
    ] = "",
    api_key: Annotated[str, typer.Option(help="Where servers find the key: env:NAME or file:PATH.")] = "",
    send_dimension: Annotated[
        bool, typer.Option("--send-dimension", help="Ask the model to shorten its vectors.")
    ] = False,
    max_tokens: Annotated[int, typer.Option(help="The longest text it reads.", min=1)] = 8_191,
    tokenizer: Annotated[str, typer.Option(help="What counts the tokens.")] = "cl100k_base",
    query_prefix: Annotated[str, typer.Option(help="Written before each query.")] = "",
    document_prefix: Annotated[str, typer.Option(help="Written before each document.")] = "",
    default: Annotated[bool, typer.Option("--default", help="New projects begin with it.")] = False,
    owner_url: Annotated[
        str | None, typer.Option(help="URL of a login that may SET ROLE ricordo_owner.")
    ] = None,
    data_folder: options.DataFolder = None,
) -> None:
    """Bring a model to the installation: try it, store how to reach it, build its indexes; servers run on.

    Without an owner URL it goes to the embedded Postgres of the data folder.
    """
    with failures_told():
        embedding = read_embedding(
            provider=provider,
            model=model,
            dimension=dimension,
            base_url=base_url,
            api_key=api_key,
            send_dimension=send_dimension,
            max_tokens=max_tokens,
            tokenizer=tokenizer,
            query_prefix=query_prefix,
            document_prefix=document_prefix,
        )
        name, dimension = asyncio.run(probe_embedder(embedding))
        if provider != "openai" and model not in ("", name):
            raise Refusal(f"the model of the provider {provider} is {name}: leave out --model", status=MISUSE)
        with owner_of(owner_url, data_folder) as url:
            try:
                register_embedding_model(url, name, dimension, store_settings(embedding), default=default)
            except ValueError as error:
                raise Refusal(str(error)) from error
        typer.echo(
            f"{name} is here, with vectors of {dimension} numbers. Next: ricordo embeddings prepare {name}"
        )


def read_embedding(provider: str, **given: object) -> EmbeddingSettings:
    """What can be stored of the options.

    Raises:
        Refusal: they make no sense, or would store a secret.
    """
    try:
        settings = EmbeddingSettings(provider=provider, **given)  # type: ignore[arg-type]
        store_settings(settings)
    except ValueError as error:
        raise Refusal(str(error), status=MISUSE) from error
    return settings


@contextmanager
def owner_of(owner_url: str | None, data_folder: object) -> Iterator[str]:
    settings = options.load_settings(owner_url=owner_url, data_folder=data_folder)
    if settings.owner_url:
        yield settings.owner_url
        return
    with existing_stack(settings) as existing:
        if not existing.owner_url:
            raise Refusal(
                "no owner url: set RICORDO_OWNER_URL, or pass --owner-url, or --data-folder of `ricordo up`",
                status=MISUSE,
            )
        yield existing.owner_url


def prepare(
    name: Name,
    wait: Wait = True,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Give the project's rows vectors of a model, beside the active one; reads stay as they are."""
    with failures_told(), options.connect(target, token) as client:
        model = client.project.register_embedding_model(name, timeout=options.LONG)
        if wait:
            model = watch(client, model, State.PREPARING)
    typer.echo(printable(describe(model)))
    if model.state is State.READY:
        typer.echo(printable(f"Next: ricordo embeddings switch {name}"), err=True)


def switch(
    name: Name,
    force: Annotated[
        bool, typer.Option("--force", help="Although rows would be lost to semantic search for a while.")
    ] = False,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Let reads use a model that is ready. The one they used stays beside it: switch back, or drop it."""
    with failures_told(), options.connect(target, token) as client:
        model = client.project.switch_embedding_model(name, force=force, timeout=options.LONG)
    typer.echo(printable(describe(model)))


def drop(
    name: Name,
    wait: Wait = True,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Take a model out of the project's use, and remove its vectors."""
    with failures_told(), options.connect(target, token) as client:
        model = client.project.drop_embedding_model(name, timeout=options.LONG)
        if wait:
            model = watch(client, model, State.REMOVING)
    typer.echo(printable(describe(model)))


def watch(client: ricordo.Client, model: EmbeddingModel, state: State) -> EmbeddingModel:
    """Until the model is in another state."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    moved = time.monotonic()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(printable(model.name), total=model.total_count)
        while model.state is state:
            time.sleep(LOOK_SECONDS)
            done = model.done_count
            model = find(client, model.name)
            progress.update(task, completed=model.done_count, total=model.total_count)
            if model.done_count != done:
                moved = time.monotonic()
            elif time.monotonic() - moved > PATIENCE_SECONDS:
                moved = time.monotonic()
                typer.echo("No progress for a minute: is a worker running (`ricordo work`)?", err=True)
    return model


def find(client: ricordo.Client, name: str) -> EmbeddingModel:
    models = client.project.list_embedding_models(timeout=options.LONG)
    return next(model for model in models if model.name == name)
