"""The commands `ricordo entries`: what agents keep under paths."""

import sys
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any

import typer

from ricordo import Client
from ricordo._convert.store_entries import place_of
from ricordo._sync.memory_stores import MemoryStore
from ricordo._sync.store_entries import StoredEntry
from ricordo.commands.client_command import of_client
from ricordo.commands.options import DEFAULT_STORE, PageToken, Store, Yes
from ricordo.commands.output import (
    Format,
    confirm,
    print_json,
    print_line,
    printable,
    tell_done,
    tell_following,
)
from ricordo.commands.sync import sync
from ricordo.errors import MemoryClientError
from ricordo.models import StoreEntry

Actor = Annotated[str, typer.Option(help="Whose entries.")]
Entry = Annotated[str, typer.Argument(help="Its id, or its name, which says the store too.")]
Session = Annotated[str | None, typer.Option(help="The session.")]
Prefix = Annotated[str | None, typer.Option(help="Only those whose path begins so.")]
Content = Annotated[str | None, typer.Option(help="What it holds.")]
ContentFile = Annotated[Path | None, typer.Option(help="File with what it holds; - is stdin.")]
Description = Annotated[str | None, typer.Option(help="One line that says what it holds.")]
# Of what a search finds, in text: enough to tell one from another.
SHOWN = 100

