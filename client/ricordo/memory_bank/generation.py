"""What `generate` is given, and what it makes."""

from datetime import datetime

from pydantic import Field

from ricordo.memory_bank.base import BankModel, BankWord
from ricordo.memory_bank.content import Content
from ricordo.memory_bank.memory import Memory
from ricordo.memory_bank.revision import RevisionConfig
from ricordo.memory_bank.value import MemoryMetadataValue, MemoryTopicId


class GenerateMemoriesRequestVertexSessionSource(BankModel):
    """Turns of a session, "<bank>/sessions/<id>": from `start_time`, before `end_time`."""

    session: str
    start_time: datetime | None = None
    end_time: datetime | None = None


class GenerateMemoriesRequestDirectContentsSourceEvent(BankModel):
    """Something said."""

    content: Content


class GenerateMemoriesRequestDirectContentsSource(BankModel):
    """What was said, in order: 1 to 500."""

    events: list[GenerateMemoriesRequestDirectContentsSourceEvent] = Field(min_length=1)


class GenerateMemoriesRequestDirectMemoriesSourceDirectMemory(BankModel):
    """A fact as it is, and what it is about."""

    fact: str
    topics: list[MemoryTopicId] = Field(default_factory=list)


class GenerateMemoriesRequestDirectMemoriesSource(BankModel):
    """Facts to consolidate: 1 to 500."""

    direct_memories: list[GenerateMemoriesRequestDirectMemoriesSourceDirectMemory] = Field(min_length=1)


class MemoryMetadataMergeStrategy(BankWord):
    """How metadata meets that of a memory which is updated."""

    OVERWRITE = "OVERWRITE"
    MERGE = "MERGE"
    REQUIRE_EXACT_MATCH = "REQUIRE_EXACT_MATCH"


class GenerationConfig(RevisionConfig):
    """How what is learned meets the memories there are; `allowed_topics`: of nothing else, none: of everything."""

    disable_consolidation: bool = False
    metadata: dict[str, MemoryMetadataValue] = Field(default_factory=dict)
    metadata_merge_strategy: MemoryMetadataMergeStrategy | None = None
    allowed_topics: list[MemoryTopicId] = Field(default_factory=list)


class GenerateMemoriesConfig(GenerationConfig):
    """How memories are made, and whether to wait until they are."""

    wait_for_completion: bool = True


class GenerateMemoriesResponseGeneratedMemoryAction(BankWord):
    """What was done to a memory."""

    CREATED = "CREATED"
    UPDATED = "UPDATED"
    DELETED = "DELETED"


class GenerateMemoriesResponseGeneratedMemory(BankModel):
    """A memory that was made, changed or deleted; `previous_revision` is the one to roll back to."""

    memory: Memory
    action: GenerateMemoriesResponseGeneratedMemoryAction
    previous_revision: str | None = None


class GenerateMemoriesResponse(BankModel):
    """What was done, in order."""

    generated_memories: list[GenerateMemoriesResponseGeneratedMemory] = Field(default_factory=list)
