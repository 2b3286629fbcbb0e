"""What both sides were after the last time, kept in the folder."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from ricordo.errors import MemoryClientError

FILE = ".ricordo-sync.json"


@dataclass(frozen=True)
class Origin:
    """Which entries the folder goes with."""

    project_id: str
    store: str
    actor_id: str
    session_id: str
    prefix: str


def load_state(root: Path, origin: Origin) -> dict[str, str]:
    """The digest of each path; none where the folder is new.

    Raises:
        MemoryClientError: The folder goes with other entries, or its file is damaged.
    """
    file = root / FILE
    if not file.exists():
        return {}
    try:
        state = json.loads(file.read_bytes())
        before, digests = Origin(**state["origin"]), dict(state["digests"])
    except (ValueError, TypeError, KeyError) as error:
        raise MemoryClientError(f"{file} is damaged: remove it; both sides are compared anew then") from error
    if before != origin:
        raise MemoryClientError(
            f"this folder goes with the entries of {before.actor_id} in the store {before.store}, below "
            f"{before.prefix or '/'}: choose another folder, or remove {file}"
        )
    return digests


def save_state(root: Path, origin: Origin, digests: dict[str, str]) -> None:
    """Keeps them for the next time."""
    text = json.dumps({"origin": asdict(origin), "digests": digests}, indent=1, sort_keys=True)
    (root / FILE).write_text(text)
