"""Embedding models, as they stand in a project."""

from ricordo.v1 import embedding_model_pb2
from ricordo_server.domain.embedding_model import ModelStatus
from ricordo_server.rpc.checks import check_text
from ricordo_server.rpc.convert.enums import encode_enum

STATE = embedding_model_pb2.EmbeddingModelState.DESCRIPTOR


def decode_model_name(name: str) -> str:
    return check_text("name", name, required=True)


def encode_model_status(status: ModelStatus) -> embedding_model_pb2.EmbeddingModel:
    return embedding_model_pb2.EmbeddingModel(
        name=status.model.name,
        dimension=status.model.dimension,
        state=encode_enum(status.state, STATE),
        done_count=status.done,
        refused_count=status.refused,
        total_count=status.total,
    )
