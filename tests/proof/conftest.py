"""Proofs are tests of thousands of cases, too long for every run: `make proof` runs them and prints their numbers."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest


@dataclass
class Tally:
    """The cases that a test tried; it ends with `assert not tally.failures`. `note` is told beside the numbers."""

    cases: int = 0
    failures: list[object] = field(default_factory=list)
    note: str = ""

    def count(self, holds: bool, case: object) -> None:
        """One more case, and what it was should it fail."""
        self.cases += 1
        if not holds:
            self.failures.append(case)


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Iterator[Tally]:
    counted = Tally()
    request.node.user_properties.append(("proof", None))  # until it is known
    yield counted
    request.node.user_properties.append(("proof", (counted.cases, len(counted.failures))))
    request.node.user_properties.append(("note", counted.note))


_numbers: dict[str, tuple[int, int]] = {}
_skipped: dict[str, str] = {}
_notes: dict[str, str] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Sums up by test, whatever its parameters and the worker it ran on."""
    test = report.nodeid.partition("[")[0]
    # A test without a tally is one case.
    told = dict(report.user_properties)
    counted: Any = told.get("proof", (1, int(report.failed)))
    if told.get("note"):
        _notes[test] = str(told["note"])
    if report.skipped:
        _skipped[test] = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    elif counted and report.when == ("teardown" if "proof" in told else "call"):
        cases, failures = _numbers.get(test, (0, 0))
        _numbers[test] = cases + counted[0], failures + counted[1]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("proof")
    for test, (cases, failures) in sorted(_numbers.items()):
        terminalreporter.write_line(f"{cases:>8,} cases  {failures:>4,} failures  {test}")
        if test in _notes:
            terminalreporter.write_line(f"{'':>29}{_notes[test]}")
    for test, reason in sorted(_skipped.items()):
        terminalreporter.write_line(f"not run: {test}: {reason}")
