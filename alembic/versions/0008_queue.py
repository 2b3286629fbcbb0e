"""The job queue: the rest of procrastinate's schema, who may use it, and the one way in for the server."""

from importlib import resources

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

# See 0007. A later release's files belong to a later revision, with the grants below anew.
FILES = """
02.08.00_01_add_additional_params_to_retry_job.sql
02.14.01_01_add_indexes_for_fetch_job.sql
03.00.00_01_pre_cancel_notification.sql
03.00.00_50_post_cancel_notification.sql
03.01.00_01_pre_add_heartbeat.sql
03.01.00_50_post_add_heartbeat.sql
03.02.00_01_pre_batch_defer_jobs.sql
03.02.00_50_post_batch_defer_jobs.sql
03.03.00_01_pre_priority_lock_fetch_job.sql
03.04.00_01_pre_add_retry_failed_job_procedure.sql
03.04.00_50_post_add_retry_failed_job_procedure.sql
"""

# The operator runs workers. The server's role gets no right at all, not even to see the schema.
GRANTS = """
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA procrastinate FROM PUBLIC;
GRANT USAGE ON SCHEMA procrastinate TO ricordo_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA procrastinate TO ricordo_operator;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA procrastinate TO ricordo_operator;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA procrastinate TO ricordo_operator;
"""

# The functions name tables without their schema: each gets its own path, so that nobody's session has to bring one.
PATHS = """
DO $do$
DECLARE
  each regprocedure;
BEGIN
  FOR each IN SELECT oid FROM pg_proc WHERE pronamespace = 'procrastinate'::regnamespace LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = procrastinate, pg_catalog, pg_temp', each);
  END LOOP;
END
$do$;
"""

# What is due of one project is counted for each job that is deferred.
DUE = """
CREATE INDEX ricordo_due_jobs ON procrastinate.procrastinate_jobs (queue_name, coalesce(scheduled_at, '-infinity'))
  WHERE status = 'todo';
"""

# Defers inside the caller's transaction, in the queue of the project it has entered: it acts as the owner, so that
# the server can neither read the queue nor name another project. The more of a project's jobs are due, the later
# comes its next one, so that projects take turns; a thousand deep is deep enough to tell. Locks are the project's.
DEFER_JOB = """
CREATE FUNCTION ricordo.defer_job(
  task text, arguments jsonb, job_lock text, start_time timestamptz, job_priority integer, unless_waiting boolean)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = procrastinate, pg_catalog, pg_temp AS $function$
DECLARE
  project CONSTANT text := current_setting('ricordo.project_id')::uuid;
  own_lock CONSTANT text := project || ':' || job_lock;
  due integer;
BEGIN
  IF octet_length(arguments::text) > 4096 THEN
    RAISE 'the arguments of a job are ids: % bytes are too many', octet_length(arguments::text);
  END IF;
  IF unless_waiting AND EXISTS (SELECT FROM procrastinate_jobs
    WHERE queue_name = project AND status = 'todo' AND task_name = task AND lock IS NOT DISTINCT FROM own_lock)
  THEN
    RETURN false;
  END IF;
  SELECT count(*) INTO due FROM (SELECT FROM procrastinate_jobs
    WHERE queue_name = project AND status = 'todo' AND coalesce(scheduled_at, '-infinity') <= now()
    LIMIT 1000) AS waiting;
  PERFORM procrastinate_defer_jobs_v1(ARRAY[
    ROW(project, task, job_priority - due, own_lock, NULL, arguments, start_time)::procrastinate_job_to_defer_v1]);
  RETURN true;
END
$function$;
REVOKE ALL ON FUNCTION ricordo.defer_job FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ricordo.defer_job TO ricordo_app;
"""

# Why a job's last attempt failed, for the operator; gone with the job.
FAILURES = """
CREATE TABLE ricordo.job_failure (
  job_id bigint PRIMARY KEY REFERENCES procrastinate.procrastinate_jobs ON DELETE CASCADE,
  failure_class text NOT NULL,
  error text NOT NULL,
  lost_workers integer NOT NULL DEFAULT 0,
  failure_time timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, UPDATE, DELETE ON ricordo.job_failure TO ricordo_operator;
"""

# Housekeeping. Autovacuum never analyses a partitioned parent, and only its owner may.
ANALYZE = """
CREATE FUNCTION ricordo.analyze_parent(name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_class
    WHERE relname = name AND relnamespace = 'ricordo'::regnamespace AND relkind = 'p') THEN
    RAISE 'ricordo.% is no partitioned table', name;
  END IF;
  EXECUTE format('ANALYZE ricordo.%I', name);
END
$function$;
REVOKE ALL ON FUNCTION ricordo.analyze_parent FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ricordo.analyze_parent TO ricordo_operator;
GRANT DELETE ON ricordo.idempotency TO ricordo_operator;
"""


def upgrade() -> None:
    op.execute("SET LOCAL search_path TO procrastinate, pg_catalog")
    folder = resources.files("procrastinate.sql.migrations")
    for name in FILES.split():
        op.execute((folder / name).read_text(encoding="utf-8"))
    op.execute("SET LOCAL search_path TO DEFAULT")
    for statement in (GRANTS, PATHS, DUE, DEFER_JOB, FAILURES, ANALYZE):
        op.execute(statement)
