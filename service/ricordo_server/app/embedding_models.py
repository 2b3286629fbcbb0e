"""The embedding models of a project: prepared beside the active one, switched to, dropped."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from ricordo_server.app.completion import request_completion
from ricordo_server.app.embeddings import check_reachable
from ricordo_server.app.permissions import check_may_administer
from ricordo_server.app.services import Services
from ricordo_server.app.transactions import in_project, write_project
from ricordo_server.db import audit as audit_db
from ricordo_server.db import completion as completion_db
from ricordo_server.db import embedding_models as models_db
from ricordo_server.db.completion import ModelCount
from ricordo_server.db.connection import NO_PROJECT, ProjectConnection, enter_store
from ricordo_server.db.declarations import list_store_names
from ricordo_server.domain.call import Call
from ricordo_server.domain.embedding_model import EmbeddingModel, ModelState, ModelStatus, ProjectModels
from ricordo_server.domain.errors import DomainError, Reason


async def list_embedding_models(services: Services, call: Call) -> list[ModelStatus]:
    """Every model of the installation, as it stands in the caller's project.

    Raises:
        DomainError: PERMISSION_DENIED.
    """
    check_may_administer(call.principal)
    async with in_project(services.database.pool, call) as connection:
        models = await _models_of(connection)
        survey = await _survey(connection, models.standby)
        return [survey.status_of(model, models) for model in await models_db.list_models(connection)]


async def register_embedding_model(services: Services, call: Call, name: str) -> ModelStatus:
    """Makes the model the project's standby: writes embed with it too, and completion gives it what is there.

    Raises:
        DomainError: PERMISSION_DENIED, EMBEDDING_MODEL_NOT_FOUND, EMBEDDING_MODEL_IN_USE (another one is the
            standby), EMBEDDER_UNAVAILABLE.
    """
    check_may_administer(call.principal)
    model = await _find(services, call, name)
    await check_reachable(services, call, model)

    async def work(connection: ProjectConnection) -> ModelStatus:
        survey = await _survey(connection, model)
        await models_db.set_standby(connection, model)
        models = await _models_of(connection)
        if model not in models.in_use:
            standby = models.standby.name if models.standby else ""
            message = (
                f"{standby} is prepared in this project, beside the active model: drop one of them first"
            )
            raise DomainError(Reason.EMBEDDING_MODEL_IN_USE, message, "name", {"model": standby})
        return survey.status_of(model, models)

    return await _change(services, call, "RegisterEmbeddingModel", name, work)


async def switch_embedding_model(services: Services, call: Call, name: str, *, force: bool) -> ModelStatus:
    """Reads use the model from now on; the one they used becomes the standby.

    Raises:
        DomainError: PERMISSION_DENIED, EMBEDDING_MODEL_NOT_FOUND, EMBEDDING_MODEL_NOT_READY (unless `force`),
            EMBEDDER_UNAVAILABLE (unless `force`).
    """
    check_may_administer(call.principal)
    model = await _find(services, call, name)
    if not force:
        await check_reachable(services, call, model)

    async def work(connection: ProjectConnection) -> ModelStatus:
        survey = await _survey(connection, model)
        if (await _models_of(connection)).active != model:
            if survey.lost and not force:
                raise _not_ready(
                    f"{survey.lost} rows would be lost to semantic search: wait until it is READY, or pass force",
                    survey.lost,
                )
            if not await models_db.switch_models(connection, model):
                raise _not_ready(f"{name} is not prepared in this project: register it first", survey.lost)
        return survey.status_of(model, await _models_of(connection))

    return await _change(services, call, "SwitchEmbeddingModel", name, work)


def _not_ready(message: str, missing: int) -> DomainError:
    return DomainError(Reason.EMBEDDING_MODEL_NOT_READY, message, "name", {"missing": str(missing)})


async def drop_embedding_model(services: Services, call: Call, name: str) -> ModelStatus:
    """Takes the model out of use; completion removes its vectors.

    Raises:
        DomainError: PERMISSION_DENIED, EMBEDDING_MODEL_NOT_FOUND, EMBEDDING_MODEL_IN_USE (it is the active one).
    """
    check_may_administer(call.principal)
    model = await _find(services, call, name)

    async def work(connection: ProjectConnection) -> ModelStatus:
        survey = await _survey(connection, None)
        if not await models_db.clear_standby(connection, model):
            message = f"reads of this project use {name}: switch to another model first"
            raise DomainError(Reason.EMBEDDING_MODEL_IN_USE, message, "name", {"model": name})
        return survey.status_of(model, await _models_of(connection))

    return await _change(services, call, "DropEmbeddingModel", name, work)


async def _change(
    services: Services,
    call: Call,
    action: str,
    name: str,
    work: Callable[[ProjectConnection], Awaitable[ModelStatus]],
) -> ModelStatus:
    """A change, and what the background has to do after it.

    The next text here is embedded with the models as they are then; other processes notice in a transaction.
    """

    async def change(connection: ProjectConnection) -> ModelStatus:
        status = await work(connection)
        await audit_db.write_record(connection, call.principal, action, name)
        await request_completion(connection)
        return status

    try:
        return await write_project(services.database.pool, call, change)
    finally:
        services.database.last_models.pop(call.principal.project_id or NO_PROJECT, None)


async def _find(services: Services, call: Call, name: str) -> EmbeddingModel:
    async with in_project(services.database.pool, call) as connection:
        models = {model.name: model for model in await models_db.list_models(connection)}
    if name not in models:
        message = f"this installation has no model {name!r}: `ricordo embeddings add` brings one; there is: "
        raise DomainError(
            Reason.EMBEDDING_MODEL_NOT_FOUND,
            message + ", ".join(models),
            "name",
            {"known": ", ".join(models)},
        )
    return models[name]


async def _models_of(connection: ProjectConnection) -> ProjectModels:
    models = await models_db.get_project_models(connection)
    if models is None:
        message = "the project of this credential is not there: ask the operator for a new credential"
        raise DomainError(Reason.PROJECT_NOT_FOUND, message)
    return models


@dataclass
class _Survey:
    """What the stores of a project hold: live rows, how many of them each model has done, and what a switch loses."""

    total: int = 0
    lost: int = 0
    counts: dict[int, ModelCount] = field(default_factory=dict)

    def add(self, total: int, lost: int, counts: Mapping[int, ModelCount]) -> None:
        self.total += total
        self.lost += lost
        for model_id, count in counts.items():
            self.counts[model_id] = self.counts.get(model_id, ModelCount()) + count

    def status_of(self, model: EmbeddingModel, models: ProjectModels) -> ModelStatus:
        count = self.counts.get(model.model_id, ModelCount())
        return ModelStatus(model, self._state_of(model, models), count.done, count.refused, self.total)

    def _state_of(self, model: EmbeddingModel, models: ProjectModels) -> ModelState:
        if model == models.active:
            return ModelState.ACTIVE
        if model == models.standby:
            return ModelState.PREPARING if self.lost else ModelState.READY
        return ModelState.REMOVING if model.model_id in self.counts else ModelState.AVAILABLE


async def _survey(connection: ProjectConnection, candidate: EmbeddingModel | None) -> _Survey:
    """Reads before anything is changed: the project's row is not locked meanwhile."""
    survey = _Survey()
    for name in await list_store_names(connection):
        store = await enter_store(connection, name)
        for embedded in (completion_db.MEMORIES, completion_db.TURNS):
            survey.add(
                await completion_db.count_rows(store, embedded),
                await completion_db.count_lost_by_switch(store, embedded, candidate) if candidate else 0,
                await completion_db.count_by_model(store, embedded),
            )
    return survey
