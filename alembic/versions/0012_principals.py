"""What a principal may do, and who may use a store: new walls for every table, and grants."""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

TENANT_PROJECT = "project_id = current_setting('ricordo.project_id')::uuid"

# As before, and a write asks for the role too. Repeated on a table that is protected already, this replaces its
# policies.
PROTECT_PROJECT_TABLE = f"""
CREATE OR REPLACE FUNCTION ricordo.protect_project_table(
  name text, readable text DEFAULT 'true', writable text DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  tenant CONSTANT text := $sql${TENANT_PROJECT}$sql$;
  may_read text := format('%s AND (%s)', tenant, readable);
  may_write text := format('%s AND current_setting(''ricordo.may_write'')::boolean AND (%s)', tenant, writable);
BEGIN
  PERFORM ricordo.drop_policies(name);
  EXECUTE format('ALTER TABLE ricordo.%I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
  EXECUTE format('CREATE POLICY owner_all ON ricordo.%I TO ricordo_owner USING (true) WITH CHECK (true)', name);
  EXECUTE format('CREATE POLICY app_select ON ricordo.%I FOR SELECT TO ricordo_app USING (%s)', name, may_read);
  EXECUTE format('GRANT SELECT ON ricordo.%I TO ricordo_app', name);
  IF writable IS NOT NULL THEN
    EXECUTE format('CREATE POLICY app_insert ON ricordo.%I FOR INSERT TO ricordo_app WITH CHECK (%s)',
                   name, may_write);
    EXECUTE format('CREATE POLICY app_update ON ricordo.%I FOR UPDATE TO ricordo_app USING (%s) WITH CHECK (%s)',
                   name, may_write, may_write);
    EXECUTE format('CREATE POLICY app_delete ON ricordo.%I FOR DELETE TO ricordo_app USING (%s)', name, may_write);
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON ricordo.%I TO ricordo_app', name);
  END IF;
END
$function$
"""

# `store_writable` is what enter_store found in the database: the role, and for a restricted store the grant.
# A table with a visibility keeps, of those who may not publish, only what is private. What is stored may be taken
# back by its owner, so USING does not ask.
PROTECT_STORE_TABLE = f"""
CREATE OR REPLACE FUNCTION ricordo.protect_store_table(name text, readable text, own text) RETURNS void
LANGUAGE plpgsql AS $function$
DECLARE
  tenant CONSTANT text := $sql${TENANT_PROJECT} AND store_id = current_setting('ricordo.store_id')::uuid$sql$;
  may_read text := format('%s AND (current_setting(''ricordo.any_user'')::boolean OR %s)', tenant, readable);
  may_write text := format('%s AND current_setting(''ricordo.store_writable'')::boolean '
                           'AND (current_setting(''ricordo.any_user'')::boolean OR %s)', tenant, own);
  may_keep text := may_write;
  part regclass;
BEGIN
  IF ricordo.has_column(name, 'visibility') THEN
    may_keep := may_write
      || ' AND (visibility = ''PRIVATE'' OR current_setting(''ricordo.may_publish'')::boolean)';
  END IF;
  PERFORM ricordo.drop_policies(name);
  EXECUTE format('ALTER TABLE ricordo.%I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
  EXECUTE format('CREATE POLICY owner_all ON ricordo.%I TO ricordo_owner USING (true) WITH CHECK (true)', name);
  EXECUTE format('CREATE POLICY app_select ON ricordo.%I FOR SELECT TO ricordo_app USING (%s)', name, may_read);
  EXECUTE format('CREATE POLICY app_insert ON ricordo.%I FOR INSERT TO ricordo_app WITH CHECK (%s)', name, may_keep);
  EXECUTE format('CREATE POLICY app_update ON ricordo.%I FOR UPDATE TO ricordo_app USING (%s) WITH CHECK (%s)',
                 name, may_write, may_keep);
  EXECUTE format('CREATE POLICY app_delete ON ricordo.%I FOR DELETE TO ricordo_app USING (%s)', name, may_write);
  EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ricordo.%I TO ricordo_app', name);
  IF ricordo.has_column(name, 'tsv') THEN
    -- The text query is part of the policy, so the GIN index may serve it: @@ is not leakproof and would otherwise
    -- have to wait behind the policy.
    EXECUTE format('CREATE POLICY text_select ON ricordo.%I FOR SELECT TO ricordo_text USING '
                   '(%s AND tsv @@ current_setting(''ricordo.text_query'')::tsquery)', name, may_read);
    EXECUTE format('GRANT SELECT ON ricordo.%I TO ricordo_text', name);
  END IF;
  FOR part IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = format('ricordo.%I', name)::regclass LOOP
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', part);
  END LOOP;
END
$function$
"""

