"""`apply`: a project brought to the form that a TOML file states. It uses the public names of `ricordo` only.

For each kind of thing one function compares what is wanted with what is there and answers the steps between them:
`KINDS` has them in the order in which they are taken. What the file does not name is left as it is.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TextIO

import pydantic
import typer

import ricordo
from ricordo.commands.output import printable
from ricordo_server.cli import options
from ricordo_server.cli.failures import MISUSE, Refusal, failures_told
from ricordo_server.cli.options import connect
from ricordo_server.cli.statement import StatedAccount, StatedGrant, StatedStore, Statement, read_statement


@dataclass(frozen=True)
class Step:
    """Something to do, in words and in deed."""

    text: str
    take: Callable[[], object]


@dataclass(frozen=True)
class Target:
    """Where steps are taken, unless they are only to be told; new secrets go into a folder."""

    client: ricordo.Client
    secrets_folder: Path | None
    dry_run: bool


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
    """Bring the project's settings, service accounts, stores and grants to the form that a file states.

    A second run changes nothing. What the file does not name stays as it is: nothing is deleted but the grants of a
    store that the file states others of.
    """
    with failures_told():
        stated = read_statement(file)
        with connect(target, token) as client:
            steps = plan(stated, Target(client, secrets_folder, dry_run))
            if dry_run:
                for step in steps:
                    typer.echo(printable(f"would {step.text}"))
                typer.echo(f"{len(steps)} steps to take." if steps else "Nothing to do.")
                return
            take(steps)


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


def find_changes(
    stated: pydantic.BaseModel, current: pydantic.BaseModel, *, inherits: bool = False
) -> dict[str, Any]:
    """The fields that are given and differ; a table inside keeps those of its fields that are not given.

    With `inherits`, what is not given is not as by default, so that stating the default is a change too.
    """
    changed: dict[str, Any] = {}
    for name in stated.model_fields_set:
        wanted, known = getattr(stated, name), getattr(current, name)
        if isinstance(wanted, pydantic.BaseModel) and isinstance(known, pydantic.BaseModel):
            if changes := find_changes(wanted, known, inherits=inherits):
                changed[name] = known.model_copy(update=changes)
        elif wanted != known or (inherits and name not in current.model_fields_set):
            changed[name] = wanted
    return changed


def plan_stores(stated: Statement, target: Target) -> Iterator[Step]:
    """Grants come before the access: whoever is to keep a store that gets restricted never loses it."""
    stores = target.client.stores
    known = {store.store_id: store for store in stores.list()} if stated.stores else {}
    for wanted in stated.stores:
        given = wanted.model_dump(exclude={"store_id", "grants", "settings"}, exclude_none=True)
        store = known.get(wanted.store_id)
        if store is None:
            new = given if wanted.settings is None else {**given, "settings": wanted.settings}
            yield _step(f"create the store {wanted.store_id}", stores.create, wanted.store_id, new)
        yield from _plan_grants(stated, wanted, target, is_new=store is None)
        changed = {
            name: value for name, value in given.items() if store and value != (getattr(store, name) or "")
        }
        if store and wanted.settings:
            settings = find_changes(wanted.settings, store.settings, inherits=True)
            changed |= {"settings": ricordo.models.StoreSettings(**settings)} if settings else {}
        if changed:
            text = f"set {', '.join(sorted(changed))} of the store {wanted.store_id}"
            yield _step(text, stores.update, wanted.store_id, changed)


def _plan_grants(stated: Statement, wanted: StatedStore, target: Target, *, is_new: bool) -> Iterator[Step]:
    """A store whose grants are stated gets those and no other."""
    if wanted.grants is None:
        return
    stores, store_id = target.client.stores, wanted.store_id
    ids, new = _client_ids(target), {each.name for each in stated.accounts}
    current = {} if is_new else {each.principal_id: each.access for each in stores.list_grants(store_id)}
    for grant in wanted.grants:
        if grant.service_account and grant.service_account not in ids.keys() | new:
            text = f"a grant of the store {store_id} is to {grant.to}, which is no service account"
            raise Refusal(text, status=MISUSE)
        principal_id = grant.principal_id or ids.get(grant.to, "")
        if current.pop(principal_id, None) != grant.access:
            text = f"grant {grant.access.value} in the store {store_id} to {grant.to}"
            yield Step(text, partial(_grant, target, store_id, grant))
    for principal_id in current:
        text = f"revoke the grant in the store {store_id} to {principal_id}"
        yield _step(text, stores.revoke, store_id, {"principal_id": principal_id})


def _grant(target: Target, store_id: str, grant: StatedGrant) -> None:
    """The account may be one that an earlier step made."""
    principal_id = grant.principal_id or _client_ids(target)[grant.to]
    target.client.stores.grant(store_id, principal_id, grant.access)


def _client_ids(target: Target) -> dict[str, str]:
    return {each.name: each.client_id for each in target.client.identity.list_service_accounts()}


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
    identity = target.client.identity
    file = _check_secret_file(wanted.name, target)

    def create() -> None:
        with _written(file) as opened:
            made = identity.create_service_account(wanted.name, role=wanted.role)
            client_id = made.service_account.client_id
            json.dump({"client_id": client_id, "client_secret": made.client_secret}, opened)
        if wanted.disabled:
            identity.disable_service_account(client_id)

    return Step(f"create the service account {wanted.name} as {wanted.role.value}", create)


def _check_secret_file(name: str, target: Target) -> Path:
    """Where the account's secret goes: a dry run needs no place for it."""
    if target.secrets_folder is None and not target.dry_run:
        raise Refusal(
            f"the service account {name} is new: pass --secrets-folder, where its secret will be put",
            status=MISUSE,
        )
    file = (target.secrets_folder or Path()) / f"{name}.json"
    if target.secrets_folder and file.exists():
        raise Refusal(
            f"{file} is there, and the service account {name} is new: move the file away, for its secret may be"
            " another account's",
            status=MISUSE,
        )
    return file


@contextmanager
def _written(file: Path) -> Iterator[TextIO]:
    """Opened before the account is made: a secret that cannot be written would be lost."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as opened:
        try:
            yield opened
        except ricordo.RicordoError:
            file.unlink()
            raise


def _step(text: str, change: Callable[..., object], subject: str, values: dict[str, Any]) -> Step:
    return Step(text, lambda: change(subject, **values))


KINDS: Sequence[Callable[[Statement, Target], Iterator[Step]]] = (
    plan_settings,
    plan_accounts,
    plan_stores,
)


def register(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command()(apply)
