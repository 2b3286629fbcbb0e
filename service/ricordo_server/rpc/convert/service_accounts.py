"""Service accounts and what is asked about tokens."""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from ricordo.v1 import service_account_pb2
from ricordo_server.domain.errors import invalid_field, over_limit
from ricordo_server.domain.limits import MAX_NAME_BYTES, MAX_TOKEN_USERS, MAX_TOKEN_USERS_BYTES
from ricordo_server.domain.principal import Role
from ricordo_server.domain.service_account import (
    AccountDraft,
    ClientId,
    SecretInfo,
    ServiceAccount,
    parse_client_id,
)
from ricordo_server.domain.signing_key import MAX_TOKEN_LIFETIME
from ricordo_server.rpc.checks import check_pattern, check_text, check_texts
from ricordo_server.rpc.convert.times import decode_duration, encode_time

ACCOUNT_NAME = re.compile(r"[a-z][a-z0-9-]{0,61}[a-z0-9]")
DEFAULT_OVERLAP, MAX_OVERLAP = timedelta(days=1), timedelta(days=30)

ROLES = {
    service_account_pb2.PROJECT_ROLE_READER: Role.READER,
    service_account_pb2.PROJECT_ROLE_WRITER: Role.WRITER,
    service_account_pb2.PROJECT_ROLE_ADMIN: Role.ADMIN,
}
ROLE_NUMBERS = {role: number for number, role in ROLES.items()}


def decode_account(message: service_account_pb2.ServiceAccount) -> AccountDraft:
    """What a caller may say; output fields are ignored."""
    return AccountDraft(
        name=check_pattern("service_account.name", message.name, ACCOUNT_NAME),
        role=decode_role(message.role, "service_account.role"),
    )


def decode_role(number: int, field: str) -> Role:
    role = next((role for known, role in ROLES.items() if known == number), None)
    if role is None:
        raise invalid_field(
            field, f"{field} must be one of {', '.join(role.name for role in ROLES.values())}"
        )
    return role


def decode_new_role(message: service_account_pb2.ServiceAccount, paths: Sequence[str]) -> Role:
    if list(paths) != ["role"]:
        raise invalid_field("update_mask", "update_mask must be the one path that can be changed: role")
    return decode_role(message.role, "service_account.role")


def decode_client_id(value: str, field: str = "client_id") -> ClientId | None:
    """None for what cannot be one's id: it is answered as one that is not there."""
    return parse_client_id(check_text(field, value, required=True))


def decode_overlap(request: Any) -> timedelta:
    if not request.HasField("overlap"):
        return DEFAULT_OVERLAP
    return _check_span("overlap", decode_duration(request.overlap, "overlap"), timedelta(0), MAX_OVERLAP)


def decode_lifetime(request: Any) -> timedelta | None:
    """None when not given: what fits the kind of token."""
    if not request.HasField("lifetime"):
        return None
    given = decode_duration(request.lifetime, "lifetime")
    return _check_span("lifetime", given, timedelta(seconds=1), MAX_TOKEN_LIFETIME)


def _check_span(field: str, value: timedelta, least: timedelta, most: timedelta) -> timedelta:
    if not least <= value <= most:
        bounds = f"{least.total_seconds():g} to {most.total_seconds():g} s"
        raise invalid_field(field, f"{field} is {value.total_seconds():g} s: give {bounds}")
    return value


def decode_token_users(values: Sequence[str]) -> tuple[str, ...]:
    users = check_texts("user_ids", values, most=MAX_TOKEN_USERS)
    size = sum(len(user.encode()) for user in users)
    if size > MAX_TOKEN_USERS_BYTES:
        raise over_limit("user_ids", "bytes", MAX_TOKEN_USERS_BYTES, size)
    return users


def decode_client_secret(value: str) -> str:
    return check_text("client_secret", value, limit=MAX_NAME_BYTES)


def encode_account(account: ServiceAccount) -> service_account_pb2.ServiceAccount:
    return service_account_pb2.ServiceAccount(
        client_id=str(account.client_id),
        name=account.name,
        role=ROLE_NUMBERS[account.role],
        disabled=account.is_disabled,
        creator_id=account.creator_id,
        create_time=encode_time(account.create_time),
        update_time=encode_time(account.update_time),
        last_use_time=encode_time(account.last_use_time),
        secrets=[_encode_secret(secret) for secret in account.secrets],
    )


def _encode_secret(secret: SecretInfo) -> service_account_pb2.ServiceAccountSecret:
    return service_account_pb2.ServiceAccountSecret(
        secret_id=secret.secret_id,
        create_time=encode_time(secret.create_time),
        expire_time=encode_time(secret.expire_time),
    )
