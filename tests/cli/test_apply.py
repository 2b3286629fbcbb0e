import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import Result

from ricordo import Client, models
from tests.cli.conftest import Invoke

pytestmark = pytest.mark.xdist_group("up")

WHOLE = """
[project]
language = "german"
metadata_policy = "declared"
metadata_keys = [{ name = "plan", value_type = "string" }]
context = { top_k = 7 }

[[store]]
store_id = "notes"
description = "what was noted"
access = "restricted"

[[store.grant]]
service_account = "agent"
access = "write"

[[store.grant]]
principal_id = "user:ann"
access = "read"

[[store]]
store_id = "default"
language = "simple"

[[service_account]]
name = "agent"
role = "writer"

[[service_account]]
name = "sleeper"
role = "reader"
disabled = true
"""

NO_OVERLAP = models.StoreSettings(extraction=models.ExtractionPolicy(overlap=0))
Apply = Callable[..., Result]


@pytest.fixture
def apply(ricordo: Invoke, tmp_path: Path) -> Apply:
    """Applies a text, with a folder for secrets."""

    def invoke(text: str, *arguments: str, secrets: bool = True) -> Result:
        file = tmp_path / "project.toml"
        file.write_text(text)
        folder = ("--secrets-folder", str(tmp_path / "secrets")) if secrets else ()
        return ricordo("apply", str(file), *folder, *arguments)

    return invoke


def lines(result: Result) -> list[str]:
    assert result.exit_code == 0, result.stderr
    return result.stdout.splitlines()


STEPS = [
    "set context, language, metadata_keys, metadata_policy of the project",
    "create the service account agent as writer",
    "create the service account sleeper as reader",
    "create the store notes",
    "grant write in the store notes to agent",
    "grant read in the store notes to user:ann",
    "set language of the store default",
]


def test_a_project_is_brought_to_the_stated_form(apply: Apply, client: Client) -> None:
    assert lines(apply(WHOLE)) == [*(f"done: {step}" for step in STEPS), "7 steps taken."]
    settings = client.project.get().settings
    assert (settings.language, settings.metadata_policy, settings.context.top_k) == ("german", "declared", 7)
    assert [(key.name, key.value_type) for key in settings.metadata_keys] == [("plan", "string")]
    stores = {store.store_id: (store.description, store.language) for store in client.stores.list()}
    assert stores == {"default": ("", "simple"), "notes": ("what was noted", None)}
    accounts = [(each.name, each.role, each.disabled) for each in client.identity.list_service_accounts()]
    assert accounts == [("agent", "writer", False), ("sleeper", "reader", True)]


SETTINGS = """
[project.extraction]
turn_count = {turns}
overlap = 3

[[store]]
store_id = "notes"

[store.settings.extraction]
turn_count = {turns}
model = "small"

[store.settings.retention]
default_ttl = "P30D"
"""


def test_what_a_table_inside_does_not_change_stays(apply: Apply, client: Client) -> None:
    lines(apply(SETTINGS.format(turns=5)))
    steps = lines(apply(SETTINGS.format(turns=6)))
    assert steps[:2] == ["done: set extraction of the project", "done: set settings of the store notes"]
    project, store = client.project.get().settings.extraction, client.stores.get("notes").settings
    assert (project.turn_count, project.overlap) == (6, 3)
    assert store.extraction is not None
    assert (store.extraction.turn_count, store.extraction.model) == (6, "small")
    assert store.extraction.model_fields_set == {"turn_count", "model"}
    assert store.retention.default_ttl == timedelta(days=30)
    assert lines(apply(SETTINGS.format(turns=6))) == ["Nothing to do."]


def test_a_store_has_none_of_what_its_project_has(apply: Apply, client: Client) -> None:
    client.stores.update(client.stores.create("notes").store_id, settings=NO_OVERLAP)
    text = '[[store]]\nstore_id = "notes"\n[store.settings.extraction]\ntopics = []\nkinds = []\n'
    assert lines(apply(text)) == ["done: set settings of the store notes", "1 steps taken."]
    extraction = client.stores.get("notes").settings.extraction
    assert extraction is not None
    assert extraction.model_fields_set == {"overlap", "topics", "kinds"}
    assert lines(apply(text)) == ["Nothing to do."]


def test_a_second_run_does_nothing(apply: Apply, client: Client) -> None:
    lines(apply(WHOLE))
    revision = client.project.get().revision
    assert lines(apply(WHOLE, secrets=False)) == ["Nothing to do."]
    assert lines(apply(WHOLE, "--dry-run")) == ["Nothing to do."]
    assert client.project.get().revision == revision


def test_a_dry_run_says_the_steps_and_takes_none(apply: Apply, client: Client, tmp_path: Path) -> None:
    assert lines(apply(WHOLE, "--dry-run")) == [*(f"would {step}" for step in STEPS), "7 steps to take."]
    assert client.project.get().revision == 1
    assert len(lines(apply(WHOLE, "--dry-run", secrets=False))) == len(STEPS) + 1
    assert [store.store_id for store in client.stores.list()] == ["default"]
    assert not (tmp_path / "secrets").exists()


def test_new_secrets_work_and_are_their_owner_s_alone(
    apply: Apply, client: Client, stack: object, tmp_path: Path
) -> None:
    made = apply(WHOLE)
    file = tmp_path / "secrets" / "agent.json"
    account = json.loads(file.read_text())
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert account["client_secret"] not in made.output
    with Client(stack.target, **account) as agent:  # type: ignore[attr-defined]
        assert agent.identity.who_am_i().project_id == client.project.get().project_id


