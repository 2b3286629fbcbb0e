-- One statement, so that the differences that go and the rows that are counted are of one moment.
WITH gone AS (
  DELETE FROM ricordo.usage WHERE project_id = %(project_id)s AND store_id = %(store_id)s
), revisions AS (
  SELECT coalesce(sum(octet_length(content) + octet_length(title) + octet_length(description)
    + pg_column_size(metadata) + coalesce(pg_column_size(details), 0)), 0) AS bytes
  FROM ricordo.memory_revision WHERE project_id = %(project_id)s AND store_id = %(store_id)s
), turns AS (
  SELECT coalesce(sum(octet_length(content) + coalesce(octet_length(data_json), 0)
    + pg_column_size(tool_calls) + pg_column_size(metadata)), 0) AS bytes
  FROM ricordo.turn WHERE project_id = %(project_id)s AND store_id = %(store_id)s
), memories AS (
  SELECT count(*) AS count FROM ricordo.memory WHERE project_id = %(project_id)s AND store_id = %(store_id)s
)
INSERT INTO ricordo.usage (project_id, store_id, stored_memories, stored_bytes)
SELECT %(project_id)s, %(store_id)s, memories.count, revisions.bytes + turns.bytes FROM revisions, turns, memories
