"""Memories, their embeddings and revisions."""

from alembic import context, op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# What a memory and each of its revisions hold.
COLUMNS = """
  project_id uuid NOT NULL,
  store_id uuid NOT NULL,
  memory_id text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  custom_type text NOT NULL DEFAULT '',
  key text COLLATE "C",
  content text NOT NULL,
  title text NOT NULL DEFAULT '',
  description text NOT NULL DEFAULT '',
  scope_key text COLLATE "C" NOT NULL,
  user_id text COLLATE "C",
  session_id text COLLATE "C",
  labels jsonb NOT NULL DEFAULT '{}',
  agent_id text COLLATE "C" NOT NULL DEFAULT '',
  visibility text NOT NULL CHECK (visibility IN ('PRIVATE', 'PROJECT')),
  metadata jsonb NOT NULL DEFAULT '{}',
  topics text[] NOT NULL DEFAULT '{}',
  tags text[] NOT NULL DEFAULT '{}',
  details jsonb,
  source text NOT NULL DEFAULT 'AGENT',
  provenance jsonb NOT NULL DEFAULT '{}',
  language text NOT NULL,
  revision bigint NOT NULL DEFAULT 1,
  create_time timestamptz NOT NULL DEFAULT now(),
  update_time timestamptz NOT NULL DEFAULT now(),
  event_time timestamptz,
  event_end_time timestamptz,
  expire_time timestamptz,
  delete_time timestamptz,
"""

# Keys are split at their punctuation: to the parser a path would be one word. The primary key comes last: see 0002.
TABLES = f"""
CREATE TABLE ricordo.memory (
  {COLUMNS}
  tsv tsvector GENERATED ALWAYS AS (
    setweight(to_tsvector(ricordo.text_config(language), ricordo.search_text(title)), 'A') ||
    setweight(to_tsvector(ricordo.text_config(language), ricordo.search_text(
      translate(coalesce(key, ''), '/._-', '    '))), 'B') ||
    setweight(to_tsvector(ricordo.text_config(language), ricordo.search_text(description)), 'B') ||
    setweight(to_tsvector(ricordo.text_config(language), ricordo.search_text(content)), 'C')) STORED,
  FOREIGN KEY (project_id, store_id) REFERENCES ricordo.store ON DELETE CASCADE
) PARTITION BY HASH (project_id);
CREATE UNIQUE INDEX memory_key ON ricordo.memory (project_id, store_id, kind, custom_type, scope_key, key)
  WHERE key IS NOT NULL AND delete_time IS NULL;
CREATE INDEX memory_by_key ON ricordo.memory (project_id, store_id, kind, key);
CREATE INDEX memory_create_time ON ricordo.memory (project_id, store_id, create_time, memory_id);
CREATE INDEX memory_user ON ricordo.memory (project_id, store_id, user_id, create_time);
CREATE INDEX memory_scope ON ricordo.memory (project_id, store_id, scope_key, create_time);
CREATE INDEX memory_expire_time ON ricordo.memory (project_id, store_id, expire_time) WHERE expire_time IS NOT NULL;
CREATE INDEX memory_delete_time ON ricordo.memory (project_id, store_id, delete_time) WHERE delete_time IS NOT NULL;
CREATE INDEX memory_tsv ON ricordo.memory USING gin (tsv);
ALTER TABLE ricordo.memory ADD PRIMARY KEY (project_id, store_id, memory_id);

CREATE TABLE ricordo.memory_embedding (
  project_id uuid NOT NULL,
  store_id uuid NOT NULL,
  memory_id text COLLATE "C" NOT NULL,
  model_id integer NOT NULL,
  chunk_no integer NOT NULL,
  kind text NOT NULL,
  user_id text COLLATE "C",
  visibility text NOT NULL,
  embedding halfvec NOT NULL,
  PRIMARY KEY (project_id, store_id, memory_id, model_id, chunk_no),
  FOREIGN KEY (project_id, store_id, memory_id) REFERENCES ricordo.memory ON DELETE CASCADE
) PARTITION BY HASH (project_id);

CREATE TABLE ricordo.memory_revision (
  {COLUMNS}
  action text NOT NULL,
  revision_time timestamptz NOT NULL DEFAULT now(),
  transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
  PRIMARY KEY (project_id, store_id, memory_id, revision),
  FOREIGN KEY (project_id, store_id, memory_id) REFERENCES ricordo.memory ON DELETE CASCADE
);
"""

READABLE = "visibility = 'PROJECT' OR user_id = ANY (current_setting('ricordo.user_ids')::text[])"
OWN = "user_id = ANY (current_setting('ricordo.user_ids')::text[])"

# A foreign-key check bypasses row-level security, so a revision or vector asks for its memory under the principal's
# own policy: without it a bound user could write and read revisions of a private memory it cannot see, and hang
# vectors on it. Unqualified columns of the sub-select would be the memory's own.
OF_MEMORY = """EXISTS (SELECT FROM ricordo.memory WHERE memory.project_id = {table}.project_id
  AND memory.store_id = {table}.store_id AND memory.memory_id = {table}.memory_id{own})"""


def upgrade() -> None:
    op.execute(TABLES)
    count = int(context.config.attributes["partitions"])
    for table in ("memory", "memory_embedding"):
        op.execute(f"SELECT ricordo.partition_table('{table}', {count})")
    vector_of_own = f"{OWN} AND {OF_MEMORY.format(table='memory_embedding', own=f' AND memory.{OWN}')}"
    # What was private stays so after the memory was published: each revision is read by its own visibility too.
    revision_of_readable = f"({READABLE}) AND {OF_MEMORY.format(table='memory_revision', own='')}"
    revision_of_own = OF_MEMORY.format(table="memory_revision", own=f" AND memory.{OWN}")
    for table, readable, own in (
        ("memory", READABLE, OWN),
        ("memory_embedding", READABLE, vector_of_own),
        ("memory_revision", revision_of_readable, revision_of_own),
    ):
        op.execute(f"SELECT ricordo.protect_store_table('{table}', $${readable}$$, $${own}$$)")
