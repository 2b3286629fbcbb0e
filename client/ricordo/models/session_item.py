"""Items of a session: what was said as a framework writes it."""

from datetime import datetime
from typing import Any

from ricordo.models.base import Model


class SessionItem(Model):
    """An item, immutable. `data` is any JSON value; `item_id` is the id of its turn. Times are UTC."""

    item_id: str
    data: Any
    create_time: datetime
