"""Housekeeping: what has had its time, and the planner's statistics."""

from collections.abc import Mapping
from typing import Any

from ricordo_server.app import housekeeping
from ricordo_server.app.services import Services
from ricordo_server.domain.call import Call
from ricordo_server.jobs.kind import LONGEST_SECONDS, JobKind


async def sweep(services: Services, call: Call, arguments: Mapping[str, Any]) -> None:
    await housekeeping.sweep(services, call)


async def analyze(services: Services, call: Call, arguments: Mapping[str, Any]) -> None:
    await housekeeping.analyze_parents(services, call)


KINDS = (
    JobKind("sweep", sweep, seconds=LONGEST_SECONDS, schedule="17 * * * *"),
    JobKind("analyze", analyze, seconds=LONGEST_SECONDS, schedule="43 */6 * * *"),
)
