-- Travels in one pipeline with enter_project: resolves the store under the policy of `store`, and enters it. What the
-- principal may do there is found here and set for the policies, so that no code decides it. A restricted store is
-- seen by its creator, by administrators and by who has a grant; of these, only the grant may be for reading alone.
SELECT s.store_id, s.name AS store_name, s.languages_in_use,
  coalesce(s.language, p.language, 'english') AS language,
  p.settings::text AS settings, p.limits, p.language AS project_language,
  s.settings::text AS store_settings, s.language AS store_language,
  active.model_id AS active_id, active.name AS active_name, active.dimension AS active_dimension,
  standby.model_id AS standby_id, standby.name AS standby_name, standby.dimension AS standby_dimension,
  set_config('ricordo.store_id', s.store_id::text, true) AS entered,
  set_config('ricordo.store_writable', may.write::text, true)::boolean AS may_write,
  set_config('ricordo.may_publish', may.publish::text, true)::boolean AS may_publish
FROM ricordo.store AS s
JOIN ricordo.project AS p ON p.project_id = s.project_id
JOIN ricordo.embedding_model AS active ON active.model_id = p.active_model_id
LEFT JOIN ricordo.embedding_model AS standby ON standby.model_id = p.standby_model_id
CROSS JOIN LATERAL (SELECT
  current_setting('ricordo.may_write')::boolean AND (
    s.access = 'OPEN' OR s.creator_id = %(principal_id)s OR current_setting('ricordo.may_administer')::boolean OR EXISTS (
      SELECT FROM ricordo.store_grant AS g
      WHERE g.project_id = s.project_id AND g.store_id = s.store_id AND g.principal_id = %(principal_id)s
        AND g.access = 'WRITE')) AS write,
  current_setting('ricordo.any_user')::boolean
    OR coalesce((p.settings->>'end_users_may_publish')::boolean, false) AS publish
) AS may
WHERE s.project_id = %(project_id)s AND s.name = %(name)s AND p.close_time IS NULL
