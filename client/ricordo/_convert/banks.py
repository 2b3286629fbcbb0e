"""Memory banks: they are stores."""

from uuid import uuid4

from ricordo import models
from ricordo._convert.bank_names import Name
from ricordo._convert.bank_settings import decode_settings
from ricordo.memory_bank import MemoryBank


def new_bank_id() -> str:
    """An id for a bank that is given none."""
    return f"bank-{uuid4().hex}"


def decode_bank(store: models.Store, name: Name) -> MemoryBank:
    """The bank that a store is."""
    return MemoryBank(
        name=name.bank,
        store_id=store.store_id,
        display_name=store.display_name or None,
        description=store.description or None,
        managed_semantic_memory_config=decode_settings(store.settings),
        create_time=store.create_time,
        update_time=store.update_time,
    )
