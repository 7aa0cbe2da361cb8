"""AlterReplicaLogDirs: move replicas to other log directories of their broker (KIP-113)."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int16, Int32, String

__all__ = ["AlterReplicaLogDirsRequest", "AlterReplicaLogDirsResponse"]


class AlterReplicaLogDirsRequest(Request, key=34, versions="0-2", flexible="2+"):
    class AlterReplicaLogDir(Struct):
        class AlterReplicaLogDirTopic(Struct):
            name: String = field()
            partitions: list[Int32] = field()

        path: String = field()
        topics: list[AlterReplicaLogDirTopic] = field()

    dirs: list[AlterReplicaLogDir] = field()


class AlterReplicaLogDirsResponse(Response, key=34, versions="0-2", flexible="2+"):
    class AlterReplicaLogDirTopicResult(Struct):
        class AlterReplicaLogDirPartitionResult(Struct):
            partition_index: Int32 = field()
            error_code: Int16 = field()

        topic_name: String = field()
        partitions: list[AlterReplicaLogDirPartitionResult] = field()

    throttle_time_ms: Int32 = field()
    results: list[AlterReplicaLogDirTopicResult] = field()
