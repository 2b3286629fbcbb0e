"""Commands on the caller's project: what it declares. They use the public names of `ricordo` only."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from itertools import islice
from typing import Annotated, Any

import typer

import ricordo
from ricordo.commands.output import printable
from ricordo_server.cli import options
from ricordo_server.cli.failures import MISUSE, Refusal, failures_told

Project = ricordo.models.Project
MetadataKey = ricordo.models.MetadataKey
MetadataType = ricordo.models.MetadataType
CustomType = ricordo.models.CustomType

Name = Annotated[str, typer.Argument(help="Its name.")]
ValueType = Annotated[MetadataType, typer.Argument(help="The type of its values.")]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="A tag as NAME:TYPE; several times for several.")
]


class ContextField(StrEnum):
    """The fields of `ContextDefaults`."""

    MAX_TOKENS = "max_tokens"
    FORMAT = "format"
    TOP_K = "top_k"
    TEMPLATE = "template"


commands = typer.Typer(
    help="How the project works: language, metadata keys, custom types.", no_args_is_help=True
)
metadata_keys = typer.Typer(help="Metadata keys with a declared type.", no_args_is_help=True)
custom_types = typer.Typer(help="Types of custom memories.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds the commands to the program."""
    commands.command("show")(show)
    commands.command("set-language")(set_language)
    commands.command("set-metadata-policy")(set_metadata_policy)
    commands.command("set-context")(set_context)
    commands.command("let-end-users-publish")(let_end_users_publish)
    commands.command("delete")(delete)
    metadata_keys.command("add")(add_key)
    metadata_keys.command("remove")(remove_key)
    metadata_keys.command("retype")(retype_key)
    custom_types.command("add")(add_type)
    custom_types.command("edit")(edit_type)
    custom_types.command("remove")(remove_type)
    commands.add_typer(metadata_keys, name="metadata-key")
    commands.add_typer(custom_types, name="custom-type")
    app.add_typer(commands, name="project")
    app.command()(audit)


@contextmanager
def project_of(target: str, token: str | None) -> Iterator[tuple[ricordo.Client, Project]]:
    """The project as it is now; a change to it is refused when somebody else changes it meanwhile."""
    with failures_told(), options.connect(target, token) as client:
        yield client, client.project.get()


def change(client: ricordo.Client, project: Project, *, force: bool = False, **settings: Any) -> None:
    changes = ricordo.models.ProjectChanges(**settings)
    changed = client.project.update(
        changes, expected_revision=project.revision, force=force, timeout=options.LONG
    )
    typer.echo(f"Changed; the project is at revision {changed.revision}.")


