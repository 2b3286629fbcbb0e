"""The statements of the floor: what a careful author writes by hand for this schema, both walls included."""

# The wall of row-level security; the other one is in each statement below.
ENTER = """
SELECT set_config('ricordo.project_id', %(project_id)s::text, true),
  set_config('ricordo.store_id', %(store_id)s::text, true),
  set_config('ricordo.any_user', 'on', true), set_config('ricordo.user_ids', '{}', true),
  set_config('statement_timeout', '30000', true)
"""

LOCK_SESSION = """
INSERT INTO ricordo.session (project_id, store_id, scope_key, user_id, session_id, root_session_id)
VALUES (%(project_id)s, %(store_id)s, %(scope_key)s, %(user_id)s, %(session_id)s, %(session_id)s)
ON CONFLICT (project_id, store_id, scope_key) DO UPDATE SET next_seq = ricordo.session.next_seq WHERE false
"""

INSERT_TURN = """
WITH locked AS (
  UPDATE ricordo.session SET next_seq = next_seq + 1, last_activity_time = clock_timestamp()
  WHERE project_id = %(project_id)s AND store_id = %(store_id)s AND scope_key = %(scope_key)s
  RETURNING next_seq - 1 AS seq, last_activity_time
)
INSERT INTO ricordo.turn (project_id, store_id, turn_id, scope_key, user_id, session_id, turn_seq, role, content,
  event_time, create_time, language)
SELECT %(project_id)s, %(store_id)s, %(turn_id)s, %(scope_key)s, %(user_id)s, %(session_id)s, seq, 'user',
  %(content)s, last_activity_time, last_activity_time, 'english'
FROM locked RETURNING turn_seq, create_time
"""

INSERT_TURN_VECTOR = """
INSERT INTO ricordo.turn_embedding (project_id, store_id, turn_id, model_id, chunk_no, user_id, embedding)
VALUES (%(project_id)s, %(store_id)s, %(turn_id)s, %(model_id)s, 0, %(user_id)s, %(vector)s)
"""

INSERT_MEMORY = """
INSERT INTO ricordo.memory (project_id, store_id, memory_id, kind, content, scope_key, user_id, visibility, language)
VALUES (%(project_id)s, %(store_id)s, %(memory_id)s, 'SEMANTIC', %(content)s, %(scope_key)s, %(user_id)s, 'PRIVATE',
  'english')
RETURNING create_time
"""

INSERT_MEMORY_VECTOR = """
INSERT INTO ricordo.memory_embedding (project_id, store_id, memory_id, model_id, chunk_no, kind, user_id, visibility,
  embedding)
VALUES (%(project_id)s, %(store_id)s, %(memory_id)s, %(model_id)s, 0, 'SEMANTIC', %(user_id)s, 'PRIVATE', %(vector)s)
"""

INSERT_REVISION = """
INSERT INTO ricordo.memory_revision (project_id, store_id, memory_id, kind, content, scope_key, user_id, visibility,
  language, action)
VALUES (%(project_id)s, %(store_id)s, %(memory_id)s, 'SEMANTIC', %(content)s, %(scope_key)s, %(user_id)s, 'PRIVATE',
  'english', 'CREATED')
"""

COLUMNS = """m.memory_id, m.kind, m.custom_type, m.key, m.content, m.title, m.description, m.user_id, m.session_id,
  m.labels, m.agent_id, m.visibility, m.metadata, m.topics, m.tags, m.details, m.source, m.provenance, m.revision,
  m.create_time, m.update_time, m.event_time, m.event_end_time, m.expire_time, m.delete_time"""

MINE = """m.project_id = %(project_id)s AND m.store_id = %(store_id)s AND m.delete_time IS NULL
  AND (m.expire_time IS NULL OR m.expire_time > now())"""

ENTER_TEXT = """
SELECT set_config('ricordo.text_query', ricordo.text_query(%(query)s, '{english}'), true),
  set_config('plan_cache_mode', 'force_custom_plan', true), set_config('role', 'ricordo_text', true)
"""

LEAVE_TEXT = "SELECT set_config('role', 'none', true)"

BY_TEXT = f"""
SELECT {{columns}}, ts_rank(m.tsv, current_setting('ricordo.text_query')::tsquery) AS score
FROM ricordo.memory AS m WHERE {MINE} ORDER BY score DESC, m.update_time DESC, m.memory_id LIMIT {{limit}}
"""

ENTER_GRAPH = """
SELECT set_config('hnsw.iterative_scan', 'strict_order', true),
  set_config('hnsw.ef_search', %(ef_search)s::text, true),
  set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_sort', 'off', true)
"""

# Without the cast of the column the ordering cannot use the index.
BY_VECTOR = f"""
SELECT {{columns}}, {{column}} <=> %(vector)s::halfvec({{dimension}}) AS distance
FROM ricordo.memory_embedding AS v
JOIN ricordo.memory AS m
  ON m.project_id = v.project_id AND m.store_id = v.store_id AND m.memory_id = v.memory_id
WHERE v.project_id = %(project_id)s AND v.store_id = %(store_id)s AND v.model_id = {{model_id}} AND {MINE}
  {{condition}}
ORDER BY {{column}} <=> %(vector)s::halfvec({{dimension}}) LIMIT {{limit}}
"""

BY_IDS = f"SELECT {COLUMNS} FROM ricordo.memory AS m WHERE {MINE} AND m.memory_id = ANY (%(memory_ids)s)"

BUCKET_BELOW = "AND (m.metadata ->> 'bucket')::int < {buckets}"


def by_text(limit: int, columns: str = COLUMNS) -> str:
    return BY_TEXT.format(columns=columns, limit=limit)


def by_vector(
    *, exact: bool, dimension: int, model_id: int, limit: int, columns: str = COLUMNS, condition: str = ""
) -> str:
    return BY_VECTOR.format(
        column="v.embedding" if exact else f"v.embedding::halfvec({dimension})",
        dimension=dimension,
        model_id=model_id,
        columns=columns,
        condition=condition,
        limit=limit,
    )
