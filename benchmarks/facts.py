"""What a result must say of its circumstances: commit, date, machine."""

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"


def commit() -> str:
    """The commit, with a mark when the tree it was measured on held more than that."""
    return _git("rev-parse", "--short", "HEAD") + (
        "-dirty" if _git("status", "--porcelain", "service") else ""
    )


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], capture_output=True, text=True, check=True, cwd=FOLDER
    ).stdout.strip()


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def machine() -> dict[str, Any]:
    """Figures are worth their ratios; this says what the milliseconds were measured on."""
    return {
        "cores": os.cpu_count(),
        "load": [round(load, 1) for load in os.getloadavg()],
        "system": platform.system(),
        "processor": platform.machine(),
        "python": platform.python_version(),
        "grpcio": version("grpcio"),
        "psycopg": version("psycopg"),
    }


def write_result(name: str, report: Mapping[str, Any]) -> Path:
    path = RESULTS / name
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps(report, indent=2) + "\n")
    return path
