"""One codec for each enum: members and their numbers on the wire, by name."""

from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar

from ricordo import models
from ricordo.errors import Failure, MemoryClientError, MemoryServerError
from ricordo.models.base import Word
from ricordo.models.filter import Comparator
from ricordo.v1 import (
    audit_pb2,
    context_pb2,
    context_service_pb2,
    embedding_model_pb2,
    failure_pb2,
    filter_pb2,
    generation_pb2,
    identity_service_pb2,
    memory_pb2,
    operation_pb2,
    paging_pb2,
    pipeline_pb2,
    project_pb2,
    scope_pb2,
    search_pb2,
    service_account_pb2,
    snapshot_pb2,
    store_pb2,
)

Member = TypeVar("Member", bound=Word)
Number = TypeVar("Number", bound=int)
WireNumber = TypeVar("WireNumber", bound=int, covariant=True)


class WireEnum(Protocol[WireNumber]):
    """A generated enum."""

    def Value(self, name: str | bytes) -> WireNumber:  # noqa: N802
        """The number of a name."""


class EnumCodec(Generic[Member, Number]):
    """Translates between a `Word` and a generated enum with the same member names behind a prefix."""

    def __init__(
        self,
        words: type[Member],
        wire: WireEnum[Number],
        prefix: str,
        renamed: Mapping[str, str] | None = None,
    ) -> None:
        wire_names = {word: (renamed or {}).get(word.name, word.name) for word in words}
        self._words = words
        self._unspecified = wire.Value(f"{prefix}_UNSPECIFIED")
        self._numbers = {word: wire.Value(f"{prefix}_{name}") for word, name in wire_names.items()}
        self._members = {number: word for word, number in self._numbers.items()}

    def encode(self, value: Member | str | None) -> Number:
        """The number; that of UNSPECIFIED for None.

        Raises:
            MemoryClientError: No such member; the message lists them.
        """
        return self._unspecified if value is None else self._numbers[self.word(value)]

    def word(self, value: Member | str) -> Member:
        """The member of that value, in any accepted spelling.

        Raises:
            MemoryClientError: No such member; the message lists them.
        """
        try:
            return self._words(value)
        except ValueError:
            choices = ", ".join(self._words)
            raise MemoryClientError(
                f"{value!r} is no {self._words.__name__}: choose from {choices}"
            ) from None

    def decode(self, number: Number) -> Member:
        """The member.

        Raises:
            MemoryServerError: A number from a newer contract than this client's.
        """
        if number not in self._members:
            message = (
                f"{self._words.__name__} {number} is unknown to this client: upgrade the package ricordo"
            )
            raise MemoryServerError(Failure(code="UNKNOWN", message=message))
        return self._members[number]


MEMORY_KIND = EnumCodec(models.MemoryKind, memory_pb2.MemoryKind, "MEMORY_KIND")
MEMORY_SOURCE = EnumCodec(models.MemorySource, memory_pb2.MemorySource, "MEMORY_SOURCE")
MANAGED_TOPIC = EnumCodec(models.ManagedTopic, memory_pb2.ManagedTopic, "MANAGED_TOPIC")
REVISION_ACTION = EnumCodec(models.RevisionAction, memory_pb2.RevisionAction, "REVISION_ACTION")
METADATA_MERGE_STRATEGY = EnumCodec(
    models.MetadataMergeStrategy, generation_pb2.MetadataMergeStrategy, "METADATA_MERGE_STRATEGY"
)
VISIBILITY = EnumCodec(models.Visibility, scope_pb2.Visibility, "VISIBILITY", {"ORG": "PROJECT"})
SEARCH_MODE = EnumCodec(models.SearchMode, search_pb2.SearchMode, "SEARCH_MODE")
FUSION_METHOD = EnumCodec(models.FusionMethod, search_pb2.FusionMethod, "FUSION_METHOD")
VIEW = EnumCodec(models.View, paging_pb2.View, "VIEW")
COMPARATOR = EnumCodec(Comparator, filter_pb2.Comparator, "COMPARATOR")
PRINCIPAL_KIND = EnumCodec(models.PrincipalKind, identity_service_pb2.PrincipalKind, "PRINCIPAL_KIND")
CONTEXT_SOURCE = EnumCodec(
    models.ContextSource, context_service_pb2.ContextSource, "CONTEXT_SOURCE", {"STM": "TURNS"}
)
CONTEXT_FORMAT = EnumCodec(models.ContextFormat, context_pb2.ContextFormat, "CONTEXT_FORMAT")
LEFT_OUT_CAUSE = EnumCodec(models.LeftOutCause, context_service_pb2.LeftOutCause, "LEFT_OUT_CAUSE")
METADATA_POLICY = EnumCodec(models.MetadataPolicy, project_pb2.MetadataPolicy, "METADATA_POLICY")
EMBEDDING_MODEL_STATE = EnumCodec(
    models.EmbeddingModelState, embedding_model_pb2.EmbeddingModelState, "EMBEDDING_MODEL_STATE"
)
AUDIT_OUTCOME = EnumCodec(models.AuditOutcome, audit_pb2.AuditOutcome, "AUDIT_OUTCOME")
PERSON = EnumCodec(models.Person, project_pb2.Person, "PERSON")
STORE_ACCESS = EnumCodec(models.StoreAccess, store_pb2.StoreAccess, "STORE_ACCESS")
GRANTED_ACCESS = EnumCodec(models.GrantedAccess, store_pb2.GrantedAccess, "GRANTED_ACCESS")
METADATA_TYPE = EnumCodec(models.MetadataType, project_pb2.MetadataType, "METADATA_TYPE")
PROJECT_ROLE = EnumCodec(models.ProjectRole, service_account_pb2.ProjectRole, "PROJECT_ROLE")
FAILURE_CLASS = EnumCodec(models.FailureClass, failure_pb2.FailureClass, "FAILURE_CLASS")
PROMOTION_CAUSE = EnumCodec(models.PromotionCause, snapshot_pb2.PromotionCause, "PROMOTION_CAUSE")
EXTRACTION_STATE = EnumCodec(models.ExtractionState, snapshot_pb2.ExtractionState, "EXTRACTION_STATE")
OPERATION_KIND = EnumCodec(models.OperationKind, operation_pb2.OperationKind, "OPERATION_KIND")
PIPELINE_TRIGGER = EnumCodec(models.PipelineTrigger, pipeline_pb2.PipelineTrigger, "PIPELINE_TRIGGER")
PIPELINE_RUN_STATE = EnumCodec(models.PipelineRunState, pipeline_pb2.PipelineRunState, "PIPELINE_RUN_STATE")
