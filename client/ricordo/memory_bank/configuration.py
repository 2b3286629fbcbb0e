"""How a bank works: when memories are made, of what, and how long they are kept."""

from collections.abc import Mapping
from typing import ClassVar, Self

from pydantic import AliasChoices, Field, model_validator

from ricordo.memory_bank.base import BankModel
from ricordo.memory_bank.customization import MemoryBankCustomizationConfig
from ricordo.memory_bank.profile import StructuredMemoryConfig
from ricordo.memory_bank.value import BankDuration


class MemoryGenerationTriggerConfigGenerationTriggerRule(BankModel):
    """When memories are made of what was ingested: whichever comes first, and 24 hours after the last event anyway.

    After so many events, and after a pause (`idle_duration`) or so long after the first event that waits
    (`fixed_interval`, whole minutes). `overlap_event_count` earlier events are given along to be understood.
    """

    event_count: int | None = None
    idle_duration: BankDuration | None = None
    fixed_interval: BankDuration | None = None
    overlap_event_count: int = 0

    @model_validator(mode="after")
    def _check_timing(self) -> Self:
        if self.idle_duration is not None and self.fixed_interval is not None:
            raise ValueError("give idle_duration or fixed_interval, not both")
        return self


class MemoryGenerationTriggerConfig(BankModel):
    """When memories are made."""

    generation_rule: MemoryGenerationTriggerConfigGenerationTriggerRule


class ManagedSemanticMemoryConfigGenerationConfig(BankModel):
    """By which model memories are made, and when."""

    model: str | None = None
    generation_trigger_config: MemoryGenerationTriggerConfig | None = None


class ManagedSemanticMemoryConfigTtlConfigGranularTtlConfig(BankModel):
    """How long memories are kept, by what made them; `generate_updated_ttl` counts anew with each change."""

    create_ttl: BankDuration | None = None
    generate_created_ttl: BankDuration | None = None
    generate_updated_ttl: BankDuration | None = None


class ManagedSemanticMemoryConfigTtlConfig(BankModel):
    """How long memories and their revisions are kept, where a call does not say. Revisions: 365 days by default."""

    default_ttl: BankDuration | None = None
    granular_ttl_config: ManagedSemanticMemoryConfigTtlConfigGranularTtlConfig | None = None
    memory_revision_default_ttl: BankDuration | None = None


class ManagedSemanticMemoryConfig(BankModel):
    """How a bank works; what is not given is the project's. `customization_configs` is the older name of the
    unstructured ones.

    No topics, no examples or no `structured_memory_configs`, whatever the project has: an empty list.
    """

    generation_config: ManagedSemanticMemoryConfigGenerationConfig | None = None
    ttl_config: ManagedSemanticMemoryConfigTtlConfig | None = None
    disable_memory_revisions: bool | None = None
    unstructured_memory_configs: list[MemoryBankCustomizationConfig] = Field(
        default_factory=list,
        validation_alias=AliasChoices(
            "unstructured_memory_configs",
            "unstructuredMemoryConfigs",
            "customization_configs",
            "customizationConfigs",
        ),
    )
    structured_memory_configs: list[StructuredMemoryConfig] | None = None

    _elsewhere: ClassVar[Mapping[str, str]] = {
        **BankModel._elsewhere,
        "similarity_search_config": (
            "every bank of a project has its embedding model, which client.project.register_embedding_model changes"
        ),
    }
