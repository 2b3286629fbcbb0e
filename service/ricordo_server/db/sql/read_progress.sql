-- One row for each kind that was ever asked of the session: its watermark stands before the first run that is not done.
SELECT e.kind,
  coalesce(min(s.from_seq) FILTER (WHERE e.state <> 'DONE') - 1, max(s.to_seq)) AS extracted_seq,
  count(*) FILTER (WHERE e.state = 'PENDING') AS pending,
  count(*) FILTER (WHERE e.state = 'FAILED') AS failed,
  (array_agg(e.failure_class ORDER BY e.update_time DESC)
    FILTER (WHERE e.state <> 'DONE' AND e.failure_class IS NOT NULL))[1] AS last_failure_class
FROM ricordo.snapshot AS s
JOIN ricordo.extraction AS e ON e.project_id = s.project_id AND e.store_id = s.store_id AND e.snapshot_id = s.snapshot_id
WHERE s.project_id = %(project_id)s AND s.store_id = %(store_id)s AND s.scope_key = %(scope_key)s
  AND e.project_id = %(project_id)s AND e.store_id = %(store_id)s
GROUP BY e.kind
ORDER BY e.kind
