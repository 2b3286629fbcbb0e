-- For `doctor`, on a connection without parameters: one row, whatever is in the queue.
SELECT
  count(*) FILTER (WHERE status = 'todo' AND due <= now()),
  coalesce(extract(epoch FROM now() - min(due) FILTER (WHERE status = 'todo' AND due <= now())), 0)::float8,
  count(*) FILTER (WHERE status = 'failed'),
  (SELECT count(*) FROM procrastinate.procrastinate_workers WHERE last_heartbeat > now() - interval '1 minute')
FROM procrastinate.procrastinate_jobs AS job
CROSS JOIN LATERAL (SELECT coalesce(job.scheduled_at, (
  SELECT min(at) FROM procrastinate.procrastinate_events AS event
  WHERE event.job_id = job.id AND event.type = 'deferred'), now()) AS due) AS time
WHERE status IN ('todo', 'failed')
