"""bootstrap, migrate, create-project, serve and doctor on a Postgres of their own: bootstrap sets passwords."""

import re
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

from ricordo import Client
from ricordo_server import embedded
from tests.cli.programs import environment_of, run, run_program, started
from tests.fixtures.certificates import Authority
from tests.fixtures.database import TestDatabase

pytestmark = pytest.mark.xdist_group("operate")


@pytest.fixture(scope="module")
def superuser_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("operate")
    with embedded.running(folder / "postgres", settings={"fsync": "off"}) as server:
        yield server.superuser_url


def bootstrapped(superuser_url: str, database: str) -> dict[str, str]:
    """The environment that `bootstrap` prints, and the owner's URL."""
    printed = run("bootstrap", "--superuser-url", superuser_url, "--database", database)
    assert printed.exit_code == 0, printed.stderr
    urls = dict(re.findall(r"^(RICORDO_\w+)=(.+)$", printed.stdout, re.MULTILINE))
    assert urls.keys() == {"RICORDO_DATABASE_URL", "RICORDO_OPERATOR_URL"}
    owner = re.sub(r"/postgres\?", f"/{database}?", superuser_url)
    return {**urls, "RICORDO_OWNER_URL": owner, "RICORDO_PARTITIONS": "2"}


def test_from_an_empty_postgres_to_a_call(superuser_url: str, tmp_path: Path) -> None:
    environment = bootstrapped(superuser_url, "road")
    unready = run("doctor", **environment)
    assert unready.exit_code == 1
    assert "ok     database" in unready.stdout
    assert "fault  schema: the schema `ricordo` is missing: run `ricordo migrate`" in unready.stdout

    migrated = run("migrate", **environment)
    assert migrated.exit_code == 0, migrated.stderr
    assert "hashing-64 is registered" in migrated.stdout
    assert run("migrate", **environment).exit_code == 0

    created = run("create-project", "First", "--language", "german", **environment)
    project_id = str(UUID(created.stdout.strip()))
    healthy = run("doctor", **environment)
    assert healthy.exit_code == 0
    assert [line.split(maxsplit=1) for line in healthy.stdout.splitlines()] == [
        ["ok", name]
        for name in (
            "database",
            "schema",
            "role",
            "versions",
            "row-level security",
            "migrations",
            "signing keys",
            "embedder hashing-64",
            "embedding model",
            "other embedding models",
            "operator",
            "queue (0 waiting for 0 s, 0 failed)",
        )
    ]

    arguments = ("serve", "--port", "0", "--development-project", project_id)
    with started(tmp_path, *arguments, **environment) as program:
        target = program.wait_for(r"ready on (127\.0\.0\.1:\d+) \(1 process\)")[1]
        with Client(target) as client:
            project = client.project.get()
        assert (project.project_id, project.display_name, project.language) == (project_id, "First", "german")
        assert program.stop() == 0


def test_bootstrap_keeps_passwords_that_are_given_to_itself(superuser_url: str) -> None:
    passwords = {"RICORDO_APP_PASSWORD": "p@ss/word", "RICORDO_OPERATOR_PASSWORD": "other"}
    printed = run("bootstrap", "--superuser-url", superuser_url, "--database", "given", **passwords)
    assert printed.exit_code == 0
    assert "p@ss" not in printed.stdout
    with psycopg.connect(superuser_url, user="ricordo_app", password="p@ss/word", dbname="given"):
        pass


def test_doctor_says_what_is_wrong(superuser_url: str) -> None:
    environment = bootstrapped(superuser_url, "broken")
    assert run("migrate", **environment).exit_code == 0
    with psycopg.connect(environment["RICORDO_OWNER_URL"], autocommit=True) as connection:
        connection.execute("ALTER TABLE ricordo.memory NO FORCE ROW LEVEL SECURITY")
        connection.execute("UPDATE ricordo.revision SET version_num = '0001'")
        connection.execute("UPDATE ricordo.embedding_model SET dimension = 65")
    found = run("doctor", **environment | {"RICORDO_OPERATOR_URL": environment["RICORDO_DATABASE_URL"]})
    assert found.exit_code == 1
    assert "fault  row-level security: table memory has no forced row-level security" in found.stdout
    assert "fault  migrations: the schema is at revision 0001" in found.stdout
    assert (
        "fault  embedding model: hashing-64 is registered with 65 numbers and now answers 64" in found.stdout
    )
    assert "fault  operator: the URL is that of ricordo_app: give the one of ricordo_operator" in found.stdout
    assert "ok     role" in found.stdout


def test_serve_refuses_what_doctor_refuses(superuser_url: str) -> None:
    environment = bootstrapped(superuser_url, "empty")
    refused = run_program("serve", "--development-project", str(UUID(int=1)), "--port", "0", **environment)
    assert refused.returncode == 1
    assert "the schema `ricordo` is missing: run `ricordo migrate`" in refused.stderr


