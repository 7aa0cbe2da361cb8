"""One classic group as its coordinator sees it: members, generation, state, offsets. `classic_protocol` acts on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.errors import DecodeError, ErrorCode
from kafkawire.protocol import codegen
from kafkawire.protocol.formats.consumer_protocol import ConsumerProtocolSubscription
from mockbroker.state.java import hash_order
from mockbroker.state.waiting import Promise

if TYPE_CHECKING:
    from kafkawire.message import TopicPartition
    from mockbroker.groups.offsets import CommittedOffset
    from mockbroker.state.timers import Timer

__all__ = ["ClassicGroup", "GroupState", "Joined", "JoinedMember", "Member", "Synced"]


class GroupState(Enum):
    """The states of a classic group, as Kafka spells them."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
    """Of groups that do not exist."""


class JoinedMember(NamedTuple):
    """A member as the leader is told of it."""

    id: str
    instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True)
class Joined:
    """What a JoinGroup comes to."""

    member_id: str
    error: ErrorCode = ErrorCode.NONE
    generation: int = -1
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = ""
    members: Sequence[JoinedMember] = ()
    skip_assignment: bool = False


@dataclass(frozen=True, slots=True)
class Synced:
    """What a SyncGroup comes to."""

    error: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""


@dataclass(slots=True)
class Member:
    """One member. `protocols` has its metadata by protocol, the one it likes best first."""

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: dict[str, bytes]
    assignment: bytes = b""
    is_new: bool = True
    """Until its first generation begins: it may expire although it waits."""
    joining: Promise[Joined] | None = None
    syncing: Promise[Synced] | None = None
    session: Timer | None = None

    @property
    def waits(self) -> bool:
        return self.joining is not None or self.syncing is not None

    def end_join(self, answer: Joined) -> None:
        """Answer its JoinGroup, if it waits in one."""
        promise, self.joining = self.joining, None
        if promise is not None:
            promise.complete(answer)

    def end_sync(self, answer: Synced) -> bool:
        """Answer its SyncGroup; whether it waited in one."""
        promise, self.syncing = self.syncing, None
        if promise is not None:
            promise.complete(answer)
        return promise is not None


@dataclass(slots=True)
class _Saved:
    """What Kafka writes to `__consumer_offsets` of a group, and a new coordinator finds there."""

    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: list[Member] = field(default_factory=list)
    state_since: float = 0.0


