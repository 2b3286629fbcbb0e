"""Private signing keys, encrypted under the installation's key secret: a copy of the database signs nothing."""

import base64
from collections.abc import Sequence

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from uuid_utils.compat import uuid7

LEAST_CHARACTERS = 32


class KeySecretError(Exception):
    """The key secret is missing, too short or another one; the message says what to do."""


class KeySealing:
    """Seals under the first secret, opens under any of them: so the secret itself can be changed."""

    def __init__(self, secrets: Sequence[str]) -> None:
        """
        Args:
            secrets: random text of at least 32 characters each, the current one first.

        Raises:
            KeySecretError: none, or one that is too short.
        """
        if not secrets or any(len(secret) < LEAST_CHARACTERS for secret in secrets):
            raise KeySecretError(
                f"the key secret must be random text of at least {LEAST_CHARACTERS} characters: set "
                "RICORDO_KEY_SECRET or RICORDO_KEY_SECRET_FILE, for example to the output of `openssl rand -hex 32`"
            )
        self._cipher = MultiFernet([Fernet(_derive(secret)) for secret in secrets])

    def make_key(self) -> tuple[str, bytes]:
        """A new key's id, and the key, sealed."""
        private_key = Ed25519PrivateKey.generate()
        return str(uuid7()), self._cipher.encrypt(private_key.private_bytes_raw())

    def open(self, sealed: bytes) -> Ed25519PrivateKey:
        """
        Raises:
            KeySecretError: it was sealed under another secret, or it is damaged.
        """
        try:
            return Ed25519PrivateKey.from_private_bytes(self._cipher.decrypt(sealed))
        except (InvalidToken, ValueError, UnsupportedAlgorithm) as error:
            raise KeySecretError(
                "a signing key was sealed under another key secret: give that one too, on a line of its own"
            ) from error


def _derive(secret: str) -> bytes:
    derived = HKDF(SHA256(), length=32, salt=None, info=b"ricordo signing keys").derive(secret.encode())
    return base64.urlsafe_b64encode(derived)
