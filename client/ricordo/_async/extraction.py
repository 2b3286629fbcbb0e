"""From what was said to memories: `client.extraction`."""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, Unpack, overload

from ricordo import models
from ricordo._async.channel import AsyncConnection
from ricordo._async.operations import AsyncOperationHandle, AsyncOperations
from ricordo._async.pager import AsyncPager
from ricordo._convert.generation import (
    GenerationOptions,
    approve_memory_request,
    decode_approval,
    decode_generation,
    decode_held_memory,
    generate_request,
    list_held_memories_request,
    read_generation,
    reject_memory_request,
)
from ricordo._convert.operations import decode_operation
from ricordo._convert.paging import at_page
from ricordo._convert.snapshots import decode_failure, list_failures_request, retry_failure_request
from ricordo.models import MemoryKind, MetadataMergeStrategy


class AsyncExtraction:
    """Makes memories of turns and of facts, has what failed tried again, and reviews what is held back."""

    def __init__(self, connection: AsyncConnection, operations: AsyncOperations) -> None:
        self._connection = connection
        self._operations = operations

    @overload
    async def generate(
        self, *, wait: Literal[True] = True, **options: Unpack[GenerationOptions]
    ) -> models.Generation: ...

    @overload
    async def generate(
        self, *, wait: Literal[False], **options: Unpack[GenerationOptions]
    ) -> AsyncOperationHandle[models.Generation]: ...

    async def generate(
        self,
        *,
        session: models.SessionRange | None = None,
        turns: Sequence[models.SpokenTurn] = (),
        facts: Sequence[models.DirectFact | str] = (),
        scope: models.Scope | None = None,
        kinds: Collection[MemoryKind | str] = (),
        time_zone: str = "",
        instructions: str = "",
        consolidate: bool = True,
        allowed_topics: Sequence[models.Topic] = (),
        metadata: Mapping[str, object] | None = None,
        metadata_merge_strategy: MetadataMergeStrategy | str | None = None,
        revision_options: models.RevisionOptions | None = None,
        dry_run: bool = False,
        wait: bool = True,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> models.Generation | AsyncOperationHandle[models.Generation]:
        """Makes memories of a session's turns, of other turns, or of facts.

        They are private, and of no session. A new fact updates or replaces one that it contradicts.

        Args:
            session: Turns of a session. One of this, `turns` and `facts` is required.
            turns: Turns that are not recorded, 1 to 500.
            facts: Facts as they are, 1 to 500.
            scope: Whose memories: a user or labels. With `session`, None means the session's own.
            kinds: What to extract: semantic, episodic, procedural, taxonomic, profile; none: semantic, and profile
                where there is a schema for the scope. `document` alone: facts become lines of documents by topic.
            time_zone: The IANA zone that `turns` are in; empty: the project's.
            instructions: What to look for, in place of the prompts, at most 4,096 characters; not with `facts`.
            consolidate: False: no memory is updated or replaced for what is said now.
            allowed_topics: Keep only what is about one of these; none: everything.
            metadata: For each memory made or updated.
            metadata_merge_strategy: How it meets that of a memory which is updated; None: `overwrite`.
            revision_options: How each change is kept as a revision; None: as the store says.
            dry_run: Only say what would be done.
            wait: True: waits for the model, and answers what was made. False: answers at once the handle of an
                operation that a worker carries out; its `result` raises what is said below.
            store: The store; None: `default`.
            request_id: Makes a repeat by the caller safe.
            timeout: Seconds; None: the client's.

        Raises:
            MemoryClientError: Not exactly one of session, turns and facts was given.
            NotFoundError: There is no such session.
            ServiceUnavailableError: The extraction model cannot be reached.
            MemoryBadRequestError: The model has no use for these turns (EXTRACTION_FAILED), or there are
                `instructions` and no model.
        """
        request = generate_request(
            session=session,
            turns=turns,
            facts=facts,
            scope=scope,
            kinds=kinds,
            time_zone=time_zone,
            instructions=instructions,
            consolidate=consolidate,
            allowed_topics=allowed_topics,
            metadata=metadata or {},
            metadata_merge_strategy=metadata_merge_strategy,
            revision_options=revision_options,
            dry_run=dry_run,
            in_background=not wait,
            store=store,
            request_id=request_id,
        )
        reply = await self._connection.call(lambda stubs: stubs.extraction.GenerateMemories, request, timeout)
        if wait:
            return decode_generation(reply)
        return AsyncOperationHandle(self._operations, decode_operation(reply.operation), read_generation)

    def list_failures(
        self,
        *,
        scope: models.ScopeFilter | None = None,
        page_size: int | None = None,
        page_token: str = "",
        store: str | None = None,
        timeout: float | None = None,
    ) -> AsyncPager[models.ExtractionFailure]:
        """Lists the extractions that were given up, newest first; nothing is fetched until iterated.

        Args:
            scope: Whose sessions; None: every session that the credential may read.
            page_size: Rows fetched at a time, 1 to 1,000; None: 50.
            page_token: Where to continue.
            store: The store; None: `default`.
            timeout: Seconds for each page; None: the client's.
        """
        request = list_failures_request(scope=scope, page_size=page_size, store=store)

        async def fetch(token: str) -> models.Page[models.ExtractionFailure]:
            asked = at_page(request, token)
            reply = await self._connection.call(lambda stubs: stubs.extraction.ListFailures, asked, timeout)
            return models.Page(tuple(map(decode_failure, reply.failures)), reply.next_page_token)

        return AsyncPager(fetch, page_token)

    async def retry_failure(
        self,
        snapshot_id: str,
        kind: MemoryKind | str,
        *,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Has an extraction that was given up tried again, in the background.

        Args:
            snapshot_id: The snapshot.
            kind: The kind.
            store: The store; None: `default`.
            request_id: Makes a repeat by the caller safe.
            timeout: Seconds; None: the client's.

        Raises:
            NotFoundError: No such extraction was given up.
        """
        request = retry_failure_request(snapshot_id, kind, store=store, request_id=request_id)
        await self._connection.call(lambda stubs: stubs.extraction.RetryFailure, request, timeout)

    def list_held(
        self,
        *,
        scope: models.ScopeFilter | None = None,
        page_size: int | None = None,
        page_token: str = "",
        store: str | None = None,
        timeout: float | None = None,
    ) -> AsyncPager[models.HeldMemory]:
        """Lists what is held back for review, oldest first; nothing is fetched until iterated.

        It is no memory until it is approved: `ExtractionPolicy.least_trust` says what is held back.

        Args:
            scope: Whose memories they would be; None: everyone's that the credential may read.
            page_size: Rows fetched at a time, 1 to 1,000; None: 50.
            page_token: Where to continue.
            store: The store; None: `default`.
            timeout: Seconds for each page; None: the client's.
        """
        request = list_held_memories_request(scope=scope, page_size=page_size, store=store)

        async def fetch(token: str) -> models.Page[models.HeldMemory]:
            asked = at_page(request, token)
            reply = await self._connection.call(
                lambda stubs: stubs.extraction.ListHeldMemories, asked, timeout
            )
            return models.Page(tuple(map(decode_held_memory, reply.held_memories)), reply.next_page_token)

        return AsyncPager(fetch, page_token)

    async def approve(
        self,
        held_memory_id: str,
        *,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> tuple[models.GeneratedMemory, ...]:
        """Makes a memory of what is held back; it meets the memories there are as if it had just been learned.

        Args:
            held_memory_id: What is approved.
            store: The store; None: `default`.
            request_id: Makes a repeat by the caller safe.
            timeout: Seconds; None: the client's.

        Returns:
            What was done; nothing where a memory says it already.

        Raises:
            NotFoundError: Nothing of this id is held back.
        """
        request = approve_memory_request(held_memory_id, store=store, request_id=request_id)
        reply = await self._connection.call(lambda stubs: stubs.extraction.ApproveMemory, request, timeout)
        return decode_approval(reply)

    async def reject(
        self,
        held_memory_id: str,
        *,
        store: str | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Erases what is held back. What says the same in the same words is not held back again.

        Args:
            held_memory_id: What is rejected.
            store: The store; None: `default`.
            request_id: Makes a repeat by the caller safe.
            timeout: Seconds; None: the client's.

        Raises:
            NotFoundError: Nothing of this id is held back.
        """
        request = reject_memory_request(held_memory_id, store=store, request_id=request_id)
        await self._connection.call(lambda stubs: stubs.extraction.RejectMemory, request, timeout)
