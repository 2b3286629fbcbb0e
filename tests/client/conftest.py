import asyncio
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event

import pytest

from ricordo_server.config import Settings
from ricordo_server.server import open_services, serving
from tests.fixtures.fake_service import FakeService, running_fake_service


@pytest.fixture
def fake() -> Iterator[FakeService]:
    with running_fake_service() as service:
        yield service


@pytest.fixture
def service_target(settings: Settings) -> Iterator[str]:
    """`127.0.0.1:<port>` of a running server, in a thread of its own: a blocking client would stop its loop."""
    port: Future[int] = Future()
    stop = Event()

    def failing(served: "Future[None]") -> None:
        if not port.done():
            port.set_exception(served.exception() or SystemExit())

    with ThreadPoolExecutor(1) as thread:
        served = thread.submit(asyncio.run, serve(settings, port, stop))
        served.add_done_callback(failing)
        try:
            yield f"127.0.0.1:{port.result()}"
        finally:
            stop.set()
            served.result()


async def serve(settings: Settings, port: "Future[int]", stop: Event) -> None:
    async with (
        open_services(settings, pool_size=settings.pool_size) as services,
        serving(settings, services) as running,
    ):
        port.set_result(running.port)
        await asyncio.to_thread(stop.wait)
