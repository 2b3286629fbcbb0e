"""Ways to call a running server, as commands to paste into a shell; a test runs them as they are printed."""

import sys
from pathlib import Path

QUESTION = "Is there a nut allergy?"


def ways_to_call(target: str) -> list[tuple[str, str]]:
    """A title and a command each."""
    programs = _programs_folder()
    return [
        (
            "the command line",
            f'{programs}ricordo search --turns --mode semantic --top-k 3 --target {target} "{QUESTION}"',
        ),
        (
            "any language: the server describes itself (reflection)",
            f"grpcurl -plaintext -d '{search_request()}' {target} ricordo.v1.SessionService/SearchTurns",
        ),
        ("Python", f"{programs}python - <<'END'\n{python_program(target)}END"),
    ]


def search_request() -> str:
    """A SearchTurnsRequest in protobuf's JSON."""
    return f'{{"options": {{"query": "{QUESTION}", "mode": "SEARCH_MODE_SEMANTIC", "top_k": 3}}}}'


def python_program(target: str) -> str:
    return f"""\
from ricordo import Memory, MemoryRequestContext

with Memory("{target}") as memory:
    marta = memory.bind(MemoryRequestContext(user_id="marta", session_id="today"))
    marta.record_turn(role="user", content="Chiara visits me in October.")
    print(marta.build_context("{QUESTION}").formatted_context)
"""


def _programs_folder() -> str:
    """The venv's, as one would type it here."""
    folder = Path(sys.executable).parent
    shown = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    return f"{shown}/"
