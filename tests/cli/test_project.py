import json
from pathlib import Path

import pytest

from ricordo import Client
from ricordo.models import (
    ContextDefaults,
    ManagedTopic,
    MetadataPolicy,
    NewMemory,
    ProjectChanges,
    Scope,
    TopicOfInterest,
)
from tests.cli.conftest import Invoke, Stack
from tests.cli.programs import run

pytestmark = pytest.mark.xdist_group("up")


def ok(ricordo: Invoke, *arguments: str) -> str:
    result = ricordo("project", *arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def refused(ricordo: Invoke, *arguments: str) -> tuple[int, str]:
    result = ricordo("project", *arguments)
    return result.exit_code, result.stderr


def test_show_tells_what_is_declared(ricordo: Invoke) -> None:
    ok(ricordo, "set-language", "german")
    ok(ricordo, "set-metadata-policy", "declared")
    ok(ricordo, "metadata-key", "add", "billing.plan", "string")
    ok(ricordo, "custom-type", "add", "ticket", "--tag", "priority:number", "--tag", "team.name:string")
    ok(ricordo, "custom-type", "add", "plain")
    name, *lines = ok(ricordo, "show").splitlines()
    assert name.startswith("test  ")
    assert name.endswith("revision 6")
    assert lines == [
        "language: german",
        "metadata policy: declared",
        "end users may publish: no",
        "metadata key billing.plan: string",
        "custom type ticket: priority:number, team.name:string",
        "custom type plain: no tags",
    ]


def test_show_as_json(ricordo: Invoke, client: Client) -> None:
    client.project.update(ProjectChanges(context={"top_k": 3, "format": "claude"}))
    shown = json.loads(ok(ricordo, "show", "--json"))
    assert shown["project_id"] == client.project.get().project_id
    assert shown["settings"]["context"] == {
        "max_tokens": None,
        "format": "claude",
        "top_k": 3,
        "template": None,
    }
    assert "context top_k: 3" in ok(ricordo, "show")


def test_a_language_is_set_and_cleared(ricordo: Invoke, client: Client) -> None:
    assert ok(ricordo, "set-language", "german") == "Changed; the project is at revision 2.\n"
    assert client.project.get().language == "german"
    ok(ricordo, "set-language", "")
    assert client.project.get().language is None
    status, told = refused(ricordo, "set-language", "klingon")
    assert (status, "INVALID_FIELD" in told) == (1, True)


def test_defaults_of_contexts_are_set_and_unset(ricordo: Invoke, client: Client, tmp_path: Path) -> None:
    file = tmp_path / "context.md.jinja"
    file.write_text("{% for chunk in chunks %}{{ chunk.content }}\n{% endfor %}")
    ok(ricordo, "set-context", "--top-k", "7", "--max-tokens", "900")
    ok(ricordo, "set-context", "--template", str(file), "--format", "jinja2", "--unset", "max_tokens")
    assert client.project.get().settings.context == ContextDefaults(
        top_k=7, format="jinja2", template=file.read_text()
    )


def test_a_template_that_fails_is_refused_with_its_line(ricordo: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "context.md.jinja"
    file.write_text("# Notes\n{% for chunk in memories %}{% endfor %}")
    status, told = refused(ricordo, "set-context", "--template", str(file))
    assert (status, "line 2" in told, "memories" in told) == (1, True, True)
    assert refused(ricordo, "set-context")[0] == 2


def test_a_policy_is_set(ricordo: Invoke, client: Client) -> None:
    ok(ricordo, "set-metadata-policy", "declared")
    assert client.project.get().settings.metadata_policy is MetadataPolicy.DECLARED
    assert refused(ricordo, "set-metadata-policy", "closed")[0] == 2


def test_end_users_are_let_publish(ricordo: Invoke, client: Client) -> None:
    ok(ricordo, "let-end-users-publish", "true")
    assert client.project.get().settings.end_users_may_publish
    ok(ricordo, "let-end-users-publish", "false")
    assert not client.project.get().settings.end_users_may_publish


def test_keys_are_added_retyped_and_removed(ricordo: Invoke, client: Client) -> None:
    def keys() -> dict[str, str]:
        return {key.name: key.value_type for key in client.project.get().settings.metadata_keys}

    ok(ricordo, "metadata-key", "add", "plan", "string")
    ok(ricordo, "metadata-key", "add", "seats", "number")
    ok(ricordo, "metadata-key", "retype", "plan", "bool")
    assert keys() == {"plan": "bool", "seats": "number"}
    ok(ricordo, "metadata-key", "remove", "plan")
    assert keys() == {"seats": "number"}


def test_a_key_whose_values_have_another_type_is_not_declared(ricordo: Invoke, client: Client) -> None:
    client.memories.create(NewMemory(content="x", metadata={"plan": 1}, scope=Scope(user_id="ada")))
    status, told = refused(ricordo, "metadata-key", "add", "plan", "string")
    assert status == 1
    assert told.startswith("ricordo: METADATA_TYPE_CONFLICT: 1 rows of the store 'default'")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["metadata-key", "add", "plan", "string"],
            "the metadata key 'plan' is declared already: `retype` changes it",
        ),
        (["metadata-key", "remove", "seats"], "there is no metadata key 'seats'; there is: plan"),
        (["metadata-key", "retype", "seats", "bool"], "there is no metadata key 'seats'; there is: plan"),
        (["metadata-key", "add", "x", "colour"], "Invalid value"),
        (["custom-type", "edit", "ticket"], "there is no custom type 'ticket'; there is: none"),
        (["custom-type", "remove", "ticket"], "there is no custom type 'ticket'; there is: none"),
        (["custom-type", "add", "ticket", "--tag", "priority"], "--tag 'priority' is not NAME:TYPE"),
        (["custom-type", "add", "ticket", "--tag", "a:colour"], "--tag 'a:colour' is not NAME:TYPE"),
    ],
)
def test_what_makes_no_sense_is_status_2(ricordo: Invoke, arguments: list[str], told: str) -> None:
    ok(ricordo, "metadata-key", "add", "plan", "string")
    status, message = refused(ricordo, *arguments)
    assert (status, told in message) == (2, True), message


