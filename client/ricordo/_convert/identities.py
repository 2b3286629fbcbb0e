"""Who asks, service accounts and tokens: requests and replies."""

from collections.abc import Sequence
from datetime import timedelta

from google.protobuf.field_mask_pb2 import FieldMask

from ricordo import models
from ricordo._convert import enums, paging, values
from ricordo._convert.sendable import sendable
from ricordo.v1 import identity_service_pb2 as pb
from ricordo.v1 import service_account_pb2


@sendable
def create_service_account_request(
    name: str, *, role: models.ProjectRole | str, request_id: str | None
) -> pb.CreateServiceAccountRequest:
    """Asks for a new account."""
    account = service_account_pb2.ServiceAccount(name=name, role=enums.PROJECT_ROLE.encode(role))
    return pb.CreateServiceAccountRequest(service_account=account, request_id=paging.fresh(request_id))


@sendable
def list_service_accounts_request(*, page_size: int | None) -> pb.ListServiceAccountsRequest:
    """Asks for a page of accounts."""
    return pb.ListServiceAccountsRequest(page_size=page_size)


@sendable
def update_service_account_request(
    client_id: str, *, role: models.ProjectRole | str, request_id: str | None
) -> pb.UpdateServiceAccountRequest:
    """Asks to change the role."""
    account = service_account_pb2.ServiceAccount(client_id=client_id, role=enums.PROJECT_ROLE.encode(role))
    return pb.UpdateServiceAccountRequest(
        service_account=account, update_mask=FieldMask(paths=["role"]), request_id=paging.fresh(request_id)
    )


@sendable
def rotate_secret_request(
    client_id: str, *, overlap: timedelta | None, request_id: str | None
) -> pb.RotateSecretRequest:
    """Asks for a new secret."""
    return pb.RotateSecretRequest(
        client_id=client_id, overlap=values.encode_duration(overlap), request_id=paging.fresh(request_id)
    )


@sendable
def disable_request(client_id: str, *, request_id: str | None) -> pb.DisableServiceAccountRequest:
    """Asks to disable an account."""
    return pb.DisableServiceAccountRequest(client_id=client_id, request_id=paging.fresh(request_id))


@sendable
def enable_request(client_id: str, *, request_id: str | None) -> pb.EnableServiceAccountRequest:
    """Asks to enable an account."""
    return pb.EnableServiceAccountRequest(client_id=client_id, request_id=paging.fresh(request_id))


@sendable
def delete_request(client_id: str, *, request_id: str | None) -> pb.DeleteServiceAccountRequest:
    """Asks to delete an account."""
    return pb.DeleteServiceAccountRequest(client_id=client_id, request_id=paging.fresh(request_id))


@sendable
def issue_token_request(
    *,
    client_id: str = "",
    client_secret: str = "",
    user_ids: Sequence[str] = (),
    lifetime: timedelta | None = None,
) -> pb.IssueTokenRequest:
    """Asks for a token."""
    return pb.IssueTokenRequest(
        client_id=client_id,
        client_secret=client_secret,
        user_ids=user_ids,
        lifetime=values.encode_duration(lifetime),
    )


def decode_who_am_i(reply: pb.WhoAmIResponse) -> models.WhoAmI:
    """Decodes what the server makes of the credential."""
    return models.WhoAmI(
        principal_id=reply.principal_id,
        kind=enums.PRINCIPAL_KIND.decode(reply.kind),
        project_id=reply.project_id,
        roles=tuple(reply.roles),
        user_ids=tuple(reply.user_ids),
    )


def decode_token(reply: pb.IssueTokenResponse) -> models.AccessToken:
    """Decodes a token."""
    return models.AccessToken(
        access_token=reply.access_token, expire_time=values.decode_time(reply.expire_time)
    )


def decode_client_secret(
    reply: pb.CreateServiceAccountResponse | pb.RotateSecretResponse,
) -> models.ClientSecret:
    """Decodes an account with its new secret."""
    return models.ClientSecret(
        service_account=decode_account(reply.service_account), client_secret=reply.client_secret
    )


def decode_account(account: service_account_pb2.ServiceAccount) -> models.ServiceAccount:
    """Decodes an account."""
    return models.ServiceAccount(
        client_id=account.client_id,
        name=account.name,
        role=enums.PROJECT_ROLE.decode(account.role),
        disabled=account.disabled,
        creator_id=account.creator_id,
        create_time=values.decode_time(account.create_time),
        update_time=values.decode_time(account.update_time),
        last_use_time=values.decode_optional_time(account.last_use_time, account.HasField("last_use_time")),
        secrets=tuple(map(_decode_secret, account.secrets)),
    )


def _decode_secret(secret: service_account_pb2.ServiceAccountSecret) -> models.ServiceAccountSecret:
    return models.ServiceAccountSecret(
        secret_id=secret.secret_id,
        create_time=values.decode_time(secret.create_time),
        expire_time=values.decode_optional_time(secret.expire_time, secret.HasField("expire_time")),
    )
