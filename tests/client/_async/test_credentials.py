"""As whom a client calls: tokens that are given, provided, or obtained and renewed."""

from typing import Any

import grpc
import pytest

from ricordo import AsyncClient, AsyncMemory, errors
from ricordo._aio import gather
from ricordo._async.credentials import AsyncCredentials
from ricordo._settings import Credential
from ricordo.v1.identity_service_pb2 import IssueTokenResponse
from tests.fixtures.client_samples import NOON_WIRE, wire_who_am_i
from tests.fixtures.fake_service import Delay, FakeService, Refusal

ACCOUNT: dict[str, Any] = {"client_id": "c1", "client_secret": "rcs-secret"}
REFUSED = Refusal(grpc.StatusCode.UNAUTHENTICATED, reason="UNAUTHENTICATED")


def issued(token: str) -> IssueTokenResponse:
    return IssueTokenResponse(access_token=token, expire_time=NOON_WIRE)


def shown(fake: FakeService) -> list[object]:
    return [call.metadata.get("authorization") for call in fake.calls if call.method == "WhoAmI"]


async def test_a_service_account_obtains_one_token_for_many_calls(fake: FakeService) -> None:
    fake.answer("IssueToken", issued("t1"))
    async with AsyncClient(fake.target, **ACCOUNT) as client:
        for _ in range(3):
            fake.answer("WhoAmI", wire_who_am_i())
            await client.identity.who_am_i()
    assert fake.methods() == ["IssueToken", "WhoAmI", "WhoAmI", "WhoAmI"]
    assert shown(fake) == ["Bearer t1"] * 3
    asked = fake.calls[0]
    assert (asked.request.client_id, asked.request.client_secret) == ("c1", "rcs-secret")
    assert "authorization" not in asked.metadata


async def test_calls_at_the_same_time_obtain_one_token(fake: FakeService) -> None:
    fake.answer("IssueToken", issued("t1"))
    fake.answer("WhoAmI", *[wire_who_am_i()] * 5)
    async with AsyncClient(fake.target, **ACCOUNT) as client:
        await gather([client.identity.who_am_i] * 5)
    assert fake.methods().count("IssueToken") == 1
    assert shown(fake) == ["Bearer t1"] * 5


async def test_a_refused_token_is_renewed_once(fake: FakeService) -> None:
    fake.answer("IssueToken", issued("t1"), issued("t2"))
    fake.answer("WhoAmI", REFUSED, wire_who_am_i())
    async with AsyncClient(fake.target, **ACCOUNT) as client:
        assert (await client.identity.who_am_i()).principal_id == "agent"
    assert shown(fake) == ["Bearer t1", "Bearer t2"]


async def test_a_second_refusal_is_the_answer(fake: FakeService) -> None:
    fake.answer("IssueToken", issued("t1"), issued("t2"))
    fake.answer("WhoAmI", REFUSED, REFUSED, REFUSED)
    async with AsyncClient(fake.target, **ACCOUNT) as client:
        with pytest.raises(errors.MemoryAuthError):
            await client.identity.who_am_i()
    assert shown(fake) == ["Bearer t1", "Bearer t2"]


async def test_refused_credentials_are_an_error_without_the_secret(fake: FakeService) -> None:
    fake.answer("IssueToken", REFUSED)
    async with AsyncClient(fake.target, **ACCOUNT) as client:
        with pytest.raises(errors.MemoryAuthError) as refused:
            await client.identity.who_am_i()
    assert fake.methods() == ["IssueToken"]
    assert "rcs-secret" not in f"{refused.value!r} {refused.value}"


async def test_a_given_token_is_not_tried_again(fake: FakeService) -> None:
    fake.answer("WhoAmI", REFUSED)
    async with AsyncClient(fake.target, token="t") as client:
        with pytest.raises(errors.MemoryAuthError):
            await client.identity.who_am_i()
    assert shown(fake) == ["Bearer t"]


async def test_a_token_is_renewed_before_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, tokens = [1000.0], iter(("t1", "t2"))
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    credentials = AsyncCredentials(Credential(**ACCOUNT))

    async def issue(request: object) -> IssueTokenResponse:
        return issued(next(tokens))

    assert await credentials.get(issue) == "t1"
    clock[0] += 3600 * 0.9 - 1
    assert await credentials.get(issue) == "t1"
    clock[0] += 2
    assert await credentials.get(issue) == "t2"


async def test_obtaining_a_token_is_within_the_deadline_of_the_call(fake: FakeService) -> None:
    fake.answer("IssueToken", Delay(1.0))
    async with AsyncClient(fake.target, **ACCOUNT) as client:
        with pytest.raises(errors.DeadlineExceededError):
            await client.identity.who_am_i(timeout=0.2)


async def test_a_provider_is_asked_before_each_call(fake: FakeService) -> None:
    tokens = iter(("p1", "p2"))
    fake.answer("WhoAmI", wire_who_am_i(), wire_who_am_i())
    async with AsyncClient(fake.target, token_provider=lambda: next(tokens)) as client:
        for _ in range(2):
            await client.identity.who_am_i()
    assert shown(fake) == ["Bearer p1", "Bearer p2"]


