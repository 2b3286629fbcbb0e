"""Pipelines from the sessions of one store to documents of another, their runs, and how far each session is read."""

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

# A pipeline and its runs lie in the store that is read, so that it is known there whether others learn from its
# turns; checkpoints in the store that is written, to commit with the documents. Primary keys come last: see 0002.
TABLES = """
CREATE TABLE ricordo.pipeline (
  project_id uuid NOT NULL,
  store_id uuid NOT NULL,
  pipeline_id text COLLATE "C" NOT NULL,
  target_store_id uuid NOT NULL,
  display_name text NOT NULL DEFAULT '',
  endpoint text NOT NULL DEFAULT '',
  model text NOT NULL DEFAULT '',
  instructions text NOT NULL DEFAULT '',
  trigger text NOT NULL CHECK (trigger IN ('MANUAL', 'SCHEDULED')),
  period_seconds bigint NOT NULL,
  paused boolean NOT NULL DEFAULT false,
  creator_id text NOT NULL,
  creator_role text NOT NULL,
  covered_time timestamptz,
  next_run_time timestamptz NOT NULL DEFAULT now(),
  create_time timestamptz NOT NULL DEFAULT now(),
  update_time timestamptz NOT NULL DEFAULT now(),
  UNIQUE (project_id, store_id, target_store_id),
  FOREIGN KEY (project_id, store_id) REFERENCES ricordo.store ON DELETE CASCADE,
  FOREIGN KEY (project_id, target_store_id) REFERENCES ricordo.store ON DELETE CASCADE
);
CREATE INDEX pipeline_target ON ricordo.pipeline (project_id, target_store_id);
ALTER TABLE ricordo.pipeline ADD PRIMARY KEY (project_id, store_id, pipeline_id);

CREATE TABLE ricordo.pipeline_run (
  project_id uuid NOT NULL,
  store_id uuid NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  pipeline_id text COLLATE "C" NOT NULL,
  state text NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED')),
  cause text NOT NULL,
  error text NOT NULL DEFAULT '',
  actor_count integer NOT NULL DEFAULT 0,
  failed_actor_count integer NOT NULL DEFAULT 0,
  created_count integer NOT NULL DEFAULT 0,
  updated_count integer NOT NULL DEFAULT 0,
  create_time timestamptz NOT NULL DEFAULT now(),
  end_time timestamptz,
  FOREIGN KEY (project_id, store_id, pipeline_id) REFERENCES ricordo.pipeline ON DELETE CASCADE
);
CREATE UNIQUE INDEX pipeline_run_active ON ricordo.pipeline_run (project_id, store_id, pipeline_id)
  WHERE state IN ('PENDING', 'RUNNING');
CREATE INDEX pipeline_run_newest ON ricordo.pipeline_run (project_id, store_id, pipeline_id, create_time, run_id);
ALTER TABLE ricordo.pipeline_run ADD PRIMARY KEY (project_id, store_id, run_id);

CREATE TABLE ricordo.pipeline_checkpoint (
  project_id uuid NOT NULL,
  store_id uuid NOT NULL,
  pipeline_id text COLLATE "C" NOT NULL,
  scope_key text COLLATE "C" NOT NULL,
  user_id text COLLATE "C",
  distilled_seq bigint NOT NULL,
  FOREIGN KEY (project_id, store_id) REFERENCES ricordo.store ON DELETE CASCADE
);
ALTER TABLE ricordo.pipeline_checkpoint ADD PRIMARY KEY (project_id, store_id, pipeline_id, scope_key);
"""

OWN = "user_id = ANY (current_setting('ricordo.user_ids')::text[])"

# Whoever deletes a turn has other stores forget it, and end users see no pipelines: so this acts as the owner, on the
# one store the transaction has entered, and only so.
FEEDS_OTHERS = """
CREATE FUNCTION ricordo.feeds_others() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog
BEGIN ATOMIC
  SELECT EXISTS (SELECT FROM ricordo.pipeline
    WHERE project_id = current_setting('ricordo.project_id')::uuid
      AND store_id = current_setting('ricordo.store_id')::uuid AND target_store_id <> store_id);
END;
REVOKE ALL ON FUNCTION ricordo.feeds_others FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ricordo.feeds_others TO ricordo_app;
"""


def upgrade() -> None:
    op.execute(TABLES)
    op.execute(FEEDS_OTHERS)
    for table, readable, own in (
        ("pipeline", "false", "false"),
        ("pipeline_run", "false", "false"),
        ("pipeline_checkpoint", OWN, OWN),
    ):
        op.execute(f"SELECT ricordo.protect_store_table('{table}', $${readable}$$, $${own}$$)")
