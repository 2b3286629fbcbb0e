"""Promotion, snapshots and how far extraction is: requests and replies."""

from ricordo import models
from ricordo._convert import enums, paging, scopes, values
from ricordo._convert.sendable import sendable
from ricordo.v1 import extraction_service_pb2 as pb
from ricordo.v1 import failure_pb2, snapshot_pb2


@sendable
def promote_session_request(
    scope: models.Scope, *, store: str | None, request_id: str | None
) -> pb.PromoteSessionRequest:
    """Asks to extract a session now."""
    return pb.PromoteSessionRequest(
        store_id=store or "", scope=scopes.encode_scope(scope), request_id=paging.fresh(request_id)
    )


@sendable
def list_snapshots_request(
    *, scope: models.ScopeFilter | None, page_size: int | None, store: str | None
) -> pb.ListSnapshotsRequest:
    """Asks for a page of snapshots."""
    return pb.ListSnapshotsRequest(
        store_id=store or "", scope=scopes.encode_scope_filter(scope), page_size=page_size
    )


@sendable
def get_extraction_status_request(scope: models.Scope, *, store: str | None) -> pb.GetExtractionStatusRequest:
    """Asks how far a session is."""
    return pb.GetExtractionStatusRequest(store_id=store or "", scope=scopes.encode_scope(scope))


def decode_snapshot(snapshot: snapshot_pb2.Snapshot) -> models.Snapshot:
    """Decodes a snapshot."""
    return models.Snapshot(
        snapshot_id=snapshot.snapshot_id,
        store_id=snapshot.store_id,
        scope=scopes.decode_scope(snapshot.scope),
        from_turn_seq=snapshot.from_turn_seq,
        to_turn_seq=snapshot.to_turn_seq,
        context_from_turn_seq=snapshot.context_from_turn_seq,
        cause=enums.PROMOTION_CAUSE.decode(snapshot.cause),
        summary=snapshot.summary,
        create_time=values.decode_time(snapshot.create_time),
        extractions=tuple(map(_decode_extraction, snapshot.extractions)),
    )


def _decode_extraction(extraction: snapshot_pb2.KindExtraction) -> models.KindExtraction:
    return models.KindExtraction(
        kind=enums.MEMORY_KIND.decode(extraction.kind),
        state=enums.EXTRACTION_STATE.decode(extraction.state),
        failed_attempts=extraction.failed_attempts,
        failure_class=decode_failure_class(extraction.failure_class),
    )


def decode_failure_class(number: int) -> models.FailureClass | None:
    """None when nothing failed."""
    return enums.FAILURE_CLASS.decode(failure_pb2.FailureClass.ValueType(number)) if number else None


def decode_status(reply: pb.GetExtractionStatusResponse) -> models.ExtractionStatus:
    """Decodes how far a session is."""
    return models.ExtractionStatus(
        last_turn_seq=reply.last_turn_seq,
        promoted_turn_seq=reply.promoted_turn_seq,
        kinds=tuple(map(_decode_progress, reply.kinds)),
    )


def _decode_progress(progress: pb.KindProgress) -> models.KindProgress:
    return models.KindProgress(
        kind=enums.MEMORY_KIND.decode(progress.kind),
        extracted_turn_seq=progress.extracted_turn_seq,
        pending_snapshots=progress.pending_snapshots,
        failed_snapshots=progress.failed_snapshots,
        last_failure_class=decode_failure_class(progress.last_failure_class),
    )


@sendable
def list_failures_request(
    *, scope: models.ScopeFilter | None, page_size: int | None, store: str | None
) -> pb.ListFailuresRequest:
    """Asks for a page of failures."""
    return pb.ListFailuresRequest(
        store_id=store or "", scope=scopes.encode_scope_filter(scope), page_size=page_size
    )


@sendable
def retry_failure_request(
    snapshot_id: str, kind: models.MemoryKind | str, *, store: str | None, request_id: str | None
) -> pb.RetryFailureRequest:
    """Asks to try an extraction again."""
    return pb.RetryFailureRequest(
        store_id=store or "",
        snapshot_id=snapshot_id,
        kind=enums.MEMORY_KIND.encode(kind),
        request_id=paging.fresh(request_id),
    )


def decode_failure(failure: snapshot_pb2.ExtractionFailure) -> models.ExtractionFailure:
    """Decodes an extraction that was given up."""
    return models.ExtractionFailure(
        store_id=failure.store_id,
        scope=scopes.decode_scope(failure.scope),
        snapshot_id=failure.snapshot_id,
        from_turn_seq=failure.from_turn_seq,
        to_turn_seq=failure.to_turn_seq,
        kind=enums.MEMORY_KIND.decode(failure.kind),
        attempts=failure.attempts,
        failure_class=enums.FAILURE_CLASS.decode(failure.failure_class),
        error=failure.error,
        failure_time=values.decode_time(failure.failure_time),
    )
