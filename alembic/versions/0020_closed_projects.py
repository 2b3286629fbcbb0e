"""A project is deleted batch by batch, however large it is: closed first, so that nothing new comes in."""

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

# How many rows of which table are gone already: for the receipt, whoever finishes.
COLUMNS = """
ALTER TABLE ricordo.project ADD COLUMN close_time timestamptz, ADD COLUMN erased_rows jsonb NOT NULL DEFAULT '{}';
"""

# As the owner, for the operator alone. All rows of a project are in one partition of a table, where a ctid names one.
ERASE_ROWS = """
CREATE FUNCTION ricordo.erase_project_rows(erased uuid, most bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  total bigint := 0;
  count bigint;
  name text;
  condition text;
BEGIN
  PERFORM FROM ricordo.project WHERE project_id = erased AND close_time IS NOT NULL FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  FOR name, condition IN
    SELECT 'ricordo.' || t.name, 'project_id = $1' FROM ricordo.tables_to_erase('project_id') AS t
    WHERE t.name <> 'project'
    UNION ALL SELECT 'procrastinate.procrastinate_jobs', 'queue_name = $1::text'
  LOOP
    EXECUTE format('DELETE FROM %1$s WHERE %2$s AND ctid = ANY (ARRAY(SELECT ctid FROM %1$s WHERE %2$s LIMIT $2))',
                   name::regclass, condition) USING erased, most - total;
    GET DIAGNOSTICS count = ROW_COUNT;
    CONTINUE WHEN count = 0;
    total := total + count;
    name := CASE name WHEN 'procrastinate.procrastinate_jobs' THEN 'job' ELSE split_part(name, '.', 2) END;
    UPDATE ricordo.project
    SET erased_rows = erased_rows || jsonb_build_object(name, coalesce((erased_rows->>name)::bigint, 0) + count)
    WHERE project_id = erased;
    EXIT WHEN total >= most;
  END LOOP;
  RETURN total;
END
$function$;
REVOKE ALL ON FUNCTION ricordo.erase_project_rows FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ricordo.erase_project_rows TO ricordo_operator;
"""

# As in 0013; what batches before have removed counts too.
ERASE_PROJECT = """
CREATE OR REPLACE FUNCTION ricordo.erase_project(erased uuid, really boolean)
RETURNS TABLE (table_name text, row_count bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  before jsonb;
BEGIN
  SELECT erased_rows INTO before FROM ricordo.project WHERE project_id = erased FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  FOR table_name IN SELECT name FROM ricordo.tables_to_erase('project_id') LOOP
    row_count := ricordo.erase_from('ricordo.' || table_name, 'project_id = $1', erased, really)
      + coalesce((before->>table_name)::bigint, 0);
    RETURN NEXT;
  END LOOP;
  table_name := 'job';
  row_count := ricordo.erase_from('procrastinate.procrastinate_jobs', 'queue_name = $1', erased::text, really)
    + coalesce((before->>table_name)::bigint, 0);
  RETURN NEXT;
END
$function$;
"""


def upgrade() -> None:
    for statement in (COLUMNS, ERASE_ROWS, ERASE_PROJECT):
        op.execute(statement)
