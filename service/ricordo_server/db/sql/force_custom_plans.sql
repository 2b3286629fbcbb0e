-- First of a search by vectors: a plan cached for a tenant of another size took 885 ms where its own takes 15.
SELECT set_config('plan_cache_mode', 'force_custom_plan', true)