def test_types_are_edited_and_removed_by_force_when_they_have_memories(
    ricordo: Invoke, client: Client
) -> None:
    ok(ricordo, "custom-type", "add", "ticket", "--tag", "priority:number")
    client.memories.create(
        NewMemory(kind="custom", custom_type="ticket", content="it broke", metadata={"priority": 1})
    )
    ok(ricordo, "custom-type", "edit", "ticket", "--tag", "priority:number", "--tag", "colour:string")
    [ticket] = client.project.get().settings.custom_types
    assert [tag.name for tag in ticket.tags] == ["priority", "colour"]
    status, told = refused(ricordo, "custom-type", "remove", "ticket")
    assert (status, "CUSTOM_TYPE_NOT_EMPTY" in told) == (1, True)
    ok(ricordo, "custom-type", "remove", "ticket", "--force")
    assert client.project.get().settings.custom_types == ()


def test_an_operator_sets_and_shows_limits(stack: Stack, client: Client) -> None:
    project_id = client.project.get().project_id
    environment = {"RICORDO_TARGET": stack.target, "RICORDO_TOKEN": "development:operator"}
    client.memories.create(NewMemory(content="Ann likes tea"))
    changed = run(
        "limits", project_id, "--stored-memories", "7", "--requests-per-second", "none", **environment
    )
    assert changed.exit_code == 0, changed.stderr
    assert "stored_memories: 7, used 1" in changed.stdout
    assert "requests_per_second: none" in changed.stdout
    shown = json.loads(run("limits", project_id, "--json", **environment).stdout)
    assert shown["limits"]["stored_memories"] == 7
    assert shown["usage"]["stored_memories"] == 1
    misused = run("limits", project_id, "--stored-bytes", "many", **environment)
    assert (misused.exit_code, "--stored-bytes 'many' is no number" in misused.stderr) == (2, True)


