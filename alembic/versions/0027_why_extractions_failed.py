"""An extraction that failed keeps why, in words: operators of a project read it beside the class."""

from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE ricordo.extraction ADD COLUMN error text NOT NULL DEFAULT ''")
