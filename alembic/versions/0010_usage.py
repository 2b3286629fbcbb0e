"""What a project may use, and what it has used."""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

# Only the operator may change it: the app's right to update a project names its columns.
LIMITS = "ALTER TABLE ricordo.project ADD COLUMN limits jsonb NOT NULL DEFAULT '{}'"

# Differences, a small row for each write, so that writers of one project never wait for one another; their sum is the
# usage, and now and then they are compacted to one row. Those of a store go with it.
TABLE = """
CREATE TABLE ricordo.usage (
  project_id uuid NOT NULL,
  usage_id uuid NOT NULL DEFAULT gen_random_uuid(),
  store_id uuid,
  day date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date,
  stored_memories bigint NOT NULL DEFAULT 0,
  stored_bytes bigint NOT NULL DEFAULT 0,
  embedding_tokens bigint NOT NULL DEFAULT 0,
  llm_tokens bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (project_id, usage_id),
  FOREIGN KEY (project_id, store_id) REFERENCES ricordo.store ON DELETE CASCADE
);
CREATE INDEX usage_store ON ricordo.usage (project_id, store_id);
"""

# Numbers of the whole project, which every write of it adds to, whoever's it is.
PROTECTION = """
SELECT ricordo.protect_project_table('usage', writable => 'true');
CREATE POLICY operator_select ON ricordo.usage FOR SELECT TO ricordo_operator USING (true);
GRANT SELECT ON ricordo.usage TO ricordo_operator;
"""


def upgrade() -> None:
    for statement in (LIMITS, TABLE, PROTECTION):
        op.execute(statement)
