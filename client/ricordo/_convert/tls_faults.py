"""What gRPC's words about a failed handshake mean, and what to do. Words it may change only cost the advice.

In brackets the options of the command line.
"""

NOT_TRUSTED = (
    "the server's certificate is of an authority that is not trusted here: pass root_certificates (--ca), the "
    "PEM of that authority"
)
REMEDIES = {
    "WRONG_VERSION_NUMBER": "the server there speaks plain text: pass tls=False (--no-tls), or give the server a "
    "certificate",
    "certificate has expired": "the server's certificate has expired: its operator must renew it",
    "CERTIFICATE_VERIFY_FAILED": NOT_TRUSTED,
    "certificate signature failure": NOT_TRUSTED,
    "Hostname Verification": "the server's certificate is for another name: call it by a name that the certificate "
    "has, or have one made for this name",
    "CERTIFICATE_REQUIRED": "the server asks for a client certificate: pass certificate_chain and private_key "
    "(--client-certificate, --client-key)",
}
# The connection is closed at once: a server that goes away does that too, so these are only hints.
CLOSED_AT_ONCE = ("failed to connect", "Socket closed")
PLAIN_CLOSED = "the server there may expect TLS: pass tls=True (--tls)"
TLS_CLOSED = (
    "the server there may ask for a client certificate: pass certificate_chain and private_key "
    "(--client-certificate, --client-key)"
)


def find_tls_remedy(details: str) -> str:
    """What to do about a handshake that failed; empty when gRPC's `details` tell of no such thing."""
    return next((remedy for words, remedy in REMEDIES.items() if words in details), "")


def find_tls_hint(details: str, *, tls: bool) -> str:
    """What may be wrong when the connection was closed at once; `tls`: whether this side spoke it."""
    if all(words in details for words in CLOSED_AT_ONCE):
        return TLS_CLOSED if tls else PLAIN_CLOSED
    return ""
