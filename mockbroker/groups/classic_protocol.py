"""Classic group protocol: effects of JoinGroup, SyncGroup, Heartbeat, LeaveGroup and time on a group."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from kafkawire.errors import ErrorCode
from mockbroker.groups.classic_group import ClassicGroup, ClassicGroupState
from mockbroker.groups.classic_member import Joined, Member, Synced
from mockbroker.groups.group import GroupProtocol
from mockbroker.state.cluster import Cluster
from mockbroker.state.waiting import Promise

__all__ = ["ClassicProtocol", "Join", "Leaver", "Sync"]

_NEW_MEMBER_TIMEOUT = 300.0
"""Seconds that a member may wait for its first generation; its session begins only then (KAFKA-7610)."""

_TICK = 0.001
"""Shortest rebalance timeout in seconds: with none, a timer that is set anew for ever would leave time for nothing else."""

_CAN_BEGIN_REBALANCE = (ClassicGroupState.EMPTY, ClassicGroupState.COMPLETING_REBALANCE, ClassicGroupState.STABLE)
"""States in which a rebalance can begin."""

_EXPELS_UNSYNCED_SINCE = (2, 8)
"""Version since which a group does not wait for members that never sync; before, their sessions had to end (KAFKA-12890)."""

_REBALANCING = (ClassicGroupState.PREPARING_REBALANCE,)
_REBALANCING_OR_SYNCING = (ClassicGroupState.PREPARING_REBALANCE, ClassicGroupState.COMPLETING_REBALANCE)
_QUIET_WHILE_SYNCING_SINCE = (2, 6)
"""Version since which heartbeats do not answer REBALANCE_IN_PROGRESS while members fetch their assignments."""


@dataclass(frozen=True, slots=True)
class Join:
    """Request to be a member of the next generation."""

    member_id: str
    """Empty for a new member."""
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: dict[str, bytes]
    needs_known_id: bool
    """True if a new dynamic member has to join again under the id that it gets (KIP-394)."""
    can_skip_assignment: bool
    """True if a static leader that comes back can be told to assign nothing (KIP-814)."""


@dataclass(frozen=True, slots=True)
class Sync:
    """Request of a member for its assignment; the leader's brings the assignments of all."""

    member_id: str
    instance_id: str | None
    generation: int
    protocol_type: str | None
    protocol: str | None
    assignments: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Leaver:
    """Member that is to leave: named by member id, or a static one by its instance id alone."""

    member_id: str
    instance_id: str | None


