"""The operation of a session: one for all calls that record turns in it, until what it is to extract is extracted.

Whoever changes what is to be extracted for it, or what was, holds its row first: so exactly one of them ends it.
"""

from dataclasses import replace

from uuid_utils.compat import uuid7

from ricordo_server.db import operations as operations_db
from ricordo_server.db import snapshots as snapshots_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.generation import Dropped, Generation
from ricordo_server.domain.operation import Made, Operation, OperationDraft, OperationKind, made_of
from ricordo_server.domain.scope import Scope
from ricordo_server.domain.snapshot import ExtractionState


async def join_operation(connection: TenantConnection, scope: Scope) -> Operation:
    """That of a session, which is held; a new one where the last is over."""
    found = await operations_db.hold_of_session(connection, scope)
    draft = OperationDraft(OperationKind.EXTRACT_SESSION, scope)
    return found or await operations_db.insert_operation(connection, str(uuid7()), draft)


async def settle_operation(connection: TenantConnection, scope: Scope) -> None:
    """Ends that of a session without turns that wait, unless something is still extracted for it."""
    found = await operations_db.hold_of_session(connection, scope)
    if found is not None:
        await _end_if_extracted(connection, found.operation_id, found.made or Made((), Dropped()))


async def add_generation(
    connection: TenantConnection, operation_id: str, before: Made, generation: Generation
) -> None:
    """One extraction is done for an operation that is held."""
    made = before + made_of(generation)
    await operations_db.keep_made(connection, operation_id, made)
    await _end_if_extracted(connection, operation_id, made)


async def note_given_up(connection: TenantConnection, operation_id: str, made: Made) -> None:
    """One extraction is given up for an operation that is held."""
    await _end_if_extracted(connection, operation_id, made)


async def _end_if_extracted(connection: TenantConnection, operation_id: str, made: Made) -> None:
    states = await snapshots_db.count_states(connection, operation_id)
    if states.get(ExtractionState.PENDING):
        return
    is_partial = ExtractionState.FAILED in states
    if is_partial and ExtractionState.DONE not in states and not made.revisions:
        message = "every kind was given up: ListFailures says why, RetryFailure has it tried again"
        await operations_db.fail_operation(
            connection, operation_id, DomainError(Reason.EXTRACTION_FAILED, message)
        )
        return
    dropped = replace(made.dropped, incomplete=made.dropped.incomplete or is_partial)
    await operations_db.finish_operation(connection, operation_id, replace(made, dropped=dropped))