class ClassicGroup:
    """One group. Without `protocol_type` it never had members: it holds what simple consumers and tools commit."""

    type = "classic"

    def __init__(self, group_id: str, now: float) -> None:
        self.id = group_id
        self.state = GroupState.EMPTY
        self.previous_state = GroupState.DEAD
        self.state_since = now
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}
        """Member ids by instance id (KIP-345)."""
        self.pending: dict[str, Timer] = {}
        """Ids that were given out and not used yet, until they expire (KIP-394)."""
        self.pending_sync: set[str] = set()
        self.member_was_added = False
        """Since the last look during the initial rebalance delay."""
        self.subscribed_topics: set[str] | None = None
        self.join_timer: Timer | None = None
        self.sync_timer: Timer | None = None
        self.offsets: dict[TopicPartition, CommittedOffset] = {}
        self._saved = _Saved(state_since=now)

    @property
    def is_consumer(self) -> bool:
        """Whether the metadata of its members are the subscriptions of consumers."""
        return self.protocol_type == "consumer"

    # Who is in it

    @property
    def all_joined(self) -> bool:
        """Whether the next generation can begin."""
        return not self.pending and all(member.joining for member in self.members.values())

    @property
    def rebalance_timeout(self) -> float:
        """Seconds; the longest of all members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0) / 1000

    def check_member(self, member_id: str, instance_id: str | None) -> ErrorCode | None:
        """Why a request of this member must be refused."""
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if current != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return None if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def check_commit(self, member_id: str, instance_id: str | None, generation: int) -> ErrorCode | None:
        """Why a commit must be refused. A group without members takes those that claim no membership."""
        if generation < 0 and self.state is GroupState.EMPTY:
            return None
        if generation < 0 and not member_id and instance_id is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        error = self.check_member(member_id, instance_id)
        if error is None and generation != self.generation:
            error = ErrorCode.ILLEGAL_GENERATION
        if error is None and self.state is GroupState.COMPLETING_REBALANCE:
            error = ErrorCode.REBALANCE_IN_PROGRESS
        return error

    def add(self, member: Member, protocol_type: str) -> None:
        """Take a member in; the first one decides what type of group it is."""
        if not self.members:
            self.protocol_type = protocol_type
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.id
        self.leader = self.leader or member.id
        self.members[member.id] = member
        expiry = self.pending.pop(member.id, None)
        if expiry is not None:
            expiry.cancel()

    def remove(self, member_id: str) -> None:
        """Take out a member or an id that was given out, and end its session."""
        timer = self.pending.pop(member_id, None)
        member = self.members.pop(member_id, None)
        if member is not None:
            timer = member.session
            if member.instance_id is not None:
                del self.static_members[member.instance_id]
        if timer is not None:
            timer.cancel()
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending_sync.discard(member_id)

    def replace_static(self, old: Member, member_id: str) -> Member:
        """Give a static member that has come back a new id, and fence the one that it had."""
        old.end_join(Joined(old.id, ErrorCode.FENCED_INSTANCE_ID))
        old.end_sync(Synced(ErrorCode.FENCED_INSTANCE_ID))
        was_leader = self.leader == old.id
        new = Member(
            member_id,
            old.instance_id,
            old.client_id,
            old.client_host,
            old.session_timeout_ms,
            old.rebalance_timeout_ms,
            old.protocols,
            old.assignment,
            is_new=False,
        )
        self.remove(old.id)
        self.members[member_id] = new
        if new.instance_id is not None:
            self.static_members[new.instance_id] = member_id
        if was_leader:
            self.leader = member_id
        return new

    def elect_joined_leader(self) -> bool:
        """Make sure that the leader is one who takes part in the next generation; False if nobody does."""
        if self.leader is not None and not self.members[self.leader].joining:
            self.leader = next((member.id for member in self.members.values() if member.joining), self.leader)
        return self.leader is not None and self.members[self.leader].joining is not None

    # Generations

    def to(self, state: GroupState, now: float) -> None:
        self.previous_state, self.state, self.state_since = self.state, state, now

    def begin_generation(self, now: float) -> None:
        """With the members that there are: none leave the group empty."""
        self.generation += 1
        self.protocol = self.select_protocol() if self.members else None
        self.subscribed_topics = self._subscriptions()
        self.to(GroupState.COMPLETING_REBALANCE if self.members else GroupState.EMPTY, now)
        self.pending_sync.clear()

    def supports(self, protocol_type: str, protocols: dict[str, bytes]) -> bool:
        """Whether a member of this type with these protocols has one in common with all others."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and bool(protocols)
        common = (all(name in member.protocols for member in self.members.values()) for name in protocols)
        return self.protocol_type == protocol_type and any(common)

    def select_protocol(self) -> str:
        """The one with the most votes: each member votes for the first of its own that all others know too."""
        everyone = [member.protocols for member in self.members.values()]
        votes = Counter(next(name for name in own if all(name in other for other in everyone)) for own in everyone)
        return max(hash_order(votes), key=votes.__getitem__)

    def joined(self, member: Member) -> Joined:
        """What a member of the current generation is told; only the leader hears of the others."""
        leads = member.id == self.leader
        listed = [JoinedMember(each.id, each.instance_id, self.metadata(each)) for each in self.members.values() if leads]
        return Joined(
            member.id,
            generation=self.generation,
            protocol_type=self.protocol_type,
            protocol=self.protocol,
            leader=self.leader or "",
            members=listed,
        )

    def synced(self, member: Member) -> Synced:
        """What a member is assigned."""
        return Synced(ErrorCode.NONE, self.protocol_type, self.protocol, member.assignment)

    def metadata(self, member: Member) -> bytes:
        """What a member told with the chosen protocol."""
        return member.protocols[self.protocol] if self.protocol is not None else b""

    def save(self) -> None:
        """Note what a new coordinator would find."""
        members = [
            Member(
                member.id,
                member.instance_id,
                member.client_id,
                member.client_host,
                member.session_timeout_ms,
                member.rebalance_timeout_ms,
                {self.protocol or "": self.metadata(member)},
                member.assignment,
                is_new=False,
            )
            for member in self.members.values()
        ]
        self._saved = _Saved(self.generation, self.protocol_type, self.protocol, self.leader, members, self.state_since)

    def unload(self) -> None:
        """The coordinator has lost the group: whoever waits is sent away, and only what was saved remains."""
        for timer in (self.join_timer, self.sync_timer):
            if timer is not None:
                timer.cancel()
        for member_id, member in list(self.members.items()):
            member.end_join(Joined(member_id, ErrorCode.NOT_COORDINATOR))
            member.end_sync(Synced(ErrorCode.NOT_COORDINATOR))
            self.remove(member_id)
        for member_id in list(self.pending):
            self.remove(member_id)
        saved = self._saved
        self.generation, self.protocol_type, self.protocol = saved.generation, saved.protocol_type, saved.protocol
        for member in saved.members:
            self.add(member, saved.protocol_type or "")
        self.leader = saved.leader
        self.state = GroupState.STABLE if self.members else GroupState.EMPTY
        self.state_since = saved.state_since
        self.subscribed_topics = self._subscriptions()
        self.save()

    # Topics and offsets

    def is_subscribed(self, topic: str) -> bool:
        """Whether a member consumes a topic, as far as can be known: all are taken as consumed while no topic is known."""
        if self.subscribed_topics is None:
            return self.is_consumer
        return topic in self.subscribed_topics

    def expire_offsets(self, now: float, retention: float) -> None:
        """Forget the positions that nobody has used for `retention` seconds (KIP-211)."""
        kept = {}
        for partition, committed in self.offsets.items():
            since = self._unused_since(committed)
            if since is None or self.is_subscribed(partition.topic) or not committed.expired(now, since, retention):
                kept[partition] = committed
        self.offsets = kept

    def _unused_since(self, committed: CommittedOffset) -> float | None:
        """When the retention of a position begins; None while the group uses it."""
        if self.protocol_type is None:
            return committed.committed_at
        if self.state is GroupState.EMPTY:
            return self.state_since
        return committed.committed_at if self.state is GroupState.STABLE and self.subscribed_topics is not None else None

    def _subscriptions(self) -> set[str] | None:
        """The topics of all members; None where they are not to be known."""
        if not self.is_consumer:
            return None
        try:
            return {topic for member in self.members.values() for topic in _subscribed(self.metadata(member))}
        except DecodeError:
            return None


def _subscribed(metadata: bytes) -> list[str]:
    """The topics that a member subscribes to. Like Kafka this reads version 0, with which every version begins."""
    topics: list[str] = codegen.decoder(ConsumerProtocolSubscription, 0)(metadata, 2)[0].topics
    return topics
