"""The tables as SQLAlchemy Core sees them. Revisions make them; a test holds the two together."""

from typing import Any

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    Uuid,
)
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR
from sqlalchemy.types import UserDefinedType

METADATA = MetaData(schema="ricordo")


class Xid8(UserDefinedType[str]):
    """A transaction's number that never wraps around; as text to Python."""

    cache_ok = True

    def get_col_spec(self, **options: Any) -> str:
        return "xid8"


def _text(name: str, **options: Any) -> Column[str]:
    return Column(name, Text, nullable=False, **options)


def _time(name: str, *, nullable: bool = False) -> Column[Any]:
    return Column(name, DateTime(timezone=True), nullable=nullable)


def _json(name: str, *, nullable: bool = False) -> Column[Any]:
    return Column(name, JSONB, nullable=nullable)


def _tenant() -> list[Column[Any]]:
    return [Column("project_id", Uuid, primary_key=True), Column("store_id", Uuid, primary_key=True)]


organization = Table(
    "organization",
    METADATA,
    Column("organization_id", Uuid, primary_key=True),
    _text("display_name"),
    _time("create_time"),
)

project = Table(
    "project",
    METADATA,
    Column("project_id", Uuid, primary_key=True),
    Column("organization_id", Uuid, nullable=False),
    _text("display_name"),
    Column("language", Text),
    _json("settings"),
    Column("revision", BigInteger, nullable=False),
    Column("active_model_id", Integer),
    Column("standby_model_id", Integer),
    _time("create_time"),
    _time("update_time"),
    _json("limits"),
    _time("close_time", nullable=True),
    _json("erased_rows"),
)

embedding_model = Table(
    "embedding_model",
    METADATA,
    Column("model_id", Integer, primary_key=True),
    _text("name"),
    Column("dimension", Integer, nullable=False),
    _json("settings"),
    Column("is_default", Boolean, nullable=False),
    _time("create_time"),
)

store = Table(
    "store",
    METADATA,
    *_tenant(),
    _text("name"),
    _text("description"),
    Column("language", Text),
    Column("languages_in_use", ARRAY(Text), nullable=False),
    _text("creator_id"),
    _time("create_time"),
    _time("update_time"),
    _text("access"),
    _json("settings"),
    _text("display_name"),
)

store_grant = Table(
    "store_grant",
    METADATA,
    *_tenant(),
    _text("principal_id", primary_key=True),
    _text("store_creator_id"),
    _text("access"),
    _time("create_time"),
)

idempotency = Table(
    "idempotency",
    METADATA,
    Column("project_id", Uuid, primary_key=True),
    _text("principal_id", primary_key=True),
    _text("user_id", primary_key=True),
    _text("method", primary_key=True),
    _text("request_id", primary_key=True),
    Column("payload_digest", LargeBinary, nullable=False),
    Column("answer", LargeBinary),
    _time("create_time"),
)

usage = Table(
    "usage",
    METADATA,
    Column("project_id", Uuid, primary_key=True),
    Column("usage_id", Uuid, primary_key=True),
    Column("store_id", Uuid),
    Column("day", Date, nullable=False),
    Column("stored_memories", BigInteger, nullable=False),
    Column("stored_bytes", BigInteger, nullable=False),
    Column("embedding_tokens", BigInteger, nullable=False),
    Column("llm_tokens", BigInteger, nullable=False),
)

audit = Table(
    "audit",
    METADATA,
    Column("project_id", Uuid, primary_key=True),
    Column("audit_id", Uuid, primary_key=True),
    _text("action"),
    _text("outcome"),
    _text("principal_id"),
    _text("user_id"),
    _text("subject"),
    Column("occurrences", BigInteger, nullable=False),
    _time("create_time"),
)

session = Table(
    "session",
    METADATA,
    *_tenant(),
    _text("scope_key", primary_key=True),
    Column("user_id", Text),
    _text("session_id"),
    _json("labels"),
    _text("parent_session_id"),
    _text("root_session_id"),
    _json("metadata"),
    Column("next_seq", BigInteger, nullable=False),
    Column("promotion_pending", Boolean, nullable=False),
    Column("promoted_seq", BigInteger, nullable=False),
    _json("trigger_rule", nullable=True),
    Column("generation_options", LargeBinary),
    _time("create_time"),
    _time("update_time"),
    _time("last_activity_time"),
)

