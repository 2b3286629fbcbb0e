"""What was said."""

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import BigInteger, Boolean, Column, Integer, LargeBinary, Table, Text
from sqlalchemy.dialects.postgresql import TSVECTOR

from ricordo_server.db.tables.columns import METADATA, json_column, tenant_columns, text_column, time_column

session = Table(
    "session",
    METADATA,
    *tenant_columns(),
    text_column("scope_key", primary_key=True),
    Column("user_id", Text),
    text_column("session_id"),
    json_column("labels"),
    text_column("parent_session_id"),
    text_column("root_session_id"),
    json_column("metadata"),
    Column("next_seq", BigInteger, nullable=False),
    Column("promotion_pending", Boolean, nullable=False),
    Column("promoted_seq", BigInteger, nullable=False),
    json_column("trigger_rule", nullable=True),
    Column("generation_options", LargeBinary),
    time_column("create_time"),
    time_column("update_time"),
    time_column("last_activity_time"),
)

turn = Table(
    "turn",
    METADATA,
    *tenant_columns(),
    text_column("turn_id", primary_key=True),
    text_column("scope_key"),
    Column("user_id", Text),
    text_column("session_id"),
    json_column("labels"),
    Column("turn_seq", BigInteger, nullable=False),
    text_column("role"),
    text_column("content"),
    json_column("tool_calls"),
    text_column("tool_call_id"),
    text_column("tool_name"),
    Column("is_error", Boolean, nullable=False),
    text_column("model_name"),
    text_column("data_json"),
    json_column("metadata"),
    text_column("agent_id"),
    Column("idempotency_key", Text),
    time_column("event_time"),
    time_column("create_time"),
    text_column("language"),
    Column("tsv", TSVECTOR),
)

turn_embedding = Table(
    "turn_embedding",
    METADATA,
    *tenant_columns(),
    text_column("turn_id", primary_key=True),
    Column("model_id", Integer, primary_key=True),
    Column("chunk_no", Integer, primary_key=True),
    Column("user_id", Text),
    Column("embedding", HALFVEC),
)
