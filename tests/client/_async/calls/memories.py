"""Memories, and contexts of them."""

from datetime import timedelta

from ricordo import models
from ricordo.v1 import memory_pb2
from ricordo.v1 import memory_service_pb2 as memories
from ricordo.v1.profile_pb2 import Profile, ProfileField
from tests.client._async.calls.case import RECEIPT, Case, first
from tests.fixtures.client_samples import NOON_WIRE, new_memory, wire_context, wire_memory, wire_report

REVISION = memory_pb2.MemoryRevision(
    memory=wire_memory(), revision_time=NOON_WIRE, action=memory_pb2.REVISION_ACTION_CREATED
)

CASES: dict[str, Case] = {
    "CreateMemory": Case(
        lambda client: client.memories.create(new_memory(), ttl=timedelta(hours=1), store="notes"),
        memories.CreateMemoryResponse(memory=wire_memory()),
        lambda memory: memory.memory_id == "m1",
        {"store_id": "notes", "memory.key": "trip", "memory.ttl.seconds": 3600},
    ),
    "BatchCreateMemories": Case(
        lambda client: client.memories.batch_create([new_memory(), new_memory()], atomic=True),
        memories.BatchCreateMemoriesResponse(results=[memories.MemoryResult(memory=wire_memory())]),
        lambda results: results[0].memory.memory_id == "m1" and results[0].error is None,
        {"atomic": True, "store_id": ""},
    ),
    "GetMemory": Case(
        lambda client: client.memories.get("m1", include_deleted=True),
        memories.GetMemoryResponse(memory=wire_memory()),
        lambda memory: memory.content == "Ada drinks green tea.",
        {"memory_id": "m1", "include_deleted": True},
    ),
    "ListMemories": Case(
        lambda client: first(
            client.memories.list(
                scope=models.Exactly(user_id="ada"),
                visibility="org",
                kinds=["semantic"],
                order_by="update_time desc",
                view="basic",
                page_size=7,
            )
        ),
        memories.ListMemoriesResponse(memories=[wire_memory()]),
        lambda memory: memory.key == "drink",
        {"scope.exactly.user_id": "ada", "visibility": 2, "kinds": [1], "view": 1, "page_size": 7},
    ),
    "UpdateMemory": Case(
        lambda client: client.memories.update("m1", models.MemoryChanges(title="Tea"), expected_revision=3),
        memories.UpdateMemoryResponse(memory=wire_memory(revision=4)),
        lambda memory: memory.revision == 4,
        {"memory.memory_id": "m1", "update_mask.paths": ["title"], "expected_revision": 3},
    ),
    "DeleteMemories": Case(
        lambda client: client.memories.delete_matching(
            kinds=["document"], filters={"key": {"$prefix": "/notes/"}}, force=True
        ),
        memories.DeleteMemoriesResponse(matching_count=3, deleted_count=2),
        lambda deleted: (deleted.matching, deleted.deleted) == (3, 2),
        {"force": True, "kinds": [5]},
    ),
    "MoveMemory": Case(
        lambda client: client.memories.move("m1", "/b", expected_revision=3),
        memories.MoveMemoryResponse(memory=wire_memory(revision=4)),
        lambda memory: memory.revision == 4,
        {"memory_id": "m1", "key": "/b", "expected_revision": 3},
    ),
    "PutMemory": Case(
        lambda client: client.memories.put(
            new_memory(), update_mask=["content"], append=True, expected_revision=0
        ),
        memories.PutMemoryResponse(memory=wire_memory(), created=True),
        lambda result: result.created and result.memory.memory_id == "m1",
        {"append": True, "update_mask.paths": ["content"], "memory.visibility": 2},
    ),
    "DeleteMemory": Case(
        lambda client: client.memories.delete("m1", purge=True),
        memories.DeleteMemoryResponse(),
        lambda answer: answer is None,
        {"memory_id": "m1", "purge": True},
    ),
    "RollbackMemory": Case(
        lambda client: client.memories.rollback("m1", 2, expected_revision=5),
        memories.RollbackMemoryResponse(memory=wire_memory(revision=6)),
        lambda memory: memory.revision == 6,
        {"memory_id": "m1", "target_revision": 2, "expected_revision": 5},
    ),
    "SearchMemories": Case(
        lambda client: client.memories.search(
            "tea",
            mode="hybrid",
            fusion="rrf",
            semantic_weight=0.5,
            top_k=3,
            scope=models.ReadableBy(user_id="ada"),
            filters={"metadata.colour": "green"},
            explain=True,
        ),
        memories.SearchMemoriesResponse(
            hits=[memories.MemoryHit(memory=wire_memory(), score=0.5, distance=0.0)], report=wire_report()
        ),
        lambda result: result.hits[0].distance == 0.0 and result.report.effective_mode == "hybrid",
        {
            "options.query": "tea",
            "options.fusion.semantic_weight": 0.5,
            "options.top_k": 3,
            "options.explain": True,
            "scope.readable_by.user_id": "ada",
        },
    ),
    "ListDomains": Case(
        lambda client: first(
            client.memories.list_domains(
                scope=models.ReadableBy(user_id="ada"), visibility="org", page_size=7, store="notes"
            )
        ),
        memories.ListDomainsResponse(domains=[memories.Domain(name="tea", term_count=2)]),
        lambda domain: (domain.name, domain.term_count) == ("tea", 2),
        {"scope.readable_by.user_id": "ada", "visibility": 2, "page_size": 7, "store_id": "notes"},
    ),
    "RetrieveProfiles": Case(
        lambda client: client.memories.retrieve_profiles(models.Scope(user_id="ada"), store="notes"),
        memories.RetrieveProfilesResponse(
            profiles=[
                Profile(
                    schema_id="person",
                    fields={
                        "age": ProfileField(
                            json_value="36", memory_id="m1", revision=2, update_time=NOON_WIRE
                        )
                    },
                )
            ]
        ),
        lambda profiles: (
            [(each.schema_id, each.profile) for each in profiles] == [("person", {"age": 36})]
            and profiles[0].fields["age"].memory_id == "m1"
        ),
        {"scope.user_id": "ada", "store_id": "notes"},
    ),
    "ListMemoryRevisions": Case(
        lambda client: first(client.memories.revisions.list("m1", page_size=2)),
        memories.ListMemoryRevisionsResponse(revisions=[REVISION]),
        lambda revision: revision.action == "created" and revision.memory.revision == 1,
        {"memory_id": "m1", "page_size": 2},
    ),
    "GetMemoryRevision": Case(
        lambda client: client.memories.revisions.get("m1", 1),
        memories.GetMemoryRevisionResponse(revision=REVISION),
        lambda revision: revision.memory.memory_id == "m1",
        {"memory_id": "m1", "revision": 1},
    ),
    "PurgeMemories": Case(
        lambda client: client.memories.purge("ada", force=True),
        memories.PurgeMemoriesResponse(receipt=RECEIPT),
        lambda receipt: (
            (receipt.row_counts, receipt.total, receipt.done) == ({"memory": 3, "turn": 2}, 5, True)
        ),
        {"user_id": "ada", "force": True},
    ),
    "BuildContext": Case(
        lambda client: client.context.build(
            "tea",
            sources=[models.SourceSpec(source=models.ContextSource.STM, top_k=5)],
            format_style="openai",
            max_tokens=900,
            include_memories=True,
            explain=True,
            rerank=True,
        ),
        wire_context(),
        lambda built: (
            built.source_counts == {"semantic": 1, "stm": 1}
            and built.left_out[0].cause == "duplicate"
            and [chunk.rerank_score for chunk in built.chunks] == [2.5, None]
        ),
        {
            "query": "tea",
            "format": 1,
            "max_tokens": 900,
            "include_memories": True,
            "explain": True,
            "rerank": True,
        },
    ),
}
