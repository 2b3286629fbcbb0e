"""Settings of an embedder on their way into the database and back: whole, and without a secret."""

from dataclasses import replace
from pathlib import Path

import pytest

from ricordo_server.cli.stack import configured_model
from ricordo_server.domain.ports import EmbeddingError, EmbeddingKind
from ricordo_server.embedding import EmbeddingSettings, load_stored_embedder, probe_embedder
from ricordo_server.embedding.stored import resolve_secret, restore_settings, store_settings
from tests.fixtures.fake_openai import FakeOpenAI

REMOTE = EmbeddingSettings(
    provider="openai",
    model="m",
    base_url="http://127.0.0.1:1/v1",
    api_key="env:EMBEDDING_KEY",
    dimension=8,
    send_dimension=True,
    max_tokens=300,
    query_prefix="query: ",
    document_prefix="passage: ",
)


@pytest.mark.parametrize(
    "settings", [REMOTE, EmbeddingSettings(), EmbeddingSettings("hashing", dimension=16)]
)
def test_stored_settings_come_back_whole(settings: EmbeddingSettings) -> None:
    assert restore_settings(store_settings(settings)) == settings


def test_what_is_each_servers_own_is_not_stored() -> None:
    assert restore_settings(store_settings(replace(REMOTE, timeout=3.0, threads=4))) == REMOTE


def test_a_secret_itself_is_not_stored() -> None:
    with pytest.raises(ValueError, match="env:NAME or file:PATH"):
        store_settings(replace(REMOTE, api_key="sk-secret"))


def test_of_the_configured_models_secret_the_variable_is_stored() -> None:
    stored = configured_model(replace(REMOTE, api_key="sk-secret"))
    assert stored["api_key"] == "env:RICORDO_EMBEDDING__API_KEY"
    assert "sk-secret" not in str(stored)


def test_a_secret_is_read_where_its_reference_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EMBEDDING_KEY", "from the environment")
    (tmp_path / "key").write_text("from the file\n")
    assert resolve_secret(REMOTE).api_key == "from the environment"
    assert resolve_secret(replace(REMOTE, api_key=f"file:{tmp_path / 'key'}")).api_key == "from the file"
    assert resolve_secret(replace(REMOTE, api_key="sk-secret")).api_key == "sk-secret"


@pytest.mark.parametrize("reference", ["env:NOT_SET_ANYWHERE", "file:/nowhere/key"])
def test_a_secret_that_is_not_there_names_its_place(reference: str) -> None:
    with pytest.raises(EmbeddingError, match=reference):
        resolve_secret(replace(REMOTE, api_key=reference))


@pytest.mark.parametrize(
    "stored", [{}, {"provider": "telepathy"}, {"provider": "openai"}, {"provider": "local", "unheard": 1}]
)
def test_settings_that_are_not_understood_are_a_clear_error(stored: dict[str, object]) -> None:
    with pytest.raises(EmbeddingError):
        restore_settings(stored)


async def test_a_stored_model_is_loaded_with_its_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDING_KEY", "the key")
    with FakeOpenAI() as fake:
        embedder = load_stored_embedder(store_settings(replace(REMOTE, base_url=fake.base_url)))
        await embedder.embed(["tea"], EmbeddingKind.DOCUMENT)
        await embedder.aclose()
    assert fake.keys == ["Bearer the key"]


async def test_a_probe_finds_a_wrong_dimension() -> None:
    with FakeOpenAI(dimension=8) as fake:
        settings = replace(REMOTE, base_url=fake.base_url, api_key="key")
        assert await probe_embedder(settings) == ("m", 8)
        with pytest.raises(EmbeddingError, match=r"\[8\] numbers, 9 are set up"):
            await probe_embedder(replace(settings, dimension=9))
