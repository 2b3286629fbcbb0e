"""What must hold before the server serves: each finding says what is wrong and what to do."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from ricordo_server.db.connection import Pool
from ricordo_server.db.migrations import APP_ROLE, TEXT_ROLE
from ricordo_server.db.sql import load_sql
from ricordo_server.domain.embedding_model import EmbeddingModel

# The minor releases that fixed CVE-2024-10976 (RLS policies reused for the wrong role) and CVE-2025-8713
# (statistics of rows that RLS hides).
SAFE_VERSIONS = {15: 150014, 16: 160010, 17: 170006}
NEWEST_TESTED = 18


async def find_faults(pool: Pool) -> list[str]:
    """Why this database, as this role, would not keep tenants apart; empty when it would."""
    return list(chain.from_iterable((await inspect_walls(pool)).values()))


async def inspect_walls(pool: Pool) -> dict[str, list[str]]:
    """The faults of each part that keeps tenants apart: `schema`, `role`, `versions`, `row-level security`."""
    async with pool.connection() as connection:
        cursor = await connection.execute(load_sql("server_facts"), {"text_role": TEXT_ROLE})
        facts = await cursor.fetchone()
        if facts is None or not facts["migrated"]:
            return {"schema": ["the schema `ricordo` is missing: run `ricordo migrate`"]}
        unprotected = await (await connection.execute(load_sql("unprotected_tables"))).fetchall()
    return {
        "schema": [],
        "role": _role_faults(facts),
        "versions": _version_faults(facts),
        "row-level security": [
            f"table {row['name']} {row['fault']}: run `ricordo migrate`" for row in unprotected
        ],
    }


def _role_faults(facts: Mapping[str, Any]) -> list[str]:
    faults = [
        (facts["user"] != APP_ROLE, f"the server connects as {facts['user']}: connect as {APP_ROLE}"),
        (facts["superuser"], "its role is superuser, which no policy stops: ALTER ROLE ... NOSUPERUSER"),
        (facts["bypasses_rls"], "its role has BYPASSRLS: ALTER ROLE ... NOBYPASSRLS"),
        (facts["owns_tables"], "its role owns tables of the schema: let ricordo_owner own them"),
        (
            facts["inherits_text"],
            f"its role inherits {TEXT_ROLE}: run `ricordo bootstrap` again",
        ),
        (
            facts["reaches_queue"],
            "its role may reach the job queue of every project: REVOKE USAGE ON SCHEMA procrastinate",
        ),
    ]
    return [text for is_fault, text in faults if is_fault]


def _version_faults(facts: Mapping[str, Any]) -> list[str]:
    faults = [
        (
            not _is_safe(facts["version"]),
            f"PostgreSQL {facts['version']} lacks security fixes: update its minor release",
        ),
        (_older(facts["vector"], (0, 8)), f"pgvector {facts['vector']} is too old: 0.8 or later"),
    ]
    return [text for is_fault, text in faults if is_fault]


def _is_safe(version: int) -> bool:
    major = version // 10_000
    return major >= NEWEST_TESTED or version >= SAFE_VERSIONS.get(major, NEWEST_TESTED * 10_000)


def _older(version: str, least: Sequence[int]) -> bool:
    return [int(part) for part in version.split(".")[:2]] < list(least)


async def find_model(pool: Pool, name: str) -> EmbeddingModel | None:
    async with pool.connection() as connection:
        cursor = await connection.execute(
            "SELECT model_id, name, dimension FROM ricordo.embedding_model WHERE name = %s", [name]
        )
        row = await cursor.fetchone()
    return EmbeddingModel(**row) if row else None
