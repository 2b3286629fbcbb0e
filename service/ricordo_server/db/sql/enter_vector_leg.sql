-- The planner's own choice between graph and scan is not to be trusted: sorting is out, so the ordering takes HNSW.
SELECT
  set_config('hnsw.iterative_scan', 'strict_order', true),
  set_config('hnsw.ef_search', '200', true),
  set_config('enable_sort', 'off', true)
