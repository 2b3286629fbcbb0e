"""A session's children are found by an index."""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

# The parent comes first: beginning with the tenant, this index would be taken for the checks of foreign keys in place
# of the primary key (see 0002).
INDEX = "CREATE INDEX session_parent ON ricordo.session (parent_session_id, project_id, store_id)"


def upgrade() -> None:
    op.execute(INDEX)
