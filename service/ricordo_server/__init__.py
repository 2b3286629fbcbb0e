"""The Ricordo server."""
