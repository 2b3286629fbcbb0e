"""Completion of vectors: of one project when something changed, and a look at all of them now and then."""

from collections.abc import Mapping
from typing import Any

from ricordo_server.app import completion
from ricordo_server.app.row_completion import EMBED_SECONDS
from ricordo_server.app.services import Services
from ricordo_server.domain.call import Call
from ricordo_server.jobs.kind import LONGEST_SECONDS, JobKind

# Seconds of one job; what is left then waits behind the jobs of others.
RUN_SECONDS = 60.0


async def complete_vectors(services: Services, call: Call, arguments: Mapping[str, Any]) -> None:
    await completion.complete_and_go_on(services, call, seconds=RUN_SECONDS)


async def find_incomplete(services: Services, call: Call, arguments: Mapping[str, Any]) -> None:
    await completion.request_where_incomplete(services, call)


KINDS = (
    # Its last batch may wait for two models and the database.
    JobKind(completion.TASK, complete_vectors, seconds=RUN_SECONDS + 3 * EMBED_SECONDS),
    JobKind("find_incomplete", find_incomplete, seconds=LONGEST_SECONDS, schedule="*/5 * * * *"),
)
