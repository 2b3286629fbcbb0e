"""Tenants: organizations, projects, stores, embedding models, request ids, and the tools that protect tables.

The walls stand in two SQL functions, so that every table gets the same ones:
`ricordo.protect_project_table` for tables with a project, `ricordo.protect_store_table` for those with a store.
"""

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TENANT_PROJECT = "project_id = current_setting('ricordo.project_id')::uuid"

LANGUAGES = [
    "arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "finnish", "french", "german",
    "greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "norwegian",
    "portuguese", "romanian", "russian", "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish",
]  # fmt: skip

# A regconfig column would block pg_upgrade; a name behind an immutable function does not.
TEXT_CONFIG = f"""
CREATE FUNCTION ricordo.text_config(language text) RETURNS regconfig
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE language
  {" ".join(f"WHEN '{name}' THEN 'pg_catalog.{name}'::regconfig" for name in LANGUAGES)}
  ELSE 'pg_catalog.simple'::regconfig
END
"""

# Chinese, Japanese and Thai write no spaces: set each character apart, so that any run of them can be found by its
# characters. Hangul and all spaced scripts are left alone.
SEARCH_TEXT = """
CREATE FUNCTION ricordo.search_text(content text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN regexp_replace(content,
  '([\\u0E00-\\u0E7F\\u3040-\\u30FF\\u3400-\\u4DBF\\u4E00-\\u9FFF\\uF900-\\uFAFF])', ' \\1 ', 'g')
"""

# Lexemes are quoted one by one: raw text never reaches to_tsquery, so no character of it is an operator.
TEXT_QUERY = """
CREATE FUNCTION ricordo.text_query(query text, languages text[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
  SELECT coalesce(
    string_agg(DISTINCT '''' || replace(replace(word.lexeme, '\\', '\\\\'), '''', '''''') || '''', ' | '), '')
  FROM unnest(languages) AS language,
       unnest(to_tsvector(ricordo.text_config(language), ricordo.search_text(query))) AS word
)
"""

# With nothing set, or the empty string a setting becomes after a transaction, the cast fails: an unset tenant is an
# error, never an empty answer. Plain current_setting, not a sub-select: the planner must see the tenant.
# Without `writable` the server only reads the table.
PROTECT_PROJECT_TABLE = f"""
CREATE FUNCTION ricordo.protect_project_table(name text, readable text DEFAULT 'true', writable text DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  tenant CONSTANT text := $sql${TENANT_PROJECT}$sql$;
  may_read text := format('%s AND (%s)', tenant, readable);
  may_write text := format('%s AND (%s)', tenant, writable);
BEGIN
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

# `readable` and `own` are the clauses about the end user: what a bound user may see, and what it may write.
# FORCE on every partition, and no grant on any: row-level security on the parent does not protect a partition.
PROTECT_STORE_TABLE = f"""
CREATE FUNCTION ricordo.protect_store_table(name text, readable text, own text) RETURNS void
LANGUAGE plpgsql AS $function$
DECLARE
  tenant CONSTANT text := $sql${TENANT_PROJECT} AND store_id = current_setting('ricordo.store_id')::uuid$sql$;
  may_read text := format('%s AND (current_setting(''ricordo.any_user'')::boolean OR %s)', tenant, readable);
  may_write text := format('%s AND (current_setting(''ricordo.any_user'')::boolean OR %s)', tenant, own);
  has_text boolean := EXISTS (SELECT FROM pg_attribute
    WHERE attrelid = format('ricordo.%I', name)::regclass AND attname = 'tsv' AND NOT attisdropped);
  part regclass;
