"""Procedures: procedural memory."""

from collections.abc import Mapping, Sequence
from typing import Any

from ricordo import models
from ricordo._async.facade.operations import AsyncOperations
from ricordo._convert import facade
from ricordo._convert.chunks import procedure_of_chunk
from ricordo._convert.entries import procedural_entry
from ricordo._convert.steps import encode_steps
from ricordo.filters import MEMORY_FIELDS, FilterInput, parse
from ricordo.models import (
    ContextSource,
    MemoryKind,
    MetadataValue,
    ProceduralDetails,
    SearchMode,
    Visibility,
)


class AsyncProceduralMemory(AsyncOperations):
    """Reusable procedures: how something is done."""

    async def save_procedure(
        self,
        *,
        procedure: str,
        description: str,
        content: str,
        user_id: str | None = None,
        steps: Sequence[Mapping[str, Any] | str] | None = None,
        resources: Sequence[Mapping[str, Any] | str] | None = None,
        allowed_tools: Sequence[str] | None = None,
        compatibility: str | None = None,
        license: str | None = None,  # noqa: A002 - the name of system A
        trigger_conditions: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        visibility: Visibility | str = Visibility.PRIVATE,
        agent_id: str | None = None,
        extraction_source: str | None = None,
        source_format: str | None = None,
        source_path: str | None = None,
        metadata: Mapping[str, MetadataValue] | None = None,
        update_existing: bool = False,
        timeout: float | None = None,
    ) -> models.CreateProceduralResult:
        """Saves a procedure.

        Args:
            procedure: Its name, unique for the user.
            description: What it is for, at most 8 KiB.
            content: The procedure, at most 256 KiB.
            user_id: Whose it is.
            steps: Its steps, in order: dicts of JSON values, or text.
            resources: What it needs: dicts of JSON values, or text.
            allowed_tools: Tools it may use.
            compatibility: What it works with.
            license: Its licence.
            trigger_conditions: When it applies.
            tags: Free words.
            visibility: How far it can be read.
            agent_id: The agent that writes.
            extraction_source: What it was extracted by; kept in the provenance when the procedure is new.
            source_format: The format it was imported from.
            source_path: The file it was imported from.
            metadata: Pairs of your own.
            update_existing: Replace the user's procedure of the same name; otherwise a taken name is an error.
            timeout: Seconds.

        Raises:
            MemoryIdentityError: Nobody names a user.
            AlreadyExistsError: The name is taken, and `update_existing` is off.
        """
        details = ProceduralDetails(
            steps=encode_steps(steps, "steps"),
            resources=encode_steps(resources, "resources"),
            allowed_tools=facade.texts(allowed_tools, "allowed_tools") or (),
            compatibility=compatibility or "",
            license=license or "",
            trigger_conditions=facade.texts(trigger_conditions, "trigger_conditions") or (),
            source_format=source_format or "",
            source_path=source_path or "",
        )
        session_id = self._who().session_id or ""
        memory = self._draft(
            "save_procedure",
            MemoryKind.PROCEDURAL,
            user_id=user_id,
            agent_id=agent_id,
            visibility=visibility,
            metadata=metadata,
            key=facade.require_text(procedure, "procedure"),
            description=description,
            content=content,
            tags=facade.texts(tags, "tags") or (),
            details=details,
            provenance=models.Provenance(session_id=session_id, extraction_model=extraction_source or ""),
        )
        saved = await self._write(memory, timeout, upsert=update_existing)
        return models.CreateProceduralResult(
            id=saved.memory_id, procedure=saved.key, has_embedding=saved.has_embedding
        )

    async def discover_procedures(
        self,
        query: str,
        user_id: str | None = None,
        *,
        visibility: Visibility | str | None = None,
        tags: Sequence[str] | None = None,
        top_k: int = 10,
        similarity_threshold: float = 0.0,
        metadata_filter: FilterInput | None = None,
        mode: SearchMode | str = SearchMode.SEMANTIC,
        timeout: float | None = None,
    ) -> list[dict[str, Any]]:
        """Finds procedures, best first.

        Args:
            query: What to look for, at most 8 KiB.
            user_id: Only that user's.
            visibility: Only that one; `org` ignores the user of the ambient context; `readable`: the user's own and
                all that is shared.
            tags: Only those that have all of these.
            top_k: How many, 1 to 200.
            similarity_threshold: Only those of at least that cosine similarity; 0.0: all.
            metadata_filter: Only those that meet it: see `ricordo.filters`.
            mode: How to look.
            timeout: Seconds.

        Returns:
            For each its `id`, `timestamp`, `procedure`, `content` and `score`, and what a chunk's metadata holds.
        """
        reading = self._reading(visibility, user_id=user_id)
        condition = facade.join(parse(metadata_filter, MEMORY_FIELDS), facade.having_tags(tags))
        search = facade.SourceSearch(
            ContextSource.PROCEDURAL, reading.scope(), condition, similarity_threshold or None
        )
        found = await self._find(query, search, reading.visibility, top_k=top_k, mode=mode, timeout=timeout)
        return [procedure_of_chunk(chunk) for chunk in found]

    async def get_procedure(
        self,
        procedure_name: str,
        *,
        user_id: str | None = None,
        visibility: Visibility | str | None = None,
        include_deleted: bool = False,
        timeout: float | None = None,
    ) -> models.ProceduralEntry | None:
        """Reads the procedure of that name: of several, the user's own first, then the newest.

        Args:
            procedure_name: Its name.
            user_id: Only that user's.
            visibility: Only that one; `readable`: the user's own, else a shared one.
            include_deleted: Also a deleted one, when there is no live one.
            timeout: Seconds.

        Returns:
            The procedure; None: there is none.
        """
        reading = self._reading(visibility, user_id=user_id)
        name = facade.require_text(procedure_name, "procedure_name")
        found = await self._get(
            MemoryKind.PROCEDURAL, name, reading, timeout, include_deleted=include_deleted
        )
        return procedural_entry(found) if found else None

    async def update_procedure(
        self,
        memory_id: str,
        *,
        description: str | None = None,
        content: str | None = None,
        steps: Sequence[Mapping[str, Any] | str] | None = None,
        resources: Sequence[Mapping[str, Any] | str] | None = None,
        allowed_tools: Sequence[str] | None = None,
        compatibility: str | None = None,
        license: str | None = None,  # noqa: A002 - the name of system A
        trigger_conditions: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        visibility: Visibility | str | None = None,
        metadata: Mapping[str, MetadataValue] | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
        timeout: float | None = None,
    ) -> models.ProceduralEntry:
        """Changes what is given of one of the user's procedures, and writes a revision.

        The arguments are those of `save_procedure`; the name of a procedure stays.

        Raises:
            MemoryIdentityError: Nobody names a user.
            NotFoundError: The user has no such procedure.
            RevisionMismatchError: Somebody else changed it meanwhile: try again.
        """
        changes = facade.changes_of(
            description=description,
            content=content,
            tags=facade.texts(tags, "tags"),
            visibility=visibility,
            metadata=metadata,
            agent_id=agent_id,
        )
        details = {
            "steps": None if steps is None else encode_steps(steps, "steps"),
            "resources": None if resources is None else encode_steps(resources, "resources"),
            "allowed_tools": facade.texts(allowed_tools, "allowed_tools"),
            "compatibility": compatibility,
            "license": license,
            "trigger_conditions": facade.texts(trigger_conditions, "trigger_conditions"),
        }
        memory = await self._own("update_procedure", MemoryKind.PROCEDURAL, memory_id, user_id, timeout)
        return procedural_entry(await self._change(memory, changes, timeout, **details))

    async def delete_procedure(
        self,
        memory_id: str,
        *,
        user_id: str | None = None,
        purge: bool = False,
        timeout: float | None = None,
    ) -> models.DeleteResult:
        """Deletes one of the user's procedures: as `delete_semantic`.

        Raises:
            MemoryIdentityError: Nobody names a user.
            NotFoundError: The user has no such procedure.
        """
        return await self._delete(
            "delete_procedure", MemoryKind.PROCEDURAL, memory_id, user_id, timeout, purge=purge
        )
