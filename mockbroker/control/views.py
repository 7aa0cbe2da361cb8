"""Brokers, topics and groups as JSON values: what the control port shows of them."""

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

__all__ = ["show_broker", "show_group", "show_topic"]


def show_broker(broker: MockBroker) -> dict[str, Any]:
    """With where it listens and what it tells clients."""
    return {"id": broker.id, "address": broker.address, "advertised": broker.advertised, "online": broker.online}


def show_topic(topic: Topic) -> dict[str, Any]:
    """With the leader, the replicas and the offsets of each partition."""
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


def show_group(cluster: Cluster, groups: Groups, group: Group) -> dict[str, Any]:
    """With its coordinator (null if it has none), its members and what it has committed."""
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
        **(_show_classic(group) if isinstance(group, ClassicGroup) else {}),
        "offsets": offsets,
    }


def _show_classic(group: ClassicGroup) -> dict[str, Any]:
    """Generation, protocol and members of a classic group."""
    return {
        "generation": group.generation,
        "protocolType": group.protocol_type,
        "protocol": group.protocol,
        "members": [_show_member(group, member) for member in group.members.values()],
    }


def _show_member(group: ClassicGroup, member: Member) -> dict[str, Any]:
    return {
        "memberId": member.id,
        "instanceId": member.instance_id,
        "clientId": member.client_id,
        "clientHost": member.client_host,
        "assignment": _show_assignment(member.assignment) if group.is_consumer else None,
    }


def _show_assignment(assignment: bytes) -> dict[str, list[int]] | None:
    """Partitions by topic; null where it is not to be understood."""
    if not assignment:
        return {}
    try:
        assigned = decode_versioned(ConsumerProtocolAssignment, assignment, newer=True).message.assigned_partitions
    except DecodeError:
        return None
    return {one.topic: one.partitions for one in assigned}
