"""Service accounts: programs that call, each pinned to one project, known by client id and secret."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ricordo_server.domain.errors import DomainError, Reason
from ricordo_server.domain.principal import Role


@dataclass(frozen=True)
class ClientId:
    """Names the project too, so that the account is looked up inside it: `<project id>.<account id>`."""

    project_id: UUID
    account_id: UUID

    def __str__(self) -> str:
        return f"{self.project_id}.{self.account_id}"


def parse_client_id(text: str) -> ClientId | None:
    """None for what is no client id as this server writes it."""
    project, _, account = text.partition(".")
    try:
        parsed = ClientId(UUID(project), UUID(account))
    except ValueError:
        return None
    return parsed if str(parsed) == text else None


@dataclass(frozen=True)
class SecretInfo:
    """One of an account's secrets, without the secret; `expire_time` is set once it was rotated out."""

    secret_id: str
    create_time: datetime
    expire_time: datetime | None


@dataclass(frozen=True)
class ServiceAccount:
    """`last_use_time` is when it last obtained a token; `secrets` are those not expired, newest first."""

    client_id: ClientId
    name: str
    role: Role
    is_disabled: bool
    creator_id: str
    create_time: datetime
    update_time: datetime
    last_use_time: datetime | None
    secrets: Sequence[SecretInfo]


@dataclass(frozen=True)
class AccountDraft:
    name: str
    role: Role


@dataclass(frozen=True)
class NewSecret:
    """An account with the secret that was just made for it, shown this once."""

    account: ServiceAccount
    client_secret: str


def account_not_found() -> DomainError:
    message = "there is no such service account in this project: list them"
    return DomainError(Reason.SERVICE_ACCOUNT_NOT_FOUND, message, "client_id")
