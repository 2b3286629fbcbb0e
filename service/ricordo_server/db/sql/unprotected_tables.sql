-- Every table of ours that has a project, parent or partition, and is not as the walls need it: catalogue only.
SELECT c.relname AS name,
  CASE
    WHEN NOT (c.relrowsecurity AND c.relforcerowsecurity) THEN 'has no forced row-level security'
    WHEN c.relispartition THEN 'is a partition with a grant'
    ELSE 'has no policy for ricordo_app'
  END AS fault
FROM pg_class AS c
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'project_id' AND NOT a.attisdropped
WHERE c.relnamespace = 'ricordo'::regnamespace AND c.relkind IN ('r', 'p')
  AND (
    NOT (c.relrowsecurity AND c.relforcerowsecurity)
    OR (c.relispartition AND (
      has_table_privilege('ricordo_app', c.oid, 'SELECT, INSERT, UPDATE, DELETE')
      OR has_table_privilege('ricordo_text', c.oid, 'SELECT')))
    OR (NOT c.relispartition AND NOT EXISTS (
      SELECT FROM pg_policy AS p WHERE p.polrelid = c.oid AND p.polcmd = 'r' AND p.polname = 'app_select'))
  )
ORDER BY c.relname
