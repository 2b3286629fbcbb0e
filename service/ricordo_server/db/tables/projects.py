"""What belongs to the installation or to a project: models, stores, accounts, limits, the audit."""

from sqlalchemy import ARRAY, BigInteger, Boolean, Column, Date, Integer, LargeBinary, Table, Text, Uuid

from ricordo_server.db.tables.columns import METADATA, json_column, tenant_columns, text_column, time_column

organization = Table(
    "organization",
    METADATA,
    Column("organization_id", Uuid, primary_key=True),
    text_column("display_name"),
    time_column("create_time"),
)

project = Table(
    "project",
    METADATA,
    Column("project_id", Uuid, primary_key=True),
    Column("organization_id", Uuid, nullable=False),
    text_column("display_name"),
    Column("language", Text),
    json_column("settings"),
    Column("revision", BigInteger, nullable=False),
    Column("active_model_id", Integer),
    Column("standby_model_id", Integer),
    time_column("create_time"),
    time_column("update_time"),
    json_column("limits"),
    time_column("close_time", nullable=True),
    json_column("erased_rows"),
)

embedding_model = Table(
    "embedding_model",
    METADATA,
    Column("model_id", Integer, primary_key=True),
    text_column("name"),
    Column("dimension", Integer, nullable=False),
    json_column("settings"),
    Column("is_default", Boolean, nullable=False),
    time_column("create_time"),
)

store = Table(
    "store",
    METADATA,
    *tenant_columns(),
    text_column("name"),
    text_column("description"),
    Column("language", Text),
    Column("languages_in_use", ARRAY(Text), nullable=False),
    text_column("creator_id"),
    time_column("create_time"),
    time_column("update_time"),
    text_column("access"),
    json_column("settings"),
    text_column("display_name"),
)

store_grant = Table(
    "store_grant",
    METADATA,
    *tenant_columns(),
    text_column("principal_id", primary_key=True),
    text_column("store_creator_id"),
    text_column("access"),
    time_column("create_time"),
)

idempotency = Table(
    "idempotency",
    METADATA,
    Column("project_id", Uuid, primary_key=True),
    text_column("principal_id", primary_key=True),
    text_column("user_id", primary_key=True),
    text_column("method", primary_key=True),
    text_column("request_id", primary_key=True),
    Column("payload_digest", LargeBinary, nullable=False),
    Column("answer", LargeBinary),
    time_column("create_time"),
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
    text_column("action"),
    text_column("outcome"),
    text_column("principal_id"),
    text_column("user_id"),
    text_column("subject"),
    Column("occurrences", BigInteger, nullable=False),
    time_column("create_time"),
)

service_account = Table(
    "service_account",
    METADATA,
    Column("project_id", Uuid, primary_key=True),
    Column("account_id", Uuid, primary_key=True),
    text_column("name"),
    text_column("role"),
    Column("is_disabled", Boolean, nullable=False),
    text_column("creator_id"),
    time_column("create_time"),
    time_column("update_time"),
    time_column("last_use_time", nullable=True),
)

service_account_secret = Table(
    "service_account_secret",
    METADATA,
    Column("project_id", Uuid, primary_key=True),
    Column("account_id", Uuid, primary_key=True),
    text_column("secret_id", primary_key=True),
    text_column("secret_hash"),
    time_column("create_time"),
    time_column("expire_time", nullable=True),
)

signing_key = Table(
    "signing_key",
    METADATA,
    text_column("key_id", primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    time_column("sign_time"),
    time_column("retire_time", nullable=True),
)
