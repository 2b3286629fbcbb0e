"""The types of memory banks, by the names that programs written for them know: `client.memory_banks`.

    from ricordo import memory_bank as types

    types.RetrieveMemoriesConfig(filter='update_time > "2026-01-31T00:00:00Z"')

Dicts of the same shape do as well, in snake_case or camelCase. What is the same, better and different is in
`docs/system-b.md`.
"""

from ricordo.memory_bank.bank import (
    CreateMemoryBankConfig,
    ListMemoryBanksConfig,
    MemoryBank,
    UpdateMemoryBankConfig,
)
from ricordo.memory_bank.call import (
    CallConfig,
    DeleteMemoryBankConfig,
    DeleteMemoryConfig,
    GetMemoryBankConfig,
    GetMemoryConfig,
    GetMemoryRevisionConfig,
    RetrieveMemoryProfilesConfig,
)
from ricordo.memory_bank.configuration import (
    ManagedSemanticMemoryConfig,
    ManagedSemanticMemoryConfigGenerationConfig,
    ManagedSemanticMemoryConfigTtlConfig,
    ManagedSemanticMemoryConfigTtlConfigGranularTtlConfig,
    MemoryGenerationTriggerConfig,
    MemoryGenerationTriggerConfigGenerationTriggerRule,
)
from ricordo.memory_bank.content import Content, FunctionCall, FunctionResponse, Part
from ricordo.memory_bank.customization import (
    MemoryBankCustomizationConfig,
    MemoryBankCustomizationConfigConsolidationConfig,
    MemoryBankCustomizationConfigGenerateMemoriesExample,
    MemoryBankCustomizationConfigGenerateMemoriesExampleConversationSource,
    MemoryBankCustomizationConfigGenerateMemoriesExampleConversationSourceEvent,
    MemoryBankCustomizationConfigGenerateMemoriesExampleGeneratedMemory,
    MemoryBankCustomizationConfigMemoryTopic,
    MemoryBankCustomizationConfigMemoryTopicCustomMemoryTopic,
    MemoryBankCustomizationConfigMemoryTopicManagedMemoryTopic,
)
from ricordo.memory_bank.filter import MemoryConjunctionFilter, MemoryFilter, Operator
from ricordo.memory_bank.generation import (
    GenerateMemoriesConfig,
    GenerateMemoriesRequestDirectContentsSource,
    GenerateMemoriesRequestDirectContentsSourceEvent,
    GenerateMemoriesRequestDirectMemoriesSource,
    GenerateMemoriesRequestDirectMemoriesSourceDirectMemory,
    GenerateMemoriesRequestVertexSessionSource,
    GenerateMemoriesResponse,
    GenerateMemoriesResponseGeneratedMemory,
    GenerateMemoriesResponseGeneratedMemoryAction,
    MemoryMetadataMergeStrategy,
)
from ricordo.memory_bank.ingestion import (
    IngestEventsConfig,
    IngestionDirectContentsSource,
    IngestionDirectContentsSourceEvent,
)
from ricordo.memory_bank.memory import (
    ListMemoriesConfig,
    Memory,
    MemoryConfig,
    PurgeMemoriesConfig,
    PurgeMemoriesResponse,
    RollbackMemoryConfig,
    UpdateMemoryConfig,
)
from ricordo.memory_bank.operation import (
    DeleteMemoryBankOperation,
    DeleteMemoryOperation,
    GenerateMemoriesOperation,
    MemoryBankIngestEventsOperation,
    MemoryOperation,
    PurgeMemoriesOperation,
    RollbackMemoryOperation,
)
from ricordo.memory_bank.profile import (
    MemoryProfile,
    RetrieveProfilesResponse,
    StructuredMemoryConfig,
    StructuredMemorySchemaConfig,
)
from ricordo.memory_bank.retrieval import (
    RetrieveMemoriesConfig,
    RetrieveMemoriesRequestSimilaritySearchParams,
    RetrieveMemoriesRequestSimpleRetrievalParams,
    RetrieveMemoriesResponseRetrievedMemory,
)
from ricordo.memory_bank.revision import (
    IntermediateExtractedMemory,
    ListMemoryRevisionsConfig,
    MemoryRevision,
)
from ricordo.memory_bank.value import (
    ManagedTopicEnum,
    MemoryMetadataValue,
    MemoryStructuredContent,
    MemoryTopicId,
    MemoryType,
)

