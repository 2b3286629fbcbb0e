"""Entries of memory stores: they are documents, with the actor as user and the path as key."""

from collections.abc import Collection

from ricordo import models
from ricordo.errors import MemoryClientError
from ricordo.models.store_entry import EntrySource

STORES = "memory-stores/"
SESSION_STORES = "session-stores/"
ENTRIES = "/entries/"
DEFAULT_PAGE_SIZE = 10
MAX_PAGE_SIZE = 100
DOCUMENTS = (models.MemoryKind.DOCUMENT,)
# What a read mask may name, and who is asked for the whole when it names none of these.
CONTENT = "content"


def store_id_of(name: str) -> str:
    """The id in "memory-stores/<id>" and in "session-stores/<id>", which are one store, or the id itself.

    Raises:
        MemoryClientError: It is none of them.
    """
    given = name if isinstance(name, str) else ""
    prefix = SESSION_STORES if given.startswith(SESSION_STORES) else STORES
    store_id = given.removeprefix(prefix)
    if not store_id or "/" in store_id:
        raise MemoryClientError(f"{name!r} names no store: give its id, or {prefix}<id>")
    return store_id


def entry_id_of(name: str, store_id: str) -> str:
    """The id in "memory-stores/<store>/entries/<id>", or the id itself.

    Raises:
        MemoryClientError: It is neither, or is of another store.
    """
    entry_id = name.removeprefix(f"{STORES}{store_id}{ENTRIES}") if isinstance(name, str) else ""
    if not entry_id or "/" in entry_id:
        raise MemoryClientError(f"{name!r} names no entry of the store {store_id}")
    return entry_id


def place_of(entry: str, store: str) -> tuple[str, str]:
    """The store and the entry that "memory-stores/<store>/entries/<id>" names, or an id in the store that is given.

    Raises:
        MemoryClientError: It is neither.
    """
    if not entry.startswith(STORES):
        return store_id_of(store), entry
    store_name, found, entry_id = entry.partition(ENTRIES)
    if not found:
        raise MemoryClientError(f"{entry!r} names no entry")
    return store_id_of(store_name), entry_id


def scope_of(actor_id: str, session_id: str | None) -> models.Scope:
    """Exactly whose an entry is.

    Raises:
        MemoryClientError: No actor is given: entries of one actor are never seen by another.
    """
    return models.Scope(user_id=actor(actor_id), session_id=(session_id or "").strip())


def matching(actor_id: str, session_id: str | None) -> models.Matching:
    """Which entries a read may see; a session leaves out those without one."""
    return models.Matching(user_id=actor(actor_id), session_id=(session_id or "").strip())


def actor(actor_id: str) -> str:
    """The actor, when one is given.

    Raises:
        MemoryClientError: None is.
    """
    if not isinstance(actor_id, str) or not actor_id.strip():
        raise MemoryClientError("actor_id is required: entries of one actor are never seen by another")
    return actor_id


def check_source(source_type: EntrySource | str | None) -> None:
    """Who writes an entry over this interface; None is an agent.

    Raises:
        MemoryClientError: It is no agent.
    """
    if source_type is not None and str(source_type).lower() != EntrySource.AGENT:
        raise MemoryClientError(f"source_type is {EntrySource.AGENT.value!r}: pipelines write all others")


def new_entry(
    scope: models.Scope, path: str, content: str, description: str | None, entry_id: str = ""
) -> models.NewMemory:
    """The document that an entry is."""
    return models.NewMemory(
        kind=models.MemoryKind.DOCUMENT,
        memory_id=entry_id,
        key=path,
        content=content,
        description=description or "",
        scope=scope,
    )


def put_mask(description: str | None) -> list[str]:
    """What an upsert writes over: a description that is not given stays."""
    return ["content"] if description is None else ["content", "description"]


def changes_of(
    content: str | None, description: str | None, pinned: bool | None = None
) -> models.MemoryChanges:
    """What an update changes; "" clears.

    Raises:
        MemoryClientError: Nothing is given.
    """
    given = {"content": content, "description": description, "pinned": pinned}
    fields = {name: value for name, value in given.items() if value is not None}
    if not fields:
        raise MemoryClientError("give content, description or pinned")
    return models.MemoryChanges.model_validate(fields)


