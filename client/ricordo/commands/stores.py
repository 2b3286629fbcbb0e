"""The commands `ricordo stores`: containers of entries, and who may use them."""

from typing import Annotated, Any

import typer

from ricordo import Client, models
from ricordo._convert.store_entries import store_id_of
from ricordo._sync.memory_stores import MemoryStore
from ricordo.commands.client_command import of_client
from ricordo.commands.options import PageToken, Yes
from ricordo.commands.output import Format, confirm, print_json, print_line, tell_done, tell_following

StoreId = Annotated[str, typer.Argument(help="The store's id, or memory-stores/<id>.")]
Principal = Annotated[str, typer.Argument(help="The id of a principal, as `service-account list` shows it.")]
Description = Annotated[str | None, typer.Option(help="What it is for.")]

commands = typer.Typer(help="Stores of entries, and who may use them.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds the commands to the program."""
    commands.command("create")(create)
    commands.command("list")(list_stores)
    commands.command("get")(get)
    commands.command("update")(update)
    commands.command("delete")(delete)
    commands.command("grant")(grant)
    commands.command("revoke")(revoke)
    commands.command("grants")(grants)
    app.add_typer(commands, name="stores")


@of_client
def create(
    client: Client,
    output: Format,
    store_id: Annotated[str, typer.Argument(help="3 to 56 of a-z, 0-9 and -, first a letter.")],
    description: Description = None,
) -> None:
    """Create a store that only its creator, the project's admins and those with a grant can use."""
    _print_store(client.memory_stores.create(store_id, description=description or ""), output)


@of_client
def list_stores(
    client: Client,
    output: Format,
    name: Annotated[str, typer.Option(help="Only stores whose id contains this.")] = "",
    every: Annotated[bool, typer.Option("--all", help="All pages.")] = False,
    page_size: Annotated[int, typer.Option(help="Stores a page.", min=1, max=100)] = 25,
    page_token: PageToken = "",
) -> None:
    """List the stores that the credential may see."""
    pager = client.memory_stores.list(page_size=page_size, page_token=page_token)
    if every or name:
        stores, following = [store for store in pager if name.lower() in store.id], ""
    else:
        page = next(pager.pages())
        stores, following = list(page.items), page.next_page_token
    if output is Format.JSON:
        print_json({"stores": [_describe(store) for store in stores], "next_page_token": following})
        return
    for store in stores:
        print_line(store.id, store.record.access.value, store.description)
    tell_following(following)


@of_client
def get(client: Client, output: Format, store_id: StoreId) -> None:
    """Show a store."""
    _print_store(client.memory_stores.get(store_id), output)


@of_client
def update(client: Client, output: Format, store_id: StoreId, description: Description = None) -> None:
    """Change the description of a store; "" clears it."""
    _print_store(client.memory_stores.update(store_id, description=description), output)


@of_client
def delete(client: Client, output: Format, store_id: StoreId, yes: Yes = False) -> None:
    """Delete a store with everything in it."""
    confirm(f"Delete the store {store_id} with everything in it?", yes)
    client.memory_stores.delete(store_id)
    tell_done(output, "deleted", store_id)


@of_client
def grant(
    client: Client,
    output: Format,
    store_id: StoreId,
    principal: Principal,
    permission: Annotated[
        models.GrantedAccess, typer.Option(help="How far it goes.", case_sensitive=False)
    ] = (models.GrantedAccess.WRITE),
) -> None:
    """Let a service account use a store."""
    client.memory_stores.grant_permission(store_id, principal, permission.value)
    tell_done(output, "granted", principal)


@of_client
def revoke(client: Client, output: Format, store_id: StoreId, principal: Principal) -> None:
    """Take a grant back."""
    client.stores.revoke(store_id_of(store_id), principal)
    tell_done(output, "revoked", principal)


@of_client
def grants(client: Client, output: Format, store_id: StoreId) -> None:
    """List who may use a store beside its creator and the project's admins."""
    found = list(client.stores.list_grants(store_id_of(store_id)))
    if output is Format.JSON:
        print_json({"grants": [each.model_dump(mode="json") for each in found]})
        return
    for each in found:
        print_line(each.principal_id, each.access.value)


def _describe(store: MemoryStore) -> dict[str, Any]:
    return {"name": store.name, **store.record.model_dump(mode="json", exclude={"language"})}


def _print_store(store: MemoryStore, output: Format) -> None:
    if output is Format.JSON:
        print_json(_describe(store))
        return
    print_line(store.id, store.record.access.value, store.description)
    print_line(f"created {store.create_time:%Y-%m-%d %H:%M}", f"by {store.creator_user_id}")
