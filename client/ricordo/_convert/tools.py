"""What tools for agents make of texts and entries."""

import re
import unicodedata
from typing import Any

from ricordo.errors import MemoryClientError
from ricordo.models import StoreEntry

GENERAL = "general"
MAX_SLUG = 64


def check_actor(actor_id: str) -> None:
    """Refuses to make tools for nobody.

    Raises:
        MemoryClientError: `actor_id` is blank.
    """
    if not actor_id.strip():
        raise MemoryClientError("actor_id is required, from trusted code: whose memories the tools are about")


def one_line(fact: str) -> str:
    """The fact as one line, so that the same fact is the same line."""
    return " ".join(unicodedata.normalize("NFC", fact).split())


def topic_path(topic: str) -> str:
    """Where the facts of a topic are kept: its words in lower case, "-" for everything else."""
    words = re.sub(r"[^\w-]+", "-", unicodedata.normalize("NFKC", topic).lower())
    return f"/{words.strip('-')[:MAX_SLUG].rstrip('-') or GENERAL}.md"


def without_line(content: str, fact: str) -> str | None:
    """The content without the lines that say this, in any case; None when no line does."""
    said = one_line(fact).casefold()
    lines = content.splitlines()
    kept = [line for line in lines if one_line(line).casefold() != said]
    return None if len(kept) == len(lines) else "\n".join(kept).strip("\n")


def found(entry: StoreEntry, score: float) -> dict[str, Any]:
    """A hit for a model to read."""
    return {"path": entry.path, "content": entry.content, "score": round(score, 4)}


def counted(entry: StoreEntry) -> dict[str, Any]:
    """An entry and its number of facts."""
    facts = sum(1 for line in (entry.content or "").splitlines() if line.strip())
    return {"path": entry.path, "facts": facts}


def listed(entry: StoreEntry) -> dict[str, Any]:
    """An entry without its content."""
    return {"path": entry.path, "description": entry.description}
