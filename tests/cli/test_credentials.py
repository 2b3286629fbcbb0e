"""keys, service-account and token, on a server that takes no other credentials."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest
from typer.testing import Result

from ricordo import Client, errors
from ricordo_server import embedded
from tests.cli.programs import run, started
from tests.fixtures.credentials import decode_part
from tests.fixtures.database import KEY_SECRET, TestDatabase, make_project
from tests.migrations.databases import clone, drop_database, make_clone  # noqa: F401 - a fixture

pytestmark = pytest.mark.xdist_group("credentials")


@dataclass(frozen=True)
class Installation:
    """A server, and the environment of its operator."""

    target: str
    project_id: UUID
    environment: dict[str, str]


@pytest.fixture(scope="module")
def installation(
    postgres: embedded.EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    made = make_clone(postgres)
    environment = {"RICORDO_OPERATOR_URL": made.operator_url, "RICORDO_KEY_SECRET": KEY_SECRET}
    assert run("keys", "list", **environment).stdout == ""
    assert run("keys", "rotate", **environment).exit_code == 0
    arguments = ("serve", "--port", "0", "--database-url", made.app_url)
    with started(tmp_path_factory.mktemp("serve"), *arguments, **environment) as program:
        target = program.wait_for(r"ready on (127\.0\.0\.1:\d+)")[1]
        yield Installation(target, make_project(made), environment)
        assert program.stop() == 0
        assert KEY_SECRET not in program.errors
    drop_database(made)


def make_account(installation: Installation, name: str, role: str = "admin") -> dict[str, str]:
    """By the operator, as the environment of its user."""
    arguments = ("service-account", "create", name, "--role", role, "--json")
    made = run(*arguments, "--project", str(installation.project_id), **installation.environment)
    assert made.exit_code == 0, made.stderr
    account = json.loads(made.stdout)
    return {
        "RICORDO_TARGET": installation.target,
        "RICORDO_CLIENT_ID": account["client_id"],
        "RICORDO_CLIENT_SECRET": account["client_secret"],
    }


Invoke = Callable[..., Result]


@pytest.fixture(scope="module")
def admin(installation: Installation) -> Invoke:
    """Runs a command as the project's admin."""
    environment = make_account(installation, "boss")

    def invoke(*arguments: str, **more: str) -> Result:
        return run(*arguments, **{**environment, **more})

    return invoke


def ok(result: Result) -> str:
    assert result.exit_code == 0, result.stderr
    return result.stdout


def new_account(admin: Invoke, role: str = "writer") -> tuple[str, str]:
    """A name of its own, and the secret."""
    name = f"agent-{uuid4().hex[:8]}"
    return name, ok(admin("service-account", "create", name, "--role", role)).strip()


def client_id_of(admin: Invoke, name: str) -> str:
    listed = json.loads(ok(admin("service-account", "list", "--json")))
    [client_id] = [account["client_id"] for account in listed if account["name"] == name]
    return str(client_id)


def test_the_secret_stands_alone_on_stdout(admin: Invoke) -> None:
    made = admin("service-account", "create", f"agent-{uuid4().hex[:8]}", "--role", "reader")
    assert made.stdout.startswith("rcs-")
    assert len(made.stdout.split()) == 1
    assert made.stdout.strip() not in made.stderr


def test_a_token_is_printed_that_works(installation: Installation, admin: Invoke) -> None:
    token = ok(admin("token")).strip()
    with Client(installation.target, token=token) as client:
        who = client.identity.who_am_i()
    assert (who.project_id, who.roles) == (str(installation.project_id), ("admin", "reader", "writer"))


def test_the_secret_is_asked_for_and_no_option(installation: Installation, admin: Invoke) -> None:
    name, secret = new_account(admin)
    client_id = client_id_of(admin, name)
    asked = run("token", "--client-id", client_id, "--target", installation.target, input=f"{secret}\n")
    assert ok(asked).strip().count(".") == 2
    assert secret not in asked.output
    assert run("token", "--client-secret", secret).exit_code == 2


def test_a_token_for_an_end_user(admin: Invoke) -> None:
    token = ok(admin("token", "--user", "ann", "--user", "team", "--minutes", "5"))
    claims = decode_part(token.split(".")[1])
    assert (claims["user_ids"], claims["exp"] - claims["iat"]) == (["ann", "team"], 300)


def test_an_operator_s_token_is_signed_without_the_server(installation: Installation) -> None:
    environment = dict(installation.environment)
    url = environment.pop("RICORDO_OPERATOR_URL")
    token = ok(run("token", "--operator", "--operator-url", url, **environment)).strip()
    with Client(installation.target, token=token) as client:
        assert client.identity.who_am_i().roles == ("operator",)
        assert [project.project_id for project in client.admin.list_projects()] == [
            str(installation.project_id)
        ]
        with pytest.raises(errors.MemoryAuthError):
            client.project.get()


def test_accounts_are_listed_with_their_last_use(admin: Invoke) -> None:
    name, _ = new_account(admin)
    lines = ok(admin("service-account", "list")).splitlines()
    [boss] = [line for line in lines if line.startswith("boss ")]
    [unused] = [line for line in lines if line.startswith(f"{name} ")]
    assert "used 20" in boss
    assert unused.endswith("never used")
    admin("service-account", "disable", name)
    assert "disabled, never used" in ok(admin("service-account", "list"))