turn = Table(
    "turn",
    METADATA,
    *_tenant(),
    _text("turn_id", primary_key=True),
    _text("scope_key"),
    Column("user_id", Text),
    _text("session_id"),
    _json("labels"),
    Column("turn_seq", BigInteger, nullable=False),
    _text("role"),
    _text("content"),
    _json("tool_calls"),
    _text("tool_call_id"),
    _text("tool_name"),
    Column("is_error", Boolean, nullable=False),
    _text("model_name"),
    _text("data_json"),
    _json("metadata"),
    _text("agent_id"),
    Column("idempotency_key", Text),
    _time("event_time"),
    _time("create_time"),
    _text("language"),
    Column("tsv", TSVECTOR),
)

turn_embedding = Table(
    "turn_embedding",
    METADATA,
    *_tenant(),
    _text("turn_id", primary_key=True),
    Column("model_id", Integer, primary_key=True),
    Column("chunk_no", Integer, primary_key=True),
    Column("user_id", Text),
    Column("embedding", HALFVEC),
)


def _memory_columns(*, revision_in_key: bool) -> list[Column[Any]]:
    return [
        *_tenant(),
        _text("memory_id", primary_key=True),
        _text("kind"),
        _text("custom_type"),
        Column("key", Text),
        _text("content"),
        _text("title"),
        _text("description"),
        _text("scope_key"),
        Column("user_id", Text),
        Column("session_id", Text),
        _json("labels"),
        _text("agent_id"),
        _text("visibility"),
        _json("metadata"),
        Column("topics", ARRAY(Text), nullable=False),
        Column("tags", ARRAY(Text), nullable=False),
        _json("details", nullable=True),
        _text("source"),
        _json("provenance"),
        _text("language"),
        Column("revision", BigInteger, primary_key=revision_in_key, nullable=False),
        _time("create_time"),
        _time("update_time"),
        _time("event_time", nullable=True),
        _time("event_end_time", nullable=True),
        _time("expire_time", nullable=True),
        _time("delete_time", nullable=True),
        Column("pinned", Boolean, nullable=False),
    ]


memory = Table("memory", METADATA, *_memory_columns(revision_in_key=False), Column("tsv", TSVECTOR))

memory_embedding = Table(
    "memory_embedding",
    METADATA,
    *_tenant(),
    _text("memory_id", primary_key=True),
    Column("model_id", Integer, primary_key=True),
    Column("chunk_no", Integer, primary_key=True),
    _text("kind"),
    Column("user_id", Text),
    _text("visibility"),
    Column("embedding", HALFVEC),
)

memory_attribute = Table(
    "memory_attribute",
    METADATA,
    *_tenant(),
    _text("memory_id", primary_key=True),
    _text("key", primary_key=True),
    _text("value"),
    Column("user_id", Text),
    _text("visibility"),
)

service_account = Table(
    "service_account",
    METADATA,
    Column("project_id", Uuid, primary_key=True),
    Column("account_id", Uuid, primary_key=True),
    _text("name"),
    _text("role"),
    Column("is_disabled", Boolean, nullable=False),
    _text("creator_id"),
    _time("create_time"),
    _time("update_time"),
    _time("last_use_time", nullable=True),
)

service_account_secret = Table(
    "service_account_secret",
    METADATA,
    Column("project_id", Uuid, primary_key=True),
    Column("account_id", Uuid, primary_key=True),
    _text("secret_id", primary_key=True),
    _text("secret_hash"),
    _time("create_time"),
    _time("expire_time", nullable=True),
)

