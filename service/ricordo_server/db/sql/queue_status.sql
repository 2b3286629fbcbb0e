-- One row for each project with jobs, and one for all: those with most jobs waiting first.
SELECT
  grouping(job.queue_name) = 1 AS is_total,
  job.queue_name,
  count(*) FILTER (WHERE job.status = 'todo' AND is_due) AS waiting,
  count(*) FILTER (WHERE job.status = 'todo' AND NOT is_due) AS scheduled,
  count(*) FILTER (WHERE job.status = 'doing') AS running,
  count(*) FILTER (WHERE job.status = 'failed') AS failed,
  min(due.time) FILTER (WHERE job.status = 'todo' AND is_due) AS oldest_due_time,
  (array_agg(failure.failure_class ORDER BY failure.failure_time DESC)
    FILTER (WHERE failure.job_id IS NOT NULL))[1] AS last_failure_class
FROM procrastinate.procrastinate_jobs AS job
LEFT JOIN ricordo.job_failure AS failure ON failure.job_id = job.id
CROSS JOIN LATERAL (SELECT coalesce(job.scheduled_at, (
  SELECT min(at) FROM procrastinate.procrastinate_events AS event
  WHERE event.job_id = job.id AND event.type = 'deferred'), now()) AS time) AS due
CROSS JOIN LATERAL (SELECT due.time <= now() AS is_due) AS verdict
WHERE job.status IN ('todo', 'doing', 'failed') AND (%(queue)s::text IS NULL OR job.queue_name = %(queue)s::text)
GROUP BY GROUPING SETS ((), (job.queue_name))
ORDER BY is_total DESC, waiting DESC, failed DESC, job.queue_name
LIMIT %(rows)s
