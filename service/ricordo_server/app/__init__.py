"""What the service does: one file per noun; rules and transactions. No gRPC, no SQL."""
