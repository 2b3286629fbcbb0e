"""The embedding models of the installation, as they stand in the caller's project."""

from ricordo.models.base import Model, Word


class EmbeddingModelState(Word):
    """What a project does with a model.

    ACTIVE: reads use it. PREPARING: it gets vectors beside the active one. READY: one can switch to it.
    AVAILABLE: the project does not use it. REMOVING: it was dropped, and its vectors are being removed.
    """

    ACTIVE = "active"
    PREPARING = "preparing"
    READY = "ready"
    AVAILABLE = "available"
    REMOVING = "removing"


class EmbeddingModel(Model):
    """An embedding model.

    Of `total_count` memories and turns of the project, `done_count` need nothing more of it: they have its vectors,
    or it refuses their text (`refused_count`), as it does with a blank one.
    """

    name: str
    dimension: int
    state: EmbeddingModelState
    done_count: int = 0
    refused_count: int = 0
    total_count: int = 0
