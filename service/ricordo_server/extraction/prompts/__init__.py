"""Prompts are files. A changed one is a new file: what was learned says by which version."""

from functools import cache
from importlib import resources

from ricordo_server.domain.memory import MemoryKind

# Of each text the version in use; the older files stay, so that a provenance can be looked up.
VERSIONS = {
    "frame": 1,
    "consolidate": 1,
    "semantic": 2,
    "first_person": 1,
    "third_person": 1,
    **dict.fromkeys(("episodic", "procedural", "taxonomic", "profile"), 1),
}


@cache
def load_prompt(name: str) -> str:
    return (
        resources.files(__package__)
        .joinpath(f"{name}-{VERSIONS[name]}.md")
        .read_text(encoding="utf-8")
        .strip()
    )


def version_of(kind: MemoryKind, *, overridden: bool) -> str:
    """Such as "semantic-2 frame-1"; a project's own text is "custom"."""
    name = kind.lower()
    return f"{'custom' if overridden else f'{name}-{VERSIONS[name]}'} frame-{VERSIONS['frame']}"
