-- The second of two pipelined statements: its snapshot is younger than the session's lock, which lock_session took.
WITH given AS MATERIALIZED (
  SELECT * FROM unnest(
    %(turn_id)s::text[], %(role)s::text[], %(content)s::text[], %(tool_calls)s::jsonb[], %(tool_call_id)s::text[],
    %(tool_name)s::text[], %(is_error)s::boolean[], %(model_name)s::text[], %(data_json)s::text[],
    %(metadata)s::jsonb[], %(agent_id)s::text[], %(idempotency_key)s::text[], %(event_time)s::timestamptz[]
  ) WITH ORDINALITY AS item (
    turn_id, role, content, tool_calls, tool_call_id,
    tool_name, is_error, model_name, data_json,
    metadata, agent_id, idempotency_key, event_time, place)
),
-- Never before the session's last turn, even when the clock was set back: the times order turns as their numbers do.
locked AS MATERIALIZED (
  SELECT scope_key, user_id, session_id, labels, next_seq, promoted_seq, promotion_pending, trigger_rule,
    generation_options,
    greatest(clock_timestamp(), last_activity_time) AS record_time
  FROM ricordo.session
  WHERE project_id = %(project_id)s AND store_id = %(store_id)s AND scope_key = %(scope_key)s
),
known AS MATERIALIZED (
  SELECT turn_id, turn_seq, create_time, idempotency_key
  FROM ricordo.turn
  WHERE project_id = %(project_id)s AND store_id = %(store_id)s AND scope_key = %(scope_key)s
    AND idempotency_key = ANY (%(idempotency_key)s::text[])
),
inserted AS (
  INSERT INTO ricordo.turn (
    project_id, store_id, turn_id, scope_key, user_id, session_id, labels, turn_seq,
    role, content, tool_calls, tool_call_id, tool_name, is_error, model_name, data_json,
    metadata, agent_id, idempotency_key, event_time, create_time, language)
  SELECT
    %(project_id)s, %(store_id)s, turn_id, scope_key, user_id, session_id, labels,
    next_seq - 1 + row_number() OVER (ORDER BY place),
    role, content, tool_calls, tool_call_id, tool_name, is_error, model_name, data_json,
    metadata, agent_id, idempotency_key, coalesce(event_time, record_time), record_time, %(language)s
  FROM given CROSS JOIN locked
  WHERE NOT EXISTS (SELECT FROM known WHERE known.idempotency_key = given.idempotency_key)
  RETURNING turn_id, turn_seq, create_time, idempotency_key
),
advanced AS (
  UPDATE ricordo.session AS s
  SET next_seq = s.next_seq + (SELECT count(*) FROM inserted), last_activity_time = locked.record_time
  FROM locked
  WHERE s.project_id = %(project_id)s AND s.store_id = %(store_id)s AND s.scope_key = %(scope_key)s
    AND EXISTS (SELECT FROM inserted)
)
SELECT placed.*, next_seq, promoted_seq, promotion_pending, trigger_rule, generation_options, record_time, (
  -- How far the new turn is from the mean of those that wait in no snapshot.
  SELECT 1 - (avg(e.embedding::vector) <=> %(vector)s::vector)
  FROM ricordo.turn AS t
  -- OFFSET 0: looked up turn by turn. Where no statistics tell better, a join would read every vector of the store.
  CROSS JOIN LATERAL (
    SELECT embedding FROM ricordo.turn_embedding
    WHERE project_id = %(project_id)s AND store_id = %(store_id)s
      AND model_id = %(model_id)s AND turn_id = t.turn_id AND chunk_no = 0
    OFFSET 0
  ) AS e
  WHERE %(vector)s::vector IS NOT NULL
    AND t.project_id = %(project_id)s AND t.store_id = %(store_id)s AND t.scope_key = %(scope_key)s
    AND t.turn_seq > (SELECT promoted_seq FROM locked)
) AS cosine
FROM (
  SELECT turn_id, turn_seq, create_time, idempotency_key, true AS created FROM inserted
  UNION ALL
  SELECT turn_id, turn_seq, create_time, idempotency_key, false AS created FROM known
) AS placed
CROSS JOIN locked
