"""What a store has of its own, over the settings of its project."""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE ricordo.store ADD COLUMN settings jsonb NOT NULL DEFAULT '{}'")
    op.execute("GRANT UPDATE (settings) ON ricordo.store TO ricordo_app")
