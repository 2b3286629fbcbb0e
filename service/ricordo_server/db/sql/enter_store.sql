-- Travels in one pipeline with enter_project: resolves the store under the policy of `store`, and enters it.
SELECT s.store_id, s.name AS store_name, s.languages_in_use,
  coalesce(s.language, p.language, 'english') AS language,
  p.settings::text AS settings, p.limits, p.language AS project_language,
  active.model_id AS active_id, active.name AS active_name, active.dimension AS active_dimension,
  standby.model_id AS standby_id, standby.name AS standby_name, standby.dimension AS standby_dimension,
  set_config('ricordo.store_id', s.store_id::text, true) AS entered
FROM ricordo.store AS s
JOIN ricordo.project AS p ON p.project_id = s.project_id
JOIN ricordo.embedding_model AS active ON active.model_id = p.active_model_id
LEFT JOIN ricordo.embedding_model AS standby ON standby.model_id = p.standby_model_id
WHERE s.project_id = %(project_id)s AND s.name = %(name)s
