"""Which turns a memory rests on, and what keeps two writers of one user's memories apart."""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

# A source belongs to a revision: what an update says anew rests on other turns than what it replaced. The turn may be
# gone, so nothing refers to it. Primary keys come last: see 0002.
TABLES = """
CREATE TABLE ricordo.memory_source (
  project_id uuid NOT NULL,
  store_id uuid NOT NULL,
  memory_id text COLLATE "C" NOT NULL,
  revision bigint NOT NULL,
  turn_id text COLLATE "C" NOT NULL,
  snapshot_id text COLLATE "C" NOT NULL DEFAULT '',
  user_id text COLLATE "C",
  role text NOT NULL,
  said_time timestamptz NOT NULL,
  quote text NOT NULL,
  FOREIGN KEY (project_id, store_id, memory_id, revision) REFERENCES ricordo.memory_revision ON DELETE CASCADE
);
CREATE INDEX memory_source_turn ON ricordo.memory_source (project_id, store_id, turn_id);
ALTER TABLE ricordo.memory_source ADD PRIMARY KEY (project_id, store_id, memory_id, revision, turn_id);

CREATE TABLE ricordo.consolidation (
  project_id uuid NOT NULL,
  store_id uuid NOT NULL,
  scope_key text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  user_id text COLLATE "C",
  FOREIGN KEY (project_id, store_id) REFERENCES ricordo.store ON DELETE CASCADE
);
ALTER TABLE ricordo.consolidation ADD PRIMARY KEY (project_id, store_id, scope_key, kind);
"""

OWN = "user_id = ANY (current_setting('ricordo.user_ids')::text[])"

# Turns are their user's own, also where a memory made of them is published. A foreign-key check bypasses row-level
# security, so a source asks for its memory under the writer's own policy.
OF_OWN_MEMORY = f"""{OWN} AND EXISTS (SELECT FROM ricordo.memory WHERE memory.project_id = memory_source.project_id
  AND memory.store_id = memory_source.store_id AND memory.memory_id = memory_source.memory_id AND memory.{OWN})"""


def upgrade() -> None:
    op.execute(TABLES)
    op.execute(f"SELECT ricordo.protect_store_table('memory_source', $${OWN}$$, $${OF_OWN_MEMORY}$$)")
    op.execute(f"SELECT ricordo.protect_store_table('consolidation', $${OWN}$$, $${OWN}$$)")
