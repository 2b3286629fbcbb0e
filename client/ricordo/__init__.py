"""Ricordo: memory for AI agents.

    from ricordo import Memory, MemoryRequestContext

    with Memory() as memory:
        ada = memory.bind(MemoryRequestContext(user_id="ada", session_id="s1"))
        ada.record_turn(role="user", content="I only drink green tea.")
        ada.save_semantic(text="Ada drinks green tea.", label="drink")
        print(ada.build_context("What shall I offer?").formatted_context)

`Memory` is the facade for agents; `Client` covers the whole contract. `AsyncMemory` and `AsyncClient` are the same
for asyncio. Everything public is named here or in the modules `models`, `errors`, `filters`, `testing` (fixtures for
pytest), `agent_engine` and `memory_bank` (for programs written for agent-engine memory and for memory banks);
`ricordo.v1` holds the generated messages for those who need them.
"""

from ricordo import errors, filters, models
from ricordo._async.client import AsyncClient
from ricordo._async.memory import AsyncMemory
from ricordo._async.operations import AsyncOperationHandle
from ricordo._async.pager import AsyncPager
from ricordo._async.protocols import AsyncMemoryClient
from ricordo._sync.client import Client
from ricordo._sync.memory import Memory
from ricordo._sync.operations import OperationHandle
from ricordo._sync.pager import Pager
from ricordo._sync.protocols import MemoryClient
from ricordo.errors import RicordoError
from ricordo.identity import ambient_context
from ricordo.models import MemoryRequestContext, SourceSpec

__all__ = [
    "AsyncClient",
    "AsyncMemory",
    "AsyncMemoryClient",
    "AsyncOperationHandle",
    "AsyncPager",
    "Client",
    "Memory",
    "MemoryClient",
    "MemoryRequestContext",
    "OperationHandle",
    "Pager",
    "RicordoError",
    "SourceSpec",
    "ambient_context",
    "errors",
    "filters",
    "models",
]
