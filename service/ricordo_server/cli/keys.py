"""Commands on the keys that sign tokens, by the operator's URL: list, rotate, retire."""

import json
from datetime import timedelta
from typing import Annotated

import typer

from ricordo_server.cli import options
from ricordo_server.cli.failures import MISUSE, Refusal, failures_told
from ricordo_server.cli.options import load_settings, require
from ricordo_server.config import Settings
from ricordo_server.credentials.key_sealing import KeySealing
from ricordo_server.credentials.signed_tokens import public_jwk
from ricordo_server.db.signing_keys import add_signing_key, read_signing_keys, retire_signing_key
from ricordo_server.domain.signing_key import (
    PUBLICATION,
    KeyState,
    SigningKey,
    find_active,
    state_of,
)

commands = typer.Typer(help="The keys that sign tokens.", no_args_is_help=True)

OperatorUrl = Annotated[str | None, typer.Option(help="URL of ricordo_operator.")]


def register(app: typer.Typer) -> None:
    """Adds the commands to the program."""
    commands.command("list")(list_keys)
    commands.command("rotate")(rotate)
    commands.command("retire")(retire)
    app.add_typer(commands, name="keys")


def list_keys(
    jwks: Annotated[
        bool,
        typer.Option("--jwks", help="Print the public keys as a JSON Web Key Set, for others to verify."),
    ] = False,
    as_json: options.AsJson = False,
    operator_url: OperatorUrl = None,
) -> None:
    """List the keys: which signs, which will, which still verify."""
    with failures_told():
        settings = load_settings(operator_url=operator_url)
        keys = read_states(require(settings.operator_url, "operator_url"))
        if jwks:
            good = [key for key, state in keys if state is not KeyState.RETIRED]
            typer.echo(json.dumps({"keys": _public(settings, good)}))
        elif as_json:
            options.print_json([_describe(key, state) for key, state in keys])
        else:
            for key, state in keys:
                until = f", until {key.retire_time:%Y-%m-%d %H:%M} UTC" if key.retire_time else ""
                typer.echo(f"{key.key_id}  {state.value:8}  signs from {key.sign_time:%Y-%m-%d %H:%M}{until}")


def read_states(operator_url: str) -> list[tuple[SigningKey, KeyState]]:
    keys, now = read_signing_keys(operator_url)
    active = find_active(keys, now)
    return [(key, state_of(key, active, now)) for key in keys]


def _public(settings: Settings, keys: list[SigningKey]) -> list[dict[str, str]]:
    sealing = KeySealing(settings.key_secrets())
    return [public_jwk(key.key_id, sealing.open(key.sealed)) for key in keys]


def _describe(key: SigningKey, state: KeyState) -> dict[str, object]:
    return {
        "key_id": key.key_id,
        "state": state.value,
        "sign_time": key.sign_time.isoformat(),
        "retire_time": key.retire_time.isoformat() if key.retire_time else None,
    }


def rotate(
    now: Annotated[
        bool, typer.Option("--now", help="Sign with it at once: when the key before has leaked.")
    ] = False,
    operator_url: OperatorUrl = None,
) -> None:
    """Make a new key: it signs once every server knows it, and the one before retires when its last token has ended.

    The first key signs at once.
    """
    with failures_told():
        settings = load_settings(operator_url=operator_url)
        url = require(settings.operator_url, "operator_url")
        key_id, sealed = KeySealing(settings.key_secrets()).make_key()
        sign_time = add_signing_key(url, key_id, sealed, lead=timedelta(0) if now else PUBLICATION)
        typer.echo(f"The key {key_id} signs from {sign_time:%Y-%m-%d %H:%M:%S} UTC on.")


def retire(
    key_id: Annotated[str, typer.Argument(help="As `keys list` shows it.")],
    operator_url: OperatorUrl = None,
) -> None:
    """End a key now: every token it signed is refused within half a minute."""
    with failures_told():
        url = require(load_settings(operator_url=operator_url).operator_url, "operator_url")
        known = {key.key_id: state for key, state in read_states(url)}
        others = [state for other, state in known.items() if other != key_id]
        if key_id not in known or known[key_id] is KeyState.RETIRED:
            raise Refusal(
                f"there is no key {key_id} that is in use: `ricordo keys list` shows them", status=MISUSE
            )
        if known[key_id] is KeyState.ACTIVE and KeyState.PREVIOUS not in others:
            raise Refusal(
                "it is the only key that signs: run `ricordo keys rotate --now` first", status=MISUSE
            )
        retire_signing_key(url, key_id)
        typer.echo(f"The key {key_id} is retired.")