def replaced_once(content: str | None, old: str, new: str) -> str:
    """The content with `new` for `old`.

    Raises:
        MemoryClientError: `old` is not in it exactly once, or the entry was read without its content.
    """
    if content is None:
        raise MemoryClientError("the entry was read without its content: read it whole")
    if not (isinstance(old, str) and old and isinstance(new, str)):
        raise MemoryClientError("edit replaces a text by a text: give the one that is there, and the new one")
    count = content.count(old)
    if count != 1:
        found = f"occurs {count} times: give more of its surroundings" if count else "does not occur"
        raise MemoryClientError(f"the text to replace {found}")
    return content.replace(old, new)


def path_filter(
    path: str | None, path_prefix: str | None, kinds: Collection[models.MemoryKind | str] = DOCUMENTS
) -> dict[str, object] | None:
    """The condition of a list or a search. Keys of other kinds than documents are no paths.

    Raises:
        MemoryClientError: Both are given, or no path is or begins so.
    """
    if path is not None and path_prefix is not None:
        raise MemoryClientError("give path or path_prefix, not both")
    if set(kinds) == set(DOCUMENTS):
        _check_path("path", path)
        # What stands behind the last slash is the beginning of a segment: of "/.." there may be entries "/..notes".
        _check_path("path_prefix", path_prefix, unfinished=True)
    if path is not None:
        return {"key": path}
    return {"key": {"$prefix": path_prefix}} if path_prefix is not None else None


def _check_path(name: str, given: str | None, *, unfinished: bool = False) -> None:
    """What no path can be finds nothing, and is a mistake."""
    if given is None:
        return
    first, *segments = given.split("/") if isinstance(given, str) else ["?"]
    whole = segments[:-1] if unfinished else segments
    if first or not segments or not {"", ".", ".."}.isdisjoint(whole):
        message = f"{name} begins with / and has no empty, '.' or '..' segments, such as /notes/tea.md: not {given!r}"
        raise MemoryClientError(message)


def page_size_of(value: int | None, name: str = "page_size", default: int = DEFAULT_PAGE_SIZE) -> int:
    """How many entries.

    Raises:
        MemoryClientError: It is no integer of 1 to 100.
    """
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_PAGE_SIZE:
        raise MemoryClientError(f"{name} is an integer of 1 to {MAX_PAGE_SIZE}, not {value!r}")
    return value


def search_limit(limit: int | None, page_size: int | None) -> int:
    """How many hits: `page_size` is another name of `limit`.

    Raises:
        MemoryClientError: They differ, or are no integers of 1 to 100.
    """
    if limit is not None and page_size is not None and limit != page_size:
        raise MemoryClientError(f"limit {limit} and page_size {page_size} name the same: give one")
    given = limit if limit is not None else page_size
    return page_size_of(given, "limit", MAX_PAGE_SIZE)


def view_of(read_mask: Collection[str] | str | None, view: models.View | str) -> models.View:
    """How much of each entry is read: a read mask without `content` leaves it out.

    Raises:
        MemoryClientError: The mask names what is no field.
    """
    if read_mask is None:
        return models.View(view)
    given = read_mask.split(",") if isinstance(read_mask, str) else read_mask
    names = {name.strip() for name in given}
    if unknown := names - set(models.StoreEntry.model_fields):
        accepted = ", ".join(models.StoreEntry.model_fields)
        raise MemoryClientError(f"read_mask names {', '.join(sorted(unknown))}: choose from {accepted}")
    return models.View.FULL if CONTENT in names else models.View.BASIC


def entry_fields(
    memory: models.Memory, store_id: str, view: models.View = models.View.FULL
) -> dict[str, object]:
    """The fields of `StoreEntry`."""
    is_distilled = memory.source is models.MemorySource.EXTRACTION
    return {
        "name": f"{STORES}{store_id}{ENTRIES}{memory.memory_id}",
        "entry_id": memory.memory_id,
        "actor_id": memory.scope.user_id,
        "session_id": memory.scope.session_id,
        "path": memory.key,
        "content": memory.content if view is models.View.FULL else None,
        "description": memory.description,
        "source_type": EntrySource.DREAMER if is_distilled else EntrySource.AGENT,
        "kind": memory.kind,
        "revision": memory.revision,
        "pinned": memory.pinned,
        "create_time": memory.create_time,
        "update_time": memory.update_time,
    }
