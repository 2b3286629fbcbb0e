"""The commands `ricordo operations`: work in the background that can be asked about."""

from typing import Annotated

import typer

from ricordo import Client, models
from ricordo.commands.client_command import of_client
from ricordo.commands.options import DEFAULT_STORE, PageToken
from ricordo.commands.output import FAULT, Format, print_json, print_line, tell_following

Store = Annotated[str, typer.Option(envvar="RICORDO_STORE", help="The store's id.")]
OperationId = Annotated[str, typer.Argument(help="The operation's id.")]

commands = typer.Typer(help="Work in the background that can be asked about.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds the commands to the program."""
    commands.command("list")(list_operations)
    commands.command("get")(get)
    commands.command("wait")(wait)
    commands.command("cancel")(cancel)
    app.add_typer(commands, name="operations")


@of_client
def list_operations(
    client: Client,
    output: Format,
    user: Annotated[str, typer.Option(help="Only this user's.")] = "",
    session: Annotated[str, typer.Option(help="Only of this session.")] = "",
    store: Store = DEFAULT_STORE,
    page_size: Annotated[int, typer.Option(help="Rows a page.", min=1, max=1000)] = 50,
    page_token: PageToken = "",
) -> None:
    """List operations, newest first, without the memories they made."""
    scope = models.Matching(user_id=user, session_id=session)
    pager = client.operations.list(scope=scope, store=store, page_size=page_size, page_token=page_token)
    page = next(pager.pages())
    if output is Format.JSON:
        listed = [each.model_dump(mode="json") for each in page.items]
        print_json({"operations": listed, "next_page_token": page.next_page_token})
        return
    for each in page.items:
        _print_operation(each, output)
    tell_following(page.next_page_token)


@of_client
def get(client: Client, output: Format, operation_id: OperationId, store: Store = DEFAULT_STORE) -> None:
    """Show an operation as it is now."""
    _print_operation(client.operations.get(operation_id, store=store), output)


@of_client
def wait(
    client: Client,
    output: Format,
    operation_id: OperationId,
    timeout: Annotated[float | None, typer.Option(help="Seconds; without it as long as it takes.")] = None,
    store: Store = DEFAULT_STORE,
) -> None:
    """Wait until an operation is over; exits with 1 when it is not in time, or has failed."""
    operation = client.operations.wait(operation_id, store=store, timeout=timeout)
    _print_operation(operation, output)
    if not operation.done or operation.error is not None:
        raise typer.Exit(FAULT)


@of_client
def cancel(client: Client, output: Format, operation_id: OperationId, store: Store = DEFAULT_STORE) -> None:
    """End an operation: it writes nothing from now on. One that is over stays as it is."""
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
