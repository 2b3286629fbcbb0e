"""The audit, and the erasure of a project or of an end user from every table."""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

# Who did what to what, or was denied it: ids and names of fields, never content.
AUDIT = """
CREATE TABLE ricordo.audit (
  project_id uuid NOT NULL,
  audit_id uuid NOT NULL,
  action text NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('DONE', 'DENIED')),
  principal_id text NOT NULL,
  user_id text NOT NULL,
  subject text NOT NULL,
  occurrences bigint NOT NULL,
  create_time timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (project_id, audit_id)
);
CREATE INDEX audit_create_time ON ricordo.audit (project_id, create_time, audit_id);
"""

# Whoever acts leaves a record in its own name, readers too; nobody but the owner changes one or takes it away. The
# operator's own acts stand under the nil project.
PROTECTION = """
SELECT ricordo.protect_project_table('audit', $$current_setting('ricordo.may_administer')::boolean$$);
CREATE POLICY app_insert ON ricordo.audit FOR INSERT TO ricordo_app WITH CHECK (
  project_id = current_setting('ricordo.project_id')::uuid
  AND principal_id = ANY (current_setting('ricordo.principal_ids')::text[]));
GRANT INSERT ON ricordo.audit TO ricordo_app;
CREATE POLICY operator_select ON ricordo.audit FOR SELECT TO ricordo_operator
  USING (project_id = '00000000-0000-0000-0000-000000000000');
CREATE POLICY operator_insert ON ricordo.audit FOR INSERT TO ricordo_operator
  WITH CHECK (project_id = '00000000-0000-0000-0000-000000000000');
GRANT SELECT, INSERT ON ricordo.audit TO ricordo_operator;
"""

# From the catalogue, so that a table of a later revision is erased too. What hangs on other rows comes first, so that
# it is counted; a project's request ids and audit come after its stores, whose rows make writers under way wait or
# fail.
TABLES = """
CREATE FUNCTION ricordo.tables_to_erase(column_name text) RETURNS TABLE (name text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  WITH RECURSIVE known AS (
    SELECT c.oid, c.relname FROM pg_class c
    WHERE c.relnamespace = 'ricordo'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'project_id')
  ),
  hanging (oid, depth) AS (
    SELECT oid, 0 FROM known
    UNION
    SELECT k.conrelid, hanging.depth + 1
    FROM hanging JOIN pg_constraint k ON k.confrelid = hanging.oid AND k.contype = 'f' AND k.conrelid <> k.confrelid
    JOIN known ON known.oid = k.conrelid
    WHERE hanging.depth < 100
  )
  SELECT known.relname::text FROM known JOIN hanging USING (oid)
  WHERE EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = known.oid AND a.attname = column_name)
  GROUP BY known.oid, known.relname
  ORDER BY max(hanging.depth) DESC, known.relname = 'project', known.relname;
END;

CREATE FUNCTION ricordo.erase_from(name text, condition text, key anyelement, really boolean) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  count bigint;
BEGIN
  IF really THEN
    EXECUTE format('DELETE FROM %s WHERE %s', name::regclass, condition) USING key;
    GET DIAGNOSTICS count = ROW_COUNT;
  ELSE
    EXECUTE format('SELECT count(*) FROM %s WHERE %s', name::regclass, condition) USING key INTO count;
  END IF;
  RETURN count;
END
$function$;
REVOKE ALL ON FUNCTION ricordo.tables_to_erase, ricordo.erase_from FROM PUBLIC;
"""

# As the owner, for the operator alone, who sees none of these tables: it learns how many rows there are.
ERASE_PROJECT = """
CREATE FUNCTION ricordo.erase_project(erased uuid, really boolean) RETURNS TABLE (table_name text, row_count bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  PERFORM FROM ricordo.project WHERE project_id = erased FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  FOR table_name IN SELECT name FROM ricordo.tables_to_erase('project_id') LOOP
    row_count := ricordo.erase_from('ricordo.' || table_name, 'project_id = $1', erased, really);
    RETURN NEXT;
  END LOOP;
  table_name := 'job';
  row_count := ricordo.erase_from(
    'procrastinate.procrastinate_jobs', 'queue_name = $1', erased::text, really);
  RETURN NEXT;
END
$function$;
REVOKE ALL ON FUNCTION ricordo.erase_project FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ricordo.erase_project TO ricordo_operator;
"""

# As the owner, for an administrator of the project that the transaction has entered. Of the audit the record stays
# and the user's id goes. An answer that is kept for a repeat is emptied when it names the user: there, as in every
# protobuf message, a text stands behind its length. A job goes when its arguments name the user, its failure with it.
ERASE_USER = """
CREATE FUNCTION ricordo.erase_user(erased text, really boolean) RETURNS TABLE (table_name text, row_count bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  here CONSTANT uuid := current_setting('ricordo.project_id')::uuid;
  of_user CONSTANT text := format('project_id = %L AND user_id = $1', here);
  of_principal CONSTANT text := format('project_id = %L AND principal_id = ANY ($1)', here);
  in_job CONSTANT text := format('queue_name = %L AND position($1 IN args::text) > 0', here);
  principals CONSTANT text[] := ARRAY[erased, 'user:' || erased];
  in_answer CONSTANT bytea := CASE WHEN octet_length(erased) < 128
    THEN set_byte('\\x00'::bytea, 0, octet_length(erased)) ELSE ''::bytea END || convert_to(erased, 'UTF8');
BEGIN
  IF NOT current_setting('ricordo.may_administer')::boolean THEN
    RAISE insufficient_privilege;
  END IF;
  FOR table_name IN SELECT name FROM ricordo.tables_to_erase('user_id') WHERE name <> 'audit' LOOP
    row_count := ricordo.erase_from('ricordo.' || table_name, of_user, erased, really);
    RETURN NEXT;
  END LOOP;
  table_name := 'store_grant';
  row_count := ricordo.erase_from('ricordo.store_grant', of_principal, principals, really);
  RETURN NEXT;
  table_name := 'job';
  row_count := ricordo.erase_from('procrastinate.procrastinate_jobs', in_job, to_json(erased)::text, really);
  RETURN NEXT;
  IF really THEN
    UPDATE ricordo.idempotency SET answer = '' WHERE project_id = here AND position(in_answer IN answer) > 0;
    UPDATE ricordo.audit SET
      user_id = CASE WHEN user_id = erased THEN 'erased' ELSE user_id END,
      principal_id = CASE WHEN principal_id = ANY (principals) THEN 'erased' ELSE principal_id END,
      subject = CASE WHEN position(erased IN subject) > 0 THEN 'erased' ELSE subject END
    WHERE project_id = here
      AND (user_id = erased OR principal_id = ANY (principals) OR position(erased IN subject) > 0);
  END IF;
END
$function$;
REVOKE ALL ON FUNCTION ricordo.erase_user FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ricordo.erase_user TO ricordo_app;
"""


def upgrade() -> None:
    for statement in (AUDIT, PROTECTION, TABLES, ERASE_PROJECT, ERASE_USER):
        op.execute(statement)
