"""Memory tools for agents: plain typed functions that a model may call, for any framework that takes functions.

    from ricordo import Client
    from ricordo.tools import memory_tools

    store = Client(token=...).memory_stores.get("assistant")
    tools = memory_tools(store, actor_id=user.id)     # remember, recall, forget, list_memories
    tools = entry_tools(store, actor_id=user.id)      # search_memory, save_memory, list_memories, forget_memory

The actor is fixed when they are made, by trusted code: no model can choose another. `async_memory_tools` and
`async_entry_tools` give coroutine functions, on a store of an `AsyncClient`.
"""

from ricordo._async.tools import entry_tools as async_entry_tools
from ricordo._async.tools import memory_tools as async_memory_tools
from ricordo._sync.tools import entry_tools, memory_tools

__all__ = ["async_entry_tools", "async_memory_tools", "entry_tools", "memory_tools"]
