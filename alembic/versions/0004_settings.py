"""A project's settings, which its administrators change while it serves."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

# One document: it is read whole in the statement that enters a store, and nothing else looks into it.
COLUMNS = """
ALTER TABLE ricordo.project
  ADD COLUMN settings jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN revision bigint NOT NULL DEFAULT 1;
"""

# The name of a project stays the operator's. An end user changes no settings; which service may is the server's rule.
RIGHTS = """
CREATE POLICY app_update ON ricordo.project FOR UPDATE TO ricordo_app USING (
  project_id = current_setting('ricordo.project_id')::uuid AND (current_setting('ricordo.any_user')::boolean));
GRANT UPDATE (language, settings, revision, update_time) ON ricordo.project TO ricordo_app;
"""

# Whoever writes metadata keeps the settings as they are until its transaction ends, so that no value gets past a
# declaration. A row is locked by whom may update it, which an end user may not: so this acts as the owner, on the
# one project that the transaction has entered.
HOLD_SETTINGS = """
CREATE FUNCTION ricordo.hold_settings() RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog
BEGIN ATOMIC
  SELECT settings::text FROM ricordo.project
  WHERE project_id = current_setting('ricordo.project_id')::uuid
  FOR SHARE;
END;
REVOKE ALL ON FUNCTION ricordo.hold_settings FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ricordo.hold_settings TO ricordo_app;
"""


def upgrade() -> None:
    for statement in (COLUMNS, RIGHTS, HOLD_SETTINGS):
        op.execute(statement)
