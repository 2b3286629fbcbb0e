"""What only one kind of memory has."""

from collections.abc import Callable, Sequence
from typing import Any

from ricordo.v1 import memory_pb2
from ricordo_server.domain.errors import invalid_field, over_limit
from ricordo_server.domain.limits import MAX_CONTENT_BYTES, MAX_DESCRIPTION_BYTES, MAX_LIST_ITEMS, MAX_TAGS
from ricordo_server.domain.memory import (
    DETAILS_OF_KIND,
    CustomDetails,
    Details,
    EpisodicDetails,
    MemoryKind,
    ProceduralDetails,
    ProfileDetails,
    TaxonomicDetails,
)
from ricordo_server.rpc.checks import SCHEMA_ID, check_pattern, check_text, check_texts
from ricordo_server.rpc.convert.metadata import decode_metadata_map, encode_metadata_map

REQUIRED_BY = (MemoryKind.TAXONOMIC, MemoryKind.PROFILE)


def decode_details(message: memory_pb2.Memory, kind: MemoryKind | None, field: str) -> Details | None:
    """The details given; with a kind, only its own."""
    member = message.WhichOneof("details")
    if member is None:
        if kind in REQUIRED_BY:
            raise invalid_field(field, f"a {kind} memory needs its details: give `{kind.lower()}`")
        return None
    details = DECODERS[member](getattr(message, member), field.replace("details", member))
    if kind is not None and not isinstance(details, DETAILS_OF_KIND.get(kind, type(None))):
        raise invalid_field(field, f"`{member}` details do not belong to a {kind} memory: leave them out")
    return details


def _episodic(message: memory_pb2.EpisodicDetails, field: str) -> EpisodicDetails:
    return EpisodicDetails(
        participants=check_texts(f"{field}.participants", message.participants, most=MAX_TAGS),
        summary=check_text(f"{field}.summary", message.summary, limit=MAX_DESCRIPTION_BYTES),
    )


def _procedural(message: memory_pb2.ProceduralDetails, field: str) -> ProceduralDetails:
    def texts(name: str) -> Sequence[str]:
        values: Sequence[str] = getattr(message, name)
        return check_texts(f"{field}.{name}", values, most=MAX_LIST_ITEMS, limit=MAX_DESCRIPTION_BYTES)

    def text(name: str) -> str:
        return check_text(f"{field}.{name}", getattr(message, name), limit=MAX_DESCRIPTION_BYTES)

    details = ProceduralDetails(
        steps=texts("steps"),
        resources=texts("resources"),
        allowed_tools=texts("allowed_tools"),
        compatibility=text("compatibility"),
        license=text("license"),
        trigger_conditions=texts("trigger_conditions"),
        source_format=text("source_format"),
        source_path=text("source_path"),
    )
    check_text(f"{field}.steps", "\n".join(details.steps), limit=MAX_CONTENT_BYTES)
    _check_sum(field, details)
    return details


def _check_sum(field: str, details: ProceduralDetails) -> None:
    """Four lists of 256 x 8 KiB would be more than an answer holds."""
    values: list[str | Sequence[str]] = list(vars(details).values())
    texts = [text for value in values for text in ((value,) if isinstance(value, str) else value)]
    size = sum(len(text.encode()) for text in texts)
    if size > MAX_CONTENT_BYTES:
        raise over_limit(field, "bytes", MAX_CONTENT_BYTES, size)


def decode_taxonomic(message: memory_pb2.TaxonomicDetails, field: str) -> TaxonomicDetails:
    return TaxonomicDetails(
        domain=check_text(f"{field}.domain", message.domain, required=True),
        term=check_text(f"{field}.term", message.term, required=True),
        related_terms=check_texts(f"{field}.related_terms", message.related_terms, most=MAX_TAGS),
    )


def _custom(message: memory_pb2.CustomDetails, field: str) -> CustomDetails:
    return CustomDetails(decode_metadata_map(message.contextual_metadata, f"{field}.contextual_metadata"))


def _profile(message: memory_pb2.ProfileDetails, field: str) -> ProfileDetails:
    return ProfileDetails(
        schema_id=check_pattern(f"{field}.schema_id", message.schema_id, SCHEMA_ID),
        field_name=check_text(f"{field}.field_name", message.field_name, required=True),
    )


DECODERS: dict[str, Callable[[Any, str], Details]] = {
    "episodic": _episodic,
    "procedural": _procedural,
    "taxonomic": decode_taxonomic,
    "custom": _custom,
    "profile": _profile,
}
DETAILS_MEMBERS = tuple(DECODERS)


def encode_details(details: Details | None, message: memory_pb2.Memory) -> None:
    """Sets the member of `message.details`."""
    match details:
        case None:
            return
        case CustomDetails(contextual_metadata):
            message.custom.SetInParent()
            for key, value in encode_metadata_map(contextual_metadata).items():
                message.custom.contextual_metadata[key].CopyFrom(value)
        case _:
            member = type(details).__name__.removesuffix("Details").lower()
            target = getattr(message, member)
            target.CopyFrom(type(target)(**vars(details)))
