"""For the OpenAI Agents SDK: memory as function tools, and sessions. `pip install 'ricordo[openai-agents]'`.

from agents import Agent, Runner
from ricordo.openai_agents import RicordoSession, as_tools
from ricordo.tools import async_memory_tools

agent = Agent(name="assistant", tools=as_tools(async_memory_tools(store, actor_id=user.id)))
session = RicordoSession(client, user_id=user.id, session_id=chat.id)
await Runner.run(agent, "What do I drink?", session=session)
"""

from ricordo._extras import missing_extra

try:
    from ricordo.openai_agents.session import RicordoSession
    from ricordo.openai_agents.tools import as_tools
except ModuleNotFoundError as error:
    raise missing_extra("openai-agents", error) from error

__all__ = ["RicordoSession", "as_tools"]