BEGIN
  EXECUTE format('ALTER TABLE ricordo.%I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
  EXECUTE format('CREATE POLICY owner_all ON ricordo.%I TO ricordo_owner USING (true) WITH CHECK (true)', name);
  EXECUTE format('CREATE POLICY app_select ON ricordo.%I FOR SELECT TO ricordo_app USING (%s)', name, may_read);
  EXECUTE format('CREATE POLICY app_insert ON ricordo.%I FOR INSERT TO ricordo_app WITH CHECK (%s)', name, may_write);
  EXECUTE format('CREATE POLICY app_update ON ricordo.%I FOR UPDATE TO ricordo_app USING (%s) WITH CHECK (%s)',
                 name, may_write, may_write);
  EXECUTE format('CREATE POLICY app_delete ON ricordo.%I FOR DELETE TO ricordo_app USING (%s)', name, may_write);
  EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ricordo.%I TO ricordo_app', name);
  IF has_text THEN
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

PARTITION_TABLE = """
CREATE FUNCTION ricordo.partition_table(name text, count integer) RETURNS void
LANGUAGE plpgsql AS $function$
BEGIN
  FOR number IN 0 .. count - 1 LOOP
    EXECUTE format('CREATE TABLE ricordo.%I PARTITION OF ricordo.%I FOR VALUES WITH (MODULUS %s, REMAINDER %s)',
                   name || '_p' || number, name, count, number);
  END LOOP;
END
$function$
"""

TABLES = """
CREATE TABLE ricordo.organization (
  organization_id uuid PRIMARY KEY,
  display_name text NOT NULL,
  create_time timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE ricordo.project (
  project_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES ricordo.organization,
  display_name text NOT NULL,
  language text,
  create_time timestamptz NOT NULL DEFAULT now(),
  update_time timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE ricordo.embedding_model (
  model_id integer PRIMARY KEY,
  name text NOT NULL UNIQUE,
  dimension integer NOT NULL CHECK (dimension BETWEEN 1 AND 4000),
  create_time timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE ricordo.store (
  project_id uuid NOT NULL REFERENCES ricordo.project ON DELETE CASCADE,
  store_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  description text NOT NULL DEFAULT '',
  language text,
  languages_in_use text[] NOT NULL,
  creator_id text NOT NULL,
  create_time timestamptz NOT NULL DEFAULT now(),
  update_time timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, store_id),
  UNIQUE (project_id, name)
);

CREATE TABLE ricordo.idempotency (
  project_id uuid NOT NULL,
  principal_id text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  method text COLLATE "C" NOT NULL,
  request_id text COLLATE "C" NOT NULL,
  payload_digest bytea NOT NULL,
  answer bytea,
  create_time timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, principal_id, user_id, method, request_id)
);
CREATE INDEX idempotency_create_time ON ricordo.idempotency (project_id, create_time);
"""

# A row's language must be one that searches of its store cover, and an end user who writes the first row in a new one
# may not change the store. So this acts as the owner: on the one store the transaction has entered, and only so.
USE_LANGUAGE = """
CREATE FUNCTION ricordo.use_language(new_language text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog
BEGIN ATOMIC
  UPDATE ricordo.store SET languages_in_use = languages_in_use || new_language
  WHERE project_id = current_setting('ricordo.project_id')::uuid
    AND store_id = current_setting('ricordo.store_id')::uuid
    AND new_language <> ALL (languages_in_use);
END;
REVOKE ALL ON FUNCTION ricordo.use_language FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ricordo.use_language TO ricordo_app;
"""

# The operator sees no store table; of these it needs what creates tenants and walks them. Its own request ids stand
# under the nil project.
PROTECTION = """
SELECT ricordo.protect_project_table('project');
-- Deleting a store deletes everyone's rows in it: not an end user's to do.
SELECT ricordo.protect_project_table('store', writable => $$current_setting('ricordo.any_user')::boolean$$);
SELECT ricordo.protect_project_table('idempotency', mine, mine) FROM (VALUES (
  $$current_setting('ricordo.any_user')::boolean OR user_id = ANY (current_setting('ricordo.user_ids')::text[])$$
)) AS clause (mine);

CREATE POLICY operator_all ON ricordo.project TO ricordo_operator USING (true) WITH CHECK (true);
CREATE POLICY operator_select ON ricordo.store FOR SELECT TO ricordo_operator USING (true);
CREATE POLICY operator_insert ON ricordo.store FOR INSERT TO ricordo_operator WITH CHECK (true);
CREATE POLICY operator_all ON ricordo.idempotency TO ricordo_operator
  USING (project_id = '00000000-0000-0000-0000-000000000000')
  WITH CHECK (project_id = '00000000-0000-0000-0000-000000000000');

GRANT USAGE ON SCHEMA ricordo TO ricordo_app, ricordo_text, ricordo_operator;
GRANT SELECT ON ricordo.revision TO ricordo_app;
GRANT SELECT ON ricordo.embedding_model TO ricordo_app, ricordo_operator;
GRANT SELECT, INSERT, UPDATE ON ricordo.organization, ricordo.project, ricordo.idempotency TO ricordo_operator;
GRANT SELECT, INSERT ON ricordo.store TO ricordo_operator;
"""


def upgrade() -> None:
    for function in (TEXT_CONFIG, SEARCH_TEXT, TEXT_QUERY):
        op.execute(function)
    for function in (PROTECT_PROJECT_TABLE, PROTECT_STORE_TABLE, PARTITION_TABLE):
        op.execute(function)
    op.execute(
        "REVOKE ALL ON FUNCTION ricordo.protect_project_table, ricordo.protect_store_table, ricordo.partition_table "
        "FROM PUBLIC"
    )
    op.execute(TABLES)
    op.execute(USE_LANGUAGE)
    op.execute(PROTECTION)
