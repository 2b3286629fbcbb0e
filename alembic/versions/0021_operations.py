"""Operations: work in the background that somebody asked for and asks about."""

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

# `request` is the message it was asked for with, and goes when the work is over; `result` names revisions of
# memories, so that what is forgotten is not kept here. Primary keys come last: see 0002.
TABLES = """
CREATE TABLE ricordo.operation (
  project_id uuid NOT NULL,
  store_id uuid NOT NULL,
  operation_id text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  principal_id text NOT NULL,
  scope_key text COLLATE "C" NOT NULL,
  user_id text COLLATE "C",
  session_id text COLLATE "C",
  labels jsonb NOT NULL DEFAULT '{}',
  request bytea,
  result jsonb,
  error jsonb,
  attempts integer NOT NULL DEFAULT 0,
  failure_class text,
  create_time timestamptz NOT NULL DEFAULT clock_timestamp(),
  end_time timestamptz,
  FOREIGN KEY (project_id, store_id) REFERENCES ricordo.store ON DELETE CASCADE
);
CREATE INDEX operation_create_time ON ricordo.operation (project_id, store_id, create_time, operation_id);
ALTER TABLE ricordo.operation ADD PRIMARY KEY (project_id, store_id, operation_id);
"""

OWN = "user_id = ANY (current_setting('ricordo.user_ids')::text[])"


def upgrade() -> None:
    op.execute(TABLES)
    op.execute(f"SELECT ricordo.protect_store_table('operation', $${OWN}$$, $${OWN}$$)")
