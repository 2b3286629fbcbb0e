"""The fixtures for pytest that come with the package, in a pytest of its own."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ricordo import Client

ROOT = Path(__file__).parents[2]
THEIR_TESTS = """
import sys

seen = []

def test_it_is_empty_and_theirs(ricordo_memory, ricordo_store):
    ricordo_memory.save_semantic(text="tea", label="drink", user_id="ada")
    assert [chunk.metadata["store_id"] for chunk in ricordo_memory.search_semantic("tea")] == [ricordo_store]
    seen.append(ricordo_store)

def test_it_is_another_one_for_each_test(ricordo_memory, ricordo_store):
    assert ricordo_memory.search_semantic("tea") == []
    assert seen and ricordo_store not in seen

def test_no_server_package_is_loaded():
    assert not {name.partition(".")[0] for name in sys.modules} & {"ricordo_server", "sqlalchemy", "psycopg"}
"""


def run_their_tests(folder: Path, **environment: str) -> str:
    (folder / "test_theirs.py").write_text(THEIR_TESTS)
    # By its module, whether or not this environment knows the entry point already.
    options = [
        "-p",
        "no:ricordo",
        "-p",
        "no:asyncio",
        "-p",
        "ricordo.testing",
        "-p",
        "no:cacheprovider",
        "-rs",
        "-W",
        "error",
    ]
    unset = {
        name: value for name, value in os.environ.items() if not name.startswith(("RICORDO_", "PYTEST_"))
    }
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--rootdir", str(folder), str(folder)],
        env=unset | environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.stdout + ran.stderr


def test_each_test_has_a_store_of_its_own(tmp_path: Path, service_target: str, token: str) -> None:
    printed = run_their_tests(tmp_path, RICORDO_TARGET=service_target, RICORDO_TOKEN=token)
    assert "3 passed" in printed, printed
    with Client(service_target, token=token) as client:
        assert [store.store_id for store in client.stores.list()] == ["default"]


def test_without_a_server_they_are_skipped_and_told_why(tmp_path: Path) -> None:
    printed = run_their_tests(tmp_path)
    assert "1 passed, 2 skipped" in printed, printed
    assert "RICORDO_TARGET names no server" in printed


def test_pytest_finds_them_by_the_entry_point() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"ricordo": "ricordo.testing"}


@pytest.mark.parametrize("name", ["ricordo_memory", "ricordo_store"])
def test_the_fixtures_are_public(name: str) -> None:
    import ricordo.testing

    assert name in ricordo.testing.__all__