def test_a_rotated_secret_overlaps_with_the_one_before(installation: Installation, admin: Invoke) -> None:
    name, old = new_account(admin)
    client_id = client_id_of(admin, name)
    new = ok(admin("service-account", "rotate", name)).strip()
    for secret in (old, new):
        with Client(installation.target, client_id=client_id, client_secret=secret) as client:
            assert client.identity.who_am_i()
    ok(admin("service-account", "rotate", name, "--overlap-hours", "0"))
    refused = pytest.raises(errors.MemoryAuthError)
    with Client(installation.target, client_id=client_id, client_secret=new) as client, refused:
        client.identity.who_am_i()


def test_an_account_is_changed_disabled_enabled_and_deleted(admin: Invoke) -> None:
    name, _ = new_account(admin, "reader")
    assert ok(admin("service-account", "set-role", name, "writer")) == f"{name} is writer.\n"
    assert ok(admin("service-account", "disable", name)) == f"{name} is disabled.\n"
    assert f"{name}  writer" in ok(admin("service-account", "list"))
    assert ok(admin("service-account", "enable", name)) == f"{name} is enabled.\n"
    assert ok(admin("service-account", "delete", name)) == f"{name} is deleted.\n"
    gone = admin("service-account", "disable", name)
    assert (gone.exit_code, f"no service account '{name}'" in gone.stderr) == (2, True)


@pytest.mark.parametrize(
    ("project", "name", "told"),
    [
        (str(UUID(int=1)), "agent", "there is no project"),
        ("default", "agent", "badly formed"),
        (None, "boss", "has a service account 'boss'"),
        (None, "Boss", "the name must match"),
    ],
)
def test_the_operator_s_mistakes_are_named(
    installation: Installation, admin: Invoke, project: str | None, name: str, told: str
) -> None:
    arguments = ("--project", project or str(installation.project_id), "--role", "admin")
    refused = run("service-account", "create", name, *arguments, **installation.environment)
    assert (refused.exit_code, told in refused.stderr) == (2, True), refused.stderr


def test_wrong_credentials_are_told_without_the_secret(admin: Invoke) -> None:
    refused = admin("token", RICORDO_CLIENT_SECRET="rcs-wrong-secret")
    assert (refused.exit_code, "UNAUTHENTICATED" in refused.stderr) == (1, True)
    assert "rcs-wrong-secret" not in refused.output


# Keys.


@pytest.fixture
def operator(clone: TestDatabase) -> Invoke:  # noqa: F811
    """Runs a command on a database of the test's own."""
    environment = {"RICORDO_OPERATOR_URL": clone.operator_url, "RICORDO_KEY_SECRET": KEY_SECRET}
    return lambda *arguments, **more: run(*arguments, **{**environment, **more})


def test_what_the_operator_does_without_a_server_is_recorded(clone: TestDatabase, operator: Invoke) -> None:  # noqa: F811
    project_id = ok(operator("create-project", "acme")).strip()
    create = ("service-account", "create", "boss", "--role", "admin", "--project", project_id, "--json")
    account = json.loads(ok(operator(*create)))
    ok(operator("keys", "rotate"))
    first = next(iter(states(operator)))
    ok(operator("keys", "rotate", "--now"))
    ok(operator("keys", "retire", first))
    second = next(key for key in states(operator) if key != first)
    with psycopg.connect(clone.operator_url) as connection:
        rows = connection.execute("SELECT action, subject FROM ricordo.audit ORDER BY audit_id").fetchall()
    assert rows == [
        ("CreateProject", project_id),
        ("CreateServiceAccount", account["client_id"]),
        ("RotateSigningKey", first),
        ("RotateSigningKey", second),
        ("RetireSigningKey", first),
    ]


def states(operator: Invoke) -> dict[str, str]:
    return {key["key_id"]: key["state"] for key in json.loads(ok(operator("keys", "list", "--json")))}


def test_keys_are_rotated_and_retired(operator: Invoke) -> None:
    ok(operator("keys", "rotate"))
    [first] = states(operator)
    ok(operator("keys", "rotate"))
    assert sorted(states(operator).values()) == ["active", "next"]
    only = operator("keys", "retire", first)
    assert (only.exit_code, "rotate --now" in only.stderr) == (2, True)
    ok(operator("keys", "rotate", "--now"))
    assert states(operator)[first] == "previous"
    ok(operator("keys", "retire", first))
    assert states(operator)[first] == "retired"
    again = operator("keys", "retire", first)
    assert (again.exit_code, "no key" in again.stderr) == (2, True)
    public = json.loads(ok(operator("keys", "list", "--jwks")))["keys"]
    assert {key["kid"] for key in public} == states(operator).keys() - {first}
    assert not any("d" in key for key in public)


def test_the_secret_of_the_keys_may_stand_in_a_file(operator: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(KEY_SECRET + "\n")
    ok(operator("keys", "rotate"))
    environment = {"RICORDO_KEY_SECRET": "", "RICORDO_KEY_SECRET_FILE": str(file)}
    assert json.loads(ok(operator("keys", "list", "--jwks", **environment)))["keys"]


@pytest.mark.parametrize("secret", ["", "short", "another secret that is long enough"])
def test_a_wrong_key_secret_is_told(operator: Invoke, secret: str) -> None:
    ok(operator("keys", "rotate"))
    refused = operator("keys", "list", "--jwks", RICORDO_KEY_SECRET=secret)
    assert (refused.exit_code, "key secret" in refused.stderr) == (1, True), refused.stderr
    assert secret not in refused.stderr or not secret
