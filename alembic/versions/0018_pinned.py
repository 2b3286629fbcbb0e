"""Pinned memories, which no extraction changes."""

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("memory", "memory_revision"):
        op.execute(f"ALTER TABLE ricordo.{table} ADD COLUMN pinned boolean NOT NULL DEFAULT false")
