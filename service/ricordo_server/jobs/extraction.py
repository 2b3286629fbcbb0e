"""From turns to memories: a session that has been idle, and one kind out of one snapshot."""

from collections.abc import Mapping
from typing import Any

from ricordo_server.app import extraction_jobs, promotion, snapshot_extraction
from ricordo_server.app.services import Services
from ricordo_server.domain.call import Call
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.jobs.kind import Failure, JobKind
from ricordo_server.rpc.convert.generation import decode_kept_options

# A model on a small machine needs minutes for a long snapshot.
EXTRACT_SECONDS = 600.0


async def promote_idle(services: Services, call: Call, arguments: Mapping[str, Any]) -> None:
    await promotion.promote_idle(services, call, arguments["store_id"], arguments["scope_key"])


async def extract(services: Services, call: Call, arguments: Mapping[str, Any]) -> None:
    store_id, snapshot_id = arguments["store_id"], arguments["snapshot_id"]
    kind = MemoryKind(arguments["kind"])
    await snapshot_extraction.extract_snapshot(
        services, call, store_id, snapshot_id, kind, decode_kept_options
    )


async def note_failed(services: Services, call: Call, arguments: Mapping[str, Any], failure: Failure) -> None:
    store_id, snapshot_id = arguments["store_id"], arguments["snapshot_id"]
    await snapshot_extraction.note_failure(
        services,
        call,
        store_id,
        snapshot_id,
        MemoryKind(arguments["kind"]),
        failure.failure_class,
        failure.reason,
        is_final=failure.is_final,
    )


KINDS = (
    JobKind(promotion.PROMOTE_IDLE, promote_idle),
    JobKind(extraction_jobs.EXTRACT, extract, seconds=EXTRACT_SECONDS, on_failure=note_failed),
)
