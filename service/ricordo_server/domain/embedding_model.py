"""The embedding model a server works with, as the database knows it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class EmbeddingModel:
    """`model_id` is the installation's number for `name`; `dimension` counts the vector's components."""

    model_id: int
    name: str
    dimension: int
