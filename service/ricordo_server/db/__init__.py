"""Postgres: the pool, the door into a tenant, tables, and one file of statements per noun."""
