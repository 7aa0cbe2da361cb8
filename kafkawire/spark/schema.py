"""Columns of rows that are read, and checks of the columns of rows to be written."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kafkawire.errors import ConfigurationError

__all__ = ["WRITABLE", "check_writable", "read_schema"]

_HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))

WRITABLE: dict[str, tuple[str, tuple[type[DataType], ...]]] = {
    "key": ("a string or binary", (StringType, BinaryType)),
    "value": ("a string or binary", (StringType, BinaryType)),
    "topic": ("a string", (StringType,)),
    "partition": ("an int", (IntegerType,)),
    "headers": ("array<struct<key:string,value:binary>>", (ArrayType,)),
    "timestamp": ("a timestamp", (TimestampType,)),
}
"""Columns that are written, with the types they may have; others are left out."""


def read_schema(*, headers: bool) -> StructType:
    """The JVM connector's columns; parts that a record does not have, headers too, are null."""
    fields = [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
    ]
    return StructType([*fields, StructField("headers", _HEADERS)] if headers else fields)


def check_writable(schema: StructType, topic: str | None) -> None:
    """Raise ConfigurationError for a column that is missing or of a type that cannot be written."""
    if "value" not in schema.names:
        raise ConfigurationError(f"required column 'value' not found in {schema.simpleString()}")
    if topic is None and "topic" not in schema.names:
        raise ConfigurationError("option 'topic' is required where there is no column 'topic'")
    for field in schema.fields:
        if field.name in WRITABLE:
            expected, kinds = WRITABLE[field.name]
            if not isinstance(field.dataType, kinds) or (field.name == "headers" and not _is_headers(field.dataType)):
                raise ConfigurationError(f"column {field.name!r} must be {expected}, not {field.dataType.simpleString()}")


def _is_headers(kind: DataType) -> bool:
    """True for the names and types of a headers column, with or without nulls."""
    return kind.simpleString() == _HEADERS.simpleString()
