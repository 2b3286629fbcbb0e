"""Sources say which turns were quoted together: what rests on several at once goes with any one of them."""

from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

# What is there already was kept turn by turn. The primary key comes last: see 0002.
GROUNDS = """
ALTER TABLE ricordo.memory_source ADD COLUMN ground text COLLATE "C" NOT NULL DEFAULT '';
UPDATE ricordo.memory_source SET ground = turn_id;
ALTER TABLE ricordo.memory_source DROP CONSTRAINT memory_source_pkey,
  ADD PRIMARY KEY (project_id, store_id, memory_id, revision, ground, turn_id);
"""


def upgrade() -> None:
    op.execute(GROUNDS)
