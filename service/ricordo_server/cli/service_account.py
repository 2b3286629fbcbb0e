"""Commands on service accounts and tokens. A project's first account is made by the operator's URL."""

import os
from datetime import timedelta
from typing import Annotated
from uuid import UUID

import typer

import ricordo
from ricordo.commands.output import printable
from ricordo_server.app.access_tokens import TokenNames, sign_token
from ricordo_server.app.key_ring import OpenKey
from ricordo_server.cli import options
from ricordo_server.cli.failures import FAULT, MISUSE, Refusal, failures_told
from ricordo_server.cli.options import connect, load_settings, require
from ricordo_server.credentials.key_sealing import KeySealing
from ricordo_server.credentials.secrets import make_secret
from ricordo_server.db import installation
from ricordo_server.db.signing_keys import read_signing_keys
from ricordo_server.domain.access_token import TokenSubject
from ricordo_server.domain.principal import PrincipalKind, Role
from ricordo_server.domain.signing_key import MAX_TOKEN_LIFETIME, find_active
from ricordo_server.rpc.convert.service_accounts import ACCOUNT_NAME

ServiceAccount = ricordo.models.ServiceAccount
ProjectRole = ricordo.models.ProjectRole

Name = Annotated[str, typer.Argument(help="Its name in the project.")]
SecretAsJson = Annotated[bool, typer.Option("--json", help="Print client id and secret as JSON.")]

