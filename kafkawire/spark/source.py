"""The data source that Spark calls: its name, columns, reader and writer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, DataSourceStreamWriter, InputPartition

from kafkawire.errors import ConfigurationError
from kafkawire.spark.options import ReadOptions, WriteOptions, with_headers
from kafkawire.spark.reader import BatchReader
from kafkawire.spark.schema import check_writable, read_schema
from kafkawire.spark.writer import BatchWriter

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

__all__ = ["KafkaSource"]

NO_STREAMING = "streaming is not in this release of kafkawire: use spark.read and DataFrame.write in place of the stream's"


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
        if overwrite:
            raise ConfigurationError(
                'mode("overwrite") is not possible: a topic keeps the records that it has. Use mode("append"), or a new topic'
            )
        options = WriteOptions.parse(self.options)
        check_writable(schema, options.topic)
        return BatchWriter(options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        return _NoStreamReader()

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        raise ConfigurationError(NO_STREAMING)


class _NoStreamReader(DataSourceStreamReader):
    """Reader that raises at its first use: where `streamReader` itself raises, Spark 4.3 shows only an error of its own."""

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        raise ConfigurationError(NO_STREAMING)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        raise ConfigurationError(NO_STREAMING)
