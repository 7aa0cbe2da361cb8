"""Control records: the type in their keys, ends of transactions (KIP-98), Raft's own records (KIP-595, KIP-853)."""

from kafkawire.protocol.schema import Message, Struct, field
from kafkawire.protocol.wire import Int16, Int32, Int64, String, UInt16, Uuid

__all__ = [
    "ControlRecordTypeSchema",
    "EndTxnMarker",
    "KRaftVersionRecord",
    "LeaderChangeMessage",
    "SnapshotFooterRecord",
    "SnapshotHeaderRecord",
    "VotersRecord",
]


class ControlRecordTypeSchema(Message, versions="0"):
    type: Int16 = field()


class EndTxnMarker(Message, versions="0"):
    coordinator_epoch: Int32 = field()


class LeaderChangeMessage(Message, versions="0-1", flexible="0+"):
    class Voter(Struct):
        voter_id: Int32 = field()
        voter_directory_id: Uuid = field("1+")

    version: Int16 = field()
    leader_id: Int32 = field()
    voters: list[Voter] = field()
    granting_voters: list[Voter] = field()


class SnapshotHeaderRecord(Message, versions="0", flexible="0+"):
    version: Int16 = field()
    last_contained_log_timestamp: Int64 = field()


class SnapshotFooterRecord(Message, versions="0", flexible="0+"):
    version: Int16 = field()


class KRaftVersionRecord(Message, versions="0", flexible="0+"):
    version: Int16 = field()
    k_raft_version: Int16 = field()


class VotersRecord(Message, versions="0", flexible="0+"):
    class Voter(Struct):
        class Endpoint(Struct):
            name: String = field()
            host: String = field()
            port: UInt16 = field()

        class KRaftVersionFeature(Struct):
            min_supported_version: Int16 = field()
            max_supported_version: Int16 = field()

        voter_id: Int32 = field()
        voter_directory_id: Uuid = field()
        endpoints: list[Endpoint] = field()
        k_raft_version_feature: KRaftVersionFeature = field()

    version: Int16 = field()
    voters: list[Voter] = field()
