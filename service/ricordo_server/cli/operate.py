"""Commands of the operator: up, bootstrap, migrate, create-project, serve, work, doctor."""

import asyncio
import os
import secrets
from typing import Annotated
from urllib.parse import quote, urlsplit

import typer
from uuid_utils.compat import uuid7

from ricordo_server.cli import doctor as checks
from ricordo_server.cli import options
from ricordo_server.cli.failures import MISUSE, Refusal, failures_told
from ricordo_server.cli.options import load_settings, require
from ricordo_server.cli.serving import (
    CHILD_COMMAND,
    serve_as_child,
    serve_until_stopped,
    stop_on_sigterm,
    work_until_stopped,
)
from ricordo_server.cli.stack import DATABASE, LOG_NAME, existing_stack, migrate_with_model, prepared_stack
from ricordo_server.config import Settings
from ricordo_server.db.installation import create_project as insert_project
from ricordo_server.db.migrations import APP_ROLE, OPERATOR_ROLE
from ricordo_server.db.migrations import bootstrap as make_roles_and_database
from ricordo_server.domain.store import DEFAULT_LANGUAGE, LANGUAGES
from ricordo_server.logs import move_large_log
from ricordo_server.server import listening_fault


def register(app: typer.Typer) -> None:
    """Adds the commands to the program."""
    for command in (up, bootstrap, migrate, create_project, serve, work, doctor):
        app.command()(command)
    app.command(CHILD_COMMAND, hidden=True)(serve_child)


def up(
    host: options.Host = None,
    port: options.Port = None,
    data_folder: options.DataFolder = None,
    processes: options.Processes = None,
    tls_certificate: options.TlsCertificate = None,
    tls_key: options.TlsKey = None,
    tls_client_ca: options.TlsClientCa = None,
    verbose: Annotated[bool, typer.Option(help="Write the log to the terminal, not the folder.")] = False,
) -> None:
    """Start everything: an embedded Postgres in a data folder, migrated, server and worker. Ctrl-C stops all."""
    with failures_told():
        settings = load_settings(
            host=host,
            port=port,
            data_folder=data_folder,
            processes=processes,
            with_worker=True,
            tls_certificate=tls_certificate,
            tls_key=tls_key,
            tls_client_ca=tls_client_ca,
        )
        require_safe_listening(settings, development=True)
        stop_on_sigterm()
        with prepared_stack(settings) as prepared:
            folder = prepared.data_folder.resolve()
            log_file = folder / LOG_NAME
            move_large_log(log_file)

            def announce(port: int) -> None:
                typer.echo(
                    f"Ricordo is ready on {prepared.host}:{port}: project {prepared.development_project}, "
                    f"data in {folder}. Ctrl-C stops it."
                )

            serve_until_stopped(prepared, announce, log_file=None if verbose else log_file)


def bootstrap(
    superuser_url: Annotated[str | None, typer.Option(help="URL of a superuser.")] = None,
    database: Annotated[str, typer.Option(help="The database to make.")] = DATABASE,
) -> None:
    """Make the roles, the database and the extension; once, as superuser.

    The passwords come from RICORDO_APP_PASSWORD and RICORDO_OPERATOR_PASSWORD. One that is not given is generated and
    printed: a repeat without it sets a new one.
    """
    with failures_told():
        url = require(load_settings(superuser_url=superuser_url).superuser_url, "superuser_url")
        given = {
            role: os.environ.get(variable, "")
            for role, variable in (
                (APP_ROLE, "RICORDO_APP_PASSWORD"),
                (OPERATOR_ROLE, "RICORDO_OPERATOR_PASSWORD"),
            )
        }
        passwords = {role: password or secrets.token_urlsafe(32) for role, password in given.items()}
        make_roles_and_database(
            url, database, app_password=passwords[APP_ROLE], operator_password=passwords[OPERATOR_ROLE]
        )
        typer.echo(f"The database {database} has its roles and the extension. Next: ricordo migrate")
        for role, variable in (
            (APP_ROLE, "RICORDO_DATABASE_URL"),
            (OPERATOR_ROLE, "RICORDO_OPERATOR_URL"),
        ):
            password = "<the password you gave>" if given[role] else quote(passwords[role], safe="")
            typer.echo(f"{variable}={make_url(url, role, password, database)}")


def make_url(superuser_url: str, role: str, password: str, database: str) -> str:
    """The superuser's URL for another role and database; its options, such as sslmode, stay."""
    parts = urlsplit(superuser_url)
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{role}:{password}@{host}", path=f"/{database}").geturl()


