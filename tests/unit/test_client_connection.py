"""What belongs to one colour only, and the settings of a channel."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ricordo import AsyncClient, Client, errors
from ricordo._settings import SERVICE_CONFIG, Credential, Settings, is_loopback, make_settings
from tests.fixtures.client_samples import wire_who_am_i
from tests.fixtures.fake_service import METHODS, Delay, running_fake_service


def settings(target: str = "localhost:7483", **given: Any) -> Settings:
    absent: dict[str, Any] = dict.fromkeys(("tls", "root_certificates", "certificate_chain", "private_key"))
    arguments = absent | {"timeout": 30.0} | given
    return make_settings(target, local_subchannel_pool=False, credential=Credential(), **arguments)


@pytest.mark.parametrize(
    "target",
    [
        "localhost:7483",
        "localhost",
        "127.0.0.1:1",
        "127.9.9.9:1",
        "[::1]:1",
        "dns:///localhost:1",
        "unix:/tmp/s",
    ],
)
def test_this_machine(target: str) -> None:
    assert is_loopback(target)
    assert settings(target).credentials() is None


@pytest.mark.parametrize(
    "target", ["ricordo.example:443", "10.0.0.1:1", "localhost.example:1", "[2001:db8::1]:1"]
)
def test_other_machines_are_reached_by_tls(target: str) -> None:
    assert not is_loopback(target)
    assert settings(target).credentials() is not None


def test_tls_can_be_chosen() -> None:
    assert settings(tls=True).tls
    assert settings(root_certificates=b"pem").tls
    assert settings(certificate_chain=b"pem", private_key=b"pem").tls
    assert not settings("ricordo.example:443", tls=False).tls


@pytest.mark.parametrize(
    "given",
    [
        {"target": " "},
        {"timeout": 0},
        {"timeout": True},
        {"root_certificates": b"x", "tls": False},
        {"certificate_chain": b"x", "private_key": b"x", "tls": False},
        {"certificate_chain": b"x"},
        {"private_key": b"x"},
    ],
)
def test_settings_that_make_no_sense_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(errors.MemoryClientError):
        settings(**given)


def test_every_service_is_retried() -> None:
    (config,) = SERVICE_CONFIG["methodConfig"]
    named = {name["service"] for name in config["name"]}
    assert named == {method.containing_service.full_name for method in METHODS.values()}
    assert json.loads(str(dict(settings().options())["grpc.service_config"]))


def test_keepalive_is_slower_than_the_server_permits_and_silent_when_idle() -> None:
    options = dict(settings().options())
    assert options["grpc.keepalive_time_ms"] == 60_000
    assert options["grpc.keepalive_permit_without_calls"] == 0


def test_a_client_is_made_outside_any_loop_and_used_in_one() -> None:
    with running_fake_service() as fake:
        client = AsyncClient(fake.target)
        fake.answer("WhoAmI", wire_who_am_i())
        asyncio.run(ask_and_close(client))
    assert fake.methods() == ["WhoAmI"]


async def ask_and_close(client: AsyncClient) -> None:
    await client.identity.who_am_i()
    await client.close()


def test_use_from_another_loop_is_an_error_that_says_so() -> None:
    with running_fake_service() as fake, asyncio.Runner() as one, asyncio.Runner() as other:
        client = AsyncClient(fake.target)
        fake.answer("WhoAmI", wire_who_am_i())
        one.run(client.identity.who_am_i())
        with pytest.raises(errors.MemoryClientError, match="another event loop"):
            other.run(client.identity.who_am_i())
        one.run(client.close())


def test_threads_share_a_client() -> None:
    with running_fake_service() as fake, Client(fake.target) as client, ThreadPoolExecutor(4) as pool:
        fake.answer("WhoAmI", *[wire_who_am_i()] * 8)
        found = list(pool.map(lambda _: client.identity.who_am_i().project_id, range(8)))
    assert found == ["p1"] * 8


async def test_a_call_can_be_cancelled() -> None:
    with running_fake_service() as fake:
        async with AsyncClient(fake.target) as client:
            fake.answer("WhoAmI", Delay(0.5))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await client.identity.who_am_i()


async def test_an_async_provider_is_awaited() -> None:
    async def provide() -> str:
        return "p1"

    with running_fake_service() as fake:
        async with AsyncClient(fake.target, token_provider=provide) as client:
            fake.answer("WhoAmI", wire_who_am_i())
            await client.identity.who_am_i()
    assert fake.calls[0].metadata["authorization"] == "Bearer p1"
