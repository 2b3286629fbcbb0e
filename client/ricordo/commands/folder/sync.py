"""Makes a folder and the entries of an actor the same."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ricordo._sync.memory_stores import MemoryStore
from ricordo._sync.store_entries import StoredEntry
from ricordo.commands.folder.files import Folder, UnfitError
from ricordo.commands.folder.note import Note
from ricordo.commands.folder.plan import Action, Side, Step, plan
from ricordo.errors import MemoryBadRequestError

PAGE = 100


@dataclass
class FolderSync:
    """One run. `digests` is what both sides were, and at its end what they are; `unfit` cannot be taken along."""

    store: MemoryStore
    folder: Folder
    actor_id: str
    session_id: str
    digests: dict[str, str]
    unfit: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._entries = {entry.path: entry for entry in self._listed()}
        self._files = dict(self._read_files())

    def plan(self, prefer: Side | None) -> list[Step]:
        """What there is to do."""
        files = {path: note.digest for path, note in self._files.items()}
        entries = {path: _note(entry).digest for path, entry in self._entries.items()}
        for path in self.unfit:
            self.digests.pop(path, None)
        same = {path: digest for path, digest in files.items() if entries.get(path) == digest}
        gone = self.digests.keys() - files.keys() - entries.keys()
        self.digests = {path: digest for path, digest in {**self.digests, **same}.items() if path not in gone}
        return plan(self.digests, files, entries, prefer)

    def apply(self, steps: Iterable[Step]) -> list[Step]:
        """Does the steps; those that could not be done come back as conflicts, with the reason."""
        return [self._done(step) for step in steps]

    def _done(self, step: Step) -> Step:
        try:
            match step.action:
                case Action.PUSH:
                    self._push(step.path)
                case Action.PULL:
                    self._pull(step.path)
                case Action.DELETE_ENTRY:
                    entry = self._entries[step.path]
                    entry.delete(expected_revision=entry.revision)
                    self.digests.pop(step.path, None)
                case Action.DELETE_FILE:
                    self._check_unchanged(step.path)
                    self.folder.delete(step.path)
                    self.digests.pop(step.path, None)
        except (MemoryBadRequestError, UnfitError, OSError) as error:
            return Step(step.path, Action.CONFLICT, str(error))
        return step

    def _push(self, path: str) -> None:
        note, entry = self._files[path], self._entries.get(path)
        if entry is None:
            self.store.add(
                actor_id=self.actor_id,
                path=path,
                content=note.content,
                session_id=self.session_id,
                description=note.description,
            )
        else:
            entry.update(content=note.content, description=note.description, expected_revision=entry.revision)
        self.digests[path] = note.digest

    def _pull(self, path: str) -> None:
        self._check_unchanged(path)
        note = _note(self._entries[path])
        self.folder.write(path, note)
        self.digests[path] = note.digest

    def _check_unchanged(self, path: str) -> None:
        if self.folder.read(path) != self._files.get(path):
            raise UnfitError("the file has just been changed: sync again")

    def _listed(self) -> Iterable[StoredEntry]:
        """The entries below the prefix, of exactly this session."""
        listed = self.store.list(
            actor_id=self.actor_id,
            path_prefix=f"{self.folder.prefix}/",
            session_id=self.session_id,
            page_size=PAGE,
        )
        for entry in listed:
            if entry.session_id == self.session_id and self._fits(entry.path):
                yield entry

    def _read_files(self) -> Iterable[tuple[str, Note]]:
        for path in self.folder.paths():
            if self._fits(path) and (note := self.folder.read(path)):
                yield path, note

    def _fits(self, path: str) -> bool:
        try:
            self.folder.read(path)
        except (UnfitError, OSError) as error:
            self.unfit[path] = str(error)
        return path not in self.unfit


def _note(entry: StoredEntry) -> Note:
    return Note(entry.description, entry.content or "")
