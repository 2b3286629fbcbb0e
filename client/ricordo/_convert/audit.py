"""The audit and erasures: requests and replies."""

from ricordo import models
from ricordo._convert import enums, paging, values
from ricordo._convert.sendable import sendable
from ricordo.v1 import (
    admin_service_pb2,
    audit_pb2,
    erasure_pb2,
    memory_service_pb2,
    project_service_pb2,
)


@sendable
def list_audit_records_request(*, page_size: int | None) -> project_service_pb2.ListAuditRecordsRequest:
    """Asks for a page of records."""
    return project_service_pb2.ListAuditRecordsRequest(page_size=page_size)


@sendable
def list_operator_records_request(
    *, project_id: str, page_size: int | None
) -> admin_service_pb2.ListOperatorRecordsRequest:
    """Asks for a page of the operators' records."""
    return admin_service_pb2.ListOperatorRecordsRequest(project_id=project_id, page_size=page_size)


@sendable
def purge_memories_request(
    user_id: str, *, force: bool, request_id: str | None
) -> memory_service_pb2.PurgeMemoriesRequest:
    """Asks to remove everything of a user, or to count it."""
    return memory_service_pb2.PurgeMemoriesRequest(
        user_id=user_id, force=force, request_id=paging.fresh(request_id)
    )


@sendable
def delete_project_request(
    project_id: str, *, force: bool, request_id: str | None
) -> admin_service_pb2.DeleteProjectRequest:
    """Asks to remove a project, or to count what it holds."""
    return admin_service_pb2.DeleteProjectRequest(
        project_id=project_id, force=force, request_id=paging.fresh(request_id)
    )


def decode_record(record: audit_pb2.AuditRecord) -> models.AuditRecord:
    """Decodes a record."""
    return models.AuditRecord(
        audit_id=record.audit_id,
        action=record.action,
        outcome=enums.AUDIT_OUTCOME.decode(record.outcome),
        principal_id=record.principal_id,
        user_id=record.user_id,
        subject=record.subject,
        occurrences=record.occurrences,
        create_time=values.decode_time(record.create_time),
    )


def decode_receipt(receipt: erasure_pb2.ErasureReceipt) -> models.ErasureReceipt:
    """Decodes a receipt."""
    row_counts = {erased.table_name: erased.row_count for erased in receipt.tables}
    return models.ErasureReceipt(row_counts=row_counts, done=receipt.done)
