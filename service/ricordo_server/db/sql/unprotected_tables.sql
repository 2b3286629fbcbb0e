-- Every table of ours that has a project, parent or partition, and is not as the walls need it: catalogue only.
WITH found AS (
  SELECT c.oid, c.relname, c.relispartition, c.relrowsecurity AND c.relforcerowsecurity AS forced,
    EXISTS (
      SELECT FROM unnest(ARRAY['ricordo_app', 'ricordo_text']) AS role
      WHERE has_table_privilege(role, c.oid, 'SELECT, INSERT, UPDATE, DELETE')) AS granted,
    EXISTS (
      SELECT FROM unnest(ARRAY['ricordo_app', 'ricordo_text']) AS role
      WHERE has_table_privilege(role, c.oid, 'TRUNCATE, REFERENCES, TRIGGER')) AS granted_beyond_policies,
    EXISTS (
      SELECT FROM pg_policy AS p
      WHERE p.polrelid = c.oid AND p.polname = 'app_select' AND p.polcmd = 'r') AS readable,
    EXISTS (
      SELECT FROM pg_policy AS p, unnest(p.polroles) AS role
      WHERE p.polrelid = c.oid AND p.polpermissive
        AND p.polname NOT IN ('app_select', 'app_insert', 'app_update', 'app_delete', 'text_select')
        AND (role = 0 OR role IN ('ricordo_app'::regrole, 'ricordo_text'::regrole))) AS widened
  FROM pg_class AS c
  JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'project_id' AND NOT a.attisdropped
  WHERE c.relnamespace = 'ricordo'::regnamespace AND c.relkind IN ('r', 'p')
)
SELECT relname AS name, fault
FROM found, LATERAL (SELECT CASE
  WHEN NOT forced THEN 'has no forced row-level security'
  WHEN relispartition AND granted THEN 'is a partition with a grant'
  WHEN granted_beyond_policies THEN 'has a grant that passes by every policy'
  WHEN widened THEN 'has a policy that is none of ours'
  WHEN NOT relispartition AND NOT readable THEN 'has no policy for ricordo_app'
END AS fault) AS verdict
WHERE fault IS NOT NULL
ORDER BY relname