async def test_a_provider_is_asked_again_when_its_token_is_refused(fake: FakeService) -> None:
    tokens = iter(("p1", "p2"))
    fake.answer("WhoAmI", REFUSED, wire_who_am_i())
    async with AsyncClient(fake.target, token_provider=lambda: next(tokens)) as client:
        await client.identity.who_am_i()
    assert shown(fake) == ["Bearer p1", "Bearer p2"]


async def test_the_same_token_is_not_sent_twice(fake: FakeService) -> None:
    fake.answer("WhoAmI", REFUSED, wire_who_am_i())
    async with AsyncClient(fake.target, token_provider=lambda: "p1") as client:
        with pytest.raises(errors.MemoryAuthError):
            await client.identity.who_am_i()
    assert shown(fake) == ["Bearer p1"]


@pytest.mark.parametrize("given", [None, " ", b"p1", 7])
async def test_a_provider_gives_a_text(fake: FakeService, given: Any) -> None:
    refused = pytest.raises(errors.MemoryClientError, match="token_provider gave no token")
    async with AsyncClient(fake.target, token_provider=lambda: given) as client:
        with refused:
            await client.identity.who_am_i()
    assert fake.calls == []


@pytest.mark.parametrize(
    "given",
    [
        {"token": " "},
        {"client_id": "c1"},
        {"client_secret": "s"},
        {"client_id": " ", "client_secret": "s"},
        {"client_id": "c1", "client_secret": " "},
        {"token": "t", **ACCOUNT},
        {"token": "t", "token_provider": lambda: "t"},
        {"token_provider": lambda: "t", **ACCOUNT},
    ],
    ids=" ".join,
)
def test_credentials_that_make_no_sense_are_refused(given: dict[str, Any]) -> None:
    for make in (AsyncClient, AsyncMemory):
        with pytest.raises(errors.MemoryClientError):
            make("localhost:1", **given)


def test_no_secret_is_in_a_repr() -> None:
    credential = Credential(token="t-secret", client_secret="rcs-secret")
    client = AsyncClient("localhost:1", **ACCOUNT)
    assert "secret" not in f"{credential!r} {vars(client)!r} {client._connection._settings!r}".replace(
        "client_secret", ""
    )


async def test_the_facade_finds_a_service_account_in_the_environment(
    fake: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_CLIENT_ID", "c1")
    monkeypatch.setenv("RICORDO_CLIENT_SECRET", "rcs-secret")
    fake.answer("IssueToken", issued("t1"))
    async with AsyncMemory(fake.target) as memory:
        await memory.list_domains()
    assert fake.methods() == ["IssueToken", "ListDomains"]
    assert fake.calls[0].request.client_secret == "rcs-secret"


async def test_what_is_given_wins_over_a_service_account_in_the_environment(
    fake: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_CLIENT_ID", "c1")
    monkeypatch.setenv("RICORDO_CLIENT_SECRET", "rcs-secret")
    for given in ({"token": "mine"}, {"token_provider": lambda: "mine"}):
        async with AsyncMemory(fake.target, **given) as memory:
            await memory.list_domains()
    assert [call.metadata["authorization"] for call in fake.calls] == ["Bearer mine"] * 2


def test_two_credentials_in_the_environment_contradict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_TOKEN", "t")
    monkeypatch.setenv("RICORDO_CLIENT_ID", "c1")
    monkeypatch.setenv("RICORDO_CLIENT_SECRET", "s")
    with pytest.raises(errors.MemoryClientError, match="several credentials"):
        AsyncMemory("localhost:1")


async def test_a_service_account_of_a_real_server(service_target: str, live: AsyncClient) -> None:
    made = await live.identity.create_service_account("agent", role="writer")
    account: dict[str, Any] = {
        "client_id": made.service_account.client_id,
        "client_secret": made.client_secret,
    }
    async with AsyncClient(service_target, **account) as client:
        who = await client.identity.who_am_i()
    assert (who.principal_id, who.roles) == (account["client_id"], ("reader", "writer"))


async def test_an_end_user_s_token_of_a_real_server(service_target: str, live: AsyncClient) -> None:
    token = await live.identity.issue_token(["ann", "team"])
    async with AsyncClient(service_target, token=token.access_token) as client:
        who = await client.identity.who_am_i()
    assert (who.kind, who.user_ids) == ("user", ("ann", "team"))
    assert [key["kty"] for key in (await live.identity.signing_keys())["keys"]][:1] == ["OKP"]


async def test_accounts_of_a_real_server_are_managed(live: AsyncClient) -> None:
    made = await live.identity.create_service_account("agent", role="reader")
    client_id = made.service_account.client_id
    assert (await live.identity.rotate_secret(client_id)).client_secret != made.client_secret
    assert (await live.identity.update_service_account(client_id, role="admin")).role == "admin"
    assert (await live.identity.disable_service_account(client_id)).disabled
    assert not (await live.identity.enable_service_account(client_id)).disabled
    [listed] = [account async for account in live.identity.list_service_accounts()]
    assert (listed.name, len(listed.secrets)) == ("agent", 2)
    await live.identity.delete_service_account(client_id)
    assert [account async for account in live.identity.list_service_accounts()] == []
