-- First statement of every transaction: all settings at once, all of them local to the transaction.
SELECT
  set_config('ricordo.project_id', %(project_id)s, true),
  set_config('ricordo.principal_ids', ARRAY[%(principal_id)s::text]::text, true),
  set_config('ricordo.may_write', %(may_write)s, true),
  set_config('ricordo.may_administer', %(may_administer)s, true),
  set_config('ricordo.any_user', %(any_user)s, true),
  set_config('ricordo.user_ids', %(user_ids)s::text[]::text, true),
  set_config('ricordo.store_id', '', true), -- these three are for enter_store to find in the database
  set_config('ricordo.store_writable', '', true),
  set_config('ricordo.may_publish', '', true),
  set_config('TimeZone', 'UTC', true), -- elsewhere a time near year 1 or 9999 is one Python cannot hold
  set_config('statement_timeout', %(statement_timeout)s, true),
  set_config('lock_timeout', %(lock_timeout)s, true)
