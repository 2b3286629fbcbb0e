"""${message}

The previous release still runs while this revision is applied: it must work before, during and after. A revision
that makes a tenant table also makes its policies and grants (`ricordo.protect_*`). Revisions are frozen: they import
alembic and sqlalchemy only.
"""

from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}
