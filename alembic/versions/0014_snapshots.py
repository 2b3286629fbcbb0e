"""Snapshots: the runs of turns that are extracted together, and how far each kind is."""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

# Two snapshots of a session never begin at the same turn: beside the session's lock, that keeps runs apart. Primary
# keys come last: see 0002.
TABLES = """
ALTER TABLE ricordo.session ADD COLUMN promoted_seq bigint NOT NULL DEFAULT 0;

CREATE TABLE ricordo.snapshot (
  project_id uuid NOT NULL,
  store_id uuid NOT NULL,
  snapshot_id text COLLATE "C" NOT NULL,
  scope_key text COLLATE "C" NOT NULL,
  user_id text COLLATE "C",
  session_id text COLLATE "C" NOT NULL,
  labels jsonb NOT NULL DEFAULT '{}',
  from_seq bigint NOT NULL,
  to_seq bigint NOT NULL CHECK (to_seq >= from_seq),
  context_from_seq bigint NOT NULL,
  cause text NOT NULL,
  summary text NOT NULL DEFAULT '',
  create_time timestamptz NOT NULL DEFAULT now(),
  UNIQUE (project_id, store_id, scope_key, from_seq),
  FOREIGN KEY (project_id, store_id, scope_key) REFERENCES ricordo.session ON DELETE CASCADE
);
CREATE INDEX snapshot_create_time ON ricordo.snapshot (project_id, store_id, create_time, snapshot_id);
ALTER TABLE ricordo.snapshot ADD PRIMARY KEY (project_id, store_id, snapshot_id);

CREATE TABLE ricordo.extraction (
  project_id uuid NOT NULL,
  store_id uuid NOT NULL,
  snapshot_id text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  user_id text COLLATE "C",
  state text NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'DONE', 'FAILED')),
  attempts integer NOT NULL DEFAULT 0,
  failure_class text,
  update_time timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (project_id, store_id, snapshot_id) REFERENCES ricordo.snapshot ON DELETE CASCADE
);
ALTER TABLE ricordo.extraction ADD PRIMARY KEY (project_id, store_id, snapshot_id, kind);
"""

OWN = "user_id = ANY (current_setting('ricordo.user_ids')::text[])"

# As turns do: a foreign-key check bypasses row-level security, so a row asks for the one it hangs on under the
# writer's own policy.
IN_OWN_SESSION = f"""{OWN} AND EXISTS (SELECT FROM ricordo.session WHERE session.project_id = snapshot.project_id
  AND session.store_id = snapshot.store_id AND session.scope_key = snapshot.scope_key)"""
OF_OWN_SNAPSHOT = f"""{OWN} AND EXISTS (SELECT FROM ricordo.snapshot WHERE snapshot.project_id = extraction.project_id
  AND snapshot.store_id = extraction.store_id AND snapshot.snapshot_id = extraction.snapshot_id)"""


def upgrade() -> None:
    op.execute(TABLES)
    for table, own in (("snapshot", IN_OWN_SESSION), ("extraction", OF_OWN_SNAPSHOT)):
        op.execute(f"SELECT ricordo.protect_store_table('{table}', $${OWN}$$, $${own}$$)")
