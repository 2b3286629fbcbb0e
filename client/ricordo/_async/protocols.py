"""What the facade asks of its client: any object with these calls will do."""

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Protocol, TypeVar

from ricordo import models
from ricordo.filters import FilterInput
from ricordo.models import MemoryKind, SearchMode, Visibility

Item = TypeVar("Item", covariant=True)


class AsyncPages(Protocol[Item]):
    """A list that is fetched page by page."""

    def pages(self) -> AsyncIterator[models.Page[Item]]:
        """The pages."""


class AsyncMemoryCalls(Protocol):
    """Long-term memory."""

    async def create(
        self, memory: models.NewMemory, *, store: str | None, timeout: float | None
    ) -> models.Memory:
        """Writes a new memory."""

    async def batch_create(
        self, memories: Sequence[models.NewMemory], *, store: str | None, timeout: float | None
    ) -> tuple[models.MemoryResult, ...]:
        """Writes 1 to 500 memories; one result for each."""

    async def put(
        self, memory: models.NewMemory, *, store: str | None, timeout: float | None
    ) -> models.PutResult:
        """Creates a memory, or replaces the one of the same key."""

    async def get(self, memory_id: str, *, store: str | None, timeout: float | None) -> models.Memory:
        """Reads one by id."""

    async def get_by_key(
        self,
        key: str | models.TaxonomicDetails,
        *,
        kind: MemoryKind,
        scope: models.ScopeFilter | None,
        include_deleted: bool,
        store: str | None,
        timeout: float | None,
    ) -> models.Memory:
        """Reads one by key."""

    def list(
        self,
        *,
        scope: models.ScopeFilter | None,
        visibility: Visibility | None,
        kinds: Collection[MemoryKind],
        filters: FilterInput | None = None,
        include_deleted: bool = False,
        page_size: int | None,
        store: str | None,
        timeout: float | None,
    ) -> AsyncPages[models.Memory]:
        """Lists memories, newest first."""

    def list_domains(
        self,
        *,
        scope: models.ScopeFilter | None,
        visibility: Visibility | None,
        page_size: int | None,
        store: str | None,
        timeout: float | None,
    ) -> AsyncPages[models.Domain]:
        """Lists the domains of the taxonomic memories."""

    async def update(
        self,
        memory_id: str,
        changes: models.MemoryChanges,
        *,
        expected_revision: int | None,
        store: str | None,
        timeout: float | None,
    ) -> models.Memory:
        """Changes the fields that are given."""

    async def delete(self, memory_id: str, *, purge: bool, store: str | None, timeout: float | None) -> None:
        """Deletes one."""

    async def search(
        self,
        query: str,
        *,
        mode: SearchMode | str,
        top_k: int,
        min_similarity: float | None = None,
        scope: models.ScopeFilter | None,
        visibility: Visibility | None,
        kinds: Collection[MemoryKind | str],
        custom_types: Collection[str] = (),
        filters: FilterInput | None,
        store: str | None,
        timeout: float | None,
    ) -> models.SearchResult[models.MemoryHit]:
        """Finds memories, best first."""


class AsyncSessionCalls(Protocol):
    """Short-term memory."""

    async def record_turn(
        self, turn: models.NewTurn, *, scope: models.Scope, store: str | None, timeout: float | None
    ) -> models.RecordedTurn:
        """Records a turn."""

    async def batch_record_turns(
        self,
        turns: Sequence[models.NewTurn],
        *,
        scope: models.Scope,
        store: str | None,
        timeout: float | None,
    ) -> tuple[models.RecordedTurn, ...]:
        """Records 1 to 500 turns of one session."""

    def list(
        self,
        *,
        scope: models.ScopeFilter | None,
        page_size: int | None,
        store: str | None,
        timeout: float | None,
    ) -> AsyncPages[models.Session]:
        """Lists sessions."""

    async def promote(
        self, scope: models.Scope, *, store: str | None, timeout: float | None
    ) -> tuple[str, ...]:
        """Has a session extracted now."""

    async def get_extraction_status(
        self, scope: models.Scope, *, store: str | None, timeout: float | None
    ) -> models.ExtractionStatus:
        """Says how far a session is."""

    async def get_turn(self, turn_id: str, *, store: str | None, timeout: float | None) -> models.Turn:
        """Reads a turn."""


class AsyncContextCalls(Protocol):
    """Context."""

    async def build(
        self,
        query: str,
        *,
        sources: Sequence[models.SourceSpec],
        scope: models.ScopeFilter | None,
        visibility: Visibility | None,
        max_tokens: int | None,
        format_style: models.ContextFormat | None,
        include_memories: bool,
        explain: bool,
        rerank: bool,
        store: str | None,
        timeout: float | None,
    ) -> models.Context:
        """Builds one block of context."""


class AsyncIdentityCalls(Protocol):
    """Who the caller is; asked only when the facade is given a `project_id`."""

    async def who_am_i(self) -> models.WhoAmI:
        """Says what the server makes of the credential."""


class AsyncMemoryClient(Protocol):
    """The seam of the facade: `AsyncClient` is one; a test or another transport may be another."""

    @property
    def memories(self) -> AsyncMemoryCalls:
        """Long-term memory."""

    @property
    def sessions(self) -> AsyncSessionCalls:
        """Short-term memory."""

    @property
    def context(self) -> AsyncContextCalls:
        """Context."""

    @property
    def identity(self) -> AsyncIdentityCalls:
        """Who the caller is."""
