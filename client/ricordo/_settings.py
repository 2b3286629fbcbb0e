"""How a channel is opened: credentials, retries, keepalive. Pure, the same for both colours."""

import ipaddress
import json
import math
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import grpc

from ricordo._deprecations import warn_deprecated
from ricordo.errors import MemoryClientError
from ricordo.identity import first_given

DEFAULT_TARGET = "localhost:7483"
DEFAULT_TIMEOUT = 30.0

MAX_RECEIVED_BYTES = 5 * 1024 * 1024  # every answer fits 4 MiB, by contract
KEEPALIVE_MS = 60_000  # the server permits 20 s
KEEPALIVE_TIMEOUT_MS = 20_000
# gRPC alone would wait up to two minutes between attempts: a restarted server would look down that long.
FIRST_RECONNECT_MS = 200
LAST_RECONNECT_MS = 2_000

SERVICES = (
    "Admin",
    "Context",
    "Extraction",
    "Identity",
    "Memory",
    "Operation",
    "Pipeline",
    "Project",
    "Session",
    "Store",
)
SERVICE_CONFIG: dict[str, Any] = {
    "methodConfig": [
        {
            # Reads are safe to repeat; so is every mutation, for each carries a request_id. A server that stops
            # cancels what reaches it at its very end.
            "name": [{"service": f"ricordo.v1.{name}Service"} for name in SERVICES],
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.2s",
                "maxBackoff": "2s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"],
            },
        }
    ]
}


# Called before each call; an `async` one is for async clients.
TokenProvider = Callable[[], str | Awaitable[str]]


@dataclass(frozen=True)
class Credential:
    """As whom a client calls: with a token, one from a provider, or those of a service account; else as nobody."""

    token: str | None = field(default=None, repr=False)
    token_provider: TokenProvider | None = field(default=None, repr=False)
    client_id: str = ""
    client_secret: str = field(default="", repr=False)


@dataclass(frozen=True)
class Settings:
    """Where a client calls, as whom, and how."""

    target: str
    credential: Credential
    timeout: float
    tls: bool
    root_certificates: bytes | None
    certificate_chain: bytes | None
    private_key: bytes | None
    local_subchannel_pool: bool

    def credentials(self) -> grpc.ChannelCredentials | None:
        """TLS credentials; None for plain text."""
        if not self.tls:
            return None
        return grpc.ssl_channel_credentials(self.root_certificates, self.private_key, self.certificate_chain)

    def options(self) -> list[tuple[str, str | int]]:
        """The channel's options: retries by service config, keepalive during calls only, sizes."""
        return [
            ("grpc.service_config", json.dumps(SERVICE_CONFIG)),
            ("grpc.max_receive_message_length", MAX_RECEIVED_BYTES),
            ("grpc.keepalive_time_ms", KEEPALIVE_MS),
            ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_MS),
            ("grpc.keepalive_permit_without_calls", 0),
            ("grpc.initial_reconnect_backoff_ms", FIRST_RECONNECT_MS),
            ("grpc.max_reconnect_backoff_ms", LAST_RECONNECT_MS),
            ("grpc.use_local_subchannel_pool", int(self.local_subchannel_pool)),
        ]


def call_metadata(token: str | None, act_as: str = "") -> tuple[tuple[str, str | bytes], ...]:
    """What every call carries: the credential, and the end user that a service acts as."""
    credential = (("authorization", f"Bearer {token}"),) if token else ()
    return (*credential, ("ricordo-act-as", quote(act_as, safe=""))) if act_as else credential


