"""Who calls, and service accounts."""

from datetime import timedelta

from ricordo.v1 import identity_service_pb2 as identity
from tests.client._async.calls.case import Case, first
from tests.fixtures.client_samples import NOON_WIRE, wire_account, wire_who_am_i

CASES: dict[str, Case] = {
    "WhoAmI": Case(
        lambda client: client.identity.who_am_i(),
        wire_who_am_i(),
        lambda who: who.kind == "service" and who.roles == ("writer",),
        {},
    ),
    "IssueToken": Case(
        lambda client: client.identity.issue_token(["ann", "team"], lifetime=timedelta(minutes=5)),
        identity.IssueTokenResponse(access_token="a.b.c", expire_time=NOON_WIRE),
        lambda token: token.access_token == "a.b.c" and "a.b.c" not in repr(token),
        {"user_ids": ["ann", "team"], "lifetime.seconds": 300, "client_id": ""},
    ),
    "GetSigningKeys": Case(
        lambda client: client.identity.signing_keys(),
        identity.GetSigningKeysResponse(jwks_json='{"keys": [{"kid": "k1"}]}'),
        lambda keys: keys == {"keys": [{"kid": "k1"}]},
        {},
    ),
    "CreateServiceAccount": Case(
        lambda client: client.identity.create_service_account("agent", role="writer"),
        identity.CreateServiceAccountResponse(service_account=wire_account(), client_secret="rcs-1"),
        lambda made: made.client_secret == "rcs-1" and "rcs-1" not in repr(made),
        {"service_account.name": "agent", "service_account.role": 2},
    ),
    "ListServiceAccounts": Case(
        lambda client: first(client.identity.list_service_accounts(page_size=7)),
        identity.ListServiceAccountsResponse(service_accounts=[wire_account()]),
        lambda account: (account.name, account.role, account.last_use_time) == ("agent", "writer", None),
        {"page_size": 7},
    ),
    "UpdateServiceAccount": Case(
        lambda client: client.identity.update_service_account("c1", role="admin"),
        identity.UpdateServiceAccountResponse(service_account=wire_account()),
        lambda account: account.client_id == "c1",
        {"service_account.client_id": "c1", "service_account.role": 3, "update_mask.paths": ["role"]},
    ),
    "RotateSecret": Case(
        lambda client: client.identity.rotate_secret("c1", overlap=timedelta(hours=1)),
        identity.RotateSecretResponse(service_account=wire_account(), client_secret="rcs-2"),
        lambda made: made.client_secret == "rcs-2" and made.service_account.secrets[0].secret_id == "s1",
        {"client_id": "c1", "overlap.seconds": 3600},
    ),
    "DisableServiceAccount": Case(
        lambda client: client.identity.disable_service_account("c1"),
        identity.DisableServiceAccountResponse(service_account=wire_account(disabled=True)),
        lambda account: account.disabled,
        {"client_id": "c1"},
    ),
    "EnableServiceAccount": Case(
        lambda client: client.identity.enable_service_account("c1"),
        identity.EnableServiceAccountResponse(service_account=wire_account()),
        lambda account: not account.disabled,
        {"client_id": "c1"},
    ),
    "DeleteServiceAccount": Case(
        lambda client: client.identity.delete_service_account("c1"),
        identity.DeleteServiceAccountResponse(),
        lambda nothing: nothing is None,
        {"client_id": "c1"},
    ),
}
