"""StreamsGroupTopologyDescriptionUpdate: the topology of a Kafka Streams application as a description for people (KIP-1331).

A member sends it when a heartbeat's answer asks for it; StreamsGroupDescribe shows it.
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Int8, Int16, Int32, String

__all__ = [
    "StreamsGroupTopologyDescriptionUpdateRequest",
    "StreamsGroupTopologyDescriptionUpdateResponse",
    "TopologyDescription",
]


class Node(Struct):
    name: String = field()
    node_type: Int8 = field()
    source_topics: list[String] = field()
    sink_topic: String | None = field(default=None, nullable="0+")
    stores: list[String] = field()
    successors: list[String] = field()


class TopologyDescription(Struct):
    class Subtopology(Struct):
        subtopology_id: String = field()
        nodes: list[Node] = field()

    class GlobalStore(Struct):
        source: Node = field()
        processor: Node = field()

    subtopologies: list[Subtopology] = field()
    global_stores: list[GlobalStore] = field()


class StreamsGroupTopologyDescriptionUpdateRequest(Request, key=93, versions="0", flexible="0+"):
    group_id: String = field()
    member_id: String = field()
    topology_epoch: Int32 = field()
    topology_description: TopologyDescription = field()


class StreamsGroupTopologyDescriptionUpdateResponse(Response, key=93, versions="0", flexible="0+"):
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(default=None, nullable="0+")
