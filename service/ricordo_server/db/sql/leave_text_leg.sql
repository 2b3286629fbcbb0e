-- Back to ricordo_app; pipelined with the statement that follows.
SELECT set_config('role', 'none', true)
