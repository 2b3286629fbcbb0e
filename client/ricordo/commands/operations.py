"""The commands `ricordo operations`: work in the background that can be asked about."""

from typing import Annotated

import typer

from ricordo import models
from ricordo.commands.connection import DEFAULT_TARGET, Target, Token, connect
from ricordo.commands.output import FAULT, Format, Output, failures_told, print_json, print_line
from ricordo.commands.stores import PageToken, tell_following

OperationId = Annotated[str, typer.Argument(help="The operation's id.")]
Store = Annotated[str, typer.Option(envvar="RICORDO_STORE", help="The store's id.")]
DEFAULT_STORE = "default"

commands = typer.Typer(help="Work in the background that can be asked about.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds the commands to the program."""
    commands.command("list")(list_operations)
    commands.command("get")(get)
    commands.command("wait")(wait)
    commands.command("cancel")(cancel)
    app.add_typer(commands, name="operations")


def list_operations(
    user: Annotated[str, typer.Option(help="Only this user's.")] = "",
    session: Annotated[str, typer.Option(help="Only of this session.")] = "",
    store: Store = DEFAULT_STORE,
    page_size: Annotated[int, typer.Option(help="Rows a page.", min=1, max=1000)] = 50,
    page_token: PageToken = "",
    output: Output = Format.TEXT,
    target: Target = DEFAULT_TARGET,
    token: Token = None,
) -> None:
    """List operations, newest first, without the memories they made."""
    scope = models.Matching(user_id=user, session_id=session)
    with failures_told(output), connect(target, token) as client:
        pager = client.operations.list(scope=scope, store=store, page_size=page_size, page_token=page_token)
        page = next(pager.pages())
    if output is Format.JSON:
        listed = [each.model_dump(mode="json") for each in page.items]
        print_json({"operations": listed, "next_page_token": page.next_page_token})
        return
    for each in page.items:
        _print_operation(each, output)
    tell_following(page.next_page_token)


def get(
    operation_id: OperationId,
    store: Store = DEFAULT_STORE,
    output: Output = Format.TEXT,
    target: Target = DEFAULT_TARGET,
    token: Token = None,
) -> None:
    """Show an operation as it is now."""
    with failures_told(output), connect(target, token) as client:
        _print_operation(client.operations.get(operation_id, store=store), output)


def wait(
    operation_id: OperationId,
    timeout: Annotated[float | None, typer.Option(help="Seconds; without it as long as it takes.")] = None,
    store: Store = DEFAULT_STORE,
    output: Output = Format.TEXT,
    target: Target = DEFAULT_TARGET,
    token: Token = None,
) -> None:
    """Wait until an operation is over; exits with 1 when it is not in time, or has failed."""
    with failures_told(output), connect(target, token) as client:
        operation = client.operations.wait(operation_id, store=store, timeout=timeout)
    _print_operation(operation, output)
    if not operation.done or operation.error is not None:
        raise typer.Exit(FAULT)


def cancel(
    operation_id: OperationId,
    store: Store = DEFAULT_STORE,
    output: Output = Format.TEXT,
    target: Target = DEFAULT_TARGET,
    token: Token = None,
) -> None:
    """End an operation: it writes nothing from now on. One that is over stays as it is."""
    with failures_told(output), connect(target, token) as client:
        _print_operation(client.operations.cancel(operation_id, store=store), output)


def _print_operation(operation: models.Operation, output: Format) -> None:
    if output is Format.JSON:
        print_json(operation.model_dump(mode="json"))
        return
    whose = "/".join(filter(None, (operation.scope.user_id, operation.scope.session_id)))
    begun = f"{operation.create_time:%Y-%m-%d %H:%M}"
    print_line(operation.operation_id, operation.kind.value, whose, begun, _state_of(operation))


def _state_of(operation: models.Operation) -> str:
    """In words; a list does not say what was made, so neither does a line."""
    if operation.error is not None:
        return f"{operation.error.code} {operation.error.reason}: {operation.error.message}"
    if operation.done:
        return "done"
    failed = operation.failed_attempts
    cause = operation.failure_class.value if operation.failure_class else ""
    return f"open, {failed} attempts failed, last {cause}" if failed else "open"
