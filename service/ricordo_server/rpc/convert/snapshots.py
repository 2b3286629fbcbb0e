"""Snapshots and how far extraction is."""

from typing import Any

from ricordo.v1 import extraction_service_pb2 as pb
from ricordo.v1 import failure_pb2, memory_pb2, snapshot_pb2
from ricordo_server.domain.failure import FailureClass
from ricordo_server.domain.snapshot import (
    ExtractionFailure,
    ExtractionStatus,
    KindExtraction,
    KindProgress,
    Snapshot,
)
from ricordo_server.rpc.convert.enums import encode_enum
from ricordo_server.rpc.convert.scope import encode_scope
from ricordo_server.rpc.convert.times import encode_time

KIND = memory_pb2.MemoryKind.DESCRIPTOR
CAUSE = snapshot_pb2.PromotionCause.DESCRIPTOR
STATE = snapshot_pb2.ExtractionState.DESCRIPTOR
FAILURE_CLASS = failure_pb2.FailureClass.DESCRIPTOR


def encode_snapshot(snapshot: Snapshot) -> snapshot_pb2.Snapshot:
    return snapshot_pb2.Snapshot(
        snapshot_id=snapshot.snapshot_id,
        store_id=snapshot.store_id,
        scope=encode_scope(snapshot.scope),
        from_turn_seq=snapshot.from_seq,
        to_turn_seq=snapshot.to_seq,
        context_from_turn_seq=snapshot.context_from_seq,
        cause=encode_enum(snapshot.cause, CAUSE),
        summary=snapshot.summary,
        create_time=encode_time(snapshot.create_time),
        extractions=map(_encode_extraction, snapshot.extractions),
    )


def _encode_extraction(extraction: KindExtraction) -> snapshot_pb2.KindExtraction:
    return snapshot_pb2.KindExtraction(
        kind=encode_enum(extraction.kind, KIND),
        state=encode_enum(extraction.state, STATE),
        failed_attempts=extraction.attempts,
        failure_class=encode_failure_class(extraction.failure_class),
    )


def encode_failure(failure: ExtractionFailure) -> snapshot_pb2.ExtractionFailure:
    return snapshot_pb2.ExtractionFailure(
        store_id=failure.store_id,
        scope=encode_scope(failure.scope),
        snapshot_id=failure.snapshot_id,
        from_turn_seq=failure.from_seq,
        to_turn_seq=failure.to_seq,
        kind=encode_enum(failure.kind, KIND),
        attempts=failure.attempts,
        failure_class=encode_failure_class(failure.failure_class),
        failure_time=encode_time(failure.failure_time),
        error=failure.error,
    )


def encode_failure_class(failure_class: FailureClass | None) -> Any:
    """UNSPECIFIED when nothing failed."""
    return 0 if failure_class is None else encode_enum(failure_class, FAILURE_CLASS)


def encode_status(status: ExtractionStatus) -> pb.GetExtractionStatusResponse:
    return pb.GetExtractionStatusResponse(
        last_turn_seq=status.last_turn_seq,
        promoted_turn_seq=status.promoted_seq,
        kinds=map(_encode_progress, status.kinds),
    )


def _encode_progress(progress: KindProgress) -> pb.KindProgress:
    return pb.KindProgress(
        kind=encode_enum(progress.kind, KIND),
        extracted_turn_seq=progress.extracted_seq,
        pending_snapshots=progress.pending_snapshots,
        failed_snapshots=progress.failed_snapshots,
        last_failure_class=encode_failure_class(progress.last_failure_class),
    )
