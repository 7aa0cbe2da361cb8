"""WriteTxnMarkers: write the markers that end transactions into partitions (KIP-98).

Coordinators send it; an administrator does to abort a transaction that hangs (KIP-664).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Int8, Int16, Int32, Int64, String

__all__ = ["WriteTxnMarkersRequest", "WriteTxnMarkersResponse"]


class WriteTxnMarkersRequest(Request, key=27, versions="0-2", flexible="1+"):
    class WritableTxnMarker(Struct):
        class WritableTxnMarkerTopic(Struct):
            name: String = field()
            partition_indexes: list[Int32] = field()

        producer_id: Int64 = field()
        producer_epoch: Int16 = field()
        transaction_result: Bool = field()
        topics: list[WritableTxnMarkerTopic] = field()
        coordinator_epoch: Int32 = field()
        transaction_version: Int8 = field("2+", ignorable=True)

    markers: list[WritableTxnMarker] = field()


class WriteTxnMarkersResponse(Response, key=27, versions="0-2", flexible="1+"):
    class WritableTxnMarkerResult(Struct):
        class WritableTxnMarkerTopicResult(Struct):
            class WritableTxnMarkerPartitionResult(Struct):
                partition_index: Int32 = field()
                error_code: Int16 = field()

            name: String = field()
            partitions: list[WritableTxnMarkerPartitionResult] = field()

        producer_id: Int64 = field()
        topics: list[WritableTxnMarkerTopicResult] = field()

    markers: list[WritableTxnMarkerResult] = field()
