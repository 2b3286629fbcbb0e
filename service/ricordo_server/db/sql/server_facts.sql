-- One row for the start-up checks: catalogue functions, no table of ours.
SELECT
  current_user::text AS "user",
  r.rolsuper AS superuser,
  r.rolbypassrls AS bypasses_rls,
  EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('ricordo') AND relowner = r.oid) AS owns_tables,
  pg_has_role(current_user, %(text_role)s, 'USAGE') AS inherits_text,
  current_setting('server_version_num')::integer AS version,
  (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector,
  EXISTS (
    SELECT FROM pg_class WHERE relnamespace = to_regnamespace('ricordo') AND relname = 'memory_revision') AS migrated,
  -- By oid: without the schema the answer is NULL, not an error.
  coalesce(has_schema_privilege(to_regnamespace('procrastinate')::oid, 'USAGE'), false) AS reaches_queue
FROM pg_roles AS r WHERE r.rolname = current_user
