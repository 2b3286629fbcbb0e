"""Erasure: from every table that the catalogue knows, inside the database."""

from typing import Any
from uuid import UUID

from sqlalchemy import Function, func, select

from ricordo_server.db.connection import ProjectConnection
from ricordo_server.domain.erasure import ErasureReceipt


async def erase_project(connection: ProjectConnection, project_id: UUID, *, force: bool) -> ErasureReceipt:
    """As the operator; no rows at all when there is no such project."""
    return await _erase(connection, func.ricordo.erase_project(project_id, force), force)


async def erase_user(connection: ProjectConnection, user_id: str, *, force: bool) -> ErasureReceipt:
    """As an administrator: everything of the user in the project that was entered."""
    return await _erase(connection, func.ricordo.erase_user(user_id, force), force)


async def _erase(connection: ProjectConnection, erasure: Function[Any], force: bool) -> ErasureReceipt:
    counted = erasure.table_valued("table_name", "row_count")
    rows = await connection.fetch_all(select(counted.c.table_name, counted.c.row_count))
    return ErasureReceipt({row["table_name"]: row["row_count"] for row in rows}, is_done=force)
