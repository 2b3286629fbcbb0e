"""Embedding models of a project: requests and replies."""

from ricordo import models
from ricordo._convert import enums, paging
from ricordo._convert.sendable import sendable
from ricordo.v1 import embedding_model_pb2, project_service_pb2


@sendable
def register_request(
    name: str, *, request_id: str | None
) -> project_service_pb2.RegisterEmbeddingModelRequest:
    """Asks to prepare a model."""
    return project_service_pb2.RegisterEmbeddingModelRequest(name=name, request_id=paging.fresh(request_id))


@sendable
def switch_request(
    name: str, *, force: bool, request_id: str | None
) -> project_service_pb2.SwitchEmbeddingModelRequest:
    """Asks that reads use a model."""
    return project_service_pb2.SwitchEmbeddingModelRequest(
        name=name, force=force, request_id=paging.fresh(request_id)
    )


@sendable
def drop_request(name: str, *, request_id: str | None) -> project_service_pb2.DropEmbeddingModelRequest:
    """Asks to take a model out of use."""
    return project_service_pb2.DropEmbeddingModelRequest(name=name, request_id=paging.fresh(request_id))


def decode_embedding_model(model: embedding_model_pb2.EmbeddingModel) -> models.EmbeddingModel:
    """Decodes a model as it stands in the project."""
    return models.EmbeddingModel(
        name=model.name,
        dimension=model.dimension,
        state=enums.EMBEDDING_MODEL_STATE.decode(model.state),
        done_count=model.done_count,
        refused_count=model.refused_count,
        total_count=model.total_count,
    )