# The operator's policies are no business of these functions, and stay.
TOOLS = """
CREATE FUNCTION ricordo.has_column(name text, column_name text) RETURNS boolean
LANGUAGE sql STABLE
RETURN EXISTS (SELECT FROM pg_attribute
  WHERE attrelid = format('ricordo.%I', name)::regclass AND attname = column_name AND NOT attisdropped);

CREATE FUNCTION ricordo.drop_policies(name text) RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  policy name;
BEGIN
  FOR policy IN SELECT polname FROM pg_policy WHERE polrelid = format('ricordo.%I', name)::regclass
    AND polname IN ('owner_all', 'app_select', 'app_insert', 'app_update', 'app_delete', 'text_select') LOOP
    EXECUTE format('DROP POLICY %I ON ricordo.%I', policy, name);
  END LOOP;
END
$function$;
REVOKE ALL ON FUNCTION ricordo.has_column, ricordo.drop_policies FROM PUBLIC;
"""

# The creator stands in the grant too, and the foreign key holds it to the store's: so the policy of grants need not
# ask the store, whose own policy asks the grants.
STORES = """
ALTER TABLE ricordo.store ADD COLUMN access text NOT NULL DEFAULT 'OPEN' CHECK (access IN ('OPEN', 'RESTRICTED'));
ALTER TABLE ricordo.store ADD UNIQUE (project_id, store_id, creator_id);

CREATE TABLE ricordo.store_grant (
  project_id uuid NOT NULL,
  store_id uuid NOT NULL,
  principal_id text COLLATE "C" NOT NULL,
  store_creator_id text NOT NULL,
  access text NOT NULL CHECK (access IN ('READ', 'WRITE')),
  create_time timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, store_id, principal_id),
  FOREIGN KEY (project_id, store_id, store_creator_id)
    REFERENCES ricordo.store (project_id, store_id, creator_id) ON DELETE CASCADE
);
"""

# Settings of the principal are arrays where they name something: of the empty string the cast makes an error.
ANY_USER = "current_setting('ricordo.any_user')::boolean"
ADMIN = "current_setting('ricordo.may_administer')::boolean"
PRINCIPAL = "ANY (current_setting('ricordo.principal_ids')::text[])"
OWN = "user_id = ANY (current_setting('ricordo.user_ids')::text[])"
READABLE = f"visibility = 'PROJECT' OR {OWN}"

# Whoever may change a store may not do so to one it could not change any more.
MANAGED = f"access = 'OPEN' OR creator_id = {PRINCIPAL} OR {ADMIN}"
GRANTED = f"""EXISTS (SELECT FROM ricordo.store_grant WHERE store_grant.project_id = store.project_id
  AND store_grant.store_id = store.store_id AND store_grant.principal_id = {PRINCIPAL})"""
OF_MANAGED_STORE = f"store_creator_id = {PRINCIPAL} OR {ADMIN}"
# Answers are the principal's own: they may hold rows of a store that others may not enter.
OWN_REQUEST = f"principal_id = {PRINCIPAL} AND ({ANY_USER} OR {OWN})"

PROJECT_TABLES = {
    "store": (f"{MANAGED} OR {GRANTED}", f"{ANY_USER} AND ({MANAGED})"),
    "store_grant": (
        f"principal_id = {PRINCIPAL} OR {OF_MANAGED_STORE}",
        f"{ANY_USER} AND ({OF_MANAGED_STORE})",
    ),
    "idempotency": (OWN_REQUEST, OWN_REQUEST),
    "service_account": (ANY_USER, ADMIN),
    "service_account_secret": (ANY_USER, ADMIN),
}

# Of a store its description changes, never its name or its creator, whose own a new store is; of a grant the access.
RIGHTS = f"""
ALTER POLICY app_insert ON ricordo.store WITH CHECK ({TENANT_PROJECT}
  AND current_setting('ricordo.may_write')::boolean AND {ANY_USER} AND creator_id = {PRINCIPAL});
REVOKE UPDATE ON ricordo.store, ricordo.store_grant FROM ricordo_app;
GRANT UPDATE (description, language, access, update_time) ON ricordo.store TO ricordo_app;
GRANT UPDATE (access) ON ricordo.store_grant TO ricordo_app;
ALTER POLICY app_update ON ricordo.project USING ({TENANT_PROJECT} AND {ADMIN});
"""

