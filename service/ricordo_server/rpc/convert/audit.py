"""The audit and erasures."""

from ricordo.v1 import audit_pb2, erasure_pb2
from ricordo_server.domain.audit import AuditRecord
from ricordo_server.domain.erasure import ErasureReceipt
from ricordo_server.rpc.convert.enums import encode_enum
from ricordo_server.rpc.convert.times import encode_time


def encode_record(record: AuditRecord) -> audit_pb2.AuditRecord:
    return audit_pb2.AuditRecord(
        audit_id=str(record.audit_id),
        action=record.action,
        outcome=encode_enum(record.outcome, audit_pb2.AuditOutcome.DESCRIPTOR),
        principal_id=record.principal_id,
        user_id=record.user_id,
        subject=record.subject,
        occurrences=record.occurrences,
        create_time=encode_time(record.create_time),
    )


def encode_receipt(receipt: ErasureReceipt) -> erasure_pb2.ErasureReceipt:
    return erasure_pb2.ErasureReceipt(
        tables=[
            erasure_pb2.ErasedRows(table_name=name, row_count=count)
            for name, count in receipt.row_counts.items()
        ],
        done=receipt.is_done,
    )