commands = typer.Typer(help="What agents keep under paths in a store.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds the commands to the program."""
    commands.command("create")(create)
    commands.command("get")(get)
    commands.command("list")(list_entries)
    commands.command("search")(search)
    commands.command("update")(update)
    commands.command("move")(move)
    commands.command("delete")(delete)
    commands.command("delete-prefix")(delete_prefix)
    commands.command("sync")(sync)
    app.add_typer(commands, name="entries")


@of_client
def create(
    client: Client,
    output: Format,
    actor_id: Actor,
    path: Annotated[str, typer.Option(help="Absolute, such as /preferences/style.md.")],
    content: Content = None,
    content_file: ContentFile = None,
    description: Description = None,
    session_id: Session = None,
    store: Store = DEFAULT_STORE,
) -> None:
    """Write a new entry."""
    text = read_content(content, content_file)
    if text is None:
        raise MemoryClientError("an entry has a content: give --content or --content-file")
    added = client.memory_stores.get(store).add(
        actor_id=actor_id, path=path, content=text, session_id=session_id, description=description
    )
    _print_entry(added, output)


@of_client
def get(client: Client, output: Format, entry: Entry, store: Store = DEFAULT_STORE) -> None:
    """Print an entry: its content on stdout, in a pipe as it is, the rest on stderr."""
    found = find_entry(client, entry, store)
    if output is Format.JSON:
        print_json(describe_entry(found))
        return
    typer.echo(
        printable("  ".join(filter(None, [found.path, found.session_id, found.description]))), err=True
    )
    content = found.content or ""
    if sys.stdout.isatty():
        typer.echo(printable(content))
    else:
        typer.echo(content.encode(), nl=False)


@of_client
def list_entries(
    client: Client,
    output: Format,
    actor_id: Actor,
    path_prefix: Prefix = None,
    path: Annotated[str | None, typer.Option(help="Only those at this path, in every session.")] = None,
    session_id: Session = None,
    every: Annotated[bool, typer.Option("--all", help="All pages.")] = False,
    page_size: Annotated[int, typer.Option(help="Entries a page.", min=1, max=100)] = 10,
    page_token: PageToken = "",
    store: Store = DEFAULT_STORE,
) -> None:
    """List the entries of an actor by path; JSON has their content."""
    pager = client.memory_stores.get(store).list(
        actor_id=actor_id,
        path_prefix=path_prefix,
        path=path,
        session_id=session_id,
        view="full" if output is Format.JSON else "basic",
        page_size=page_size,
        page_token=page_token,
    )
    pages = pager.pages()
    page = next(pages)
    found = [*page.items, *(entry for each in pages for entry in each.items)] if every else page.items
    following = "" if every else page.next_page_token
    if output is Format.JSON:
        print_json({"entries": [describe_entry(each) for each in found], "next_page_token": following})
        return
    for each in found:
        print_line(each.path, each.session_id, each.entry_id, each.description)
    tell_following(following)


@of_client
def search(
    client: Client,
    output: Format,
    actor_id: Actor,
    query: Annotated[str, typer.Option(help="What to look for, in plain words.")],
    path_prefix: Prefix = None,
    session_id: Session = None,
    page_size: Annotated[int, typer.Option(help="How many at most.", min=1, max=100)] = 10,
    store: Store = DEFAULT_STORE,
) -> None:
    """Find entries of an actor by words and by meaning, best first."""
    hits = client.memory_stores.get(store).search(
        actor_id=actor_id, query=query, path_prefix=path_prefix, session_id=session_id, limit=page_size
    )
    if output is Format.JSON:
        print_json({"results": [{"entry": describe_entry(hit.memory), "score": hit.score} for hit in hits]})
        return
    for hit in hits:
        begin = shorten(hit.memory.content or "", SHOWN, placeholder=" ...")
        print_line(f"{hit.score:.4f}", hit.memory.path, hit.memory.session_id, begin)


@of_client
def update(
    client: Client,
    output: Format,
    entry: Entry,
    content: Content = None,
    content_file: ContentFile = None,
    description: Description = None,
    pinned: Annotated[
        bool | None, typer.Option("--pinned/--not-pinned", help="Whether pipelines leave it as it is.")
    ] = None,
    store: Store = DEFAULT_STORE,
) -> None:
    """Change what is given; a description of "" is none."""
    text = read_content(content, content_file)
    changed = find_entry(client, entry, store).update(content=text, description=description, pinned=pinned)
    _print_entry(changed, output)


@of_client
def move(
    client: Client,
    output: Format,
    entry: Entry,
    path: Annotated[str, typer.Argument(help="Its new path.")],
    store: Store = DEFAULT_STORE,
) -> None:
    """Give an entry another path; it keeps its id and its history."""
    moved = find_entry(client, entry, store).move(path)
    _print_entry(moved, output)


@of_client
def delete(
    client: Client, output: Format, entry: Entry, yes: Yes = False, store: Store = DEFAULT_STORE
) -> None:
    """Delete an entry."""
    confirm(f"Delete the entry {entry}?", yes)
    find_entry(client, entry, store).delete()
    tell_done(output, "deleted", entry)


@of_client
def delete_prefix(
    client: Client,
    output: Format,
    prefix: Annotated[str, typer.Argument(help="How the paths begin: /notes/ takes what is in that folder.")],
    actor_id: Actor,
    session_id: Session = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count them.")] = False,
    yes: Yes = False,
    store: Store = DEFAULT_STORE,
) -> None:
    """Delete all entries of an actor whose path begins so."""
    found = client.memory_stores.get(store)
    count = found.delete_prefix(prefix, actor_id=actor_id, session_id=session_id, dry_run=True)
    if not dry_run:
        confirm(f"Delete {count} entries of {actor_id} below {prefix}?", yes)
        count = found.delete_prefix(prefix, actor_id=actor_id, session_id=session_id)
    tell_done(output, "would be deleted" if dry_run else "deleted", str(count))


def read_content(content: str | None, file: Path | None) -> str | None:
    """What is given as text, or the text of the file; None: neither.

    Raises:
        MemoryClientError: Both are given, or the file cannot be read, or is no text.
    """
    if file is None:
        return content
    if content is not None:
        raise MemoryClientError("give --content or --content-file, not both")
    return read_text(file)


def read_text(file: Path) -> str:
    """The text of a file; of -, that of stdin.

    Raises:
        MemoryClientError: It cannot be read, or is no text.
    """
    try:
        return (sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()).decode()
    except OSError as error:
        raise MemoryClientError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise MemoryClientError(f"{file} is no UTF-8 text: byte {error.start}") from error


def find_entry(client: Client, entry: str, store: str) -> StoredEntry:
    """The entry that is named, in the store that its name says, else in the one that is given."""
    store_id, entry_id = place_of(entry, store)
    found: MemoryStore = client.memory_stores.get(store_id)
    return found.get(entry_id)


def describe_entry(entry: StoreEntry) -> dict[str, Any]:
    """An entry as JSON."""
    return entry.model_dump(mode="json")


def _print_entry(entry: StoreEntry, output: Format) -> None:
    if output is Format.JSON:
        print_json(describe_entry(entry))
    else:
        print_line(entry.path, entry.session_id, entry.entry_id, f"revision {entry.revision}")
