"""How often tokens may be asked for with a secret, on a running server."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID, uuid4

import grpc.aio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import AsyncClient, errors
from ricordo_server.app.token_pace import SECONDS_OF_BURST, TokenPace
from ricordo_server.config import Settings
from ricordo_server.domain.errors import DomainError
from ricordo_server.rpc.authentication import peer_network
from tests.fixtures.calls import as_service
from tests.fixtures.credentials import Client, new_client

BURST = 3
# More than any machine does in the time that one token takes to come back.
OFTEN = 500


@pytest.fixture
async def client(service_target: str, token: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(service_target, token=token) as opened:
        yield opened


@pytest.fixture
async def account(channel: grpc.aio.Channel, project_id: UUID) -> Client:
    return await new_client(channel, as_service(project_id))


async def until_refused(ask: Callable[[], Awaitable[Any]]) -> errors.RateLimitError:
    for _ in range(OFTEN):
        try:
            await ask()
        except errors.RateLimitError as refused:
            return refused
        except errors.MemoryAuthError:
            continue
    raise AssertionError("it was let in each time")


def asking(client: AsyncClient, client_id: str, secret: str) -> Callable[[], Awaitable[Any]]:
    return lambda: client.identity.issue_token(client_id=client_id, client_secret=secret)


class TestOfOneAccount:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"token_requests_per_account": BURST / SECONDS_OF_BURST})

    async def test_beyond_its_burst_it_is_told_when_to_come_again(
        self, client: AsyncClient, account: Client
    ) -> None:
        ask = asking(client, account.client_id, account.client_secret)
        for _ in range(BURST):
            await ask()
        refused = await until_refused(ask)
        assert refused.metadata["limit_name"] == "token_requests_per_account"
        assert refused.retry_delay is not None
        assert 0 < refused.retry_delay.total_seconds() <= SECONDS_OF_BURST / BURST

    async def test_who_does_not_have_the_secret_uses_up_nothing_of_it(
        self, client: AsyncClient, account: Client
    ) -> None:
        await until_refused(asking(client, account.client_id, f"rcs-00000000-{'x' * 43}"))
        await asking(client, account.client_id, account.client_secret)()

    async def test_tokens_for_end_users_cost_no_secret(self, client: AsyncClient) -> None:
        for _ in range(BURST * 3):
            await client.identity.issue_token(user_ids=["ann"])


class TestOfOneAddress:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"token_requests_per_address": BURST / SECONDS_OF_BURST})

    async def test_whatever_accounts_it_names_all_of_it_counts(self, client: AsyncClient) -> None:
        refused = await until_refused(
            lambda: client.identity.issue_token(client_id=f"nobody-{uuid4()}", client_secret="x")
        )
        assert refused.metadata["limit_name"] == "token_requests_per_address"


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 3), st.integers(0, 3)), max_size=300))
def test_no_account_and_no_address_goes_beyond_its_rate_and_one_burst(
    calls: list[tuple[float, int, int]],
) -> None:
    now = 0.0
    pace = TokenPace(2.0, 3.0, clock=lambda: now)
    passed: dict[str, int] = {}
    for gap, address, account in calls:
        now += gap
        try:
            pace.check(f"10.0.0.{address}", f"client-{account}", "")
        except DomainError:
            continue
        for key, rate in ((f"address {address}", 3.0), (f"account {account}", 2.0)):
            passed[key] = passed.get(key, 0) + 1
            assert passed[key] <= rate * (SECONDS_OF_BURST + now) + 1e-6


@pytest.mark.parametrize(
    ("peer", "network"),
    [
        ("ipv4:10.1.2.3:5000", "10.1.2.3"),
        ("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:5000", "2001:db8:1:2::/64"),
        ("ipv6:[2001:db8:1:2::1]:5000", "2001:db8:1:2::/64"),
        ("unix:/run/socket", "unix:/run/socket"),
        ("nonsense", "nonsense"),
    ],
)
def test_a_caller_is_known_by_its_address_or_its_network(peer: str, network: str) -> None:
    assert peer_network(peer) == network