def show(
    as_json: options.AsJson = False,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Show the project and its settings."""
    with project_of(target, token) as (_, project):
        if as_json:
            options.print_json(project.model_dump(mode="json"))
            return
        for line in _lines(project):
            typer.echo(printable(line))


def _lines(project: Project) -> Iterator[str]:
    settings = project.settings
    yield f"{project.display_name}  {project.project_id}  revision {project.revision}"
    yield f"language: {settings.language or 'not set'}"
    yield f"metadata policy: {settings.metadata_policy.value}"
    yield f"end users may publish: {'yes' if settings.end_users_may_publish else 'no'}"
    for key in settings.metadata_keys:
        yield f"metadata key {key.name}: {key.value_type.value}"
    for custom_type in settings.custom_types:
        tags = ", ".join(f"{tag.name}:{tag.value_type.value}" for tag in custom_type.tags)
        yield f"custom type {custom_type.name}: {tags or 'no tags'}"
    for name, value in settings.context.model_dump(mode="json", exclude_none=True).items():
        yield f"context {name}: {value}"
    for name, value in settings.extraction.model_dump(mode="json", exclude_defaults=True).items():
        yield f"extraction {name}: {value}"


def set_language(
    language: Annotated[str, typer.Argument(help="As PostgreSQL names it; '' for none.")],
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Set the language of text search in stores that have none of their own."""
    with project_of(target, token) as (client, project):
        change(client, project, language=language or None)


def set_metadata_policy(
    policy: Annotated[ricordo.models.MetadataPolicy, typer.Argument(help="What filters may name.")],
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Let filters name any metadata key, or declared ones only."""
    with project_of(target, token) as (client, project):
        change(client, project, metadata_policy=policy)


def set_context(
    max_tokens: Annotated[int | None, typer.Option(help="The gross budget in tokens.")] = None,
    context_format: Annotated[
        ricordo.models.ContextFormat | None, typer.Option("--format", help="How to render.")
    ] = None,
    top_k: Annotated[int | None, typer.Option(help="Candidates of each source.")] = None,
    template: Annotated[
        typer.FileText | None,
        typer.Option(help="File of the Jinja2 template of the format jinja2; - for stdin."),
    ] = None,
    unset: Annotated[
        list[ContextField] | None, typer.Option(help="Back to the server's own; several times for several.")
    ] = None,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Set what contexts are built with where a call does not say. What is not named stays."""
    named: dict[str, Any] = {
        "max_tokens": max_tokens,
        "format": context_format,
        "top_k": top_k,
        "template": template and template.read(),
    }
    changes = {name: value for name, value in named.items() if value is not None}
    changes |= dict.fromkeys(unset or ())
    with project_of(target, token) as (client, project):
        if not changes:
            raise Refusal("nothing to set: name at least one option", status=MISUSE)
        change(client, project, context=project.settings.context.model_copy(update=changes))


def let_end_users_publish(
    allowed: Annotated[bool, typer.Argument(help="true or false.")],
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Let end users write memories that everyone reads, or services only."""
    with project_of(target, token) as (client, project):
        change(client, project, end_users_may_publish=allowed)


def add_key(
    name: Name,
    value_type: ValueType,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Declare a metadata key: its stored values must have the type already."""
    with project_of(target, token) as (client, project):
        keys = project.settings.metadata_keys
        refuse_known(name, [key.name for key in keys], "metadata key", "retype")
        change(client, project, metadata_keys=(*keys, MetadataKey(name=name, value_type=value_type)))


def remove_key(
    name: Name, target: options.Target = options.DEFAULT_TARGET, token: options.Token = None
) -> None:
    """Take a declaration away; the values stay."""
    with project_of(target, token) as (client, project):
        keys = project.settings.metadata_keys
        refuse_unknown(name, [key.name for key in keys], "metadata key")
        change(client, project, metadata_keys=tuple(key for key in keys if key.name != name))


def retype_key(
    name: Name,
    value_type: ValueType,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Give a metadata key another type, when no stored value has the old one."""
    with project_of(target, token) as (client, project):
        keys = project.settings.metadata_keys
        refuse_unknown(name, [key.name for key in keys], "metadata key")
        new = MetadataKey(name=name, value_type=value_type)
        change(client, project, metadata_keys=tuple(new if key.name == name else key for key in keys))


def add_type(
    name: Name,
    tags: Tags = None,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Declare a type of custom memories. With the first, types that are not declared are refused."""
    with project_of(target, token) as (client, project):
        types = project.settings.custom_types
        refuse_known(name, [each.name for each in types], "custom type", "edit")
        change(client, project, custom_types=(*types, CustomType(name=name, tags=read_tags(tags))))


def edit_type(
    name: Name,
    tags: Tags = None,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Replace the tags of a type. Memories keep the tags they have until they are written again."""
    with project_of(target, token) as (client, project):
        types = project.settings.custom_types
        refuse_unknown(name, [each.name for each in types], "custom type")
        new = CustomType(name=name, tags=read_tags(tags))
        change(client, project, custom_types=tuple(new if each.name == name else each for each in types))


def remove_type(
    name: Name,
    force: Annotated[bool, typer.Option("--force", help="Although memories of it are left.")] = False,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Take a type away. Its memories stay, but are no longer found by it."""
    with project_of(target, token) as (client, project):
        types = project.settings.custom_types
        refuse_unknown(name, [each.name for each in types], "custom type")
        left = tuple(each for each in types if each.name != name)
        change(client, project, force=force, custom_types=left)


def read_tags(given: list[str] | None) -> tuple[MetadataKey, ...]:
    return tuple(_read_tag(text) for text in given or ())


def _read_tag(text: str) -> MetadataKey:
    name, _, value_type = text.rpartition(":")
    try:
        return MetadataKey(name=name, value_type=MetadataType(value_type))
    except ValueError as error:
        choices = ", ".join(MetadataType)
        raise Refusal(f"--tag {text!r} is not NAME:TYPE with a type of {choices}", status=MISUSE) from error


def refuse_known(name: str, names: list[str], what: str, instead: str) -> None:
    if name in names:
        raise Refusal(f"the {what} {name!r} is declared already: `{instead}` changes it", status=MISUSE)


def refuse_unknown(name: str, names: list[str], what: str) -> None:
    if name not in names:
        raise Refusal(f"there is no {what} {name!r}; there is: {', '.join(names) or 'none'}", status=MISUSE)


def delete(
    project_id: Annotated[str, typer.Argument(help="The project.")],
    force: Annotated[bool, typer.Option("--force", help="Remove it; otherwise count what it holds.")] = False,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Remove a project with everything in it, as an operator: nothing of it stays in any table."""
    with failures_told(), options.connect(target, token) as client:
        receipt = _delete(client, project_id, force=force)
        for table, count in receipt.row_counts.items():
            typer.echo(f"{table}: {count}")
        typer.echo(
            f"Removed {receipt.total} rows." if receipt.done else "Nothing is removed without --force."
        )


def _delete(client: ricordo.Client, project_id: str, *, force: bool) -> ricordo.models.ErasureReceipt:
    """As many calls as it takes, while each of them removes something."""
    while True:
        try:
            return client.admin.delete_project(project_id, force=force, timeout=options.LONG)
        except ricordo.errors.DeadlineExceededError as unfinished:
            removed = unfinished.metadata.get("removed_row_count", "0")
            if removed == "0":
                raise
            typer.echo(f"{removed} rows removed, there are more.", err=True)


def audit(
    limit: Annotated[int, typer.Option(help="How many records, the newest first.", min=1)] = 50,
    installation: Annotated[
        bool, typer.Option("--installation", help="What operators did, as an operator.")
    ] = False,
    project_id: Annotated[
        str, typer.Option("--project", help="Of that, only what was done to this project.")
    ] = "",
    as_json: options.AsJson = False,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Show who administered the project and who was denied what; with --installation, what operators did."""
    size = min(limit, 1_000)
    with failures_told(), options.connect(target, token) as client:
        found = (
            client.admin.list_operator_records(project_id=project_id, page_size=size)
            if installation or project_id
            else client.project.list_audit_records(page_size=size)
        )
        records = list(islice(found, limit))
        if as_json:
            options.print_json([record.model_dump(mode="json") for record in records])
            return
        for record in records:
            typer.echo(printable(_told(record)))


def _told(record: ricordo.models.AuditRecord) -> str:
    who = f"{record.principal_id} for {record.user_id}" if record.user_id else record.principal_id
    times = f" ({record.occurrences} times this hour)" if record.occurrences > 1 else ""
    moment = record.create_time.isoformat(timespec="seconds")
    return f"{moment}  {record.outcome.value}  {record.action}  {record.subject}  by {who}{times}"
