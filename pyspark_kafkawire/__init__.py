"""Lets Spark find `format("kafkawire")`: it looks for `DefaultSource` in every installed package named `pyspark_*`."""

from __future__ import annotations

from kafkawire.spark.source import KafkaSource as DefaultSource

__all__ = ["DefaultSource"]
