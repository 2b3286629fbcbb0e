"""Rows that the other leg found: their text score is known, however low they rank."""

from ricordo_server.db import memories
from ricordo_server.db.connection import TenantConnection
from ricordo_server.db.search import search_by_text
from ricordo_server.domain.memory import MemoryDraft, MemoryKind, MemoryQuery
from ricordo_server.domain.scope import Scope

CONTENTS = {"best": "green tea", "second": "green", "third": "a green field of grass", "other": "coffee"}


async def test_rows_beyond_the_cut_follow_with_their_score(tenant: TenantConnection) -> None:
    drafts = [
        (memory_id, MemoryDraft(kind=MemoryKind.SEMANTIC, content=content, scope=Scope(user_id="ann")))
        for memory_id, content in CONTENTS.items()
    ]
    await memories.insert_memories(tenant, drafts)
    searched = memories.searched(MemoryQuery())
    whole = await search_by_text(tenant, searched, "green tea", 10)
    cut = await search_by_text(tenant, searched, "green tea", 1, also=["third", "best", "other"])
    assert [(found.item_id, found.beyond) for found in cut] == [("best", False), ("third", True)]
    assert {found.item_id: found.score for found in whole}["third"] == cut[1].score
