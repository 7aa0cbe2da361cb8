"""JSON views of brokers, topics and groups, for the control port."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkawire.errors import DecodeError
from kafkawire.protocol.formats.consumer_protocol import ConsumerProtocolAssignment
from kafkawire.protocol.formats.versioned import decode_versioned
from mockbroker.groups.classic_group import ClassicGroup

if TYPE_CHECKING:
    from mockbroker.groups.classic_member import Member
    from mockbroker.groups.group import Group
    from mockbroker.groups.groups import Groups
    from mockbroker.mock import MockBroker
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.topics import Topic

__all__ = ["view_broker", "view_group", "view_topic"]


def view_broker(broker: MockBroker) -> dict[str, Any]:
    """Return a broker with the address it listens on and the address that clients are told."""
    return {"id": broker.id, "address": broker.address, "advertised": broker.advertised, "online": broker.online}


def view_topic(topic: Topic) -> dict[str, Any]:
    """Return a topic with the leader, the replicas and the offsets of each partition."""
    partitions = [
        {
            "partition": one.index,
            "leader": one.leader,
            "replicas": one.replicas,
            "startOffset": one.log.log_start_offset,
            "endOffset": one.log.log_end_offset,
        }
        for one in topic.partitions
    ]
    return {"name": topic.name, "partitions": partitions, "configs": topic.configs}


def view_group(cluster: Cluster, groups: Groups, group: Group) -> dict[str, Any]:
    """Return a group with its coordinator (null if it has none), its members and its committed offsets."""
    coordinator = cluster.coordinator(group.id)
    offsets = [
        {
            "topic": partition.topic,
            "partition": partition.partition,
            "offset": committed.offset,
            "metadata": committed.metadata,
            "lag": cluster.partition(*partition).log.high_watermark - committed.offset,
        }
        for partition, committed in groups.offsets.of_group(group.id).items()
    ]
    return {
        "group": group.id,
        "type": group.type,
        "state": group.state_name,
        "coordinator": None if coordinator is None else coordinator.id,
        **(_view_classic(group) if isinstance(group, ClassicGroup) else {}),
        "offsets": offsets,
    }


def _view_classic(group: ClassicGroup) -> dict[str, Any]:
    """Generation, protocol and members of a classic group."""
    return {
        "generation": group.generation,
        "protocolType": group.protocol_type,
        "protocol": group.protocol,
        "members": [_view_member(group, member) for member in group.members.values()],
    }


def _view_member(group: ClassicGroup, member: Member) -> dict[str, Any]:
    return {
        "memberId": member.id,
        "instanceId": member.instance_id,
        "clientId": member.client_id,
        "clientHost": member.client_host,
        "assignment": _view_assignment(member.assignment) if group.is_consumer else None,
    }


def _view_assignment(assignment: bytes) -> dict[str, list[int]] | None:
    """Return the partitions by topic; None for bytes that are no assignment."""
    if not assignment:
        return {}
    try:
        assigned = decode_versioned(ConsumerProtocolAssignment, assignment, newer=True).message.assigned_partitions
    except DecodeError:
        return None
    return {one.topic: one.partitions for one in assigned}
