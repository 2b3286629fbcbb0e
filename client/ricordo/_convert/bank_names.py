"""The names of banks, memories, revisions and sessions."""

import re
from dataclasses import dataclass, replace

from ricordo.errors import MemoryClientError

NAME = re.compile(
    r"(?P<bank>((projects/(?P<project>[^/]+)/locations/[^/]+/)?(reasoningEngines|memoryBanks)/)?(?P<store>[^/]+))"
    r"(/memories/(?P<memory>[^/]+)(/revisions/(?P<revision>[0-9]+))?|/sessions/(?P<session>[^/]+)|/operations/(?P<operation>[^/]+))?"
)
FORM = "[projects/<project>/locations/<location>/][memoryBanks or reasoningEngines/]<bank>"


@dataclass(frozen=True)
class Name:
    """A name, read. `bank` is the bank's own name, in the form it was given; what it does not name is empty."""

    bank: str
    store_id: str
    project_id: str = ""
    memory_id: str = ""
    revision: int = 0
    session_id: str = ""
    operation_id: str = ""

    def memory(self, memory_id: str) -> "Name":
        """A memory of this bank."""
        return Name(self.bank, self.store_id, self.project_id, memory_id=memory_id)

    def at(self, revision: int) -> "Name":
        """A revision of this memory."""
        return replace(self, revision=revision)

    def operation(self, operation_id: str) -> "Name":
        """An operation in this bank."""
        return Name(self.bank, self.store_id, self.project_id, operation_id=operation_id)

    def __str__(self) -> str:
        parts = {
            "memories": self.memory_id,
            "revisions": self.revision,
            "sessions": self.session_id,
            "operations": self.operation_id,
        }
        return self.bank + "".join(f"/{kind}/{given}" for kind, given in parts.items() if given)


def bank_name(name: str) -> Name:
    """Reads the name of a bank, or its id.

    Raises:
        MemoryClientError: It is that of something else.
    """
    read = _read(name)
    if str(read) != read.bank:
        raise MemoryClientError(f"{name!r} names no bank: give its id, or {FORM}")
    return read


def memory_name(name: str) -> Name:
    """Reads the name of a memory.

    Raises:
        MemoryClientError: It is that of something else.
    """
    read = _read(name)
    if not read.memory_id or read.revision:
        raise MemoryClientError(f"{name!r} names no memory: give {FORM}/memories/<memory>")
    return read


def revision_name(name: str) -> Name:
    """Reads the name of a revision.

    Raises:
        MemoryClientError: It is that of something else.
    """
    read = _read(name)
    if not read.revision:
        raise MemoryClientError(
            f"{name!r} names no revision: give {FORM}/memories/<memory>/revisions/<number>"
        )
    return read


def operation_name(name: str) -> Name:
    """Reads the name of an operation.

    Raises:
        MemoryClientError: It is that of something else.
    """
    read = _read(name)
    if not read.operation_id:
        raise MemoryClientError(f"{name!r} names no operation: give {FORM}/operations/<operation>")
    return read


def session_name(name: str, bank: Name) -> str:
    """The id of a session of the bank, by its name or id.

    Raises:
        MemoryClientError: It is that of something else, or of another bank.
    """
    if "/" not in name:
        return name
    read = _read(name)
    if not read.session_id or read.store_id != bank.store_id:
        raise MemoryClientError(f"{name!r} names no session of {bank}: give {bank}/sessions/<session>")
    return read.session_id


def target_revision(given: str | int, memory: Name) -> int:
    """The number of a revision of the memory, by its number or name.

    Raises:
        MemoryClientError: It is neither, or of another memory.
    """
    number = str(given)
    if "/" in number:
        read = revision_name(number)
        if (read.store_id, read.memory_id) != (memory.store_id, memory.memory_id):
            raise MemoryClientError(f"{given!r} is no revision of {memory}")
        return read.revision
    if not (number.isascii() and number.isdecimal()) or int(number) < 1:
        raise MemoryClientError(f"{given!r} is no revision: they count from 1")
    return int(number)


def _read(name: str) -> Name:
    match = NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        raise MemoryClientError(f"{name!r} is no name: give {FORM}[/memories/<memory>[/revisions/<number>]]")
    bank = match["bank"]
    return Name(
        bank=bank if "/" in bank else f"memoryBanks/{bank}",
        store_id=match["store"],
        project_id=match["project"] or "",
        memory_id=match["memory"] or "",
        revision=int(match["revision"] or 0),
        session_id=match["session"] or "",
        operation_id=match["operation"] or "",
    )
