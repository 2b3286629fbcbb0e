-- One statement, so that no reader sees a difference twice or not at all: rows become their sums.
WITH gone AS (
  DELETE FROM ricordo.usage WHERE project_id = %(project_id)s
  RETURNING store_id, day, stored_memories, stored_bytes, embedding_tokens, llm_tokens
), stored AS (
  SELECT store_id, max(day) AS day, sum(stored_memories) AS stored_memories, sum(stored_bytes) AS stored_bytes
  FROM gone WHERE store_id IS NOT NULL GROUP BY store_id
), spent AS (
  SELECT day, sum(embedding_tokens) AS embedding_tokens, sum(llm_tokens) AS llm_tokens
  FROM gone WHERE store_id IS NULL GROUP BY day
)
INSERT INTO ricordo.usage
  (project_id, store_id, day, stored_memories, stored_bytes, embedding_tokens, llm_tokens)
SELECT %(project_id)s, store_id, day, stored_memories, stored_bytes, 0, 0 FROM stored
UNION ALL
SELECT %(project_id)s, NULL, day, 0, 0, embedding_tokens, llm_tokens FROM spent
