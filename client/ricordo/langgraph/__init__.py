"""For LangGraph and LangChain: memory as tools. `pip install 'ricordo[langgraph]'`.

from langgraph.prebuilt import ToolNode
from ricordo.langgraph import as_tools
from ricordo.tools import memory_tools

node = ToolNode(as_tools(memory_tools(store, actor_id=user.id)))
"""

from ricordo.langgraph.tools import as_tools

__all__ = ["as_tools"]
