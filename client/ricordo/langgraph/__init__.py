"""For LangGraph and LangChain: memory as tools, and a store. `pip install 'ricordo[langgraph]'`.

from langgraph.prebuilt import ToolNode
from ricordo.langgraph import RicordoStore, as_tools
from ricordo.tools import memory_tools

node = ToolNode(as_tools(memory_tools(store, actor_id=user.id)))
graph = builder.compile(store=RicordoStore(client, user_position=1))
"""

from ricordo._extras import missing_extra

try:
    from ricordo.langgraph.store import RicordoStore
    from ricordo.langgraph.tools import as_tools
except ModuleNotFoundError as error:
    raise missing_extra("langgraph", error) from error

__all__ = ["RicordoStore", "as_tools"]
