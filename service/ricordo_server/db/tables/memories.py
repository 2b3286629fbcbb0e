"""What is remembered, what it was before, and what it rests on."""

from typing import Any

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    Integer,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import TSVECTOR

from ricordo_server.db.tables.columns import (
    METADATA,
    Xid8,
    json_column,
    tenant_columns,
    text_column,
    time_column,
)


def _memory_columns(*, revision_in_key: bool) -> list[Column[Any]]:
    return [
        *tenant_columns(),
        text_column("memory_id", primary_key=True),
        text_column("kind"),
        text_column("custom_type"),
        Column("key", Text),
        text_column("content"),
        text_column("title"),
        text_column("description"),
        text_column("scope_key"),
        Column("user_id", Text),
        Column("session_id", Text),
        json_column("labels"),
        text_column("agent_id"),
        text_column("visibility"),
        json_column("metadata"),
        Column("topics", ARRAY(Text), nullable=False),
        Column("tags", ARRAY(Text), nullable=False),
        json_column("details", nullable=True),
        text_column("source"),
        json_column("provenance"),
        text_column("language"),
        Column("revision", BigInteger, primary_key=revision_in_key, nullable=False),
        time_column("create_time"),
        time_column("update_time"),
        time_column("event_time", nullable=True),
        time_column("event_end_time", nullable=True),
        time_column("expire_time", nullable=True),
        time_column("delete_time", nullable=True),
        Column("pinned", Boolean, nullable=False),
    ]


memory = Table("memory", METADATA, *_memory_columns(revision_in_key=False), Column("tsv", TSVECTOR))

memory_embedding = Table(
    "memory_embedding",
    METADATA,
    *tenant_columns(),
    text_column("memory_id", primary_key=True),
    Column("model_id", Integer, primary_key=True),
    Column("chunk_no", Integer, primary_key=True),
    text_column("kind"),
    Column("user_id", Text),
    text_column("visibility"),
    Column("embedding", HALFVEC),
)

memory_attribute = Table(
    "memory_attribute",
    METADATA,
    *tenant_columns(),
    text_column("memory_id", primary_key=True),
    text_column("key", primary_key=True),
    text_column("value"),
    Column("user_id", Text),
    text_column("visibility"),
)

memory_revision = Table(
    "memory_revision",
    METADATA,
    *_memory_columns(revision_in_key=True),
    text_column("action"),
    time_column("revision_time"),
    Column("transaction_id", Xid8, nullable=False),
    time_column("revision_expire_time", nullable=True),
    json_column("revision_labels"),
    Column("extracted_memories", ARRAY(Text), nullable=False),
)

memory_source = Table(
    "memory_source",
    METADATA,
    *tenant_columns(),
    text_column("memory_id", primary_key=True),
    Column("revision", BigInteger, primary_key=True),
    text_column("ground", primary_key=True),
    text_column("turn_id", primary_key=True),
    text_column("snapshot_id"),
    Column("user_id", Text),
    text_column("role"),
    time_column("said_time"),
    text_column("quote"),
)

consolidation = Table(
    "consolidation",
    METADATA,
    *tenant_columns(),
    text_column("scope_key", primary_key=True),
    text_column("kind", primary_key=True),
    Column("user_id", Text),
)

held_memory = Table(
    "held_memory",
    METADATA,
    *tenant_columns(),
    text_column("held_memory_id", primary_key=True),
    text_column("scope_key"),
    Column("user_id", Text),
    Column("session_id", Text),
    json_column("labels"),
    text_column("kind"),
    text_column("digest"),
    text_column("state"),
    Column("turn_ids", ARRAY(Text), nullable=False),
    json_column("candidate"),
    time_column("create_time"),
)
