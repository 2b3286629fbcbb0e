"""For the Agent Development Kit: a memory service. `pip install 'ricordo[adk]'`.

from google.adk.runners import Runner
from ricordo import AsyncClient
from ricordo.adk import RicordoMemoryService

service = RicordoMemoryService(AsyncClient("localhost:7483", token=...))
runner = Runner(app_name="assistant", agent=agent, session_service=..., memory_service=service)
"""

from ricordo._extras import missing_extra

try:
    from ricordo.adk.memory_service import RicordoMemoryService
except ModuleNotFoundError as error:
    raise missing_extra("adk", error) from error

__all__ = ["RicordoMemoryService"]
