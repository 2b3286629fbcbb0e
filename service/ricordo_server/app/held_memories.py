"""What is held back for review: listed, approved, rejected. Until then it is no memory, and no read knows of it."""

from ricordo_server.app.consolidation import Checkpoint, consolidate, prepare
from ricordo_server.app.consolidation_writes import draft_of, memory_of
from ricordo_server.app.distillation import as_learned, distill
from ricordo_server.app.generation import as_refusal
from ricordo_server.app.permissions import check_may_read_as, check_may_write
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_store, write_store
from ricordo_server.db import held_memories as held_db
from ricordo_server.db.connection import TenantConnection
from ricordo_server.domain.call import Call
from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.extraction_policy import ExtractionPolicy
from ricordo_server.domain.failure import StepError
from ricordo_server.domain.generation import DEFAULT_RULES, Generation
from ricordo_server.domain.held_memory import HeldCandidate, HeldMemory, HeldState
from ricordo_server.domain.memory import MemoryKind
from ricordo_server.domain.paging import Page, PageRequest
from ricordo_server.domain.scope import Scope, ScopeFilter


async def list_held_memories(
    services: Services, call: Call, store_id: str, scope: ScopeFilter, page: PageRequest
) -> Page[HeldMemory]:
    """Oldest first."""
    check_may_read_as(call.principal, scope)
    async with in_store(services.database, call, store_id) as connection:
        found = await held_db.list_held(connection, scope, page)
        items = [_as_memory(connection, each) for each in found.items]
    return Page(items, found.positions, found.has_more)


def _as_memory(connection: TenantConnection, held: HeldCandidate) -> HeldMemory:
    [candidate] = held.learned.candidates
    draft = draft_of(held.learned, candidate, held.rules)
    return HeldMemory(held, memory_of(connection, draft, held.create_time))


async def approve_memory(services: Services, call: Call, store_id: str, held_memory_id: str) -> Generation:
    """Consolidates it as if it had just been learned; its trust stays what it is.

    Raises:
        DomainError: MEMORY_NOT_FOUND, PERMISSION_DENIED, EXTRACTOR_UNAVAILABLE, EXTRACTION_FAILED.
    """
    check_may_write(call.principal)
    async with in_store(services.database, call, store_id) as connection:
        held = await held_db.get_held(connection, held_memory_id)
        policy = connection.policy_for(held.learned.scope if held else Scope())

    async def checkpoint(connection: TenantConnection, _: Generation) -> None:
        if not await held_db.decide(connection, held_memory_id, HeldState.APPROVED):
            raise _not_found(held_memory_id)

    try:
        return await _learn(services, call, store_id, policy, held, checkpoint)
    except StepError as failure:
        raise as_refusal(failure) from failure


async def _learn(
    services: Services,
    call: Call,
    store_id: str,
    policy: ExtractionPolicy,
    held: HeldCandidate | None,
    checkpoint: Checkpoint,
) -> Generation:
    """Nothing of what is decided already: the checkpoint refuses it, unless a repeat of the call gets its answer."""
    if held is None:
        return await consolidate(services, call, store_id, [], DEFAULT_RULES, checkpoint)
    learned, rules = held.learned, held.rules
    if learned.kind is MemoryKind.DOCUMENT:
        return await distill(services, call, store_id, policy, as_learned(learned), rules, checkpoint)
    prepared = await prepare(services, call, store_id, policy, learned, rules)
    return await consolidate(services, call, store_id, [prepared], rules, checkpoint)


async def reject_memory(services: Services, call: Call, store_id: str, held_memory_id: str) -> None:
    """Erases it; what says the same is not held back again.

    Raises:
        DomainError: MEMORY_NOT_FOUND, PERMISSION_DENIED.
    """
    check_may_write(call.principal)

    async def work(connection: TenantConnection) -> None:
        if not await held_db.decide(connection, held_memory_id, HeldState.REJECTED):
            raise _not_found(held_memory_id)

    await write_store(services.database, call, store_id, work)


def _not_found(held_memory_id: str) -> DomainError:
    message = f"no memory {held_memory_id!r} is held back here: list those that are"
    return DomainError(Reason.MEMORY_NOT_FOUND, message, "held_memory_id")
