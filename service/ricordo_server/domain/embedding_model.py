"""The embedding models of an installation, and which of them a project uses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from ricordo_server.domain.ports import Vector

# The vectors of a text's chunks by the number of the model. An empty sequence: the model refuses the text. A model
# that could not be asked is left out.
VectorsByModel: TypeAlias = Mapping[int, Sequence[Vector]]


@dataclass(frozen=True)
class EmbeddingModel:
    """`model_id` is the installation's number for `name`; `dimension` counts the vector's components."""

    model_id: int
    name: str
    dimension: int


@dataclass(frozen=True)
class ProjectModels:
    """`active` is what reads use; `standby`, if any, gets vectors beside it, so that one can switch to it."""

    active: EmbeddingModel
    standby: EmbeddingModel | None = None

    @property
    def in_use(self) -> tuple[EmbeddingModel, ...]:
        return (self.active, self.standby) if self.standby else (self.active,)


class ModelState(StrEnum):
    """How a model stands in a project."""

    ACTIVE = "ACTIVE"
    PREPARING = "PREPARING"
    READY = "READY"
    AVAILABLE = "AVAILABLE"
    REMOVING = "REMOVING"


@dataclass(frozen=True)
class ModelStatus:
    """Of `total` live rows, `done` have vectors of the model or the mark that it refuses them; `refused` the mark."""

    model: EmbeddingModel
    state: ModelState
    done: int
    refused: int
    total: int
