"""What other stores learned from the turns of one, through pipelines, goes with these turns too.

Whoever deletes a turn need not see those stores, so a worker does it, once the deletion is committed.
"""

from collections.abc import Sequence

from ricordo_server.app.forgetting import forget_turns
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_project, in_store
from ricordo_server.db.declarations import list_store_names
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError, Reason


async def forget_elsewhere(services: Services, call: Call, store_id: str, turn_ids: Sequence[str]) -> None:
    """In every other store of the project: its pipeline may be gone by now, and what it wrote is not."""
    async with in_project(services.database.pool, call) as connection:
        names = await list_store_names(connection)
    for name in names:
        if name != store_id:
            await _forget(services, call, name, turn_ids)


async def _forget(services: Services, call: Call, store_id: str, turn_ids: Sequence[str]) -> None:
    try:
        async with in_store(services.database, call, store_id) as connection:
            await forget_turns(connection, turn_ids)
    except DomainError as error:
        if error.reason is not Reason.STORE_NOT_FOUND:  # it was deleted meanwhile
            raise
