"""MemoryService: long-term memory."""

from functools import partial
from typing import Any

from ricordo.v1 import memory_pb2, memory_service_pb2, memory_service_pb2_grpc, paging_pb2
from ricordo_server.app import documents, domains, erasure, memories, profiles, rollback, search
from ricordo_server.app.services import Services
from ricordo_server.domain.errors import DomainError, invalid_field
from ricordo_server.domain.memory import Memory, MemoryDraft
from ricordo_server.domain.shared_loop import in_slices
from ricordo_server.rpc.calls import answer_once, read_call
from ricordo_server.rpc.checks import check_batch, check_text
from ricordo_server.rpc.convert.audit import encode_receipt
from ricordo_server.rpc.convert.memories import (
    decode_changes,
    decode_draft,
    encode_memory,
    put_fields,
)
from ricordo_server.rpc.convert.memory_keys import check_path
from ricordo_server.rpc.convert.memory_queries import (
    decode_deletion,
    decode_domain_query,
    decode_expected,
    decode_id,
    decode_query,
    decode_selector,
    encode_domain,
)
from ricordo_server.rpc.convert.profiles import encode_profile
from ricordo_server.rpc.convert.revisions import (
    decode_revision_labels,
    decode_revision_options,
    encode_revision,
)
from ricordo_server.rpc.convert.scope import decode_scope, required_scope
from ricordo_server.rpc.convert.search import decode_options, encode_hit, encode_report
from ricordo_server.rpc.errors import to_item_error
from ricordo_server.rpc.pages import decode_order, decode_page, encode_page, omit_excess

pb = memory_service_pb2


