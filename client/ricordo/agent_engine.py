"""The names of agent-engine memory: a program written for it changes this import and its constructor.

    from agent_engine_sdk_memory import Memory, MemoryRequestContext, MemorySource      # before
    from ricordo.agent_engine import Memory, MemoryRequestContext, MemorySource         # now

What is the same, better and different is in `docs/system-a.md`. In new programs use `ricordo` and `ricordo.models`.
"""

from ricordo._sync.memory import Memory
from ricordo.errors import (
    MemoryAPIError,
    MemoryAuthError,
    MemoryBadRequestError,
    MemoryClientError,
    MemoryConnectionError,
    MemoryIdentityError,
    MemoryNotProvisionedError,
    MemoryNotSupportedError,
    MemoryRouteNotFoundError,
    MemoryServerError,
)
from ricordo.models import (
    BulkCreateSemanticResult,
    ContextMetadata,
    ContextResponse,
    CreateEpisodicResult,
    CreateProceduralResult,
    CreateSemanticResult,
    CreateTaxonomicResult,
    CustomMemoryRetrieveResult,
    CustomMemorySaveResult,
    DeleteResult,
    MemoryChunk,
    MemoryRequestContext,
    RetrievedCustomMemory,
    SourceOutcome,
    SourceSpec,
    TagScalar,
    WriteTurnResult,
)
from ricordo.models import ContextFormat as FormatStyle
from ricordo.models import ContextSource as MemorySource
from ricordo.models import ContextSource as SearchSource
from ricordo.models import SearchMode as RetrievalMode

__all__ = [
    "BulkCreateSemanticResult",
    "ContextMetadata",
    "ContextResponse",
    "CreateEpisodicResult",
    "CreateProceduralResult",
    "CreateSemanticResult",
    "CreateTaxonomicResult",
    "CustomMemoryRetrieveResult",
    "CustomMemorySaveResult",
    "DeleteResult",
    "FormatStyle",
    "Memory",
    "MemoryAPIError",
    "MemoryAuthError",
    "MemoryBadRequestError",
    "MemoryChunk",
    "MemoryClientError",
    "MemoryConnectionError",
    "MemoryIdentityError",
    "MemoryNotProvisionedError",
    "MemoryNotSupportedError",
    "MemoryRequestContext",
    "MemoryRouteNotFoundError",
    "MemoryServerError",
    "MemorySource",
    "RetrievalMode",
    "RetrievedCustomMemory",
    "SearchSource",
    "SourceOutcome",
    "SourceSpec",
    "TagScalar",
    "WriteTurnResult",
]
