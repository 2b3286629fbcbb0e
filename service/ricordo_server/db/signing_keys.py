"""The keys that sign tokens. The server reads them, outside any tenant; the operator makes and retires them."""

from datetime import datetime, timedelta

import psycopg
from psycopg.rows import class_row

from ricordo_server.db.audit import write_operator_record
from ricordo_server.db.connection import Pool
from ricordo_server.db.errors import translated_errors
from ricordo_server.domain.signing_key import OVERLAP, SigningKey

READ = "SELECT key_id, sealed, sign_time, retire_time FROM ricordo.signing_key"


async def list_signing_keys(pool: Pool, *, timeout: float) -> list[SigningKey]:
    """Those not retired. `timeout` is in seconds."""
    with translated_errors():
        async with pool.connection(timeout=timeout) as connection:
            rows = await (
                await connection.execute(f"{READ} WHERE retire_time IS NULL OR retire_time > now()")
            ).fetchall()
    return [SigningKey(**row) for row in rows]


def read_signing_keys(operator_url: str) -> tuple[list[SigningKey], datetime]:
    """All of them, newest first, and the time by the database's clock."""
    with psycopg.connect(operator_url) as connection:
        with connection.cursor(row_factory=class_row(SigningKey)) as cursor:
            keys = cursor.execute(f"{READ} ORDER BY sign_time DESC").fetchall()
        row = connection.execute("SELECT now()").fetchone()
    assert row is not None  # noqa: S101 - one value, one row
    return keys, row[0]


def add_signing_key(operator_url: str, key_id: str, sealed: bytes, *, lead: timedelta) -> datetime:
    """Publishes a key that signs in `lead`, the first one at once; answers when it signs.

    Those before it retire once the last token they sign has expired; those retired for a day are removed.
    """
    with psycopg.connect(operator_url) as connection:
        connection.execute("LOCK TABLE ricordo.signing_key IN SHARE ROW EXCLUSIVE MODE")
        connection.execute("DELETE FROM ricordo.signing_key WHERE retire_time < now() - interval '1 day'")
        row = connection.execute(
            "INSERT INTO ricordo.signing_key (key_id, sealed, sign_time)"
            " SELECT %s, %s, now() + CASE WHEN EXISTS (SELECT FROM ricordo.signing_key"
            " WHERE retire_time IS NULL OR retire_time > now()) THEN %s ELSE interval '0' END RETURNING sign_time",
            [key_id, sealed, lead],
        ).fetchone()
        assert row is not None  # noqa: S101 - INSERT ... RETURNING gives a row
        connection.execute(
            "UPDATE ricordo.signing_key SET retire_time = %s WHERE key_id <> %s AND retire_time IS NULL",
            [row[0] + OVERLAP, key_id],
        )
        write_operator_record(connection, "RotateSigningKey", key_id)
    sign_time: datetime = row[0]
    return sign_time


def retire_signing_key(operator_url: str, key_id: str) -> bool:
    """Ends a key now; False when there is no such key, or it has ended."""
    with psycopg.connect(operator_url) as connection:
        statement = (
            "UPDATE ricordo.signing_key SET retire_time = now()"
            " WHERE key_id = %s AND (retire_time IS NULL OR retire_time > now())"
        )
        if not connection.execute(statement, [key_id]).rowcount:
            return False
        write_operator_record(connection, "RetireSigningKey", key_id)
        return True
