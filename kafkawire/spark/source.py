"""The data source as Spark knows it: its name, its columns, its reader and its writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from kafkawire.errors import ConfigurationError
from kafkawire.spark.options import ReadOptions, WriteOptions, with_headers
from kafkawire.spark.reader import BatchReader
from kafkawire.spark.schema import check_writable, read_schema
from kafkawire.spark.writer import BatchWriter

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

__all__ = ["KafkaSource"]


class KafkaSource(DataSource):
    """`format("kafkawire")`. Errors in options and columns are raised while Spark plans the query."""

    @classmethod
    def name(cls) -> str:
        return "kafkawire"

    def schema(self) -> StructType:
        return read_schema(headers=with_headers(self.options))

    def reader(self, schema: StructType) -> BatchReader:
        options = ReadOptions.parse(self.options)
        if schema != read_schema(headers=options.headers):
            raise ConfigurationError(
                "the Kafka source has a fixed schema: leave out schema(...), and select or cast its columns"
            )
        return BatchReader(options)

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        """Overwriting a topic is appending to it."""
        options = WriteOptions.parse(self.options)
        check_writable(schema, options.topic)
        return BatchWriter(options)
