"""The files of a folder, by the paths of their entries."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ricordo.commands.folder.note import Note, parse_note, render_note

SUFFIX = ".md"


class UnfitError(Exception):
    """A file that is no entry, or a path that is no file; the message says why."""


@dataclass(frozen=True)
class Folder:
    """Markdown files below a root, hidden ones and links left out. `prefix` begins the paths of their entries."""

    root: Path
    prefix: str = ""

    def paths(self) -> Iterator[str]:
        """The paths of all files."""
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                file = Path(folder, name)
                if name.endswith(SUFFIX) and not name.startswith(".") and not file.is_symlink():
                    yield f"{self.prefix}/{file.relative_to(self.root).as_posix()}"

    def read(self, path: str) -> Note | None:
        """What the file holds; None: there is none.

        Raises:
            UnfitError: It is no UTF-8 text, or the path is none for a file.
        """
        try:
            return parse_note(self._file(path).read_bytes().decode())
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as error:
            raise UnfitError(f"the file is no UTF-8 text: byte {error.start}") from error

    def write(self, path: str, note: Note) -> None:
        """Writes the file whole or not at all.

        Raises:
            UnfitError: The path is none for a file.
        """
        file = self._file(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        whole = file.with_name(f".{file.name}.new")
        whole.write_bytes(render_note(note).encode())
        whole.replace(file)

    def delete(self, path: str) -> None:
        """Deletes the file, and the folders that are empty then."""
        file = self._file(path)
        file.unlink(missing_ok=True)
        for folder in file.parents:
            if folder == self.root or any(folder.iterdir()):
                return
            folder.rmdir()

    def _file(self, path: str) -> Path:
        """Where the entry's file is: paths are written by agents, so none leads out of the root."""
        segments = path.removeprefix(self.prefix).removeprefix("/").split("/")
        if not segments[-1].endswith(SUFFIX):
            raise UnfitError(f"the path does not end in {SUFFIX}")
        if any(segment.startswith(".") or "\\" in segment or "\0" in segment for segment in segments):
            raise UnfitError("a part of the path begins with a dot, or has a backslash")
        file = self.root.joinpath(*segments)
        if any(each.is_symlink() for each in (file, *file.parents) if self.root in each.parents):
            raise UnfitError("a part of the path is a symbolic link here")
        return file
