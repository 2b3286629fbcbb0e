"""A name for people, of a store."""

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE ricordo.store ADD COLUMN display_name text NOT NULL DEFAULT ''")
    op.execute("GRANT UPDATE (display_name) ON ricordo.store TO ricordo_app")
