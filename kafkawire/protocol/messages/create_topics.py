"""CreateTopics: create topics (KIP-4).

Version 5 answers with the configuration they have (KIP-525), version 7 with their ids (KIP-516).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Int8, Int16, Int32, String, Uuid

__all__ = ["CreateTopicsRequest", "CreateTopicsResponse"]


class CreateTopicsRequest(Request, key=19, versions="0-7", flexible="5+"):
    class CreatableTopic(Struct):
        class CreatableReplicaAssignment(Struct):
            partition_index: Int32 = field()
            broker_ids: list[Int32] = field()

        class CreatableTopicConfig(Struct):
            name: String = field()
            value: String | None = field(nullable="0+")

        name: String = field()
        num_partitions: Int32 = field()
        replication_factor: Int16 = field()
        assignments: list[CreatableReplicaAssignment] = field()
        configs: list[CreatableTopicConfig] = field()

    topics: list[CreatableTopic] = field()
    timeout_ms: Int32 = field(default=60000)
    validate_only: Bool = field("1+")


class CreateTopicsResponse(Response, key=19, versions="0-7", flexible="5+"):
    class CreatableTopicResult(Struct):
        class CreatableTopicConfigs(Struct):
            name: String = field()
            value: String | None = field(nullable="0+")
            read_only: Bool = field()
            config_source: Int8 = field(default=-1, ignorable=True)
            is_sensitive: Bool = field()

        name: String = field()
        topic_id: Uuid = field("7+", ignorable=True)
        error_code: Int16 = field()
        error_message: String | None = field("1+", nullable="0+", ignorable=True)
        topic_config_error_code: Int16 = field("5+", tag=0, ignorable=True)
        num_partitions: Int32 = field("5+", default=-1, ignorable=True)
        replication_factor: Int16 = field("5+", default=-1, ignorable=True)
        configs: list[CreatableTopicConfigs] | None = field("5+", nullable="0+", ignorable=True)

    throttle_time_ms: Int32 = field("2+", ignorable=True)
    topics: list[CreatableTopicResult] = field()
