"""What only one kind of memory has, to the wire and back."""

from ricordo import models
from ricordo._convert import values
from ricordo.v1 import memory_pb2


def set_details(message: memory_pb2.Memory, details: models.Details | None) -> None:
    """Sets the one member that the details stand for."""
    match details:
        case models.EpisodicDetails():
            message.episodic.CopyFrom(memory_pb2.EpisodicDetails(**details.model_dump()))
        case models.ProceduralDetails():
            message.procedural.CopyFrom(memory_pb2.ProceduralDetails(**details.model_dump()))
        case models.TaxonomicDetails():
            message.taxonomic.CopyFrom(encode_taxonomic(details))
        case models.ProfileDetails():
            message.profile.CopyFrom(memory_pb2.ProfileDetails(**details.model_dump()))
        case models.CustomDetails():
            stored = values.encode_metadata(details.contextual_metadata, "contextual_metadata")
            message.custom.CopyFrom(memory_pb2.CustomDetails(contextual_metadata=stored))


def encode_taxonomic(details: models.TaxonomicDetails) -> memory_pb2.TaxonomicDetails:
    """Encodes domain, term and related terms."""
    return memory_pb2.TaxonomicDetails(**details.model_dump())


def decode_details(memory: memory_pb2.Memory) -> models.Details | None:
    """Decodes the one member that is set."""
    match memory.WhichOneof("details"):
        case "episodic":
            episodic = memory.episodic
            return models.EpisodicDetails(participants=tuple(episodic.participants), summary=episodic.summary)
        case "procedural":
            return _decode_procedural(memory.procedural)
        case "taxonomic":
            taxonomic = memory.taxonomic
            return models.TaxonomicDetails(
                domain=taxonomic.domain, term=taxonomic.term, related_terms=tuple(taxonomic.related_terms)
            )
        case "custom":
            stored = values.decode_metadata(memory.custom.contextual_metadata)
            return models.CustomDetails(contextual_metadata=stored)
        case "profile":
            return models.ProfileDetails(
                schema_id=memory.profile.schema_id,
                field_name=memory.profile.field_name,
                content_is_json=memory.profile.content_is_json,
            )
    return None


def _decode_procedural(details: memory_pb2.ProceduralDetails) -> models.ProceduralDetails:
    return models.ProceduralDetails(
        steps=tuple(details.steps),
        resources=tuple(details.resources),
        allowed_tools=tuple(details.allowed_tools),
        compatibility=details.compatibility,
        license=details.license,
        trigger_conditions=tuple(details.trigger_conditions),
        source_format=details.source_format,
        source_path=details.source_path,
    )
