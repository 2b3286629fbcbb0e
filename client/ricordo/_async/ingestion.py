"""Turns that were given to a stream."""

from dataclasses import dataclass

from ricordo import models
from ricordo._async.operations import AsyncOperationHandle


@dataclass(frozen=True)
class AsyncIngestion:
    """Turns as recorded, and the operation that makes memories of those that wait.

    Calls share it until it is done. None where the project's policy alone says what becomes of the turns.
    """

    turns: tuple[models.RecordedTurn, ...]
    operation: AsyncOperationHandle[models.Generation] | None
