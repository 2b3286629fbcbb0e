"""Models of the installation: what registering one does to a database that is in use."""

import json
from typing import Any
from uuid import UUID

import psycopg
import pytest

from ricordo_server.db.migrations import migrate, register_embedding_model
from tests.fixtures.database import MODEL, TestDatabase, make_project

ACTIVE = (
    "SELECT m.name FROM ricordo.project p JOIN ricordo.embedding_model m ON m.model_id = p.active_model_id"
    " WHERE p.project_id = %s"
)


def register(database: TestDatabase, name: str, dimension: int = 8, **options: Any) -> int:
    return register_embedding_model(database.superuser_url, name, dimension, **options)


def read(database: TestDatabase, statement: str, *values: object) -> list[tuple[object, ...]]:
    with psycopg.connect(database.superuser_url) as connection:
        return connection.execute(statement, values).fetchall()


def active_model(database: TestDatabase, project_id: UUID) -> str:
    [(name,)] = read(database, ACTIVE, project_id)
    return str(name)


def test_a_new_default_is_for_new_projects_only(clone: TestDatabase) -> None:
    before = make_project(clone)
    register(clone, "second", default=True)
    assert active_model(clone, before) == MODEL.name
    assert active_model(clone, make_project(clone)) == "second"


def test_a_model_that_is_only_added_is_no_default(clone: TestDatabase) -> None:
    register(clone, "second")
    assert active_model(clone, make_project(clone)) == MODEL.name


def test_projects_from_before_the_first_model_get_it(empty_database: TestDatabase) -> None:
    migrate(empty_database.superuser_url, partitions=2)
    early = make_project(empty_database)
    register(empty_database, "first", default=True)
    assert active_model(empty_database, early) == "first"


def test_projects_from_before_this_release_keep_the_newest_model(empty_database: TestDatabase) -> None:
    migrate(empty_database.superuser_url, partitions=2, revision="0010")
    project_id = make_project(empty_database)
    with psycopg.connect(empty_database.superuser_url) as connection:
        connection.execute(
            "INSERT INTO ricordo.embedding_model (model_id, name, dimension) VALUES (1, 'a', 8), (2, 'b', 8)"
        )
    migrate(empty_database.superuser_url)
    assert active_model(empty_database, project_id) == "b"


def test_registering_again_replaces_how_to_reach_it(clone: TestDatabase) -> None:
    first = register(clone, "second", settings={"provider": "hashing", "dimension": 8})
    assert register(clone, "second", settings={"provider": "hashing", "dimension": 9}) == first
    [(settings,)] = read(clone, "SELECT settings::text FROM ricordo.embedding_model WHERE name = 'second'")
    assert json.loads(str(settings)) == {"provider": "hashing", "dimension": 9}


def test_another_dimension_is_refused_and_changes_nothing(clone: TestDatabase) -> None:
    before = read(clone, "SELECT * FROM ricordo.embedding_model")
    with pytest.raises(ValueError, match="dimension 64, not 65"):
        register(clone, MODEL.name, 65, settings={"provider": "local"})
    assert read(clone, "SELECT * FROM ricordo.embedding_model") == before


def test_a_dimension_that_no_index_takes_is_refused(clone: TestDatabase) -> None:
    with pytest.raises(ValueError, match="1 to 4000"):
        register(clone, "large", 4_001)
    register(clone, "largest", 4_000)


def test_an_index_whose_building_was_interrupted_is_built_again(clone: TestDatabase) -> None:
    index = f"memory_embedding_p1_model_{MODEL.model_id}"
    with psycopg.connect(clone.superuser_url, autocommit=True) as connection:
        connection.execute("DROP INDEX ricordo.memory_embedding_model_1")  # its parts with it
        connection.execute(
            f"CREATE INDEX {index} ON ricordo.memory_embedding_p1 USING hnsw"
            " ((embedding::halfvec(64)) halfvec_cosine_ops) WHERE model_id = 1"
        )
        connection.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", [f"ricordo.{index}"]
        )
    register(clone, MODEL.name, MODEL.dimension)
    valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = ANY (%s::regclass[])"
    assert read(clone, valid, [f"ricordo.{index}", "ricordo.memory_embedding_model_1"]) == [(True,), (True,)]