def test_what_changed_is_brought_back(apply: Apply, client: Client) -> None:
    lines(apply(WHOLE))
    agent, sleeper = client.identity.list_service_accounts()
    client.identity.update_service_account(agent.client_id, role="admin")
    client.identity.enable_service_account(sleeper.client_id)
    client.stores.update("notes", description="other")
    assert lines(apply(WHOLE)) == [
        "done: give the service account agent the role writer",
        "done: disable the service account sleeper",
        "done: set description of the store notes",
        "3 steps taken.",
    ]


def grants(client: Client) -> dict[str, str]:
    return {each.principal_id: each.access.value for each in client.stores.list_grants("notes")}


def test_a_store_gets_the_stated_access_and_grants_and_no_other(apply: Apply, client: Client) -> None:
    lines(apply(WHOLE))
    agent = next(iter(client.identity.list_service_accounts())).client_id
    wanted = {agent: "write", "user:ann": "read"}
    assert (client.stores.get("notes").access, grants(client)) == ("restricted", wanted)
    client.stores.update("notes", access="open")
    client.stores.grant("notes", agent, "read")
    client.stores.grant("notes", "user:bob", "read")
    assert lines(apply(WHOLE)) == [
        "done: grant write in the store notes to agent",
        "done: revoke the grant in the store notes to user:bob",
        "done: set access of the store notes",
        "3 steps taken.",
    ]
    assert (client.stores.get("notes").access, grants(client)) == ("restricted", wanted)


def test_grants_go_where_none_are_stated_and_stay_where_nothing_is(apply: Apply, client: Client) -> None:
    lines(apply(WHOLE))
    assert lines(apply('[[store]]\nstore_id = "notes"')) == ["Nothing to do."]
    assert len(grants(client)) == 2
    lines(apply('[[store]]\nstore_id = "notes"\ngrant = []'))
    assert grants(client) == {}


def test_a_grant_to_an_account_that_is_not_there_is_refused(apply: Apply, client: Client) -> None:
    text = '[[store]]\nstore_id = "notes"\ngrant = [{ service_account = "agnet", access = "read" }]'
    refused = apply(text)
    assert (refused.exit_code, "agnet, which is no service account" in refused.stderr) == (2, True)
    assert [store.store_id for store in client.stores.list()] == ["default"]


def test_what_is_not_named_stays(apply: Apply, client: Client) -> None:
    lines(apply(WHOLE))
    assert lines(apply('[project]\nlanguage = "german"\n[[store]]\nstore_id = "notes"')) == ["Nothing to do."]
    assert len(list(client.stores.list())) == 2


def test_a_failure_says_how_far_it_came(apply: Apply, client: Client) -> None:
    stopped = apply(
        '[[store]]\nstore_id = "good"\n[[store]]\nstore_id = "BAD"\n[[store]]\nstore_id = "never"'
    )
    assert stopped.exit_code == 1
    assert stopped.stdout == "done: create the store good\n"
    assert "1 steps taken, 2 left" in stopped.stderr
    assert {store.store_id for store in client.stores.list()} == {"default", "good"}


def test_a_file_for_another_project_is_refused(apply: Apply, client: Client) -> None:
    project_id = client.project.get().project_id
    assert lines(apply(f'project_id = "{project_id}"')) == ["Nothing to do."]
    refused = apply('project_id = "another"')
    assert (refused.exit_code, "the file is for project another" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[store]", "no TOML"),
        ("[[stroe]]\nstore_id = 'x'", "stroe"),
        ("[[store]]\ndescription = 'x'", "store_id"),
        ("[[service_account]]\nname = 'agent'\nrole = 'root'", "role"),
        ("[project]\nlanguge = 'german'", "languge"),
        ("[[store]]\nstore_id = 'x'\n[[store]]\nstore_id = 'x'", "stated twice: x"),
        ("[[store]]\nstore_id = 'x'\n[[store.grant]]\naccess = 'read'", "state one of them"),
        (
            "[[store]]\nstore_id = 'x'" + "\n[[store.grant]]\nprincipal_id = 'y'\naccess = 'read'" * 2,
            "stated twice: y",
        ),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(apply: Apply, text: str, told: str) -> None:
    refused = apply(text)
    assert (refused.exit_code, told in refused.stderr) == (2, True), refused.stderr


def test_a_new_account_needs_a_place_for_its_secret(apply: Apply, client: Client) -> None:
    refused = apply(WHOLE, secrets=False)
    assert (refused.exit_code, "--secrets-folder" in refused.stderr) == (2, True)
    assert client.project.get().revision == 1


def test_a_secret_that_is_there_is_not_written_over(apply: Apply, client: Client, tmp_path: Path) -> None:
    """As of an account of the same name in another project."""
    kept = tmp_path / "secrets" / "agent.json"
    kept.parent.mkdir()
    kept.write_text("a secret")
    refused = apply("[[service_account]]\nname = 'agent'\nrole = 'reader'")
    assert (refused.exit_code, str(kept) in refused.stderr) == (2, True), refused.stderr
    assert kept.read_text() == "a secret"
    assert not any(account.name == "agent" for account in client.identity.list_service_accounts())
