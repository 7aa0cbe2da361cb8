"""Classic group as its coordinator sees it: members, generation, state. `ClassicProtocol` acts on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, MutableMapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from kafkawire.errors import DecodeError, ErrorCode
from kafkawire.protocol import codegen
from kafkawire.protocol.formats.consumer_protocol import ConsumerProtocolSubscription
from mockbroker.groups.classic_member import Joined, JoinedMember, Member, Synced
from mockbroker.groups.group import Group
from mockbroker.state.java import hash_order

if TYPE_CHECKING:
    from mockbroker.groups.offsets import CommittedOffset
    from mockbroker.state.timers import Timer

__all__ = ["ClassicGroup", "ClassicGroupState"]


class ClassicGroupState(Enum):
    """States of a classic group, as Kafka spells them."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
    """State of groups that do not exist."""


_PREVIOUS = {
    ClassicGroupState.PREPARING_REBALANCE: (
        ClassicGroupState.EMPTY,
        ClassicGroupState.COMPLETING_REBALANCE,
        ClassicGroupState.STABLE,
    ),
    ClassicGroupState.COMPLETING_REBALANCE: (ClassicGroupState.PREPARING_REBALANCE,),
    ClassicGroupState.STABLE: (ClassicGroupState.COMPLETING_REBALANCE,),
    ClassicGroupState.EMPTY: (ClassicGroupState.PREPARING_REBALANCE,),
}
"""States from which each state can be reached. `unload` goes to the saved state from any."""


@dataclass(frozen=True, slots=True)
class _SavedGroup:
    """Group as Kafka writes it to `__consumer_offsets`, and as a new coordinator finds it there."""

    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: Sequence[Member] = ()
    state_since: float = 0.0


