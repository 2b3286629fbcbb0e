"""What the program says of itself."""

import pytest

from tests.cli.programs import run


@pytest.mark.parametrize(
    ("command", "default"),
    [
        (["up"], "[default: 7483]"),
        (["context"], "[default: 4000]"),
        (["embeddings", "add"], "[default: OpenAI's]"),
        ([], "[default: to other machines only]"),
    ],
)
def test_help_says_what_holds_where_an_option_is_not_given(command: list[str], default: str) -> None:
    assert default in " ".join(run(*command, "--help").stdout.split())
