"""Methods and classes of other clients that kafkawire does not have, and advice on each for the AttributeError.

The tables have names of kafka-python, aiokafka, confluent-kafka and the Java client in Python's spelling: `partitionsFor` is
looked up as `partitions_for`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from kafkawire.foreign_options import each

__all__ = [
    "ADMIN",
    "ASYNC_DELIVERY",
    "CONSUMER",
    "DELIVERY",
    "MESSAGE",
    "METADATA",
    "POLL_TEXT",
    "PRODUCER",
    "instead_of",
    "no_such_name",
]

T = TypeVar("T")
Names = Mapping[str, str]


_GROUPS = "consumer groups are not in this release yet"
_TRANSACTIONS = "transactions are not in this release yet"
_ADMIN = "the admin client is not in this release yet; request() sends any request of the protocol"
_CALLBACK = "give on_delivery=callback to send(); it is called with (error, metadata)"
_ACCEPTED = "a record that was accepted cannot be taken back"
_TEXT_OF_RESULT = "it is known when the record is acknowledged: "

_ANY_CLIENT = {
    "start": "not needed: it connects when something is first asked of it",
    "stop": "use close(), or a with statement",
    "bootstrap": "not needed: it connects when something is first asked of it; bootstrap_connected() says whether it has",
    "set_sasl_credentials": "SASL is not in this release yet",
    **each(
        "metrics are not pushed to brokers",
        "client_instance_id register_metric_for_subscription unregister_metric_from_subscription",
    ),
}

PRODUCER: Names = {
    **_ANY_CLIENT,
    "produce": "use send(topic, value, key, on_delivery=...)",
    "send_and_wait": "use send(...) and wait for what it returns: `.result()`, with asyncio `await (await producer.send(...))`",
    "poll": "not needed: on_delivery callbacks are called without it; flush() waits for all that was sent",
    "list_topics": "use Connection(servers).topics(), or partitions_for(topic)",
    "partitions_for_topic": "use partitions_for(topic)",
    "cluster_id": _ADMIN,
    "metrics": "use counts()",
    "purge": "use abandon(), which closes at once and fails what is queued",
    **each("use send_many(topic, values, keys)", "produce_batch create_batch send_batch"),
    "max_usable_produce_magic": "not needed: each broker gets the newest record format that it takes",
    **each(
        _TRANSACTIONS,
        "init_transactions begin_transaction commit_transaction abort_transaction send_offsets_to_transaction transaction",
    ),
}

CONSUMER: Names = {
    **_ANY_CLIENT,
    "subscribe": "name the topics when you make it, Consumer('a', 'b', ...), or use assign(); " + _GROUPS,
    "subscription": "use assignment()",
    **each("use assign([])", "unsubscribe unassign"),
    **each(
        "use assign() with all partitions; those that were read before keep their position",
        "incremental_assign incremental_unassign",
    ),
    **each("use poll(timeout=seconds, max_records=n), which returns a list of messages", "consume getmany"),
    "getone": "iterate over the consumer, or use next(consumer), with asyncio `await anext(consumer)`",
    **each(
        _GROUPS,
        "commit commit_async commit_sync committed store_offsets seek_to_committed memberid group_metadata"
        " consumer_group_metadata enforce_rebalance",
    ),
    **each("use beginning_offsets(partitions) and end_offsets(partitions)", "get_watermark_offsets query_watermark_offsets"),
    **each("use end_offsets(partitions), or lag()", "highwater last_stable_offset"),
    "current_lag": "use lag()",
    "metrics": "use lag()",
    "last_poll_timestamp": "not kept: note the time when poll() returns",
    "list_topics": "use topics(), or partitions_for(topic)",
    "partitions_for_topic": "use partitions_for(topic)",
    "cluster_id": _ADMIN,
    "wakeup": "not needed: give poll() a short timeout, and ask in between whether to go on; Ctrl-C interrupts it",
}

POLL_TEXT = (
    "poll(timeout=seconds, max_records=n) takes both by keyword, and returns a list of messages: [] if none came in time; "
    "iterate over the consumer for one message after the other"
)
"""Advice on `poll(1.0)` (confluent-kafka: one message) and `poll(timeout_ms=1000)` (kafka-python: a dict)."""

ADMIN: Names = {
    **_ANY_CLIENT,
    "list_topics": "use topics()",
    **each("use partitions(topic)", "describe_topics describe_topic_partitions"),
    "describe_cluster": "use brokers and controller",
    **each(
        _ADMIN,
        """
        create_topics delete_topics create_partitions delete_records describe_configs alter_configs incremental_alter_configs
        list_groups describe_groups delete_groups list_consumer_groups describe_consumer_groups delete_consumer_groups
        list_consumer_group_offsets alter_consumer_group_offsets list_offsets elect_leaders
        describe_acls create_acls delete_acls describe_user_scram_credentials alter_user_scram_credentials
        describe_log_dirs list_partition_reassignments alter_partition_reassignments
        """,
    ),
}
"""Names that users of admin clients look for on a Connection."""

_OUTCOME: Names = {
    **each(_CALLBACK, "add_callback add_errback add_both add_done_callback chain"),
    **each(_ACCEPTED, "cancel cancelled"),
    **each("use done()", "is_done running"),
}

DELIVERY: Names = {
    **_OUTCOME,
    **each("use result(timeout=seconds)", "get value wait"),
    **each("use exception(timeout=seconds), which is None for a record that was written", "succeeded failed retriable"),
    **each(_TEXT_OF_RESULT + "use result().topic and so on", "topic partition offset timestamp"),
}
"""Names looked for on the result of send()."""

ASYNC_DELIVERY: Names = {
    **_OUTCOME,
    **each(
        "await it: that returns the metadata or raises the error", "get value wait result exception succeeded failed retriable"
    ),
    **each(_TEXT_OF_RESULT + "use (await delivery).topic and so on", "topic partition offset timestamp"),
}

MESSAGE: Names = {
    "error": "poll() returns records only, and raises errors",
    **each("use len() of the key or value", "serialized_key_size serialized_value_size serialized_header_size"),
    "checksum": "checksums are verified when records are read (check_crcs)",
    "latency": "not measured: note the time when you send",
    "topic_partition": "use TopicPartition(message.topic, message.partition)",
    "timestamp_ms": "use timestamp, which is in milliseconds",
}
"""Names looked for on a message."""

METADATA: Names = {
    **each("not kept: give on_delivery a function that knows them, as functools.partial(report, key)", "key value headers"),
    "error": "on_delivery gets it as first argument, result() raises it",
    **each("use len() of what you send", "serialized_key_size serialized_value_size serialized_header_size"),
    "checksum": "brokers do not return one",
    "topic_partition": "use TopicPartition(metadata.topic, metadata.partition)",
    "latency": "not measured: note the time when you send",
}

_MODULE: Names = {
    **each("use Producer", "KafkaProducer SerializingProducer AvroProducer MockProducer"),
    **each("use Consumer", "KafkaConsumer DeserializingConsumer AvroConsumer SimpleConsumer"),
    **each("use kafkawire.aio.Producer", "AIOKafkaProducer AIOProducer"),
    **each("use kafkawire.aio.Consumer", "AIOKafkaConsumer AIOConsumer"),
    **each("use Connection", "KafkaClient AIOKafkaClient SimpleClient"),
    **each("use Message", "ConsumerRecord"),
    **each("use KafkaError; the others are in kafkawire.errors", "KafkaException KafkaTimeoutError"),
    **each(
        "the admin client is not in this release yet; Connection sends any request", "KafkaAdminClient AdminClient NewTopic"
    ),
    **each(
        _GROUPS,
        "OffsetAndMetadata ConsumerRebalanceListener AsyncConsumerRebalanceListener ConsumerGroupMetadata ShareConsumer",
    ),
    **each("give key_serializer and value_serializer a function", "Serializer JsonSerializer DefaultSerializer"),
    **each("give key_deserializer and value_deserializer a function", "Deserializer JsonDeserializer"),
}
"""Names that are imported from kafkawire or kafkawire.aio."""

_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def instead_of(names: Names) -> Callable[[type[T]], type[T]]:
    """Decorates a class so that access to one of the names raises an AttributeError with advice.

    It is a decorator and not a base class, since a class with `__getattr__` has every attribute for a type checker.
    """

    def decorate(cls: type[T]) -> type[T]:
        def __getattr__(self: object, name: str) -> Any:  # noqa: N807 - it becomes the method of that name
            ours = _HUMP.sub("_", name).lower()
            if ours in names:
                raise AttributeError(f"{cls.__name__} has no {name!r}: {names[ours]}")
            if ours != name and hasattr(cls, ours):
                raise AttributeError(f"{cls.__name__} has no {name!r}: use {ours}")
            raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}", name=name, obj=self)

        cls.__getattr__ = __getattr__  # type: ignore[attr-defined]
        return cls

    return decorate


def no_such_name(module: str, name: str) -> Exception:
    """Return the exception for a name that a module does not have.

    It is an ImportError for names of other clients, since `from kafkawire import KafkaProducer` replaces the text of an
    AttributeError by its own.
    """
    if name in _MODULE:
        return ImportError(f"{module} has no {name!r}: {_MODULE[name]}", name=name)
    return AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