signing_key = Table(
    "signing_key",
    METADATA,
    _text("key_id", primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    _time("sign_time"),
    _time("retire_time", nullable=True),
)

memory_revision = Table(
    "memory_revision",
    METADATA,
    *_memory_columns(revision_in_key=True),
    _text("action"),
    _time("revision_time"),
    Column("transaction_id", Xid8, nullable=False),
    _time("revision_expire_time", nullable=True),
    _json("revision_labels"),
    Column("extracted_memories", ARRAY(Text), nullable=False),
)

memory_source = Table(
    "memory_source",
    METADATA,
    *_tenant(),
    _text("memory_id", primary_key=True),
    Column("revision", BigInteger, primary_key=True),
    _text("ground", primary_key=True),
    _text("turn_id", primary_key=True),
    _text("snapshot_id"),
    Column("user_id", Text),
    _text("role"),
    _time("said_time"),
    _text("quote"),
)

consolidation = Table(
    "consolidation",
    METADATA,
    *_tenant(),
    _text("scope_key", primary_key=True),
    _text("kind", primary_key=True),
    Column("user_id", Text),
)

snapshot = Table(
    "snapshot",
    METADATA,
    *_tenant(),
    _text("snapshot_id", primary_key=True),
    _text("scope_key"),
    Column("user_id", Text),
    _text("session_id"),
    _json("labels"),
    Column("from_seq", BigInteger, nullable=False),
    Column("to_seq", BigInteger, nullable=False),
    Column("context_from_seq", BigInteger, nullable=False),
    _text("cause"),
    _text("summary"),
    Column("operation_id", Text),
    Column("generation_options", LargeBinary),
    _time("create_time"),
)

extraction = Table(
    "extraction",
    METADATA,
    *_tenant(),
    _text("snapshot_id", primary_key=True),
    _text("kind", primary_key=True),
    Column("user_id", Text),
    _text("state"),
    Column("attempts", Integer, nullable=False),
    Column("failure_class", Text),
    _time("update_time"),
)

held_memory = Table(
    "held_memory",
    METADATA,
    *_tenant(),
    _text("held_memory_id", primary_key=True),
    _text("scope_key"),
    Column("user_id", Text),
    Column("session_id", Text),
    _json("labels"),
    _text("kind"),
    _text("digest"),
    _text("state"),
    Column("turn_ids", ARRAY(Text), nullable=False),
    _json("candidate"),
    _time("create_time"),
)

operation = Table(
    "operation",
    METADATA,
    *_tenant(),
    _text("operation_id", primary_key=True),
    _text("kind"),
    _text("principal_id"),
    _text("scope_key"),
    Column("user_id", Text),
    Column("session_id", Text),
    _json("labels"),
    Column("request", LargeBinary),
    _json("result", nullable=True),
    _json("error", nullable=True),
    Column("attempts", Integer, nullable=False),
    Column("failure_class", Text),
    _time("create_time"),
    _time("end_time", nullable=True),
)

pipeline = Table(
    "pipeline",
    METADATA,
    *_tenant(),
    _text("pipeline_id", primary_key=True),
    Column("target_store_id", Uuid, nullable=False),
    _text("display_name"),
    _text("endpoint"),
    _text("model"),
    _text("instructions"),
    _text("trigger"),
    Column("period_seconds", BigInteger, nullable=False),
    Column("paused", Boolean, nullable=False),
    _text("creator_id"),
    _text("creator_role"),
    _time("covered_time", nullable=True),
    _time("next_run_time"),
    _time("create_time"),
    _time("update_time"),
)

pipeline_run = Table(
    "pipeline_run",
    METADATA,
    *_tenant(),
    _text("run_id", primary_key=True),
    _text("pipeline_id"),
    _text("state"),
    _text("cause"),
    _text("error"),
    *(
        Column(name, Integer, nullable=False)
        for name in ("actor_count", "failed_actor_count", "created_count", "updated_count")
    ),
    _time("create_time"),
    _time("end_time", nullable=True),
)

pipeline_checkpoint = Table(
    "pipeline_checkpoint",
    METADATA,
    *_tenant(),
    _text("pipeline_id", primary_key=True),
    _text("scope_key", primary_key=True),
    Column("user_id", Text),
    Column("distilled_seq", BigInteger, nullable=False),
)

job_failure = Table(
    "job_failure",
    METADATA,
    Column("job_id", BigInteger, primary_key=True),
    _text("failure_class"),
    _text("error"),
    Column("lost_workers", Integer, nullable=False),
    _time("failure_time"),
)

PARTITIONED = ("memory", "memory_attribute", "memory_embedding", "turn", "turn_embedding")
STORE_TABLES = (
    "session",
    "turn",
    "turn_embedding",
    "memory",
    "memory_attribute",
    "memory_embedding",
    "memory_revision",
    "memory_source",
    "consolidation",
    "snapshot",
    "extraction",
    "held_memory",
    "operation",
    "pipeline",
    "pipeline_run",
    "pipeline_checkpoint",
)
PROJECT_TABLES = (
    "project",
    "store",
    "store_grant",
    "idempotency",
    "audit",
    "service_account",
    "service_account_secret",
    "usage",
)
