"""The client, written for asyncio. `_sync` is generated from it by scripts/unasync.py."""
