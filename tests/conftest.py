"""Fixtures every test may use: one embedded Postgres for the run, one database per worker, one project per test."""

pytest_plugins = ["tests.fixtures.database", "tests.fixtures.service"]
