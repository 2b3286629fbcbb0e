"""The operator's command on what a project may use. It uses the public names of `ricordo` only."""

from typing import Annotated

import typer

import ricordo
from ricordo_server.cli import options
from ricordo_server.cli.failures import MISUSE, Refusal, failures_told

ProjectLimits = ricordo.models.ProjectLimits
NONE = "none"
Value = Annotated[str | None, typer.Option(metavar="NUMBER|none", help="The new limit.")]


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command()(limits)


def limits(
    project_id: Annotated[str, typer.Argument(help="The project.")],
    requests_per_second: Value = None,
    concurrent_requests: Value = None,
    stored_memories: Value = None,
    stored_bytes: Value = None,
    embedding_tokens_per_day: Value = None,
    llm_tokens_per_day: Value = None,
    as_json: options.AsJson = False,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Show what a project may use and has used; with numbers, change it first. For operators."""
    texts = {
        "requests_per_second": requests_per_second,
        "concurrent_requests": concurrent_requests,
        "stored_memories": stored_memories,
        "stored_bytes": stored_bytes,
        "embedding_tokens_per_day": embedding_tokens_per_day,
        "llm_tokens_per_day": llm_tokens_per_day,
    }
    with failures_told():
        given = {name: read_limit(name, text) for name, text in texts.items() if text is not None}
    with failures_told(), options.connect(target, token) as client:
        if given:
            client.admin.update_project_limits(project_id, ProjectLimits(**given))
        allowed, used = client.admin.get_project_limits(project_id)
    if as_json:
        options.print_json({"limits": allowed.model_dump(), "usage": used.model_dump()})
        return
    usage = used.model_dump()
    for name, value in allowed.model_dump().items():
        now = usage.get(name.removesuffix("_per_day"))
        typer.echo(f"{name}: {NONE if value is None else value}" + ("" if now is None else f", used {now}"))


def read_limit(name: str, text: str) -> int | None:
    if text == NONE:
        return None
    if not text.isdecimal():
        flag = name.replace("_", "-")
        raise Refusal(f"--{flag} {text!r} is no number: give one, or none to lift the limit", status=MISUSE)
    return int(text)
