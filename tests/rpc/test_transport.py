"""TLS and mTLS with certificates of this test's own: who gets in, and what a reload does."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from ricordo import AsyncClient, errors
from ricordo_server.config import Settings
from ricordo_server.rpc.transport import (
    BadCertificateError,
    TlsSettings,
    find_listening_fault,
    server_credentials,
)
from ricordo_server.server import UnsafeToServe, open_services, serving
from tests.fixtures.certificates import ELSEWHERE, Authority, Certificate

EXPIRED = timedelta(hours=-1)

Serve = Callable[[TlsSettings], AbstractAsyncContextManager[int]]


@pytest.fixture
def authority() -> Authority:
    return Authority()


@pytest.fixture
def serve(settings: Settings) -> Serve:
    @asynccontextmanager
    async def serve(tls: TlsSettings) -> AsyncIterator[int]:
        encrypted = settings.model_copy(update={"tls": tls})
        async with open_services(encrypted, pool_size=2) as services, serving(encrypted, services) as running:
            yield running.port

    return serve


def tls_of(certificate: Certificate, folder: Path, client_ca: bytes | None = None) -> TlsSettings:
    settings = TlsSettings(*certificate.write(folder))
    if client_ca is None:
        return settings
    (folder / "client-ca.pem").write_bytes(client_ca)
    return replace(settings, client_ca=folder / "client-ca.pem")


async def ask(port: int, **options: object) -> None:
    """One call of a client with a connection of its own."""
    target = options.pop("target", f"127.0.0.1:{port}")
    async with AsyncClient(str(target), timeout=20, local_subchannel_pool=True, **options) as client:  # type: ignore[arg-type]
        await client.identity.who_am_i()


async def refused(port: int, match: str, **options: object) -> None:
    with pytest.raises(errors.TransportSecurityError, match=match) as caught:
        await ask(port, **options)
    assert str(port) in str(caught.value)


async def test_a_client_that_trusts_the_authority_gets_in(
    serve: Serve, authority: Authority, tmp_path: Path
) -> None:
    async with serve(tls_of(authority.issue(), tmp_path)) as port:
        await ask(port, root_certificates=authority.pem)
        await ask(port, root_certificates=authority.pem, target=f"localhost:{port}")


async def test_health_is_asked_under_the_same_certificate(
    serve: Serve, authority: Authority, tmp_path: Path
) -> None:
    credentials = grpc.ssl_channel_credentials(authority.pem)
    async with (
        serve(tls_of(authority.issue(), tmp_path)) as port,
        grpc.aio.secure_channel(f"127.0.0.1:{port}", credentials) as channel,
    ):
        health = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
    assert health.status == health_pb2.HealthCheckResponse.SERVING


async def test_an_unknown_authority_is_not_trusted(
    serve: Serve, authority: Authority, tmp_path: Path
) -> None:
    async with serve(tls_of(authority.issue(), tmp_path)) as port:
        await refused(port, "not trusted here: pass root_certificates", root_certificates=Authority().pem)
        await refused(port, "not trusted here: pass root_certificates", tls=True)


async def test_a_certificate_for_another_name_is_not_trusted(
    serve: Serve, authority: Authority, tmp_path: Path
) -> None:
    async with serve(tls_of(authority.issue(ELSEWHERE), tmp_path)) as port:
        await refused(port, "for another name", root_certificates=authority.pem)


async def test_plain_text_to_a_server_with_tls_names_the_remedy(
    serve: Serve, authority: Authority, tmp_path: Path
) -> None:
    async with serve(tls_of(authority.issue(), tmp_path)) as port:
        with pytest.raises(errors.MemoryConnectionError, match=rf"{port}.*expect TLS: pass tls=True"):
            await ask(port, tls=False)


async def test_tls_to_a_server_without_names_the_remedy(serve: Serve) -> None:
    async with serve(TlsSettings()) as port:
        await refused(port, "speaks plain text: pass tls=False", tls=True)


async def test_a_client_certificate_of_the_authority_gets_in(
    serve: Serve, authority: Authority, tmp_path: Path
) -> None:
    clients = Authority("clients")
    holder = clients.issue(())
    async with serve(tls_of(authority.issue(), tmp_path, clients.pem)) as port:
        await ask(
            port,
            root_certificates=authority.pem,
            certificate_chain=holder.certificate,
            private_key=holder.key,
        )


async def test_without_a_client_certificate_nobody_gets_in(
    serve: Serve, authority: Authority, tmp_path: Path
) -> None:
    async with serve(tls_of(authority.issue(), tmp_path, Authority().pem)) as port:
        with pytest.raises(errors.MemoryConnectionError, match="may ask for a client certificate"):
            await ask(port, root_certificates=authority.pem)


@pytest.mark.parametrize("holder", ["of another authority", "expired"])
async def test_a_client_certificate_that_is_not_trusted_is_refused(
    serve: Serve, authority: Authority, tmp_path: Path, holder: str
) -> None:
    clients = Authority("clients")
    bad = clients.issue((), valid=EXPIRED) if holder == "expired" else Authority("clients").issue(())
    async with serve(tls_of(authority.issue(), tmp_path, clients.pem)) as port:
        with pytest.raises(errors.MemoryConnectionError):
            await ask(
                port, root_certificates=authority.pem, certificate_chain=bad.certificate, private_key=bad.key
            )


async def test_new_files_are_served_without_a_restart(
    serve: Serve, authority: Authority, tmp_path: Path
) -> None:
    later = Authority("later")
    async with serve(tls_of(authority.issue(), tmp_path)) as port:
        await ask(port, root_certificates=authority.pem)
        later.issue().write(tmp_path)
        await ask(port, root_certificates=later.pem)
        await refused(port, "not trusted", root_certificates=authority.pem)


async def test_new_authorities_of_clients_count_without_a_restart(
    serve: Serve, authority: Authority, tmp_path: Path
) -> None:
    later = Authority("later")
    holder = later.issue(())
    own = {"certificate_chain": holder.certificate, "private_key": holder.key}
    async with serve(tls_of(authority.issue(), tmp_path, Authority("first").pem)) as port:
        with pytest.raises(errors.MemoryConnectionError):
            await ask(port, root_certificates=authority.pem, **own)
        (tmp_path / "client-ca.pem").write_bytes(later.pem)
        await ask(port, root_certificates=authority.pem, **own)


@pytest.mark.parametrize("fault", ["garbage", "missing", "key of another", "expired"])
async def test_bad_new_files_leave_the_certificate_and_are_logged_once(
    serve: Serve, authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    async with serve(tls_of(authority.issue(), tmp_path)) as port:
        spoil(tmp_path, authority, fault)
        for _ in range(2):
            await ask(port, root_certificates=authority.pem)
        assert [record.levelname for record in caplog.records if record.name == "ricordo.transport"] == [
            "ERROR"
        ]
        authority.issue().write(tmp_path)
        await ask(port, root_certificates=authority.pem)


def spoil(folder: Path, authority: Authority, fault: str) -> None:
    match fault:
        case "garbage":
            (folder / "server.pem").write_text("no certificate")
        case "missing":
            (folder / "server.key").unlink()
        case "key of another":
            (folder / "server.key").write_bytes(authority.issue().key)
        case "expired":
            authority.issue(valid=EXPIRED).write(folder)


@pytest.mark.parametrize("fault", ["garbage", "missing", "key of another", "expired"])
def test_the_server_does_not_start_with_bad_files(authority: Authority, tmp_path: Path, fault: str) -> None:
    settings = tls_of(authority.issue(), tmp_path)
    spoil(tmp_path, authority, fault)
    with pytest.raises(BadCertificateError, match=r"server\.(pem|key)"):
        server_credentials(settings)


@pytest.mark.parametrize(
    "given",
    [{"certificate": Path("c")}, {"key": Path("k")}, {"client_ca": Path("a")}],
)
def test_half_a_certificate_is_refused(given: dict[str, Path]) -> None:
    with pytest.raises(ValueError, match=r"both|too"):
        TlsSettings(**given)


OPEN = {"tls": False, "behind_proxy": False, "development": False}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]", "127.3.2.1"])
@pytest.mark.parametrize("development", [True, False])
def test_this_machine_alone_needs_nothing(host: str, development: bool) -> None:
    assert find_listening_fault(host, **OPEN | {"development": development}) == ""


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "[::]", "10.0.0.1", "ricordo.example", ""])
def test_beyond_it_the_server_needs_tls_or_a_proxy(host: str) -> None:
    assert "plain text" in find_listening_fault(host, **OPEN)
    for protection in ("tls", "behind_proxy"):
        assert find_listening_fault(host, **OPEN | {protection: True}) == ""
        assert "development principal" in find_listening_fault(
            host, **OPEN | {protection: True, "development": True}
        )


def test_behind_a_proxy_of_this_machine_everyone_would_be_the_development_principal() -> None:
    given = OPEN | {"behind_proxy": True, "development": True}
    assert "development principal" in find_listening_fault("127.0.0.1", **given)


async def test_the_server_itself_refuses_to_be_open_to_strangers(settings: Settings) -> None:
    exposed = settings.model_copy(update={"host": "0.0.0.0"})
    async with open_services(settings, pool_size=2) as services:
        with pytest.raises(UnsafeToServe, match="development principal"):
            async with serving(exposed, services):
                pass


def test_settings_of_tls_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RICORDO_TLS__CERTIFICATE", str(tmp_path / "c"))
    monkeypatch.setenv("RICORDO_TLS__KEY", str(tmp_path / "k"))
    settings = Settings(host="0.0.0.0", insecure_behind_proxy=True)
    assert settings.tls == TlsSettings(tmp_path / "c", tmp_path / "k")
    sent_to_a_child = json.loads(json.dumps(settings.model_dump(mode="json")))
    assert Settings(**sent_to_a_child) == settings
