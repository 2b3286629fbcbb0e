"""The commands `ricordo sessions`: conversations as lists of items."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ricordo import Client
from ricordo._sync.stored_sessions import StoredSession
from ricordo.commands.client_command import of_client
from ricordo.commands.entries import describe_entry, read_text
from ricordo.commands.options import DEFAULT_STORE, PageToken, Store, Yes
from ricordo.commands.output import Format, confirm, print_json, print_line, tell_done, tell_following
from ricordo.errors import MemoryClientError
from ricordo.models import SessionItem

SessionId = Annotated[str, typer.Argument(help="The session's id.")]
Actor = Annotated[str | None, typer.Option(help="Whose; needed where several actors have one of this id.")]
NewId = Annotated[str | None, typer.Option("--session-id", help="Its id; the server makes one.")]
Metadata = Annotated[str | None, typer.Option(help="A JSON object of one's own.")]
PageSize = Annotated[int, typer.Option(help="Rows a page.", min=1, max=100)]
OrderBy = Annotated[str | None, typer.Option(help='Such as "last_activity_time desc".')]
# Of an item, in text: enough to tell one from another.
SHOWN = 160

commands = typer.Typer(help="Conversations, and what was said in them.", no_args_is_help=True)
items = typer.Typer(help="What is in a session, in order.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds the commands to the program."""
    commands.command("create")(create)
    commands.command("list")(list_sessions)
    commands.command("get")(get)
    commands.command("update")(update)
    commands.command("delete")(delete)
    commands.command("fork")(fork)
    commands.command("extract")(extract)
    items.command("list")(list_items)
    items.command("append")(append)
    items.command("pop")(pop)
    items.command("clear")(clear)
    commands.add_typer(items, name="items")
    app.add_typer(commands, name="sessions")


@of_client
def create(
    client: Client,
    output: Format,
    actor_id: Annotated[str, typer.Option(help="Whose it is.")],
    session_id: NewId = None,
    parent_session_id: Annotated[str | None, typer.Option(help="The session that it belongs under.")] = None,
    metadata: Metadata = None,
    store: Store = DEFAULT_STORE,
) -> None:
    """Begin a session."""
    made = client.session_stores.get(store).add(
        actor_id=actor_id,
        session_id=session_id,
        parent_session_id=parent_session_id,
        metadata=_read_json("--metadata", metadata),
    )
    _print_session(made, output)


@of_client
def list_sessions(
    client: Client,
    output: Format,
    actor_id: Actor = None,
    condition: Annotated[
        str | None, typer.Option("--filter", help='Such as "metadata.channel = \\"mail\\"".')
    ] = None,
    order_by: OrderBy = None,
    page_size: PageSize = 10,
    page_token: PageToken = "",
    store: Store = DEFAULT_STORE,
) -> None:
    """List sessions, newest first."""
    pager = client.session_stores.get(store).list(
        actor_id=actor_id, filter=condition, order_by=order_by, page_size=page_size, page_token=page_token
    )
    page = next(pager.pages())
    if output is Format.JSON:
        listed = [_describe(each) for each in page.items]
        print_json({"sessions": listed, "next_page_token": page.next_page_token})
        return
    for each in page.items:
        _print_session(each, output)
    tell_following(page.next_page_token)


@of_client
def get(
    client: Client,
    output: Format,
    session_id: SessionId,
    actor_id: Actor = None,
    store: Store = DEFAULT_STORE,
) -> None:
    """Show a session."""
    _print_session(_find(client, store, session_id, actor_id), output)


@of_client
def update(
    client: Client,
    output: Format,
    session_id: SessionId,
    metadata: Annotated[str, typer.Option(help="A JSON object, in place of what was there.")],
    actor_id: Actor = None,
    store: Store = DEFAULT_STORE,
) -> None:
    """Give a session other metadata."""
    session = _find(client, store, session_id, actor_id)
    _print_session(session.update(metadata=_read_json("--metadata", metadata)), output)


@of_client
def delete(
    client: Client,
    output: Format,
    session_id: SessionId,
    actor_id: Actor = None,
    force: Annotated[bool, typer.Option("--force", help="With every session below it.")] = False,
    yes: Yes = False,
    store: Store = DEFAULT_STORE,
) -> None:
    """Delete a session with its items, and what was learned from these alone."""
    confirm(f"Delete the session {session_id} and what was learned from it alone?", yes)
    _find(client, store, session_id, actor_id).delete(force=force)
    tell_done(output, "deleted", session_id)


@of_client
def fork(
    client: Client,
    output: Format,
    source: Annotated[str, typer.Argument(help="The session that is copied.")],
    actor_id: Actor = None,
    up_to_item_id: Annotated[str | None, typer.Option(help="The last item that is copied.")] = None,
    session_id: NewId = None,
    metadata: Metadata = None,
    store: Store = DEFAULT_STORE,
) -> None:
    """Copy a session; the two are independent from then on."""
    copy = _find(client, store, source, actor_id).fork(
        up_to_item_id=up_to_item_id, session_id=session_id, metadata=_read_json("--metadata", metadata)
    )
    _print_session(copy, output)


