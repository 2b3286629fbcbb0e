"""Sessions, their turns, and the turns' embeddings."""

from alembic import context, op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# Primary keys come after the other indexes: on tables not yet analysed the planner's costs tie, and the index made
# last wins. A foreign key would otherwise be checked by reading all rows of the store, so that a first import would
# grow quadratically.
TABLES = """
CREATE TABLE ricordo.session (
  project_id uuid NOT NULL,
  store_id uuid NOT NULL,
  scope_key text COLLATE "C" NOT NULL,
  user_id text COLLATE "C",
  session_id text COLLATE "C" NOT NULL,
  labels jsonb NOT NULL DEFAULT '{}',
  parent_session_id text NOT NULL DEFAULT '',
  root_session_id text NOT NULL,
  metadata jsonb NOT NULL DEFAULT '{}',
  next_seq bigint NOT NULL DEFAULT 1,
  promotion_pending boolean NOT NULL DEFAULT false,
  create_time timestamptz NOT NULL DEFAULT now(),
  update_time timestamptz NOT NULL DEFAULT now(),
  last_activity_time timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (project_id, store_id) REFERENCES ricordo.store ON DELETE CASCADE
);
CREATE INDEX session_activity ON ricordo.session (project_id, store_id, last_activity_time);
ALTER TABLE ricordo.session ADD PRIMARY KEY (project_id, store_id, scope_key);

CREATE TABLE ricordo.turn (
  project_id uuid NOT NULL,
  store_id uuid NOT NULL,
  turn_id text COLLATE "C" NOT NULL,
  scope_key text COLLATE "C" NOT NULL,
  user_id text COLLATE "C",
  session_id text COLLATE "C" NOT NULL,
  labels jsonb NOT NULL DEFAULT '{}',
  turn_seq bigint NOT NULL,
  role text NOT NULL,
  content text NOT NULL,
  tool_calls jsonb NOT NULL DEFAULT '[]',
  tool_call_id text NOT NULL DEFAULT '',
  tool_name text NOT NULL DEFAULT '',
  is_error boolean NOT NULL DEFAULT false,
  model_name text NOT NULL DEFAULT '',
  data_json text NOT NULL DEFAULT '',
  metadata jsonb NOT NULL DEFAULT '{}',
  agent_id text COLLATE "C" NOT NULL DEFAULT '',
  idempotency_key text COLLATE "C",
  event_time timestamptz NOT NULL,
  create_time timestamptz NOT NULL,
  language text NOT NULL,
  tsv tsvector GENERATED ALWAYS AS
    (to_tsvector(ricordo.text_config(language), ricordo.search_text(content))) STORED,
  UNIQUE (project_id, store_id, scope_key, turn_seq),
  FOREIGN KEY (project_id, store_id, scope_key) REFERENCES ricordo.session ON DELETE CASCADE
) PARTITION BY HASH (project_id);
CREATE UNIQUE INDEX turn_idempotency_key ON ricordo.turn (project_id, store_id, scope_key, idempotency_key)
  WHERE idempotency_key IS NOT NULL;
CREATE INDEX turn_create_time ON ricordo.turn (project_id, store_id, create_time, turn_seq, turn_id);
CREATE INDEX turn_user ON ricordo.turn (project_id, store_id, user_id, create_time);
CREATE INDEX turn_tsv ON ricordo.turn USING gin (tsv);
ALTER TABLE ricordo.turn ADD PRIMARY KEY (project_id, store_id, turn_id);

CREATE TABLE ricordo.turn_embedding (
  project_id uuid NOT NULL,
  store_id uuid NOT NULL,
  turn_id text COLLATE "C" NOT NULL,
  model_id integer NOT NULL,
  chunk_no integer NOT NULL,
  user_id text COLLATE "C",
  embedding halfvec NOT NULL,
  PRIMARY KEY (project_id, store_id, turn_id, model_id, chunk_no),
  FOREIGN KEY (project_id, store_id, turn_id) REFERENCES ricordo.turn ON DELETE CASCADE
) PARTITION BY HASH (project_id);
"""


OWN = "user_id = ANY (current_setting('ricordo.user_ids')::text[])"

# A foreign-key check bypasses row-level security, so what hangs on a row asks for it under the writer's own policy:
# without it a bound user could put turns into another's session, and vectors on another's turns.
IN_OWN_SESSION = f"""{OWN} AND EXISTS (SELECT FROM ricordo.session WHERE
  session.project_id = turn.project_id AND session.store_id = turn.store_id AND session.scope_key = turn.scope_key)"""
OF_OWN_TURN = f"""{OWN} AND EXISTS (SELECT FROM ricordo.turn WHERE
  turn.project_id = turn_embedding.project_id AND turn.store_id = turn_embedding.store_id
  AND turn.turn_id = turn_embedding.turn_id)"""


def upgrade() -> None:
    op.execute(TABLES)
    count = int(context.config.attributes["partitions"])
    op.execute(
        f"SELECT ricordo.partition_table('turn', {count}), ricordo.partition_table('turn_embedding', {count})"
    )
    for table, own in (("session", OWN), ("turn", IN_OWN_SESSION), ("turn_embedding", OF_OWN_TURN)):
        op.execute(f"SELECT ricordo.protect_store_table('{table}', $${OWN}$$, $${own}$$)")
