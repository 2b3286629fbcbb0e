"""Memories as the dicts that the facade's `get_*` and `list_*` answer."""

from ricordo import models
from ricordo._convert.steps import decode_steps
from ricordo._convert.tags import tags_of
from ricordo.models import (
    CustomDetails,
    EpisodicDetails,
    Memory,
    ProceduralDetails,
    RetrievedCustomMemory,
    TaxonomicDetails,
)


def semantic_entry(memory: Memory) -> models.SemanticEntry:
    """A fact."""
    return {**_entry(memory), "label": memory.key, "text": memory.content}


def episodic_entry(memory: Memory) -> models.EpisodicEntry:
    """An episode."""
    details = memory.details if isinstance(memory.details, EpisodicDetails) else EpisodicDetails()
    return {
        **_entry(memory),
        "title": memory.title,
        "content": memory.content,
        "summary": details.summary,
        "participants": list(details.participants),
    }


def taxonomic_entry(memory: Memory) -> models.TaxonomicEntry:
    """A term."""
    details = memory.details
    known = details if isinstance(details, TaxonomicDetails) else TaxonomicDetails(domain="", term="")
    return {
        **_entry(memory),
        "domain": known.domain,
        "term": known.term,
        "definition": memory.content,
        "related_terms": list(known.related_terms),
    }


def procedural_entry(memory: Memory) -> models.ProceduralEntry:
    """A procedure."""
    details = memory.details if isinstance(memory.details, ProceduralDetails) else ProceduralDetails()
    return {
        **_entry(memory),
        "procedure": memory.key,
        "description": memory.description,
        "content": memory.content,
        "steps": decode_steps(details.steps),
        "resources": decode_steps(details.resources),
        "allowed_tools": list(details.allowed_tools),
        "compatibility": details.compatibility,
        "license": details.license,
        "trigger_conditions": list(details.trigger_conditions),
        "source_format": details.source_format,
        "source_path": details.source_path,
        "extraction_source": memory.provenance.extraction_model,
    }


def custom_entry(memory: Memory) -> models.CustomEntry:
    """A memory of a custom type."""
    details = memory.details if isinstance(memory.details, CustomDetails) else CustomDetails()
    return {
        **_entry(memory),
        "type": memory.custom_type,
        "content": memory.content,
        "contextual_metadata": details.contextual_metadata,
    }


def retrieved_custom(memory: Memory) -> RetrievedCustomMemory:
    """A memory of a custom type that was found."""
    details = memory.details if isinstance(memory.details, CustomDetails) else CustomDetails()
    return RetrievedCustomMemory(
        id=memory.memory_id,
        type=memory.custom_type,
        content=memory.content,
        tags=tags_of(memory.metadata),
        contextual_metadata=details.contextual_metadata or None,
        user_id=memory.scope.user_id or None,
        agent_id=memory.agent_id or None,
    )


def _entry(memory: Memory) -> models.MemoryEntry:
    return {
        "id": memory.memory_id,
        "user_id": memory.scope.user_id,
        "agent_id": memory.agent_id,
        "session_id": memory.scope.session_id or memory.provenance.session_id,
        "visibility": memory.visibility or models.Visibility.PRIVATE,
        "source": memory.source,
        "tags": list(memory.tags),
        "metadata": memory.metadata,
        "has_embedding": memory.has_embedding,
        "revision": memory.revision,
        "created_at": memory.create_time,
        "updated_at": memory.update_time,
        "deleted_at": memory.delete_time,
    }