@of_client
def extract(
    client: Client,
    output: Format,
    session_id: SessionId,
    memory_store: Annotated[str, typer.Option(help="The store whose entries are written.")],
    actor_id: Actor = None,
    instructions: Annotated[str | None, typer.Option(help="What to look for; for a model.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be written.")] = False,
    store: Store = DEFAULT_STORE,
) -> None:
    """Distil what was said into entries by topic."""
    session = _find(client, store, session_id, actor_id)
    made = session.extract_memories(memory_store, instructions, dry_run=dry_run)
    if output is Format.JSON:
        print_json({"entries": [describe_entry(each) for each in made]})
        return
    for each in made:
        print_line(each.path, each.entry_id, each.content or "")


@of_client
def list_items(
    client: Client,
    output: Format,
    session_id: SessionId,
    actor_id: Actor = None,
    order_by: Annotated[str | None, typer.Option(help='"create_time desc" has the newest first.')] = None,
    every: Annotated[bool, typer.Option("--all", help="All, not the first page alone.")] = False,
    page_size: PageSize = 10,
    store: Store = DEFAULT_STORE,
) -> None:
    """List items, oldest first."""
    pager = _find(client, store, session_id, actor_id).list_items(page_size=page_size, order_by=order_by)
    found = list(pager) if every else list(next(pager.pages()).items)
    _print_items(found, output)


@of_client
def append(
    client: Client,
    output: Format,
    session_id: SessionId,
    data: Annotated[list[str] | None, typer.Option(help="The JSON of one item; may be repeated.")] = None,
    file: Annotated[Path | None, typer.Option(help="A JSON list of items; - is stdin.")] = None,
    actor_id: Actor = None,
    store: Store = DEFAULT_STORE,
) -> None:
    """Add items at the end, all or none."""
    given = _read_items(data or [], file)
    appended = _find(client, store, session_id, actor_id).append_items(given)
    _print_items(appended, output)


@of_client
def pop(
    client: Client,
    output: Format,
    session_id: SessionId,
    actor_id: Actor = None,
    store: Store = DEFAULT_STORE,
) -> None:
    """Take the last item back, with what was learned from it alone."""
    popped = _find(client, store, session_id, actor_id).pop_item()
    _print_items([popped] if popped else [], output)


@of_client
def clear(
    client: Client,
    output: Format,
    session_id: SessionId,
    actor_id: Actor = None,
    yes: Yes = False,
    store: Store = DEFAULT_STORE,
) -> None:
    """Take every item back, with what was learned from these alone; the session stays."""
    confirm(f"Take back every item of the session {session_id}?", yes)
    _find(client, store, session_id, actor_id).clear_items()
    tell_done(output, "cleared", session_id)


def _find(client: Client, store: str, session_id: str, actor_id: str | None) -> StoredSession:
    found: StoredSession = client.session_stores.get(store).get(session_id, actor_id=actor_id)
    return found


def _read_json(name: str, given: str | None) -> Any:
    """What an option says as JSON; None: it is not given.

    Raises:
        MemoryClientError: It is no JSON.
    """
    try:
        return None if given is None else json.loads(given)
    except ValueError as error:
        raise MemoryClientError(f"{name} is no JSON: {error}") from error


def _read_items(data: list[str], file: Path | None) -> list[Any]:
    """Raises MemoryClientError: none is given, or they are no JSON."""
    listed = [] if file is None else _read_json("--file", read_text(file))
    if not isinstance(listed, list):
        raise MemoryClientError("--file holds a JSON list of items")
    return [*(_read_json("--data", each) for each in data), *listed]


def _describe(session: StoredSession) -> dict[str, Any]:
    names = ("store_name", "session_id", "actor_id", "parent_session_id", "root_session_id", "metadata")
    times = ("create_time", "update_time", "last_activity_time")
    return {
        **{name: getattr(session, name) for name in names},
        **{name: getattr(session, name).isoformat() for name in times},
    }


def _print_session(session: StoredSession, output: Format) -> None:
    if output is Format.JSON:
        print_json(_describe(session))
        return
    metadata = json.dumps(session.metadata, ensure_ascii=False, default=str) if session.metadata else ""
    print_line(session.session_id, session.actor_id, f"{session.last_activity_time:%Y-%m-%d %H:%M}", metadata)


def _print_items(found: list[SessionItem], output: Format) -> None:
    if output is Format.JSON:
        print_json({"items": [each.model_dump(mode="json") for each in found]})
        return
    for each in found:
        print_line(each.item_id, json.dumps(each.data, ensure_ascii=False)[:SHOWN])