class ClassicGroup(Group):
    """One classic group, empty at first. table: where it is saved."""

    type: ClassVar[str] = "classic"

    def __init__(self, group_id: str, now: float, table: MutableMapping[str, _SavedGroup]) -> None:
        super().__init__(group_id)
        self.state = ClassicGroupState.EMPTY
        self.previous_state = ClassicGroupState.DEAD
        self.state_since = now
        self.generation = 0
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}
        """Member ids by instance id (KIP-345)."""
        self.pending: dict[str, Timer] = {}
        """Expiry timers of the member ids that were given out and not used yet (KIP-394)."""
        self.pending_sync: set[str] = set()
        """Ids of the members that have not asked for their assignment in this generation."""
        self.member_was_added = False
        """True if a member was added since the last look during the initial rebalance delay."""
        self.subscribed_topics: set[str] | None = None
        """Topics of all members; None while they cannot be known."""
        self.join_timer: Timer | None = None
        self.sync_timer: Timer | None = None
        self._table = table
        table[group_id] = _SavedGroup(state_since=now)

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def is_empty(self) -> bool:
        return self.state is ClassicGroupState.EMPTY

    @property
    def member_ids(self) -> Collection[str]:
        return self.members

    @property
    def is_consumer(self) -> bool:
        """True if the metadata of the members are the subscriptions of consumers."""
        return self.protocol_type == "consumer"

    # Members

    @property
    def all_joined(self) -> bool:
        """True if the next generation can begin, since no member is missing."""
        return not self.pending and all(member.joining for member in self.members.values())

    @property
    def rebalance_timeout(self) -> float:
        """Longest rebalance timeout of all members, in seconds."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0) / 1000

    def check_member(self, member_id: str, instance_id: str | None) -> ErrorCode | None:
        """Error of a request that is refused, since this member is unknown or fenced."""
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if current != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return None if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def check_commit(self, member_id: str, instance_id: str | None, generation: int) -> ErrorCode | None:
        if generation < 0 and self.state is ClassicGroupState.EMPTY:
            return None
        if generation < 0 and not member_id and instance_id is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        error = self.check_member(member_id, instance_id)
        if error is None and generation != self.generation:
            error = ErrorCode.ILLEGAL_GENERATION
        if error is None and self.state is ClassicGroupState.COMPLETING_REBALANCE:
            error = ErrorCode.REBALANCE_IN_PROGRESS
        return error

    def add(self, member: Member, protocol_type: str) -> None:
        """Add a member; the first one decides the protocol type."""
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
        """Remove a member, or an id that was given out, and end its session."""
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
        """Give a static member that has come back a new id, and fence its old one."""
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
        """Make the leader a member that takes part in the next generation; False if no member does."""
        if self.leader is not None and not self.members[self.leader].joining:
            self.leader = next((member.id for member in self.members.values() if member.joining), self.leader)
        return self.leader is not None and self.members[self.leader].joining is not None

    # Generations

    def to(self, state: ClassicGroupState, now: float) -> None:
        """Go to another state. Raises RuntimeError if that cannot be reached from this one."""
        if self.state not in _PREVIOUS[state]:
            raise RuntimeError(f"classic group {self.id!r} cannot go from {self.state.value} to {state.value}")
        self.previous_state, self.state, self.state_since = self.state, state, now

    def begin_generation(self, now: float) -> None:
        """Begin the next generation with the present members; without members the group is empty."""
        self.generation += 1
        self.protocol = self.select_protocol() if self.members else None
        self.subscribed_topics = self._subscriptions()
        self.to(ClassicGroupState.COMPLETING_REBALANCE if self.members else ClassicGroupState.EMPTY, now)
        self.pending_sync.clear()

    def supports(self, protocol_type: str, protocols: dict[str, bytes]) -> bool:
        """True if a member of this type has a protocol in common with all others."""
        if self.state is ClassicGroupState.EMPTY:
            return bool(protocol_type) and bool(protocols)
        common = (all(name in member.protocols for member in self.members.values()) for name in protocols)
        return self.protocol_type == protocol_type and any(common)

    def select_protocol(self) -> str:
        """Protocol with the most votes: each member votes for the first of its own that all others know too."""
        everyone = [member.protocols for member in self.members.values()]
        votes = Counter(next(name for name in own if all(name in other for other in everyone)) for own in everyone)
        return max(hash_order(votes), key=votes.__getitem__)

    def joined(self, member: Member) -> Joined:
        """Outcome of a JoinGroup in the current generation. Only the leader is told of the other members."""
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
        """Outcome of a SyncGroup in the current generation."""
        return Synced(ErrorCode.NONE, self.protocol_type, self.protocol, member.assignment)

    def metadata(self, member: Member) -> bytes:
        """Metadata that a member sent for the selected protocol."""
        return member.protocols[self.protocol] if self.protocol is not None else b""

    def save(self) -> None:
        """Save the group for a new coordinator to load."""
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
        self._table[self.id] = _SavedGroup(
            self.generation, self.protocol_type, self.protocol, self.leader, members, self.state_since
        )

    def unload(self) -> None:
        for timer in (self.join_timer, self.sync_timer):
            if timer is not None:
                timer.cancel()
        for member_id, member in list(self.members.items()):
            member.end_join(Joined(member_id, ErrorCode.NOT_COORDINATOR))
            member.end_sync(Synced(ErrorCode.NOT_COORDINATOR))
            self.remove(member_id)
        for member_id in list(self.pending):
            self.remove(member_id)
        saved = self._table[self.id]
        self.generation, self.protocol_type, self.protocol = saved.generation, saved.protocol_type, saved.protocol
        for member in saved.members:
            self.add(member, saved.protocol_type or "")
        self.leader = saved.leader
        self.state = ClassicGroupState.STABLE if self.members else ClassicGroupState.EMPTY
        self.state_since = saved.state_since
        self.subscribed_topics = self._subscriptions()
        self.save()

    # Offsets

    def check_offset_delete(self) -> ErrorCode | None:
        """Error of a group with members whose topics cannot be known."""
        return None if self.is_empty or self.is_consumer else ErrorCode.NON_EMPTY_GROUP

    def is_subscribed(self, topic: str) -> bool:
        """True if a member consumes the topic; true for every topic while subscriptions cannot be known."""
        if self.subscribed_topics is None:
            return self.is_consumer
        return topic in self.subscribed_topics

    def unused_since(self, committed: CommittedOffset) -> float | None:
        if self.protocol_type is None:
            return committed.committed_at
        if self.state is ClassicGroupState.EMPTY:
            return self.state_since
        return committed.committed_at if self.state is ClassicGroupState.STABLE and self.subscribed_topics is not None else None

    def _subscriptions(self) -> set[str] | None:
        """Topics of all members; None if they cannot be known."""
        if not self.is_consumer:
            return None
        try:
            return {topic for member in self.members.values() for topic in _subscribed(self.metadata(member))}
        except DecodeError:
            return None


def _subscribed(metadata: bytes) -> list[str]:
    """Topics that a member subscribes to. Like Kafka this reads version 0, with which every version begins."""
    topics: list[str] = codegen.decoder(ConsumerProtocolSubscription, 0)(metadata, 2)[0].topics
    return topics
