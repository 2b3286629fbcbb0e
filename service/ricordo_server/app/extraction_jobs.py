"""Jobs that extract one kind from one snapshot."""

from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.jobs import defer_job
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.scope import Scope

EXTRACT = "extract"


async def defer_extraction(
    connection: TenantConnection, scope: Scope, snapshot_id: str, kind: MemoryKind
) -> None:
    """Those of a session one after the other, so that what was said later is known later."""
    arguments = {"store_id": connection.store_name, "snapshot_id": snapshot_id, "kind": kind}
    lock = f"{EXTRACT}:{connection.store_id}:{scope.key}:{kind}"
    await defer_job(connection, EXTRACT, arguments, lock=lock)
