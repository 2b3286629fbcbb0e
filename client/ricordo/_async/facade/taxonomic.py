"""Vocabulary: taxonomic memory."""

from collections.abc import Mapping, Sequence

from ricordo import models
from ricordo._async.facade.operations import AsyncOperations
from ricordo._convert import facade
from ricordo._convert.entries import taxonomic_entry
from ricordo.filters import MEMORY_FIELDS, FilterInput, parse
from ricordo.models import (
    ContextSource,
    MemoryChunk,
    MemoryKind,
    MetadataValue,
    SearchMode,
    TaxonomicDetails,
    Visibility,
)


class AsyncTaxonomicMemory(AsyncOperations):
    """Terms of domains: what a word means here."""

    async def save_taxonomic(
        self,
        *,
        domain: str,
        term: str,
        definition: str,
        related_terms: Sequence[str] | None = None,
        visibility: Visibility | str = Visibility.ORG,
        user_id: str | None = None,
        metadata: Mapping[str, MetadataValue] | None = None,
        timeout: float | None = None,
    ) -> models.CreateTaxonomicResult:
        """Saves a term, over the user's own one of that name.

        Args:
            domain: The field of knowledge, at most 512 bytes.
            term: The word, at most 512 bytes.
            definition: What it means there, at most 256 KiB.
            related_terms: Related words.
            visibility: How far it can be read.
            user_id: Whose it is.
            metadata: Pairs of your own.
            timeout: Seconds.

        Raises:
            MemoryIdentityError: Nobody names a user.
        """
        details = TaxonomicDetails(
            domain=facade.require_text(domain, "domain"),
            term=facade.require_text(term, "term"),
            related_terms=facade.texts(related_terms, "related_terms") or (),
        )
        memory = self._draft(
            "save_taxonomic",
            MemoryKind.TAXONOMIC,
            user_id=user_id,
            agent_id=None,
            visibility=visibility,
            metadata=metadata,
            content=definition,
            details=details,
        )
        saved = await self._write(memory, timeout, upsert=True)
        return models.CreateTaxonomicResult(
            id=saved.memory_id, domain=domain, term=term, has_embedding=saved.has_embedding
        )

    async def search_taxonomic(
        self,
        query: str,
        user_id: str | None = None,
        domain: str | None = None,
        visibility: Visibility | str | None = None,
        top_k: int = 50,
        *,
        metadata_filter: FilterInput | None = None,
        mode: SearchMode | str = SearchMode.SEMANTIC,
        timeout: float | None = None,
    ) -> list[MemoryChunk]:
        """Finds terms, best first.

        Args:
            query: What to look for, at most 8 KiB.
            user_id: Only that user's.
            domain: Only of that domain.
            visibility: Only that one; `org` ignores the user of the ambient context; `readable`: the user's own and
                all that is shared.
            top_k: How many, 1 to 200.
            metadata_filter: Only those that meet it: see `ricordo.filters`.
            mode: How to look.
            timeout: Seconds.
        """
        reading = self._reading(visibility, user_id=user_id)
        condition = facade.join(parse(metadata_filter, MEMORY_FIELDS), facade.in_domain(domain))
        search = facade.SourceSearch(ContextSource.TAXONOMIC, reading.scope(), condition)
        return await self._find(query, search, reading.visibility, top_k=top_k, mode=mode, timeout=timeout)

    async def get_taxonomic_term(
        self,
        domain: str,
        term: str,
        user_id: str | None = None,
        visibility: Visibility | str | None = None,
        *,
        timeout: float | None = None,
    ) -> models.TaxonomicEntry | None:
        """Reads a term: of several, the user's own first, then the newest.

        Args:
            domain: Its domain.
            term: The word, exactly.
            user_id: Only that user's.
            visibility: Only that one; `readable`: the user's own, else a shared one.
            timeout: Seconds.

        Returns:
            The term; None: there is none.
        """
        key = TaxonomicDetails(
            domain=facade.require_text(domain, "domain"), term=facade.require_text(term, "term")
        )
        reading = self._reading(visibility, user_id=user_id)
        found = await self._get(MemoryKind.TAXONOMIC, key, reading, timeout)
        return taxonomic_entry(found) if found else None

    async def list_domains(
        self, visibility: Visibility | str | None = None, *, timeout: float | None = None
    ) -> list[str]:
        """Lists the domains that have terms, in order; of every user, unless `visibility` is `readable`.

        Args:
            visibility: Only terms of that one; `readable`: the user's own and all that is shared.
            timeout: Seconds for each request.
        """
        reading = self._reading(visibility)
        await self._guard.check()
        pager = self._client.memories.list_domains(
            scope=reading.scope() if reading.union else None,
            visibility=reading.visibility,
            page_size=1000,
            store=self._store,
            timeout=timeout,
        )
        domains: list[str] = []
        async for page in pager.pages():
            domains += [domain.name for domain in page.items]
        return domains

    async def update_taxonomic(
        self,
        memory_id: str,
        *,
        definition: str | None = None,
        related_terms: Sequence[str] | None = None,
        visibility: Visibility | str | None = None,
        metadata: Mapping[str, MetadataValue] | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
        timeout: float | None = None,
    ) -> models.TaxonomicEntry:
        """Changes what is given of one of the user's terms, and writes a revision.

        The arguments are those of `save_taxonomic`; domain and term stay.

        Raises:
            MemoryIdentityError: Nobody names a user.
            NotFoundError: The user has no such term.
            RevisionMismatchError: Somebody else changed it meanwhile: try again.
        """
        changes = facade.changes_of(
            content=definition, visibility=visibility, metadata=metadata, agent_id=agent_id
        )
        related = facade.texts(related_terms, "related_terms")
        memory = await self._own("update_taxonomic", MemoryKind.TAXONOMIC, memory_id, user_id, timeout)
        return taxonomic_entry(await self._change(memory, changes, timeout, related_terms=related))

    async def delete_taxonomic(
        self,
        memory_id: str,
        *,
        user_id: str | None = None,
        purge: bool = False,
        timeout: float | None = None,
    ) -> models.DeleteResult:
        """Deletes one of the user's terms: as `delete_semantic`.

        Raises:
            MemoryIdentityError: Nobody names a user.
            NotFoundError: The user has no such term.
        """
        return await self._delete(
            "delete_taxonomic", MemoryKind.TAXONOMIC, memory_id, user_id, timeout, purge=purge
        )
