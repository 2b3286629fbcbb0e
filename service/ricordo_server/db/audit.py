"""Statements on the audit: added to, read, never changed."""

from dataclasses import replace
from uuid import UUID

import psycopg
from sqlalchemy import Text, func, insert, select
from uuid_utils.compat import uuid7

from ricordo_server.db.connection import NO_PROJECT, ProjectConnection, Row
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

BY_OPERATOR = """
INSERT INTO ricordo.audit (project_id, audit_id, action, outcome, principal_id, user_id, subject, occurrences)
VALUES (%s, %s, %s, 'DONE', 'operator', '', %s, 1)
"""


def write_operator_record(connection: psycopg.Connection, action: str, subject: str) -> None:
    """Of an act by the operator's URL, without a server; in its transaction, under the nil project."""
    connection.execute(BY_OPERATOR, [NO_PROJECT, uuid7(), action, subject])


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


async def list_records(
    connection: ProjectConnection, page: PageRequest, *, of_project: UUID | None = None
) -> Page[AuditRecord]:
    """Newest first; for others than administrators the policy leaves none.

    `of_project`: of an operator's records only those whose subject begins with that project.
    """
    statement = select(*STORED).where(audit.c.project_id == connection.project_id)
    if of_project is not None:
        statement = statement.where(func.starts_with(audit.c.subject, str(of_project)))
    return await fetch_page(connection, statement, NEWEST_FIRST, page, _record_from)


def _record_from(row: Row) -> AuditRecord:
    columns = {column.name: row[column.name] for column in STORED}
    return AuditRecord(**{**columns, "outcome": AuditOutcome(row["outcome"])})