def migrate(
    owner_url: Annotated[
        str | None, typer.Option(help="URL of a login that may SET ROLE ricordo_owner.")
    ] = None,
) -> None:
    """Bring the schema to this release and register the embedding model; safe while servers run."""
    with failures_told():
        settings = load_settings(owner_url=owner_url)
        require(settings.owner_url, "owner_url")
        try:
            model = migrate_with_model(settings)
        except ValueError as error:  # the model's name is known with another dimension
            raise Refusal(str(error)) from error
        typer.echo(f"The schema is current; the embedding model {model} is registered.")


def create_project(
    name: Annotated[str, typer.Argument(help="Its display name, and that of its organization.")],
    language: Annotated[str, typer.Option(help="Language of text search.")] = DEFAULT_LANGUAGE,
    operator_url: Annotated[str | None, typer.Option(help="URL of ricordo_operator.")] = None,
) -> None:
    """Make a first project in an organization of its own, and print its id; needs no server."""
    with failures_told():
        url = require(load_settings(operator_url=operator_url).operator_url, "operator_url")
        if language not in LANGUAGES:
            raise Refusal(
                f"there is no language {language}: choose from {', '.join(LANGUAGES)}", status=MISUSE
            )
        project_id = uuid7()
        insert_project(url, project_id, name, language=language)
        typer.echo(str(project_id))


def serve(
    host: options.Host = None,
    port: options.Port = None,
    processes: options.Processes = None,
    tls_certificate: options.TlsCertificate = None,
    tls_key: options.TlsKey = None,
    tls_client_ca: options.TlsClientCa = None,
    insecure_behind_proxy: options.BehindProxy = None,
    database_url: Annotated[str | None, typer.Option(help="URL of ricordo_app.")] = None,
    development_project: Annotated[
        str | None, typer.Option(help="Id of the project of callers on this machine without a token.")
    ] = None,
    with_worker: Annotated[
        bool | None,
        typer.Option("--with-worker", help="Run jobs too, instead of a process of `ricordo work`."),
    ] = None,
) -> None:
    """Serve on a migrated database; the log goes to stderr, a JSON object a line."""
    with failures_told():
        settings = load_settings(
            host=host,
            port=port,
            processes=processes,
            tls_certificate=tls_certificate,
            tls_key=tls_key,
            tls_client_ca=tls_client_ca,
            insecure_behind_proxy=insecure_behind_proxy,
            database_url=database_url,
            development_project=development_project,
            with_worker=with_worker,
        )
        require(settings.database_url, "database_url")
        if settings.with_worker:
            require(settings.operator_url, "operator_url")
        require_credentials(settings)
        require_safe_listening(settings)

        def announce(port: int) -> None:
            plural = f"{settings.processes} processes" if settings.processes > 1 else "1 process"
            typer.echo(f"Ricordo is ready on {settings.host}:{port} ({plural}).")

        serve_until_stopped(settings, announce)


def work(
    database_url: Annotated[str | None, typer.Option(help="URL of ricordo_app.")] = None,
    operator_url: Annotated[str | None, typer.Option(help="URL of ricordo_operator.")] = None,
) -> None:
    """Run background jobs on a migrated database; start as many as you like. The log goes to stderr."""
    with failures_told():
        settings = load_settings(database_url=database_url, operator_url=operator_url)
        require(settings.database_url, "database_url")
        require(settings.operator_url, "operator_url")
        work_until_stopped(settings, lambda: typer.echo("Ricordo's worker is ready."))


def serve_child() -> None:
    """One of several server processes; started by `serve` and `up` only."""
    with failures_told():
        serve_as_child()


def doctor(
    data_folder: options.DataFolder = None,
    database_url: Annotated[str | None, typer.Option(help="URL of ricordo_app.")] = None,
) -> None:
    """Check the database, roles, extension, migrations and the embedder, and say what is wrong.

    Without a database URL it checks the embedded Postgres of the data folder.
    """
    with failures_told():
        settings = load_settings(data_folder=data_folder, database_url=database_url)
        if settings.database_url:
            healthy = asyncio.run(checks.report(settings))
        else:
            with existing_stack(settings) as existing:
                require(existing.database_url, "database_url")
                healthy = asyncio.run(checks.report(existing))
        if not healthy:
            raise typer.Exit(1)


def require_credentials(settings: Settings) -> None:
    if settings.development_project is None and not settings.key_secrets() and not settings.oidc:
        raise Refusal(
            "nobody could call this server: set RICORDO_KEY_SECRET for service accounts (`ricordo keys rotate` makes "
            "the first key), RICORDO_OIDC__<NAME>__ISSUER for an issuer of your own, or, on this machine alone, "
            "RICORDO_DEVELOPMENT_PROJECT to the id of a project",
            status=MISUSE,
        )


def require_safe_listening(settings: Settings, *, development: bool = False) -> None:
    """Before Postgres is started or asked; the server would refuse too."""
    if fault := listening_fault(settings, development=development):
        raise Refusal(fault, status=MISUSE)
