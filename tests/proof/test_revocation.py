"""What is revoked is refused within a minute, measured on a running server that nobody tells of it."""

import asyncio
import time
from collections.abc import AsyncIterator
from uuid import UUID

import grpc
import grpc.aio
import psycopg
import pytest

from ricordo.v1 import identity_service_pb2 as pb
from ricordo_server.server import running_server
from tests.fixtures.calls import as_service
from tests.fixtures.credentials import Client, bearer, identity_of, new_client
from tests.fixtures.database import TestDatabase, make_project
from tests.proof.conftest import Tally
from tests.proof.world import settings_of

pytestmark = pytest.mark.xdist_group("revocation")

EACH = 5
PROMISE, EVERY = 60.0, 0.5
# Each by the database alone, as another server does it.
ENDINGS: dict[str, str] = {
    "disabled": "UPDATE ricordo.service_account SET is_disabled = true WHERE account_id = %(account_id)s",
    "deleted": "DELETE FROM ricordo.service_account WHERE account_id = %(account_id)s",
    "its project closed": "UPDATE ricordo.project SET close_time = now() WHERE project_id = %(project_id)s",
    "its project deleted": "DELETE FROM ricordo.project WHERE project_id = %(project_id)s",
}
USERS: dict[str, list[str]] = {"service": [], "end user": ["ann"]}


@pytest.fixture
async def channel(database: TestDatabase, key_secret: str) -> AsyncIterator[grpc.aio.Channel]:
    settings = settings_of(database, development_project=make_project(database), key_secret=key_secret)
    async with (
        running_server(settings) as running,
        grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as opened,
    ):
        yield opened


async def test_what_is_revoked_is_refused_within_a_minute(
    channel: grpc.aio.Channel, database: TestDatabase, tally: Tally
) -> None:
    async def revoke(ending: str, kind: str) -> None:
        client = await new_client(channel, as_service(make_project(database)))
        token = await token_for(channel, client, USERS[kind])
        assert await is_let_in(channel, token)
        start = time.monotonic()
        end(database, client, ending)
        seconds = await seconds_until_refused(channel, token, start)
        tally.count(seconds <= PROMISE, (ending, kind, seconds))

    async with asyncio.TaskGroup() as group:
        for ending in ENDINGS:
            for kind in USERS:
                for _ in range(EACH):
                    group.create_task(revoke(ending, kind))
    assert not tally.failures


async def token_for(channel: grpc.aio.Channel, client: Client, users: list[str]) -> str:
    request = pb.IssueTokenRequest(
        client_id=client.client_id, client_secret=client.client_secret, user_ids=users
    )
    return str((await identity_of(channel).IssueToken(request)).access_token)


async def is_let_in(channel: grpc.aio.Channel, token: str) -> bool:
    """Anything but UNAUTHENTICATED fails the proof."""
    try:
        await identity_of(channel).WhoAmI(pb.WhoAmIRequest(), metadata=bearer(token))
    except grpc.aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.UNAUTHENTICATED:
            raise
        return False
    return True


def end(database: TestDatabase, client: Client, ending: str) -> None:
    project_id, _, account_id = client.client_id.partition(".")
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute(ENDINGS[ending], {"account_id": UUID(account_id), "project_id": UUID(project_id)})


async def seconds_until_refused(channel: grpc.aio.Channel, token: str, start: float) -> float:
    """At most half as long again as promised, when that does not end."""
    for _ in range(int(1.5 * PROMISE / EVERY)):
        if not await is_let_in(channel, token):
            break
        await asyncio.sleep(EVERY)
    return time.monotonic() - start