def test_an_operator_limits_the_models_and_reads_what_operators_did(stack: Stack, client: Client) -> None:
    project_id = client.project.get().project_id
    environment = {"RICORDO_TARGET": stack.target, "RICORDO_TOKEN": "development:operator"}
    changed = run("limits", project_id, "--llm-tokens-per-day", "5000", **environment)
    assert "llm_tokens_per_day: 5000, used 0" in changed.stdout, changed.stderr
    [record] = json.loads(
        run("audit", "--project", project_id, "--json", "--limit", "1", **environment).stdout
    )
    assert (record["action"], record["subject"]) == (
        "UpdateProjectLimits",
        f"{project_id}: llm_tokens_per_day",
    )
    assert "UpdateProjectLimits" in run("audit", "--installation", "--limit", "1", **environment).stdout


def test_an_operator_deletes_a_project(stack: Stack) -> None:
    environment = {"RICORDO_TARGET": stack.target, "RICORDO_TOKEN": "development:operator"}
    with Client(stack.target, token="development:operator") as operator:
        organization = operator.admin.create_organization("gone")
        made = operator.admin.create_project("gone", organization_id=organization.organization_id)
    counted = run("project", "delete", made.project_id, **environment)
    assert counted.stdout.endswith("Nothing is removed without --force.\n"), counted.stderr
    deleted = run("project", "delete", made.project_id, "--force", **environment)
    assert "project: 1" in deleted.stdout, deleted.stderr


def test_extraction_is_set(ricordo: Invoke, client: Client) -> None:
    ok(ricordo, "set-extraction", "--turn-count", "5", "--idle-seconds", "60", "--kind", "semantic")
    ok(ricordo, "set-extraction", "--least-trust", "assistant")
    ok(ricordo, "set-extraction", "--disabled")
    policy = client.project.get().settings.extraction
    assert (policy.enabled, policy.turn_count, policy.kinds) == (False, 5, ("semantic",))
    assert refused(ricordo, "set-extraction", "--turn-count", "101")[0] == 1
    assert refused(ricordo, "set-extraction")[0] == 2


def test_who_reads_the_turns_and_how_is_set(ricordo: Invoke, client: Client, tmp_path: Path) -> None:
    text = tmp_path / "facts.txt"
    text.write_text("Only boats.", encoding="utf-8")
    ok(ricordo, "set-extraction", "--endpoint", "builtin", "--time-zone", "Europe/Rome", "--person", "third")
    ok(ricordo, "set-extraction", "--prompt", f"semantic=@{text}", "--prompt", "episodic=Be short.")
    ok(ricordo, "set-extraction", "--topic", "user_preferences", "--topic", "boats=What floats = boats")
    policy = client.project.get().settings.extraction
    assert (policy.endpoint, policy.time_zone, policy.person) == ("builtin", "Europe/Rome", "third")
    assert policy.prompts == {"semantic": "Only boats.", "episodic": "Be short."}
    assert policy.topics == (
        TopicOfInterest(topic=ManagedTopic.USER_PREFERENCES),
        TopicOfInterest(topic="boats", description="What floats = boats"),
    )
    assert "extraction endpoint: builtin" in ok(ricordo, "show").splitlines()


def test_prompts_and_topics_are_taken_away(ricordo: Invoke, client: Client) -> None:
    ok(ricordo, "set-extraction", "--prompt", "semantic=Only boats.", "--topic", "boats")
    ok(ricordo, "set-extraction", "--prompt", "semantic=", "--topic", "")
    policy = client.project.get().settings.extraction
    assert (dict(policy.prompts), policy.topics) == ({}, ())


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (("--prompt", "semantic"), 2),
        (("--prompt", "feelings=x"), 2),
        (("--prompt", "semantic=@nowhere.txt"), 1),
        (("--prompt", "semantic=" + "x" * 4_097), 1),
        (("--endpoint", "nowhere"), 1),
        (("--time-zone", "Mars/One"), 1),
        (("--person", "second"), 2),
    ],
)
def test_what_extraction_cannot_be_set_to_is_refused(
    ricordo: Invoke, options: tuple[str, ...], status: int
) -> None:
    assert refused(ricordo, "set-extraction", *options)[0] == status
