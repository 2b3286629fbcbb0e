"""What the tables have in common."""

from typing import Any

from sqlalchemy import Column, DateTime, MetaData, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import UserDefinedType

METADATA = MetaData(schema="ricordo")


class Xid8(UserDefinedType[str]):
    """A transaction's number that never wraps around; as text to Python."""

    cache_ok = True

    def get_col_spec(self, **options: Any) -> str:
        return "xid8"


def text_column(name: str, **options: Any) -> Column[str]:
    return Column(name, Text, nullable=False, **options)


def time_column(name: str, *, nullable: bool = False) -> Column[Any]:
    return Column(name, DateTime(timezone=True), nullable=nullable)


def json_column(name: str, *, nullable: bool = False) -> Column[Any]:
    return Column(name, JSONB, nullable=nullable)


def tenant_columns() -> list[Column[Any]]:
    return [Column("project_id", Uuid, primary_key=True), Column("store_id", Uuid, primary_key=True)]
