"""What is done in the background, and how far it is."""

from sqlalchemy import BigInteger, Boolean, Column, Integer, LargeBinary, Table, Text, Uuid

from ricordo_server.db.tables.columns import METADATA, json_column, tenant_columns, text_column, time_column

snapshot = Table(
    "snapshot",
    METADATA,
    *tenant_columns(),
    text_column("snapshot_id", primary_key=True),
    text_column("scope_key"),
    Column("user_id", Text),
    text_column("session_id"),
    json_column("labels"),
    Column("from_seq", BigInteger, nullable=False),
    Column("to_seq", BigInteger, nullable=False),
    Column("context_from_seq", BigInteger, nullable=False),
    text_column("cause"),
    text_column("summary"),
    Column("operation_id", Text),
    Column("generation_options", LargeBinary),
    time_column("create_time"),
)

extraction = Table(
    "extraction",
    METADATA,
    *tenant_columns(),
    text_column("snapshot_id", primary_key=True),
    text_column("kind", primary_key=True),
    Column("user_id", Text),
    text_column("state"),
    Column("attempts", Integer, nullable=False),
    Column("failure_class", Text),
    text_column("error"),
    time_column("update_time"),
)

operation = Table(
    "operation",
    METADATA,
    *tenant_columns(),
    text_column("operation_id", primary_key=True),
    text_column("kind"),
    text_column("principal_id"),
    text_column("scope_key"),
    Column("user_id", Text),
    Column("session_id", Text),
    json_column("labels"),
    Column("request", LargeBinary),
    json_column("result", nullable=True),
    json_column("error", nullable=True),
    Column("attempts", Integer, nullable=False),
    Column("failure_class", Text),
    time_column("create_time"),
    time_column("end_time", nullable=True),
)

pipeline = Table(
    "pipeline",
    METADATA,
    *tenant_columns(),
    text_column("pipeline_id", primary_key=True),
    Column("target_store_id", Uuid, nullable=False),
    text_column("display_name"),
    text_column("endpoint"),
    text_column("model"),
    text_column("instructions"),
    text_column("trigger"),
    Column("period_seconds", BigInteger, nullable=False),
    Column("paused", Boolean, nullable=False),
    text_column("creator_id"),
    text_column("creator_role"),
    time_column("covered_time", nullable=True),
    time_column("next_run_time"),
    time_column("create_time"),
    time_column("update_time"),
)

pipeline_run = Table(
    "pipeline_run",
    METADATA,
    *tenant_columns(),
    text_column("run_id", primary_key=True),
    text_column("pipeline_id"),
    text_column("state"),
    text_column("cause"),
    text_column("error"),
    *(
        Column(name, Integer, nullable=False)
        for name in ("actor_count", "failed_actor_count", "created_count", "updated_count")
    ),
    time_column("create_time"),
    time_column("end_time", nullable=True),
)

pipeline_checkpoint = Table(
    "pipeline_checkpoint",
    METADATA,
    *tenant_columns(),
    text_column("pipeline_id", primary_key=True),
    text_column("scope_key", primary_key=True),
    Column("user_id", Text),
    Column("distilled_seq", BigInteger, nullable=False),
)

job_failure = Table(
    "job_failure",
    METADATA,
    Column("job_id", BigInteger, primary_key=True),
    text_column("failure_class"),
    text_column("error"),
    Column("lost_workers", Integer, nullable=False),
    time_column("failure_time"),
)
