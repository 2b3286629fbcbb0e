"""Service accounts and tokens."""

from datetime import datetime

from pydantic import Field

from ricordo.models.base import Model, ProjectRole


class ServiceAccountSecret(Model):
    """One secret of an account, without the secret. `expire_time` is None for the newest."""

    secret_id: str
    create_time: datetime
    expire_time: datetime | None = None


class ServiceAccount(Model):
    """A program that calls, in one project.

    `last_use_time` is when it last obtained a token; `secrets` are those that have not expired, newest first.
    """

    client_id: str
    name: str
    role: ProjectRole
    disabled: bool = False
    creator_id: str = ""
    create_time: datetime
    update_time: datetime
    last_use_time: datetime | None = None
    secrets: tuple[ServiceAccountSecret, ...] = ()


class ClientSecret(Model):
    """A service account with its new secret, which the server keeps nowhere and `repr` leaves out.

    `client_secret` is empty where the call was a repeat, by its `request_id`: then rotate it.
    """

    service_account: ServiceAccount
    client_secret: str = Field(repr=False)


class AccessToken(Model):
    """A token for later calls, until `expire_time`; `repr` leaves it out."""

    access_token: str = Field(repr=False)
    expire_time: datetime
