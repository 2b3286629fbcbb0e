"""The embedded stack: Postgres in the data folder, bootstrapped and migrated, with a project to begin in.

The folder: `postgres/` (see `embedded`), `installation.json` (passwords and the project's id), `ricordo.log`.
"""

import asyncio
import fcntl
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from uuid_utils.compat import uuid7

from ricordo_server import embedded
from ricordo_server.config import Settings
from ricordo_server.credentials.key_sealing import KeySealing
from ricordo_server.db.installation import create_project
from ricordo_server.db.migrations import (
    APP_ROLE,
    OPERATOR_ROLE,
    bootstrap,
    migrate,
    register_embedding_model,
)
from ricordo_server.db.signing_keys import add_signing_key, read_signing_keys
from ricordo_server.embedding import EmbeddingSettings, load_embedder
from ricordo_server.embedding.stored import is_reference, store_settings

DATABASE = "ricordo"
PROJECT_NAME = "default"
LOG_NAME = "ricordo.log"
API_KEY_VARIABLE = "RICORDO_EMBEDDING__API_KEY"


@dataclass(frozen=True)
class Installation:
    """What is made once for a data folder."""

    app_password: str
    operator_password: str
    project_id: str
    key_secret: str = ""


@contextmanager
def prepared_stack(settings: Settings) -> Iterator[Settings]:
    """Settings to serve with, good as long as the block runs: Postgres is up, migrated and has the project."""
    folder = settings.data_folder
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with embedded.running(folder / "postgres") as server:
        with _one_at_a_time(folder):
            installation = _load_installation(folder)
            if installation is None or not installation.key_secret:
                installation = _make_installation(folder, installation)
            connected = _connect(settings, server, installation)
            bootstrap(
                server.superuser_url,
                DATABASE,
                app_password=installation.app_password,
                operator_password=installation.operator_password,
            )
            migrate_with_model(connected)
            create_project(connected.operator_url, UUID(installation.project_id), PROJECT_NAME)
            _make_first_key(connected)
        yield connected


@contextmanager
def existing_stack(settings: Settings) -> Iterator[Settings]:
    """The same for a folder that is prepared already; the settings as they are for one that is not."""
    installation = _load_installation(settings.data_folder)
    if installation is None:
        yield settings
        return
    with embedded.running(settings.data_folder / "postgres") as server:
        yield _connect(settings, server, installation)


def migrate_with_model(settings: Settings) -> str:
    """Brings the schema to the newest revision and registers the embedder's model; answers the model's name."""
    migrate(settings.owner_url, partitions=settings.partitions)
    name, dimension = asyncio.run(_find_model(settings))
    register_embedding_model(
        settings.owner_url, name, dimension, configured_model(settings.embedding), default=True
    )
    return name


async def _find_model(settings: Settings) -> tuple[str, int]:
    embedder = load_embedder(settings.embedding)
    await embedder.aclose()
    return embedder.name, embedder.dimension


def configured_model(embedding: EmbeddingSettings) -> Mapping[str, Any]:
    """What is stored of the configured model: for its secret, the variable that it came from."""
    if embedding.api_key and not is_reference(embedding.api_key):
        embedding = replace(embedding, api_key=f"env:{API_KEY_VARIABLE}")
    return store_settings(embedding)


def _connect(settings: Settings, server: embedded.EmbeddedPostgres, installation: Installation) -> Settings:
    return settings.model_copy(
        update={
            "database_url": server.url(APP_ROLE, installation.app_password, DATABASE),
            "operator_url": server.url(OPERATOR_ROLE, installation.operator_password, DATABASE),
            "owner_url": urlsplit(server.superuser_url)._replace(path=f"/{DATABASE}").geturl(),
            "development_project": UUID(installation.project_id),
            "key_secret": installation.key_secret,
        }
    )


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Two `up` on one folder share its Postgres, but only one of them prepares it."""
    lock = os.open(folder / "preparation.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _load_installation(folder: Path) -> Installation | None:
    path = folder / "installation.json"
    return Installation(**json.loads(path.read_text())) if path.exists() else None


def _make_first_key(settings: Settings) -> None:
    if not read_signing_keys(settings.operator_url)[0]:
        key_id, sealed = KeySealing(settings.key_secrets()).make_key()
        add_signing_key(settings.operator_url, key_id, sealed, lead=timedelta(0))


def _make_installation(folder: Path, known: Installation | None) -> Installation:
    """Written under another name first: half a file would lose the project. An older one has no key secret."""
    made = known or Installation(secrets.token_urlsafe(32), secrets.token_urlsafe(32), str(uuid7()))
    installation = replace(made, key_secret=secrets.token_urlsafe(32))
    draft = folder / "installation.json.new"
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(asdict(installation), indent=2) + "\n")
    draft.rename(folder / "installation.json")
    return installation