__all__ = [
    "CallConfig",
    "Content",
    "CreateMemoryBankConfig",
    "DeleteMemoryBankConfig",
    "DeleteMemoryBankOperation",
    "DeleteMemoryConfig",
    "DeleteMemoryOperation",
    "FunctionCall",
    "FunctionResponse",
    "GenerateMemoriesConfig",
    "GenerateMemoriesOperation",
    "GenerateMemoriesRequestDirectContentsSource",
    "GenerateMemoriesRequestDirectContentsSourceEvent",
    "GenerateMemoriesRequestDirectMemoriesSource",
    "GenerateMemoriesRequestDirectMemoriesSourceDirectMemory",
    "GenerateMemoriesRequestVertexSessionSource",
    "GenerateMemoriesResponse",
    "GenerateMemoriesResponseGeneratedMemory",
    "GenerateMemoriesResponseGeneratedMemoryAction",
    "GetMemoryBankConfig",
    "GetMemoryConfig",
    "GetMemoryRevisionConfig",
    "IngestEventsConfig",
    "IngestionDirectContentsSource",
    "IngestionDirectContentsSourceEvent",
    "IntermediateExtractedMemory",
    "ListMemoriesConfig",
    "ListMemoryBanksConfig",
    "ListMemoryRevisionsConfig",
    "ManagedSemanticMemoryConfig",
    "ManagedSemanticMemoryConfigGenerationConfig",
    "ManagedSemanticMemoryConfigTtlConfig",
    "ManagedSemanticMemoryConfigTtlConfigGranularTtlConfig",
    "ManagedTopicEnum",
    "Memory",
    "MemoryBank",
    "MemoryBankCustomizationConfig",
    "MemoryBankCustomizationConfigConsolidationConfig",
    "MemoryBankCustomizationConfigGenerateMemoriesExample",
    "MemoryBankCustomizationConfigGenerateMemoriesExampleConversationSource",
    "MemoryBankCustomizationConfigGenerateMemoriesExampleConversationSourceEvent",
    "MemoryBankCustomizationConfigGenerateMemoriesExampleGeneratedMemory",
    "MemoryBankCustomizationConfigMemoryTopic",
    "MemoryBankCustomizationConfigMemoryTopicCustomMemoryTopic",
    "MemoryBankCustomizationConfigMemoryTopicManagedMemoryTopic",
    "MemoryBankIngestEventsOperation",
    "MemoryConfig",
    "MemoryConjunctionFilter",
    "MemoryFilter",
    "MemoryGenerationTriggerConfig",
    "MemoryGenerationTriggerConfigGenerationTriggerRule",
    "MemoryMetadataMergeStrategy",
    "MemoryMetadataValue",
    "MemoryOperation",
    "MemoryProfile",
    "MemoryRevision",
    "MemoryStructuredContent",
    "MemoryTopicId",
    "MemoryType",
    "Operator",
    "Part",
    "PurgeMemoriesConfig",
    "PurgeMemoriesOperation",
    "PurgeMemoriesResponse",
    "RetrieveMemoriesConfig",
    "RetrieveMemoriesRequestSimilaritySearchParams",
    "RetrieveMemoriesRequestSimpleRetrievalParams",
    "RetrieveMemoriesResponseRetrievedMemory",
    "RetrieveMemoryProfilesConfig",
    "RetrieveProfilesResponse",
    "RollbackMemoryConfig",
    "RollbackMemoryOperation",
    "StructuredMemoryConfig",
    "StructuredMemorySchemaConfig",
    "UpdateMemoryBankConfig",
    "UpdateMemoryConfig",
]
