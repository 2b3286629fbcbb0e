"""Streams: a session's own trigger rule, what is said for its next snapshot, and a snapshot's operation."""

from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

# `generation_options` is the message they were given with.
TABLES = """
ALTER TABLE ricordo.session ADD COLUMN trigger_rule jsonb, ADD COLUMN generation_options bytea;
ALTER TABLE ricordo.snapshot ADD COLUMN operation_id text COLLATE "C", ADD COLUMN generation_options bytea;
CREATE INDEX snapshot_operation ON ricordo.snapshot (project_id, store_id, operation_id)
  WHERE operation_id IS NOT NULL;
CREATE UNIQUE INDEX operation_of_session ON ricordo.operation (project_id, store_id, scope_key)
  WHERE kind = 'EXTRACT_SESSION' AND end_time IS NULL;
"""


def upgrade() -> None:
    op.execute(TABLES)
