"""Migration and start-up tests have a database of their own."""

from tests.migrations.databases import clone, empty_database

__all__ = ["clone", "empty_database"]
