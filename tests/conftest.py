"""Fixtures every test may use: one embedded Postgres for the run, one database per worker, one project per test."""

from hypothesis import settings

# No timed assertions: a busy machine is no fault.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

pytest_plugins = [
    "tests.fixtures.database",
    "tests.fixtures.fake_chat",
    "tests.fixtures.service",
    "tests.fixtures.stubs",
]
