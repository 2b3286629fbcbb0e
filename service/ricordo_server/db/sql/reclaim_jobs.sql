-- One statement, so that a job is given back once however many workers look: those whose worker sends no heartbeat, and
-- those that run far longer than any may. A job that was lost with its worker too often is taken for the cause of it.
WITH lost AS (
  SELECT job.id, job.queue_name, job.task_name, job.args, coalesce(failure.lost_workers, 0) + 1 AS times
  FROM procrastinate.procrastinate_jobs AS job
  LEFT JOIN ricordo.job_failure AS failure ON failure.job_id = job.id
  WHERE job.status = 'doing' AND (
    job.worker_id IS NULL
    OR EXISTS (
      SELECT FROM procrastinate.procrastinate_workers AS worker
      WHERE worker.id = job.worker_id AND worker.last_heartbeat < now() - make_interval(secs => %(lease)s))
    OR (SELECT max(at) FROM procrastinate.procrastinate_events AS event
      WHERE event.job_id = job.id AND event.type = 'started') < now() - make_interval(secs => %(longest)s))
  FOR UPDATE OF job SKIP LOCKED
),
noted AS (
  INSERT INTO ricordo.job_failure (job_id, failure_class, error, lost_workers)
  SELECT id, 'TRANSIENT', 'lost with its worker', times FROM lost
  ON CONFLICT (job_id) DO UPDATE SET failure_class = excluded.failure_class, error = excluded.error,
    lost_workers = excluded.lost_workers, failure_time = now()
)
SELECT id, queue_name, task_name, args, times, times > %(most)s AS given_up, CASE
  WHEN times > %(most)s THEN procrastinate.procrastinate_finish_job_v1(id, 'failed', false)
  ELSE procrastinate.procrastinate_retry_job_v2(id, now(), NULL, NULL, NULL)
END
FROM lost
