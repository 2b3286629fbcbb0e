"""Statements on embedding models: those of the installation, and which of them a project uses."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import and_, case, func, select, update

from ricordo_server.db.connection import Pool, ProjectConnection, Row
from ricordo_server.db.tables import embedding_model, project
from ricordo_server.domain.embedding_model import EmbeddingModel, ProjectModels

MODEL = (embedding_model.c.model_id, embedding_model.c.name, embedding_model.c.dimension)


async def list_models(connection: ProjectConnection) -> list[EmbeddingModel]:
    """Every model of the installation, in the order they came."""
    rows = await connection.fetch_all(select(*MODEL).order_by(embedding_model.c.model_id))
    return [EmbeddingModel(**row) for row in rows]


async def get_project_models(connection: ProjectConnection) -> ProjectModels | None:
    """Those of the transaction's project; None when there is no such project."""
    in_use = embedding_model.c.model_id.in_([project.c.active_model_id, project.c.standby_model_id])
    is_active = (embedding_model.c.model_id == project.c.active_model_id).label("is_active")
    statement = select(*MODEL, is_active).select_from(project.join(embedding_model, in_use))
    rows = await connection.fetch_all(statement.where(project.c.project_id == connection.project_id))
    active, standby = (_only(rows, is_active=wanted) for wanted in (True, False))
    return ProjectModels(active, standby) if active else None


def _only(rows: list[Row], *, is_active: bool) -> EmbeddingModel | None:
    return next(
        (
            EmbeddingModel(row["model_id"], row["name"], row["dimension"])
            for row in rows
            if row["is_active"] is is_active
        ),
        None,
    )


async def set_standby(connection: ProjectConnection, model: EmbeddingModel) -> bool:
    """Whether the model is the standby now: not when it is active, or another one is the standby."""
    return await _change(
        connection,
        and_(
            project.c.active_model_id != model.model_id,
            func.coalesce(project.c.standby_model_id, model.model_id) == model.model_id,
        ),
        standby_model_id=model.model_id,
    )


async def switch_models(connection: ProjectConnection, model: EmbeddingModel) -> bool:
    """The standby becomes active and the active one the standby; False when `model` is not the standby."""
    return await _change(
        connection,
        project.c.standby_model_id == model.model_id,
        active_model_id=project.c.standby_model_id,
        standby_model_id=project.c.active_model_id,
    )


async def clear_standby(connection: ProjectConnection, model: EmbeddingModel) -> bool:
    """Whether the model is not in use now; False when it is the active one."""
    standby = case((project.c.standby_model_id != model.model_id, project.c.standby_model_id))
    return await _change(connection, project.c.active_model_id != model.model_id, standby_model_id=standby)


async def _change(connection: ProjectConnection, condition: Any, **values: Any) -> bool:
    """One statement that decides and changes: two callers at once are one after the other."""
    statement = update(project).where(project.c.project_id == connection.project_id, condition)
    return (await connection.execute(statement.values(values))).rowcount == 1


async def list_model_settings(pool: Pool) -> dict[str, Mapping[str, Any]]:
    """How to load the embedder of each model, by its name; empty for one that was registered without."""
    async with pool.connection() as connection:
        cursor = await connection.execute(
            "SELECT name, settings FROM ricordo.embedding_model ORDER BY model_id"
        )
        return {row["name"]: row["settings"] for row in await cursor.fetchall()}
