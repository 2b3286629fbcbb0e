"""Retrieval quality and speed, measured through the service; nothing here is installed."""
