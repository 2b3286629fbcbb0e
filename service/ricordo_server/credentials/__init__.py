"""What proves who calls: client secrets, signing keys, signed tokens, other issuers."""
