"""`apply`: a project brought to the form that a TOML file states. It uses the public names of `ricordo` only.

For each kind of thing one function compares what is wanted with what is there and answers the steps between them:
`KINDS` has them in the order in which they are taken. What the file does not name is left as it is.
"""

import json
import os
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pydantic
import typer

import ricordo
from ricordo_server.cli import options
from ricordo_server.cli.failures import MISUSE, Refusal, failures_told
from ricordo_server.cli.options import connect
from ricordo_server.cli.output import printable

ProjectRole = ricordo.models.ProjectRole


class Stated(pydantic.BaseModel):
    """A table of the file; a name that is not known is an error."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class StatedStore(Stated):
    """What is None is left as it is; an empty language inherits the project's."""

    store_id: str
    description: str | None = None
    language: str | None = None


class StatedAccount(Stated):
    name: str
    role: ProjectRole
    disabled: bool = False


class Statement(Stated):
    """The whole file. `project_id` keeps it from being applied to another project."""

    project_id: str | None = None
    project: ricordo.models.ProjectChanges | None = None
    stores: tuple[StatedStore, ...] = pydantic.Field((), alias="store")
    accounts: tuple[StatedAccount, ...] = pydantic.Field((), alias="service_account")

    @pydantic.model_validator(mode="after")
    def _each_once(self) -> "Statement":
        for names in ([each.store_id for each in self.stores], [each.name for each in self.accounts]):
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"stated twice: {', '.join(twice)}")
        return self


@dataclass(frozen=True)
class Step:
    """Something to do, in words and in deed."""

    text: str
    take: Callable[[], object]


@dataclass(frozen=True)
class Target:
    """Where steps are taken; new secrets go into a folder."""

    client: ricordo.Client
    secrets_folder: Path | None


def apply(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, readable=True, help="The TOML file.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the steps and take none.")] = False,
    secrets_folder: Annotated[
        Path | None,
        typer.Option(
            help="Where new accounts' secrets go, each into NAME.json that its owner alone may read."
        ),
    ] = None,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Bring the project's settings, stores and service accounts to the form that a file states.

    A second run changes nothing. What the file does not name stays as it is: nothing is deleted.
    """
    with failures_told():
        stated = read_statement(file)
        with connect(target, token) as client:
            steps = plan(stated, Target(client, secrets_folder))
            if dry_run:
                for step in steps:
                    typer.echo(printable(f"would {step.text}"))
                typer.echo(f"{len(steps)} steps to take." if steps else "Nothing to do.")
                return
            take(steps)


def read_statement(file: Path) -> Statement:
    try:
        return Statement(**tomllib.loads(file.read_text()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Refusal(f"{file}: no TOML: {error}", status=MISUSE) from error


def plan(stated: Statement, target: Target) -> list[Step]:
    """The steps from what is there to what is stated, in order."""
    project_id = target.client.identity.who_am_i().project_id
    if stated.project_id is not None and stated.project_id != project_id:
        raise Refusal(
            f"the file is for project {stated.project_id}, the credential of {project_id}", status=MISUSE
        )
    return [step for kind in KINDS for step in kind(stated, target)]


def take(steps: Sequence[Step]) -> None:
    """Says each step once it is done; a failure says how far it came."""
    for number, step in enumerate(steps):
        try:
            step.take()
        except ricordo.RicordoError:
            left = len(steps) - number
            typer.echo(
                f"Stopped: {number} steps taken, {left} left; run it again to go on. At fault: {step.text}",
                err=True,
            )
            raise
        typer.echo(printable(f"done: {step.text}"))
    typer.echo(f"{len(steps)} steps taken." if steps else "Nothing to do.")


def plan_settings(stated: Statement, target: Target) -> Iterator[Step]:
    if stated.project is None:
        return
    project = target.client.project.get()
    changed = find_changes(stated.project, project.settings)
    if not changed:
        return

    def change() -> None:
        changes = ricordo.models.ProjectChanges(**changed)
        target.client.project.update(changes, expected_revision=project.revision, timeout=options.LONG)

    yield Step(f"set {', '.join(sorted(changed))} of the project", change)


def find_changes(stated: pydantic.BaseModel, current: pydantic.BaseModel) -> dict[str, Any]:
    """The fields that are given and differ; of a table inside, those of its fields."""
    changed: dict[str, Any] = {}
    for name in stated.model_fields_set:
        wanted, known = getattr(stated, name), getattr(current, name)
        if isinstance(wanted, pydantic.BaseModel) and isinstance(known, pydantic.BaseModel):
            wanted, known = find_changes(wanted, known), {}
        if wanted != known:
            changed[name] = wanted
    return changed


def plan_stores(stated: Statement, target: Target) -> Iterator[Step]:
    stores = target.client.stores
    known = {store.store_id: store for store in stores.list()} if stated.stores else {}
    for wanted in stated.stores:
        given = wanted.model_dump(exclude={"store_id"}, exclude_none=True)
        if wanted.store_id not in known:
            yield _step(f"create the store {wanted.store_id}", stores.create, wanted.store_id, given)
            continue
        store = known[wanted.store_id]
        changed = {name: value for name, value in given.items() if value != (getattr(store, name) or "")}
        if changed:
            text = f"set {', '.join(sorted(changed))} of the store {wanted.store_id}"
            yield _step(text, stores.update, wanted.store_id, changed)


def plan_accounts(stated: Statement, target: Target) -> Iterator[Step]:
    identity = target.client.identity
    known = {each.name: each for each in identity.list_service_accounts()} if stated.accounts else {}
    for wanted in stated.accounts:
        account = known.get(wanted.name)
        if account is None:
            yield _plan_new_account(wanted, target)
            continue
        if account.role != wanted.role:
            text = f"give the service account {wanted.name} the role {wanted.role.value}"
            yield _step(text, identity.update_service_account, account.client_id, {"role": wanted.role})
        if account.disabled != wanted.disabled:
            change = identity.disable_service_account if wanted.disabled else identity.enable_service_account
            text = f"{'disable' if wanted.disabled else 'enable'} the service account {wanted.name}"
            yield _step(text, change, account.client_id, {})


def _plan_new_account(wanted: StatedAccount, target: Target) -> Step:
    folder, identity = target.secrets_folder, target.client.identity
    if folder is None:
        raise Refusal(
            f"the service account {wanted.name} is new: pass --secrets-folder, where its secret will be put",
            status=MISUSE,
        )

    def create() -> None:
        with _secret_file(folder, wanted.name) as file:
            made = identity.create_service_account(wanted.name, role=wanted.role)
            client_id = made.service_account.client_id
            json.dump({"client_id": client_id, "client_secret": made.client_secret}, file)
        if wanted.disabled:
            identity.disable_service_account(client_id)

    return Step(f"create the service account {wanted.name} as {wanted.role.value}", create)


def _secret_file(folder: Path, name: str) -> Any:
    """Opened before the account is made: a secret that cannot be written would be lost."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, "w")


def _step(text: str, change: Callable[..., object], subject: str, values: dict[str, Any]) -> Step:
    return Step(text, lambda: change(subject, **values))


KINDS: Sequence[Callable[[Statement, Target], Iterator[Step]]] = (
    plan_settings,
    plan_stores,
    plan_accounts,
)


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command()(apply)