class MemoryService(memory_service_pb2_grpc.MemoryServiceServicer):
    def __init__(self, services: Services) -> None:
        self._services = services

    async def CreateMemory(self, request: pb.CreateMemoryRequest, context: Any) -> pb.CreateMemoryResponse:
        draft = decode_draft(request.memory)
        options = decode_revision_options(request.revision_options)
        return await answer_once(
            request,
            pb.CreateMemoryResponse,
            lambda memory: pb.CreateMemoryResponse(memory=encode_memory(memory)),
            lambda call: memories.create_memory(self._services, call, request.store_id, draft, options),
        )

    async def BatchCreateMemories(
        self, request: pb.BatchCreateMemoriesRequest, context: Any
    ) -> pb.BatchCreateMemoriesResponse:
        check_batch("memories", len(request.memories))
        given = in_slices(enumerate(request.memories))
        drafts = [decode_item(message, number) async for number, message in given]
        options = decode_revision_options(request.revision_options)
        return await answer_once(
            request,
            pb.BatchCreateMemoriesResponse,
            encode_results,
            lambda call: memories.batch_create_memories(
                self._services, call, request.store_id, drafts, options, atomic=request.atomic
            ),
        )

    async def GetMemory(self, request: pb.GetMemoryRequest, context: Any) -> pb.GetMemoryResponse:
        memory = await memories.get_memory(
            self._services,
            read_call(),
            request.store_id,
            decode_selector(request),
            include_deleted=request.include_deleted,
        )
        return pb.GetMemoryResponse(memory=encode_memory(memory))

    async def ListMemories(self, request: pb.ListMemoriesRequest, context: Any) -> pb.ListMemoriesResponse:
        call = read_call()
        found = await memories.list_memories(
            self._services,
            call,
            request.store_id,
            decode_query(request, include_deleted=request.include_deleted),
            decode_order(request),
            decode_page(request, call.principal),
        )
        encode = encode_memory if request.view != paging_pb2.VIEW_BASIC else encode_basic
        messages, token = await encode_page(request, call.principal, found, encode)
        return pb.ListMemoriesResponse(memories=messages, next_page_token=token)

    async def UpdateMemory(self, request: pb.UpdateMemoryRequest, context: Any) -> pb.UpdateMemoryResponse:
        memory_id = decode_id(request.memory.memory_id, "memory.memory_id")
        changes = decode_changes(request.memory, request.update_mask.paths)
        options = decode_revision_options(request.revision_options)
        return await answer_once(
            request,
            pb.UpdateMemoryResponse,
            lambda memory: pb.UpdateMemoryResponse(memory=encode_memory(memory)),
            lambda call: memories.update_memory(
                self._services,
                call,
                request.store_id,
                memory_id,
                changes,
                options,
                expected_revision=decode_expected(request),
            ),
        )

    async def PutMemory(self, request: pb.PutMemoryRequest, context: Any) -> pb.PutMemoryResponse:
        fields = put_fields(request.memory, request.update_mask.paths)
        # Also when the mask leaves content out: the row may not be there yet, and would be made empty.
        draft = decode_draft(request.memory, content_required=not request.append)
        if draft.key is None:
            raise invalid_field("memory.key", "PutMemory writes by key: give one, or use CreateMemory")
        options = decode_revision_options(request.revision_options)
        return await answer_once(
            request,
            pb.PutMemoryResponse,
            lambda put: pb.PutMemoryResponse(memory=encode_memory(put.memory), created=put.created),
            lambda call: memories.put_memory(
                self._services,
                call,
                request.store_id,
                draft,
                fields,
                options,
                append=request.append,
                expected_revision=decode_expected(request),
            ),
        )

    async def DeleteMemory(self, request: pb.DeleteMemoryRequest, context: Any) -> pb.DeleteMemoryResponse:
        memory_id = decode_id(request.memory_id, "memory_id")
        return await answer_once(
            request,
            pb.DeleteMemoryResponse,
            lambda nothing: pb.DeleteMemoryResponse(),
            lambda call: memories.delete_memory(
                self._services,
                call,
                request.store_id,
                memory_id,
                purge=request.purge,
                expected_revision=decode_expected(request),
            ),
        )

    async def DeleteMemories(
        self, request: pb.DeleteMemoriesRequest, context: Any
    ) -> pb.DeleteMemoriesResponse:
        query = decode_deletion(request)
        return await answer_once(
            request,
            pb.DeleteMemoriesResponse,
            lambda deleted: pb.DeleteMemoriesResponse(
                matching_count=deleted.matching, deleted_count=deleted.deleted
            ),
            lambda call: documents.delete_memories(
                self._services, call, request.store_id, query, force=request.force
            ),
        )

    async def MoveMemory(self, request: pb.MoveMemoryRequest, context: Any) -> pb.MoveMemoryResponse:
        memory_id, key = decode_id(request.memory_id, "memory_id"), check_path("key", request.key)
        return await answer_once(
            request,
            pb.MoveMemoryResponse,
            lambda memory: pb.MoveMemoryResponse(memory=encode_memory(memory)),
            lambda call: documents.move_memory(
                self._services,
                call,
                request.store_id,
                memory_id,
                key,
                expected_revision=decode_expected(request),
            ),
        )

    async def PurgeMemories(self, request: pb.PurgeMemoriesRequest, context: Any) -> pb.PurgeMemoriesResponse:
        user_id = check_text("user_id", request.user_id, required=True)
        return await answer_once(
            request,
            pb.PurgeMemoriesResponse,
            lambda receipt: pb.PurgeMemoriesResponse(receipt=encode_receipt(receipt)),
            lambda call: erasure.purge_memories(self._services, call, user_id, force=request.force),
        )

    async def SearchMemories(
        self, request: pb.SearchMemoriesRequest, context: Any
    ) -> pb.SearchMemoriesResponse:
        options = decode_options(request.options)
        result = await search.search_memories(
            self._services,
            read_call(),
            request.store_id,
            decode_query(request),
            options,
            include_embedding=request.include_embedding,
        )
        encode = partial(encode_hit, pb.MemoryHit, "memory", encode_memory, explain=request.options.explain)
        report = encode_report(result, options.mode)
        answer = pb.SearchMemoriesResponse(hits=[encode(hit) for hit in result.hits], report=report)
        omit_excess(answer, answer.hits)
        return answer

    async def ListMemoryRevisions(
        self, request: pb.ListMemoryRevisionsRequest, context: Any
    ) -> pb.ListMemoryRevisionsResponse:
        call = read_call()
        memory_id = decode_id(request.memory_id, "memory_id")
        labels = decode_revision_labels(request.labels, "labels")
        page = decode_page(request, call.principal)
        found = await memories.list_memory_revisions(
            self._services, call, request.store_id, memory_id, labels, page
        )
        messages, token = await encode_page(request, call.principal, found, encode_revision)
        return pb.ListMemoryRevisionsResponse(revisions=messages, next_page_token=token)

    async def GetMemoryRevision(
        self, request: pb.GetMemoryRevisionRequest, context: Any
    ) -> pb.GetMemoryRevisionResponse:
        memory_id = decode_id(request.memory_id, "memory_id")
        revision = await memories.get_memory_revision(
            self._services, read_call(), request.store_id, memory_id, request.revision
        )
        return pb.GetMemoryRevisionResponse(revision=encode_revision(revision))

    async def RollbackMemory(
        self, request: pb.RollbackMemoryRequest, context: Any
    ) -> pb.RollbackMemoryResponse:
        memory_id = decode_id(request.memory_id, "memory_id")
        return await answer_once(
            request,
            pb.RollbackMemoryResponse,
            lambda memory: pb.RollbackMemoryResponse(memory=encode_memory(memory)),
            lambda call: rollback.rollback_memory(
                self._services,
                call,
                request.store_id,
                memory_id,
                request.target_revision,
                expected_revision=decode_expected(request),
            ),
        )

    async def ListDomains(self, request: pb.ListDomainsRequest, context: Any) -> pb.ListDomainsResponse:
        call = read_call()
        query, page = decode_domain_query(request), decode_page(request, call.principal)
        found = await domains.list_domains(self._services, call, request.store_id, query, page)
        messages, token = await encode_page(request, call.principal, found, encode_domain)
        return pb.ListDomainsResponse(domains=messages, next_page_token=token)

    async def RetrieveProfiles(
        self, request: pb.RetrieveProfilesRequest, context: Any
    ) -> pb.RetrieveProfilesResponse:
        scope = required_scope(decode_scope(request.scope), "scope")
        found = await profiles.retrieve_profiles(self._services, read_call(), request.store_id, scope)
        return pb.RetrieveProfilesResponse(profiles=[encode_profile(each) for each in found])


def decode_item(message: memory_pb2.Memory, number: int) -> MemoryDraft | DomainError:
    """An item that breaks a rule takes its error along; its neighbours go on."""
    try:
        return decode_draft(message, f"memories[{number}]")
    except DomainError as error:
        return error


async def encode_results(outcomes: list[Memory | DomainError]) -> pb.BatchCreateMemoriesResponse:
    results = [
        pb.MemoryResult(memory=encode_memory(outcome))
        if isinstance(outcome, Memory)
        else pb.MemoryResult(error=to_item_error(outcome))
        async for outcome in in_slices(outcomes)
    ]
    answer = pb.BatchCreateMemoriesResponse(results=results)
    omit_excess(answer, answer.results)
    return answer


def encode_basic(memory: Memory) -> memory_pb2.Memory:
    message = encode_memory(memory)
    message.ClearField("content")
    return message
