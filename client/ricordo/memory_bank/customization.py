"""What a bank learns, and how: topics, examples and the person in which facts are written down."""

from typing import Literal

from pydantic import Field

from ricordo.memory_bank.base import BankModel
from ricordo.memory_bank.content import Content
from ricordo.memory_bank.value import ManagedTopicEnum, MemoryTopicId


class MemoryBankCustomizationConfigMemoryTopicCustomMemoryTopic(BankModel):
    """A topic of your own, and what belongs to it."""

    label: str
    description: str = ""


class MemoryBankCustomizationConfigMemoryTopicManagedMemoryTopic(BankModel):
    """A topic that every bank has."""

    managed_topic_enum: ManagedTopicEnum


class MemoryBankCustomizationConfigMemoryTopic(BankModel):
    """A topic: one of the two."""

    custom_memory_topic: MemoryBankCustomizationConfigMemoryTopicCustomMemoryTopic | None = None
    managed_memory_topic: MemoryBankCustomizationConfigMemoryTopicManagedMemoryTopic | None = None


class MemoryBankCustomizationConfigGenerateMemoriesExampleConversationSourceEvent(BankModel):
    """Something said, in an example."""

    content: Content


class MemoryBankCustomizationConfigGenerateMemoriesExampleConversationSource(BankModel):
    """What was said, in an example: at most 2 KiB."""

    events: list[MemoryBankCustomizationConfigGenerateMemoriesExampleConversationSourceEvent] = Field(
        min_length=1
    )


class MemoryBankCustomizationConfigGenerateMemoriesExampleGeneratedMemory(BankModel):
    """A fact that is learned from it, and what it is about."""

    fact: str
    topics: list[MemoryTopicId] = Field(default_factory=list)


class MemoryBankCustomizationConfigGenerateMemoriesExample(BankModel):
    """A conversation, and what is learned from it; none: nothing is."""

    conversation_source: MemoryBankCustomizationConfigGenerateMemoriesExampleConversationSource
    generated_memories: list[MemoryBankCustomizationConfigGenerateMemoriesExampleGeneratedMemory] = Field(
        default_factory=list
    )


class MemoryBankCustomizationConfigConsolidationConfig(BankModel):
    """How many revisions of a memory a new fact is compared with: the one it is at."""

    revisions_per_candidate_count: Literal[1] = 1


class MemoryBankCustomizationConfig(BankModel):
    """How memories are made in scopes that hold all of `scope_keys`; without keys, wherever no other one fits.

    With `disable_natural_language_memories` only the fields of profiles are.
    """

    scope_keys: list[str] = Field(default_factory=list)
    memory_topics: list[MemoryBankCustomizationConfigMemoryTopic] | None = None
    generate_memories_examples: list[MemoryBankCustomizationConfigGenerateMemoriesExample] | None = None
    enable_third_person_memories: bool | None = None
    consolidation_config: MemoryBankCustomizationConfigConsolidationConfig | None = None
    disable_natural_language_memories: bool | None = None
