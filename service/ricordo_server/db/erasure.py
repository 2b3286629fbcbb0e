"""Erasure: from every table that the catalogue knows, inside the database."""

from typing import Any
from uuid import UUID

from sqlalchemy import Function, and_, func, select, update

from ricordo_server.db.connection import ProjectConnection
from ricordo_server.db.tables import project
from ricordo_server.domain.erasure import ErasureReceipt


async def erase_project(connection: ProjectConnection, project_id: UUID, *, force: bool) -> ErasureReceipt:
    """As the operator; no rows at all when there is no such project."""
    return await _erase(connection, func.ricordo.erase_project(project_id, force), force)


async def close_project(connection: ProjectConnection, project_id: UUID) -> bool:
    """As the operator: nobody enters it any more. Whether it was open."""
    is_open = and_(project.c.project_id == project_id, project.c.close_time.is_(None))
    closed = update(project).where(is_open).values(close_time=func.now())
    return (await connection.execute(closed)).rowcount > 0


async def erase_rows(connection: ProjectConnection, project_id: UUID, *, most: int) -> int:
    """As the operator: removes so many rows of a closed project; answers how many there were."""
    erased = func.ricordo.erase_project_rows(project_id, most).label("erased")
    row = await connection.fetch_one(select(erased))
    return int(row["erased"]) if row else 0


async def erase_user(connection: ProjectConnection, user_id: str, *, force: bool) -> ErasureReceipt:
    """As an administrator: everything of the user in the project that was entered."""
    return await _erase(connection, func.ricordo.erase_user(user_id, force), force)


async def _erase(connection: ProjectConnection, erasure: Function[Any], force: bool) -> ErasureReceipt:
    counted = erasure.table_valued("table_name", "row_count")
    rows = await connection.fetch_all(select(counted.c.table_name, counted.c.row_count))
    return ErasureReceipt({row["table_name"]: row["row_count"] for row in rows}, is_done=force)
