"""Producing: records accumulate in batches per partition, and a sender drains the batches into Produce requests."""
