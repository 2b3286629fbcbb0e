"""How the server may be reached: TLS from files that are read again when they change, and where it may listen."""

import ipaddress
import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

import grpc
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.hazmat.primitives.serialization import load_pem_private_key

log = logging.getLogger("ricordo.transport")


class BadCertificateError(Exception):
    """Nothing to serve with; the message names the file and says what is wrong with it."""


@dataclass(frozen=True)
class TlsSettings:
    """PEM files; without a certificate the server speaks plain text.

    Attributes:
        certificate: The server's certificate, its issuers after it.
        key: Its private key, not encrypted.
        client_ca: The authorities of client certificates; with it, a client without one cannot connect.
    """

    certificate: Path | None = None
    key: Path | None = None
    client_ca: Path | None = None

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("a certificate and its key belong together: give both")
        if self.client_ca and not self.certificate:
            raise ValueError("client certificates need TLS: give the server's certificate and key too")


def server_credentials(settings: TlsSettings) -> grpc.ServerCredentials | None:
    """Credentials that follow the files; None for plain text.

    Raises:
        BadCertificateError: the server could not serve with them.
    """
    if settings.certificate is None or settings.key is None:
        return None
    files = CertificateFiles(settings.certificate, settings.key, settings.client_ca)
    return grpc.dynamic_ssl_server_credentials(
        files.load(files.read()),
        files.load_changes,  # type: ignore[arg-type] # the stub does not know that None keeps what there is
        require_client_authentication=settings.client_ca is not None,
    )


class CertificateFiles:
    """The files of one server."""

    def __init__(self, certificate: Path, key: Path, client_ca: Path | None) -> None:
        self._certificate, self._key, self._client_ca = certificate, key, client_ca
        self._lock = Lock()
        self._loaded: list[bytes] = []
        self._reported = ""

    def read(self) -> list[bytes]:
        """What the files hold.

        Raises:
            BadCertificateError: one cannot be read.
        """
        return [_read(path) for path in (self._certificate, self._key, self._client_ca) if path]

    def load(self, contents: list[bytes]) -> grpc.ServerCertificateConfiguration:
        """What gRPC is to serve with from now on.

        Raises:
            BadCertificateError: it could not.
        """
        certificate, key, *client_ca = contents
        self._check(certificate, key, *client_ca)
        self._loaded = contents
        return grpc.ssl_server_certificate_configuration(
            [(key, certificate)], root_certificates=client_ca[0] if client_ca else None
        )

    def load_changes(self) -> grpc.ServerCertificateConfiguration | None:
        """New contents that are fit to serve with; else None, and the last ones stay.

        gRPC asks at every new connection, in threads of its own.
        """
        with self._lock:
            try:
                contents = self.read()
                return None if contents == self._loaded else self.load(contents)
            except BadCertificateError as error:
                if str(error) != self._reported:
                    log.error("certificate not reloaded, the last one stays", extra={"cause": str(error)})
                self._reported = str(error)
                return None

    def _check(self, certificate: bytes, key: bytes, client_ca: bytes | None = None) -> None:
        own = _load_certificates(self._certificate, certificate)[0]
        if own.public_key() != _load_public_key(self._key, key):
            raise BadCertificateError(f"{self._key} is not the key of {self._certificate}")
        if own.not_valid_after_utc < datetime.now(UTC):
            raise BadCertificateError(f"{self._certificate} expired on {own.not_valid_after_utc:%Y-%m-%d}")
        if self._client_ca and client_ca is not None:
            _load_certificates(self._client_ca, client_ca)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadCertificateError(f"{path}: {error.strerror}") from error


def _load_certificates(path: Path, pem: bytes) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        raise BadCertificateError(f"{path} holds no PEM certificate") from error


def _load_public_key(path: Path, pem: bytes) -> PublicKeyTypes:
    """Of a private key."""
    try:
        return load_pem_private_key(pem, password=None).public_key()
    except (TypeError, ValueError) as error:  # TypeError: it is encrypted
        raise BadCertificateError(f"{path} holds no PEM private key, or an encrypted one") from error


def find_listening_fault(host: str, *, tls: bool, behind_proxy: bool, development: bool) -> str:
    """Why a server with these settings would be open to strangers; empty when it would not.

    The development principal stands for anyone who can connect from this machine: that includes a proxy on it.
    """
    if development and (behind_proxy or not is_local(host)):
        return (
            "the development principal takes anyone at their word, so it is for this machine alone: serve on "
            "127.0.0.1 and without --insecure-behind-proxy, or unset RICORDO_DEVELOPMENT_PROJECT"
        )
    if not (tls or behind_proxy or is_local(host)):
        return (
            f"{host} can be reached from other machines, and credentials would cross the network in plain text: "
            "give --tls-certificate and --tls-key, or --insecure-behind-proxy when a proxy in front speaks TLS"
        )
    return ""


def is_local(host: str) -> bool:
    """Whether an address to listen on is this machine's alone."""
    name = host.strip("[]")
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
