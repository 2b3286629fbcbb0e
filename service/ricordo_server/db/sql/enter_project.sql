-- First statement of every transaction: all settings at once, all of them local to the transaction.
SELECT
  set_config('ricordo.project_id', %(project_id)s, true),
  set_config('ricordo.store_id', '', true),
  set_config('ricordo.any_user', %(any_user)s, true),
  set_config('ricordo.user_ids', %(user_ids)s::text[]::text, true),
  set_config('TimeZone', 'UTC', true), -- elsewhere a time near year 1 or 9999 is one Python cannot hold
  set_config('statement_timeout', %(statement_timeout)s, true)
