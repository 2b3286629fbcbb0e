"""A session's children are found by an index."""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE INDEX session_parent ON ricordo.session (project_id, store_id, parent_session_id)")
