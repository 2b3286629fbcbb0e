"""Deleted turns go out of everyone's kept answers in one pass, however many they are."""

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

# Ids of turns are UUIDs of the server's own, so they are found by their form: one look at each answer.
FORGET = """
CREATE FUNCTION ricordo.forget_answers_of_turns(turn_ids text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog
BEGIN ATOMIC
  UPDATE ricordo.idempotency SET answer = ''
  WHERE project_id = current_setting('ricordo.project_id')::uuid
    AND current_setting('ricordo.may_write')::boolean
    AND EXISTS (
      SELECT FROM regexp_matches(
        encode(answer, 'escape'), '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', 'g') AS found
      WHERE found[1] IN (SELECT unnest(turn_ids)));
END;
REVOKE ALL ON FUNCTION ricordo.forget_answers_of_turns FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ricordo.forget_answers_of_turns TO ricordo_app;
"""


def upgrade() -> None:
    op.execute(FORGET)
