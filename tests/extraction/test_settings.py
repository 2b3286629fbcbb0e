"""Endpoints as an operator gives them: by the environment."""

import pytest

from ricordo_server.config import Settings
from ricordo_server.extraction import Endpoint


def test_an_endpoint_is_given_name_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"BASE_URL": "http://127.0.0.1:8080/v1", "MODEL": "qwen", "API_KEY": "k", "TIMEOUT": "30"}
    for name, value in given.items():
        monkeypatch.setenv(f"RICORDO_EXTRACTION__ENDPOINTS__MAIN__{name}", value)
    monkeypatch.setenv("RICORDO_EXTRACTION__DEFAULT", "main")
    extraction = Settings().extraction
    assert extraction.default == "main"
    assert extraction.endpoints == {"main": Endpoint("http://127.0.0.1:8080/v1", "k", "qwen", timeout=30.0)}
