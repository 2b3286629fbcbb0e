"""Values of declared metadata keys, where an index serves filters on them."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

# No operator of jsonb is leakproof, so under row-level security none may use an index; of text in the collation "C"
# they all are, and every type has a form there that sorts as its values do. Owner and visibility are copied, so that
# the policy asks no other table. The primary key comes last: see 0002.
TABLE = """
CREATE TABLE ricordo.memory_attribute (
  project_id uuid NOT NULL,
  store_id uuid NOT NULL,
  memory_id text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  user_id text COLLATE "C",
  visibility text NOT NULL,
  FOREIGN KEY (project_id, store_id, memory_id) REFERENCES ricordo.memory ON DELETE CASCADE
) PARTITION BY HASH (project_id);
CREATE INDEX memory_attribute_value ON ricordo.memory_attribute (project_id, store_id, key, value)
  INCLUDE (memory_id, user_id, visibility);
ALTER TABLE ricordo.memory_attribute ADD PRIMARY KEY (project_id, store_id, memory_id, key);
"""

READABLE = "visibility = 'PROJECT' OR user_id = ANY (current_setting('ricordo.user_ids')::text[])"
OWN = "user_id = ANY (current_setting('ricordo.user_ids')::text[])"

# As vectors do: a foreign-key check bypasses row-level security, so a value asks for its memory under the writer's
# own policy.
OF_OWN_MEMORY = f"""{OWN} AND EXISTS (SELECT FROM ricordo.memory
  WHERE memory.project_id = memory_attribute.project_id AND memory.store_id = memory_attribute.store_id
  AND memory.memory_id = memory_attribute.memory_id AND memory.{OWN})"""


# As many partitions as memories have.
PARTITIONS = """
SELECT ricordo.partition_table('memory_attribute', count(*)::integer)
FROM pg_inherits WHERE inhparent = 'ricordo.memory'::regclass
"""


def upgrade() -> None:
    op.execute(TABLE)
    op.execute(PARTITIONS)
    op.execute(f"SELECT ricordo.protect_store_table('memory_attribute', $${READABLE}$$, $${OF_OWN_MEMORY}$$)")