def test_doctor_without_a_database_server() -> None:
    found = run("doctor", RICORDO_DATABASE_URL="postgresql://ricordo_app@127.0.0.1:1/ricordo")
    assert found.exit_code == 1
    assert found.stdout.startswith("fault  database: connection failed")
    assert "RICORDO_DATABASE_URL" in found.stdout


def test_doctor_reports_an_embedder_that_is_away(database: TestDatabase) -> None:
    found = run(
        "doctor",
        RICORDO_DATABASE_URL=database.app_url,
        RICORDO_EMBEDDING__PROVIDER="openai",
        RICORDO_EMBEDDING__MODEL="m",
        RICORDO_EMBEDDING__DIMENSION="8",
        RICORDO_EMBEDDING__BASE_URL="http://127.0.0.1:1/v1",
        RICORDO_EMBEDDING__API_KEY="key",
        RICORDO_EMBEDDING__MAX_RETRIES="0",
    )
    assert found.exit_code == 1
    assert "fault  embedder m" in found.stdout
    assert "fault  embedding model: m" in found.stdout


def test_doctor_of_a_data_folder(tmp_path: Path) -> None:
    assert run("doctor", "--data-folder", str(tmp_path / "none")).exit_code == 2
    with started(tmp_path, "up", "--port", "0", "--data-folder", str(tmp_path / "data")) as program:
        program.wait_for("ready on")
        beside = run("doctor", "--data-folder", str(tmp_path / "data"))
        assert beside.exit_code == 0, beside.stdout
        assert program.stop() == 0
    alone = run("doctor", "--data-folder", str(tmp_path / "data"))
    assert alone.exit_code == 0, alone.stdout


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (("bootstrap",), "RICORDO_SUPERUSER_URL"),
        (("migrate",), "RICORDO_OWNER_URL"),
        (("create-project", "x"), "RICORDO_OPERATOR_URL"),
        (("serve",), "RICORDO_DATABASE_URL"),
    ],
)
def test_a_missing_url_is_named(arguments: tuple[str, ...], missing: str) -> None:
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert missing in refused.stderr


def test_serve_refuses_other_machines_and_says_why() -> None:
    settings = environment_of({"database_url": "postgresql://x", "development_project": UUID(int=1)})
    refused = run("serve", "--host", "0.0.0.0", **settings)
    assert refused.exit_code == 2
    assert "the development principal takes anyone at their word" in refused.stderr


def test_up_refuses_other_machines_before_it_makes_anything(tmp_path: Path) -> None:
    refused = run("up", "--host", "0.0.0.0", "--data-folder", str(tmp_path / "data"))
    assert refused.exit_code == 2
    assert not (tmp_path / "data").exists()


def test_half_a_certificate_is_a_misuse() -> None:
    refused = run("serve", "--tls-certificate", "c.pem", RICORDO_DATABASE_URL="postgresql://x")
    assert refused.exit_code == 2
    assert "tls: a certificate and its key belong together" in refused.stderr


def test_commands_follow_the_server_to_tls(tmp_path: Path) -> None:
    authority, clients = Authority(), Authority("clients")
    certificate, key = authority.issue().write(tmp_path)
    own_certificate, own_key = clients.issue(()).write(tmp_path, "client")
    for name, pem in (("ca", authority.pem), ("clients", clients.pem)):
        (tmp_path / f"{name}.pem").write_bytes(pem)
    tls = ["--tls-certificate", str(certificate), "--tls-key", str(key)]
    tls += ("--tls-client-ca", str(tmp_path / "clients.pem"), "--data-folder", str(tmp_path / "data"))
    with started(tmp_path, "up", "--port", "0", "--processes", "2", *tls) as program:
        target = program.wait_for(r"ready on (127\.0\.0\.1:\d+)")[1]
        show = ("project", "show", "--target", target)
        own = ("--client-certificate", str(own_certificate), "--client-key", str(own_key))
        shown = run("--ca", str(tmp_path / "ca.pem"), *own, *show)
        assert shown.exit_code == 0, shown.stderr
        assert "default" in shown.stdout
        for command in (("audit",), ("project", "delete", str(uuid4()))):
            reached = run("--ca", str(tmp_path / "ca.pem"), *own, *command, "--target", target)
            assert "no server answers" not in reached.stderr
        assert "not trusted here" in run(*own, *show).stderr
        assert "--client-certificate" in run("--ca", str(tmp_path / "ca.pem"), *show).stderr
        assert program.stop() == 0


def test_serve_refuses_when_nobody_could_call() -> None:
    refused = run("serve", RICORDO_DATABASE_URL="postgresql://x")
    assert refused.exit_code == 2
    assert "RICORDO_DEVELOPMENT_PROJECT" in refused.stderr
