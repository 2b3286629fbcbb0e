"""Statements on the audit: added to, read, never changed."""

from dataclasses import replace

from sqlalchemy import Text, insert, select
from uuid_utils.compat import uuid7

from ricordo_server.db.connection import ProjectConnection, Row
from ricordo_server.db.paging import fetch_page, text_key, time_key
from ricordo_server.db.tables import audit
from ricordo_server.domain.audit import AuditOutcome, AuditRecord
from ricordo_server.domain.paging import Page, PageRequest
from ricordo_server.domain.principal import Principal

NEWEST_FIRST = [
    replace(time_key(audit.c.create_time), descending=True),
    replace(text_key(audit.c.audit_id.cast(Text)), descending=True),
]
STORED = [column for column in audit.c if column.name != "project_id"]


async def write_record(
    connection: ProjectConnection,
    principal: Principal,
    action: str,
    subject: str = "",
    *,
    outcome: AuditOutcome = AuditOutcome.DONE,
    occurrences: int = 1,
) -> None:
    """In the transaction of the act itself, so that neither is there without the other."""
    columns = {
        "project_id": connection.project_id,
        "audit_id": uuid7(),
        "action": action,
        "outcome": outcome,
        "principal_id": principal.principal_id,
        "user_id": ",".join(principal.user_ids[:1]),
        "subject": subject,
        "occurrences": occurrences,
    }
    await connection.execute(insert(audit).values(columns))


async def list_records(connection: ProjectConnection, page: PageRequest) -> Page[AuditRecord]:
    """Newest first; for others than administrators the policy leaves none."""
    statement = select(*STORED).where(audit.c.project_id == connection.project_id)
    return await fetch_page(connection, statement, NEWEST_FIRST, page, _record_from)


def _record_from(row: Row) -> AuditRecord:
    columns = {column.name: row[column.name] for column in STORED}
    return AuditRecord(**{**columns, "outcome": AuditOutcome(row["outcome"])})
