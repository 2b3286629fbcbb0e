"""Revisions that end, and what is said of them."""

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
ALTER TABLE ricordo.memory_revision
  ADD COLUMN revision_expire_time timestamptz,
  ADD COLUMN revision_labels jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN extracted_memories text[] NOT NULL DEFAULT '{}';
CREATE INDEX memory_revision_expire_time
  ON ricordo.memory_revision (project_id, store_id, revision_expire_time) WHERE revision_expire_time IS NOT NULL;
""")
