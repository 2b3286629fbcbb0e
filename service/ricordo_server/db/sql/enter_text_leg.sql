-- The query becomes a setting that the policy of ricordo_text reads, and the role is entered in the same statement.
-- The vector leg may have gone before, and left the planner without sorting.
SELECT
  set_config('ricordo.text_query', ricordo.text_query(%(query)s, %(languages)s), true),
  set_config('plan_cache_mode', 'force_custom_plan', true),
  set_config('enable_sort', 'on', true),
  set_config('role', 'ricordo_text', true)