# See 0002, 0003, 0005 and 0009: what hangs on a row asks for it under the writer's own policy.
IN_OWN_SESSION = f"""{OWN} AND EXISTS (SELECT FROM ricordo.session WHERE
  session.project_id = turn.project_id AND session.store_id = turn.store_id AND session.scope_key = turn.scope_key)"""
OF_OWN_TURN = f"""{OWN} AND EXISTS (SELECT FROM ricordo.turn WHERE
  turn.project_id = turn_embedding.project_id AND turn.store_id = turn_embedding.store_id
  AND turn.turn_id = turn_embedding.turn_id)"""
OF_MEMORY = """EXISTS (SELECT FROM ricordo.memory WHERE memory.project_id = {table}.project_id
  AND memory.store_id = {table}.store_id AND memory.memory_id = {table}.memory_id{own})"""


def _of_own_memory(table: str) -> str:
    return OF_MEMORY.format(table=table, own=f" AND memory.{OWN}")


STORE_TABLES = {
    "session": (OWN, OWN),
    "turn": (OWN, IN_OWN_SESSION),
    "turn_embedding": (OWN, OF_OWN_TURN),
    "memory": (READABLE, OWN),
    "memory_embedding": (READABLE, f"{OWN} AND {_of_own_memory('memory_embedding')}"),
    "memory_attribute": (READABLE, f"{OWN} AND {_of_own_memory('memory_attribute')}"),
    "memory_source": (OWN, f"{OWN} AND {_of_own_memory('memory_source')}"),
    "consolidation": (OWN, OWN),
    "memory_revision": (
        f"({READABLE}) AND {OF_MEMORY.format(table='memory_revision', own='')}",
        _of_own_memory("memory_revision"),
    ),
}

# As before, but only for who may write in the store; and what is purged goes out of everyone's kept answers.
AS_OWNER = """
CREATE OR REPLACE FUNCTION ricordo.use_language(new_language text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog
BEGIN ATOMIC
  UPDATE ricordo.store SET languages_in_use = languages_in_use || new_language
  WHERE project_id = current_setting('ricordo.project_id')::uuid
    AND store_id = current_setting('ricordo.store_id')::uuid
    AND current_setting('ricordo.store_writable')::boolean
    AND new_language <> ALL (languages_in_use);
END;

CREATE FUNCTION ricordo.forget_answers(item_id text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog
BEGIN ATOMIC
  UPDATE ricordo.idempotency SET answer = ''
  WHERE project_id = current_setting('ricordo.project_id')::uuid
    AND current_setting('ricordo.may_write')::boolean
    AND position(convert_to(item_id, 'UTF8') IN answer) > 0;
END;
REVOKE ALL ON FUNCTION ricordo.forget_answers FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ricordo.forget_answers TO ricordo_app;

-- Request ids are their principals' own, and all of a project have their time: as any role that sweeps.
CREATE FUNCTION ricordo.delete_expired_answers(age interval, most integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog
BEGIN ATOMIC
  WITH gone AS (
    DELETE FROM ricordo.idempotency WHERE project_id = current_setting('ricordo.project_id')::uuid
      AND ctid = ANY (ARRAY(
        SELECT ctid FROM ricordo.idempotency
        WHERE project_id = current_setting('ricordo.project_id')::uuid AND create_time < now() - age
        LIMIT most))
    RETURNING project_id
  )
  SELECT count(*) FROM gone;
END;
REVOKE ALL ON FUNCTION ricordo.delete_expired_answers FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ricordo.delete_expired_answers TO ricordo_app, ricordo_operator;
REVOKE DELETE ON ricordo.idempotency FROM ricordo_operator;

-- Accounts are the administrators' to change; that one was used is noted before it is known who calls.
CREATE FUNCTION ricordo.note_use(used uuid) RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog
BEGIN ATOMIC
  UPDATE ricordo.service_account SET last_use_time = clock_timestamp()
  WHERE project_id = current_setting('ricordo.project_id')::uuid AND account_id = used AND NOT is_disabled
  RETURNING role;
END;
REVOKE ALL ON FUNCTION ricordo.note_use FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ricordo.note_use TO ricordo_app;
"""


def upgrade() -> None:
    for statement in (TOOLS, PROTECT_PROJECT_TABLE, PROTECT_STORE_TABLE, STORES):
        op.execute(statement)
    for table, (readable, writable) in PROJECT_TABLES.items():
        op.execute(f"SELECT ricordo.protect_project_table('{table}', $${readable}$$, $${writable}$$)")
    for table, (readable, own) in STORE_TABLES.items():
        op.execute(f"SELECT ricordo.protect_store_table('{table}', $${readable}$$, $${own}$$)")
    op.execute(RIGHTS)
    op.execute(AS_OWNER)
