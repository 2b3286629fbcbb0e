"""Candidates that are held back for review, apart from memories: no read of memories can come upon them."""

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

# Of what was decided the digest stays, and no word. Primary keys come last: see 0002.
TABLES = """
CREATE TABLE ricordo.held_memory (
  project_id uuid NOT NULL,
  store_id uuid NOT NULL,
  held_memory_id text COLLATE "C" NOT NULL,
  scope_key text COLLATE "C" NOT NULL,
  user_id text COLLATE "C",
  session_id text COLLATE "C",
  labels jsonb NOT NULL DEFAULT '{}',
  kind text NOT NULL,
  digest text COLLATE "C" NOT NULL,
  state text NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'APPROVED', 'REJECTED')),
  turn_ids text[] COLLATE "C" NOT NULL DEFAULT '{}',
  candidate jsonb NOT NULL,
  create_time timestamptz NOT NULL DEFAULT now(),
  UNIQUE (project_id, store_id, scope_key, kind, digest),
  FOREIGN KEY (project_id, store_id) REFERENCES ricordo.store ON DELETE CASCADE
);
CREATE INDEX held_memory_create_time ON ricordo.held_memory (project_id, store_id, create_time, held_memory_id)
  WHERE state = 'PENDING';
ALTER TABLE ricordo.held_memory ADD PRIMARY KEY (project_id, store_id, held_memory_id);
"""

OWN = "user_id = ANY (current_setting('ricordo.user_ids')::text[])"


def upgrade() -> None:
    op.execute(TABLES)
    op.execute(f"SELECT ricordo.protect_store_table('held_memory', $${OWN}$$, $${OWN}$$)")