def make_settings(
    target: str,
    *,
    credential: Credential,
    timeout: float,
    tls: bool | None,
    root_certificates: bytes | None,
    certificate_chain: bytes | None,
    private_key: bytes | None,
    local_subchannel_pool: bool,
) -> Settings:
    """Checks and completes what the caller gave.

    Raises:
        MemoryClientError: A blank target, a timeout that is no number of seconds above 0, certificates together with
            `tls=False`, or a client certificate without its key.
    """
    if not first_given(target):
        raise MemoryClientError("the target is blank: give host:port, for example localhost:7483")
    certificates = (root_certificates, certificate_chain, private_key)
    if any(certificates) and tls is False:
        raise MemoryClientError("certificates are for TLS: leave out tls=False")
    if (certificate_chain is None) != (private_key is None):
        raise MemoryClientError("certificate_chain and private_key belong together: give both")
    return Settings(
        target=target.strip(),
        credential=credential,
        timeout=check_timeout(timeout),
        tls=tls if tls is not None else any(certificates) or not is_loopback(target.strip()),
        root_certificates=root_certificates,
        certificate_chain=certificate_chain,
        private_key=private_key,
        local_subchannel_pool=local_subchannel_pool,
    )


def make_credential(
    token: str | None,
    token_provider: TokenProvider | None,
    client_id: str | None,
    client_secret: str | None,
) -> Credential:
    """Checks what the caller gave.

    Raises:
        MemoryClientError: A blank one, more than one, or a client id without its secret.
    """
    if token is not None and not first_given(token):
        raise MemoryClientError("the token is blank: leave it out for a server that takes none")
    if (client_id is None) != (client_secret is None):
        raise MemoryClientError("client_id and client_secret belong together: give both")
    if client_id is not None and not (first_given(client_id) and first_given(client_secret)):
        raise MemoryClientError("client_id or client_secret is blank: leave both out, or give both")
    if sum(given is not None for given in (token, token_provider, client_id)) > 1:
        raise MemoryClientError(
            "several credentials are given: keep one of token, token_provider, and client_id with client_secret"
        )
    return Credential(
        token=token.strip() if token else None,
        token_provider=token_provider,
        client_id=(client_id or "").strip(),
        client_secret=(client_secret or "").strip(),
    )


def find_credential(
    token: str | None,
    api_key: str | None,
    token_provider: TokenProvider | None,
    client_id: str | None,
    client_secret: str | None,
) -> dict[str, Any]:
    """The arguments for a client: those given, else, when none is, those of the environment.

    Raises:
        MemoryClientError: `token` and `api_key` are both there.
    """
    if token_provider is not None or client_id is not None or client_secret is not None:
        if client_id is not None:
            client_secret = setting(client_secret, "RICORDO_CLIENT_SECRET")
        given = token if api_key is None else credential(token, api_key)
        return {
            "token": given,
            "token_provider": token_provider,
            "client_id": client_id,
            "client_secret": client_secret,
        }
    found = credential(token, api_key)
    if token is not None or api_key is not None:
        return {"token": found}
    return {
        "token": found,
        "client_id": setting(None, "RICORDO_CLIENT_ID"),
        "client_secret": setting(None, "RICORDO_CLIENT_SECRET"),
    }


def setting(given: str | None, variable: str) -> str | None:
    """What was given, blank or not; else what the environment gives, unless blank there."""
    return given if given is not None else first_given(os.environ.get(variable))


def credential(token: str | None, api_key: str | None) -> str | None:
    """The token, given or in the environment; `api_key` is its older name.

    Raises:
        MemoryClientError: Both are there.
    """
    token, older = setting(token, "RICORDO_TOKEN"), setting(api_key, "RICORDO_API_KEY")
    if older is None:
        return token
    if token is not None:
        raise MemoryClientError(
            "token and api_key (RICORDO_TOKEN, RICORDO_API_KEY) are both given: keep the token"
        )
    warn_deprecated("api_key is deprecated: write token, or RICORDO_TOKEN")
    return older


def check_timeout(timeout: float) -> float:
    """The timeout, when it is a number of seconds above 0.

    Raises:
        MemoryClientError: It is not.
    """
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not number or not math.isfinite(timeout) or timeout <= 0:
        raise MemoryClientError(f"timeout is {timeout!r}: give seconds, above 0")
    return timeout


def is_loopback(target: str) -> bool:
    """Whether the target cannot leave this machine."""
    if target.startswith(("unix:", "unix-abstract:")):
        return True
    address = target.removeprefix("dns:").removeprefix("///")
    host = (address.rpartition(":")[0] or address).strip("[]")
    return host == "localhost" or _is_loopback_address(host)


def _is_loopback_address(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