class ClassicProtocol(GroupProtocol[ClassicGroup]):
    """Changes classic groups as brokers of the cluster's version do. Times are seconds, as the driver counts them."""

    group_class = ClassicGroup

    def __init__(self, cluster: Cluster) -> None:
        version = cluster.profile.version
        self._timers = cluster.timers
        self._config = cluster.config
        self._table = cluster.store.table("classic groups")
        self._ids = 0
        self._expels_unsynced = version >= _EXPELS_UNSYNCED_SINCE
        self._tells_to_rejoin = _REBALANCING if version >= _QUIET_WHILE_SYNCING_SINCE else _REBALANCING_OR_SYNCING

    def new_group(self, group_id: str, now: float) -> ClassicGroup:
        return ClassicGroup(group_id, now, self._table)

    def forget(self, group: ClassicGroup) -> None:
        del self._table[group.id]

    def keep_member(self, group: ClassicGroup, member_id: str, now: float) -> None:
        member = group.members.get(member_id)
        if member is not None:
            self._keep_session(group, member, now)

    def load(self, group: ClassicGroup, now: float) -> None:
        for member in group.members.values():
            self._keep_session(group, member, now)

    # Requests

    def join(self, group: ClassicGroup, join: Join, now: float) -> Promise[Joined]:
        """Add a member, or let it take part in the next generation."""
        if not self._has_room(group, join.member_id):
            group.remove(join.member_id)
            return Promise(Joined("", ErrorCode.GROUP_MAX_SIZE_REACHED))
        if not group.supports(join.protocol_type, join.protocols):
            return Promise(Joined(join.member_id, ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        if not join.member_id:
            return self._join_anew(group, join, now)
        if join.member_id in group.pending:
            if join.instance_id is not None:  # the ids that are given out are for dynamic members
                return Promise(Joined("", ErrorCode.UNKNOWN_SERVER_ERROR))
            return self._add(group, join, join.member_id, now)
        error = group.check_member(join.member_id, join.instance_id)
        if error is not None:
            return Promise(Joined(join.member_id, error))
        return self._join_again(group, group.members[join.member_id], join, now)

    def sync(self, group: ClassicGroup, sync: Sync, now: float) -> Promise[Synced]:
        """Give a member its assignment, once the leader has brought it."""
        error = _check_sync(group, sync)
        if error is not None:
            return Promise(Synced(error))
        member = group.members[sync.member_id]
        group.pending_sync.discard(member.id)
        if group.state is ClassicGroupState.STABLE:
            return Promise(group.synced(member))
        promise: Promise[Synced] = Promise()
        member.syncing = promise
        if member.id == group.leader:
            for each in group.members.values():
                each.assignment = sync.assignments.get(each.id, b"")
            self._end_syncs(group, group.synced, now)
            group.to(ClassicGroupState.STABLE, now)
            group.save()
        return promise

    def heartbeat(
        self, group: ClassicGroup, member_id: str, instance_id: str | None, generation: int, now: float
    ) -> ErrorCode | None:
        """Keep a member's session. Returns REBALANCE_IN_PROGRESS if it has to rejoin, or another error."""
        error = group.check_member(member_id, instance_id)
        if error is not None:
            return error
        if generation != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        self._keep_session(group, group.members[member_id], now)
        return ErrorCode.REBALANCE_IN_PROGRESS if group.state in self._tells_to_rejoin else None

    def leave(self, group: ClassicGroup, leavers: Iterable[Leaver], now: float) -> list[ErrorCode | None]:
        """Remove members. Returns the error of each, or None."""
        errors = [self._leave(group, leaver) for leaver in leavers]
        if None in errors and group.state is not ClassicGroupState.EMPTY:
            self._rebalance(group, now)
        return errors

    def _keep_session(self, group: ClassicGroup, member: Member, now: float, timeout: float | None = None) -> None:
        """Begin a member's session anew. timeout: in seconds, in place of the member's own."""
        if member.session is not None:
            member.session.cancel()
        seconds = member.session_timeout_ms / 1000 if timeout is None else timeout
        member.session = self._timers.at(now + seconds, partial(self._expire, group, member.id))

    # Joining

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        """True if the group may have this member too: while members rejoin, the first to come are in, else the present ones."""
        limit = int(self._config.get("group.max.size", 2**31 - 1))
        member = group.members.get(member_id)
        if group.state is ClassicGroupState.EMPTY:
            return True
        if group.state is ClassicGroupState.PREPARING_REBALANCE:
            waiting = sum(each.joining is not None for each in group.members.values())
            return waiting < limit or (member is not None and member.joining is not None)
        return member is not None or len(group.members) < limit

    def _join_anew(self, group: ClassicGroup, join: Join, now: float) -> Promise[Joined]:
        member_id = self._new_id(join)
        if join.instance_id is None and join.needs_known_id:
            expire = partial(self._expire, group, member_id)
            group.pending[member_id] = self._timers.at(now + join.session_timeout_ms / 1000, expire)
            return Promise(Joined(member_id, ErrorCode.MEMBER_ID_REQUIRED))
        known = None if join.instance_id is None else group.static_members.get(join.instance_id)
        if known is None:
            return self._add(group, join, member_id, now)
        return self._replace(group, group.members[known], member_id, join, now)

    def _new_id(self, join: Join) -> str:
        """Make a member id like Kafka's, but equal in every run, so that simulations repeat."""
        self._ids += 1
        return f"{join.instance_id or join.client_id}-{uuid.uuid5(uuid.NAMESPACE_OID, f'member {self._ids}')}"

    def _add(self, group: ClassicGroup, join: Join, member_id: str, now: float) -> Promise[Joined]:
        member = Member(
            member_id,
            join.instance_id,
            join.client_id,
            join.client_host,
            join.session_timeout_ms,
            join.rebalance_timeout_ms,
            join.protocols,
        )
        promise: Promise[Joined] = Promise()
        member.joining = promise
        group.add(member, join.protocol_type)
        group.member_was_added = group.state is ClassicGroupState.PREPARING_REBALANCE
        self._keep_session(group, member, now, _NEW_MEMBER_TIMEOUT)
        self._rebalance(group, now)
        return promise

    def _join_again(self, group: ClassicGroup, member: Member, join: Join, now: float) -> Promise[Joined]:
        """Let a member rejoin. One with nothing new gets the present generation; a leader can always ask for another."""
        unchanged = list(member.protocols.items()) == list(join.protocols.items())
        if unchanged and (
            group.state is ClassicGroupState.COMPLETING_REBALANCE
            or (group.state is ClassicGroupState.STABLE and member.id != group.leader)
        ):
            return Promise(group.joined(member))
        promise = _update(member, join)
        self._rebalance(group, now)
        return promise

    def _replace(self, group: ClassicGroup, old: Member, member_id: str, join: Join, now: float) -> Promise[Joined]:
        """Replace a static member that has come back, without a rebalance unless the selected protocol changes (KIP-345)."""
        leader = group.leader or ""
        member = group.replace_static(old, member_id)
        self._keep_session(group, member, now)
        promise = _update(member, join)
        if group.state is not ClassicGroupState.STABLE or group.select_protocol() != group.protocol:
            self._rebalance(group, now)
        else:
            group.save()
            member.end_join(_resumed(group, member, leader, join))
        return promise

    # Rebalancing

    def _rebalance(self, group: ClassicGroup, now: float) -> None:
        """Begin a rebalance, or complete the present one if no member is missing any more."""
        if group.state in _CAN_BEGIN_REBALANCE:
            self._prepare(group, now)
        elif group.previous_state is not ClassicGroupState.EMPTY and group.all_joined:
            self._complete(group, now)

    def _prepare(self, group: ClassicGroup, now: float) -> None:
        if group.state is ClassicGroupState.COMPLETING_REBALANCE:
            for member in group.members.values():
                member.assignment = b""
            self._end_syncs(group, lambda _member: Synced(ErrorCode.REBALANCE_IN_PROGRESS), now)
        group.pending_sync.clear()
        if group.sync_timer is not None:
            group.sync_timer.cancel()
        group.to(ClassicGroupState.PREPARING_REBALANCE, now)
        if group.previous_state is ClassicGroupState.EMPTY:
            delay = int(self._config["group.initial.rebalance.delay.ms"]) / 1000
            self._delay(group, delay, max(group.rebalance_timeout - delay, 0), now)
        elif group.all_joined:
            self._complete(group, now)
        else:
            self._complete_later(group, now)

    def _delay(self, group: ClassicGroup, delay: float, remaining: float, now: float) -> None:
        """Delay the first rebalance of a group, so that more members can come (KIP-134)."""
        group.member_was_added = False

        def look_again(then: float) -> None:
            if group.member_was_added and remaining:
                again = min(int(self._config["group.initial.rebalance.delay.ms"]) / 1000, remaining)
                self._delay(group, again, max(remaining - delay, 0), then)
            else:
                self._complete(group, then)

        group.join_timer = self._timers.at(now + delay, look_again)

    def _complete_later(self, group: ClassicGroup, now: float) -> None:
        """Wait for missing members, but no longer than the rebalance timeout."""
        if group.join_timer is not None:
            group.join_timer.cancel()
        patience = max(group.rebalance_timeout, _TICK)
        group.join_timer = self._timers.at(now + patience, partial(self._complete, group))

    def _complete(self, group: ClassicGroup, now: float) -> None:
        """Begin the next generation without the dynamic members that are missing; static members stay."""
        if group.join_timer is not None:
            group.join_timer.cancel()
        for member in list(group.members.values()):
            if member.joining is None and member.instance_id is None:
                group.remove(member.id)
        if group.members and not group.elect_joined_leader():
            self._complete_later(group, now)
            return
        group.begin_generation(now)
        if group.state is ClassicGroupState.EMPTY:
            group.save()
            return
        for member in group.members.values():
            member.end_join(group.joined(member))
            member.is_new = False
            group.pending_sync.add(member.id)
            self._keep_session(group, member, now)
        if self._expels_unsynced:
            group.sync_timer = self._timers.at(now + group.rebalance_timeout, partial(self._expire_syncs, group))

    def _end_syncs(self, group: ClassicGroup, answer: Callable[[Member], Synced], now: float) -> None:
        for member in group.members.values():
            if member.end_sync(answer(member)):
                self._keep_session(group, member, now)

    # Leaving

    def _leave(self, group: ClassicGroup, leaver: Leaver) -> ErrorCode | None:
        member_id = leaver.member_id
        if member_id in group.pending:
            group.remove(member_id)
            return None
        if not member_id and leaver.instance_id is not None:  # an operator knows the instance id only
            member_id = group.static_members.get(leaver.instance_id, "")
        error = group.check_member(member_id, leaver.instance_id)
        if error is None:
            _send_away(group, group.members[member_id])
        return error

    def _expire(self, group: ClassicGroup, member_id: str, now: float) -> None:
        """End the session of a member, or of an id that was given out. A member that waits for the broker is alive."""
        member = group.members.get(member_id)
        if member is None:
            group.remove(member_id)
            if group.state is ClassicGroupState.PREPARING_REBALANCE and group.all_joined:
                self._complete(group, now)
        elif member.is_new or not member.waits:
            _send_away(group, member)
            if group.state is not ClassicGroupState.PREPARING_REBALANCE:
                self._prepare(group, now)
            elif group.all_joined:
                self._complete(group, now)

    def _expire_syncs(self, group: ClassicGroup, now: float) -> None:
        """Remove the members that never asked for their assignment, and rebalance."""
        if group.pending_sync:
            for member_id in list(group.pending_sync):
                group.remove(member_id)
            self._prepare(group, now)


def _update(member: Member, join: Join) -> Promise[Joined]:
    """Update a member from its JoinGroup, in which it waits from now on."""
    member.protocols = join.protocols
    member.session_timeout_ms = join.session_timeout_ms
    member.rebalance_timeout_ms = join.rebalance_timeout_ms
    promise: Promise[Joined] = Promise()
    member.joining = promise
    return promise


def _resumed(group: ClassicGroup, member: Member, leader: str, join: Join) -> Joined:
    """Outcome of a JoinGroup for a static member that goes on in the present generation.

    A leader that cannot skip the assignment must not take itself for the leader: it is told the leader's former id.
    """
    joined = group.joined(member)
    if join.can_skip_assignment:
        return replace(joined, skip_assignment=joined.leader == member.id)
    return replace(joined, leader=leader, members=())


def _send_away(group: ClassicGroup, member: Member) -> None:
    """Remove a member. If it waits in a JoinGroup after all, it is told to join anew."""
    member.end_join(Joined("", ErrorCode.UNKNOWN_MEMBER_ID))
    group.remove(member.id)


def _check_sync(group: ClassicGroup, sync: Sync) -> ErrorCode | None:
    error = group.check_member(sync.member_id, sync.instance_id)
    if error is not None:
        return error
    if sync.generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    if sync.protocol_type not in (None, group.protocol_type) or sync.protocol not in (None, group.protocol):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return ErrorCode.REBALANCE_IN_PROGRESS if group.state is ClassicGroupState.PREPARING_REBALANCE else None
