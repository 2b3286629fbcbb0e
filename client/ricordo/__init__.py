"""Ricordo: memory for AI agents."""
