"""Group members for tests: their requests with what most tests do not care about filled in, and whole members in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkawire.errors import ErrorCode
from kafkawire.protocol.formats.consumer_protocol import ConsumerProtocolSubscription
from kafkawire.protocol.formats.versioned import encode_versioned
from kafkawire.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkawire.protocol.messages.heartbeat import HeartbeatRequest
from kafkawire.protocol.messages.join_group import JoinGroupRequest
from kafkawire.protocol.messages.leave_group import LeaveGroupRequest
from kafkawire.protocol.messages.offset_commit import OffsetCommitRequest
from kafkawire.protocol.messages.offset_delete import OffsetDeleteRequest
from kafkawire.protocol.messages.sync_group import SyncGroupRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.mockbroker.raw import MemoryMock, Pending

SESSION = 10.0
REBALANCE = 60.0
"""Seconds that members have unless a test says otherwise."""


def subscription(*topics: str) -> bytes:
    """Subscription of a consumer, as JoinGroup carries it."""
    return encode_versioned(ConsumerProtocolSubscription(topics=list(topics)), 1)


def join(
    group: str = "g",
    member: str = "",
    *,
    instance: str | None = None,
    protocols: Mapping[str, bytes] | None = None,
    protocol_type: str = "consumer",
    session: float = SESSION,
    rebalance: float = REBALANCE,
) -> JoinGroupRequest:
    offered = {"range": subscription("t")} if protocols is None else protocols
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=int(session * 1000),
        rebalance_timeout_ms=int(rebalance * 1000),
        member_id=member,
        group_instance_id=instance,
        protocol_type=protocol_type,
        protocols=[JoinGroupRequest.Protocol(name=name, metadata=metadata) for name, metadata in offered.items()],
    )


def sync(
    group: str,
    member: str,
    generation: int,
    assignments: Mapping[str, bytes] | None = None,
    *,
    instance: str | None = None,
    protocol_type: str | None = "consumer",
    protocol: str | None = "range",
) -> SyncGroupRequest:
    given = [SyncGroupRequest.Assignment(member_id=to, assignment=part) for to, part in (assignments or {}).items()]
    return SyncGroupRequest(
        group_id=group,
        generation_id=generation,
        member_id=member,
        group_instance_id=instance,
        protocol_type=protocol_type,
        protocol_name=protocol,
        assignments=given,
    )


def heartbeat(group: str, member: str, generation: int, *, instance: str | None = None) -> HeartbeatRequest:
    return HeartbeatRequest(group_id=group, generation_id=generation, member_id=member, group_instance_id=instance)


def leave(group: str, *leavers: tuple[str, str | None]) -> LeaveGroupRequest:
    """For version 3 and later: members by id and instance id."""
    members = [LeaveGroupRequest.MemberIdentity(member_id=member, group_instance_id=instance) for member, instance in leavers]
    return LeaveGroupRequest(group_id=group, members=members)


def commit(
    group: str,
    offset: int,
    *,
    member: str = "",
    generation: int = -1,
    instance: str | None = None,
    topic: str = "t",
    partition: int = 0,
    metadata: str | None = "m",
    **options: Any,
) -> OffsetCommitRequest:
    """For version 9 and earlier, which name topics."""
    position = OffsetCommitRequest.Topic.Partition(
        partition_index=partition, committed_offset=offset, committed_metadata=metadata
    )
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member,
        group_instance_id=instance,
        topics=[OffsetCommitRequest.Topic(name=topic, partitions=[position])],
        **options,
    )


def offset_delete(group: str, *partitions: tuple[str, int]) -> OffsetDeleteRequest:
    asked = OffsetDeleteRequest.Topic
    topics: dict[str, OffsetDeleteRequest.Topic] = {}
    for topic, index in partitions:
        topics.setdefault(topic, asked(name=topic)).partitions.append(asked.Partition(partition_index=index))
    return OffsetDeleteRequest(group_id=group, topics=list(topics.values()))


def coordinator(mock: MemoryMock, group: str = "g") -> int:
    """The id of the broker that coordinates a group."""
    found = mock.cluster.coordinator(group)
    assert found is not None
    return found.id


class Member:
    """A member of a group in memory, on a connection of its own. `options` are those of `join`."""

    def __init__(self, mock: MemoryMock, group: str = "g", **options: Any) -> None:
        self.client = mock.client(coordinator(mock, group))
        self.group = group
        self.instance: str | None = options.get("instance")
        self.options = options
        self.id = ""
        self.generation = -1
        self.protocol = ""

    def join(self, version: int = 9) -> Pending:
        """Ask to be in the next generation, under the id that the broker gives if there is none yet."""
        pending = self.client.send(join(self.group, self.id, **self.options), version)
        if pending.done and pending.result().error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.id = pending.result().member_id
            pending = self.client.send(join(self.group, self.id, **self.options), version)
        return pending

    def take(self, pending: Pending) -> Any:
        """Be in the generation that a JoinGroup has led to."""
        joined = pending.result()
        assert joined.error_code == 0, ErrorCode.of(joined.error_code)
        self.id, self.generation, self.protocol = joined.member_id, joined.generation_id, joined.protocol_name
        return joined

    def sync(self, assignments: Mapping[str, bytes] | None = None) -> Pending:
        asked = sync(
            self.group,
            self.id,
            self.generation,
            assignments,
            instance=self.instance,
            protocol_type=self.options.get("protocol_type", "consumer"),
            protocol=self.protocol,
        )
        return self.client.send(asked, 5)

    def heartbeat(self) -> ErrorCode:
        asked = heartbeat(self.group, self.id, self.generation, instance=self.instance)
        return ErrorCode.of(self.client.call(asked, 4).error_code)

    def leave(self) -> ErrorCode:
        (answer,) = self.client.call(leave(self.group, (self.id, self.instance)), 5).members
        return ErrorCode.of(answer.error_code)

    def commit(self, offset: int, **options: Any) -> ErrorCode:
        asked = commit(self.group, offset, member=self.id, generation=self.generation, instance=self.instance, **options)
        return ErrorCode.of(self.client.call(asked, 9).topics[0].partitions[0].error_code)


def stable(*members: Member) -> None:
    """Bring members into one generation, whether they are new or not; each is assigned its own id."""
    joining = [member.join() for member in members]
    if not all(pending.done for pending in joining):  # who came first was alone in a generation
        joining = [
            _rejoin(member, pending) if pending.done else pending for member, pending in zip(members, joining, strict=True)
        ]
    joined = [member.take(pending) for member, pending in zip(members, joining, strict=True)]
    leader = joined[0].leader
    assignments = {member.id: member.id.encode() for member in members}
    followers = [member.sync() for member in members if member.id != leader]
    leading = [member.sync(assignments) for member in members if member.id == leader]
    assert all(pending.result().error_code == 0 for pending in followers + leading)


def _rejoin(member: Member, pending: Pending) -> Pending:
    member.take(pending)
    return member.join()


def state(mock: MemoryMock, group: str = "g") -> tuple[str, set[str]]:
    """State and members of a group as DescribeGroups tells them."""
    (found,) = mock.client(coordinator(mock, group)).call(DescribeGroupsRequest(groups=[group]), 5).groups
    return found.group_state, {member.member_id for member in found.members}