commands = typer.Typer(help="Programs that call, and their secrets.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds the commands to the program."""
    commands.command("create")(create)
    commands.command("list")(list_accounts)
    commands.command("rotate")(rotate)
    commands.command("set-role")(set_role)
    commands.command("disable")(disable)
    commands.command("enable")(enable)
    commands.command("delete")(delete)
    app.add_typer(commands, name="service-account")
    app.command("token")(print_token)


def create(
    name: Name,
    role: Annotated[ProjectRole, typer.Option(help="What it may do.")],
    project: Annotated[
        str | None,
        typer.Option(
            help="Make it by the operator's URL, in this project: so an admin's first account is made."
        ),
    ] = None,
    operator_url: Annotated[str | None, typer.Option(help="URL of ricordo_operator.")] = None,
    as_json: SecretAsJson = False,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Make a service account. Its secret is printed alone, and never again; its client id goes to stderr."""
    with failures_told():
        if project is not None:
            url = require(load_settings(operator_url=operator_url).operator_url, "operator_url")
            show_secret(*_create_as_operator(url, project, name, role), as_json=as_json)
            return
        with connect(target, token) as client:
            made = client.identity.create_service_account(name, role=role)
            show_secret(made.service_account.client_id, made.client_secret, as_json=as_json)


def _create_as_operator(url: str, project: str, name: str, role: ProjectRole) -> tuple[str, str]:
    if not ACCOUNT_NAME.fullmatch(name):
        raise Refusal(f"the name must match ^{ACCOUNT_NAME.pattern}$", status=MISUSE)
    secret = make_secret()
    try:
        client_id = installation.create_service_account(
            url, UUID(project), name, role.value, secret.secret_id, secret.hash
        )
    except ValueError as error:
        raise Refusal(str(error), status=MISUSE) from error
    return str(client_id), secret.text


def show_secret(client_id: str, client_secret: str, *, as_json: bool) -> None:
    """The secret alone on stdout, for a pipe into where secrets are kept."""
    if not client_secret:
        raise Refusal(f"the answer was lost and with it the secret of {client_id}: rotate it", status=FAULT)
    if as_json:
        options.print_json({"client_id": client_id, "client_secret": client_secret})
        return
    typer.echo(f"The client id is {client_id}. The secret is shown this once:", err=True)
    typer.echo(client_secret)


def list_accounts(
    as_json: options.AsJson = False,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """List the project's service accounts with their last use."""
    with failures_told(), connect(target, token) as client:
        accounts = list(client.identity.list_service_accounts())
    if as_json:
        options.print_json([account.model_dump(mode="json") for account in accounts])
        return
    for account in accounts:
        used = f"used {account.last_use_time:%Y-%m-%d %H:%M}" if account.last_use_time else "never used"
        state = f"disabled, {used}" if account.disabled else used
        typer.echo(printable(f"{account.name}  {account.role.value}  {account.client_id}  {state}"))


def find_account(client: ricordo.Client, name: str) -> ServiceAccount:
    for account in client.identity.list_service_accounts():
        if name in (account.name, account.client_id):
            return account
    raise Refusal(f"there is no service account {name!r} in this project", status=MISUSE)


def rotate(
    name: Name,
    overlap_hours: Annotated[
        float, typer.Option(help="How long the secret before stays good; 0 ends it now.", min=0, max=720)
    ] = 24.0,
    as_json: SecretAsJson = False,
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Make a new secret, printed alone, and never again; the one before stays good for a while."""
    with failures_told(), connect(target, token) as client:
        account = find_account(client, name)
        overlap = timedelta(hours=overlap_hours)
        made = client.identity.rotate_secret(account.client_id, overlap=overlap)
        show_secret(account.client_id, made.client_secret, as_json=as_json)


def set_role(
    name: Name,
    role: Annotated[ProjectRole, typer.Argument(help="What it may do.")],
    target: options.Target = options.DEFAULT_TARGET,
    token: options.Token = None,
) -> None:
    """Give an account another role; tokens that are out have it within a minute."""
    with failures_told(), connect(target, token) as client:
        account = client.identity.update_service_account(find_account(client, name).client_id, role=role)
        typer.echo(f"{account.name} is {account.role.value}.")


def disable(name: Name, target: options.Target = options.DEFAULT_TARGET, token: options.Token = None) -> None:
    """End an account's use: its tokens are refused within a minute."""
    with failures_told(), connect(target, token) as client:
        account = client.identity.disable_service_account(find_account(client, name).client_id)
        typer.echo(f"{account.name} is disabled.")


def enable(name: Name, target: options.Target = options.DEFAULT_TARGET, token: options.Token = None) -> None:
    """Allow a disabled account again."""
    with failures_told(), connect(target, token) as client:
        account = client.identity.enable_service_account(find_account(client, name).client_id)
        typer.echo(f"{account.name} is enabled.")


def delete(name: Name, target: options.Target = options.DEFAULT_TARGET, token: options.Token = None) -> None:
    """Delete an account for good."""
    with failures_told(), connect(target, token) as client:
        account = find_account(client, name)
        client.identity.delete_service_account(account.client_id)
        typer.echo(f"{account.name} is deleted.")


def print_token(
    client_id: Annotated[str, typer.Option(envvar="RICORDO_CLIENT_ID", help="The service account.")] = "",
    user: Annotated[
        list[str] | None,
        typer.Option(
            help="For an end user: first the person, then shared actors; several times for several."
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(help="How long it is good. [default: 60, for end users 15]", min=0.1, max=60),
    ] = None,
    operator: Annotated[
        bool,
        typer.Option(
            "--operator", help="For AdminService: signed here, by the operator's URL and the key secret."
        ),
    ] = False,
    operator_url: Annotated[str | None, typer.Option(help="URL of ricordo_operator.")] = None,
    target: options.Target = options.DEFAULT_TARGET,
) -> None:
    """Print an access token. The secret is read from RICORDO_CLIENT_SECRET, or asked for."""
    lifetime = timedelta(minutes=minutes) if minutes else None
    with failures_told():
        if operator:
            typer.echo(_operator_token(operator_url, lifetime or MAX_TOKEN_LIFETIME))
            return
        if not client_id:
            raise Refusal("no client id: set RICORDO_CLIENT_ID, or pass --client-id", status=MISUSE)
        # Never an option: anyone on the machine can read those of a running program.
        secret = os.environ.get("RICORDO_CLIENT_SECRET") or typer.prompt("Secret", hide_input=True, err=True)
        with connect(target, None, anonymous=True) as client:
            issued = client.identity.issue_token(
                user or (), client_id=client_id, client_secret=secret, lifetime=lifetime
            )
        typer.echo(issued.access_token)


def _operator_token(operator_url: str | None, lifetime: timedelta) -> str:
    settings = load_settings(operator_url=operator_url)
    keys, now = read_signing_keys(require(settings.operator_url, "operator_url"))
    active = find_active(keys, now)
    if active is None:
        raise Refusal("there is no key to sign with: run `ricordo keys rotate`")
    key = OpenKey(active, KeySealing(settings.key_secrets()).open(active.sealed))
    names = TokenNames(settings.token_issuer, settings.token_audience)
    subject = TokenSubject("operator", PrincipalKind.OPERATOR, None, Role.OPERATOR)
    return sign_token(key, names, subject, lifetime).access_token
