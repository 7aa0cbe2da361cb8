"""Base classes of the kinds of group: a group as all kinds have it, and the protocol that changes groups of one kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

if TYPE_CHECKING:
    from kafkawire.errors import ErrorCode
    from mockbroker.groups.offsets import CommittedOffset

__all__ = ["Group", "GroupProtocol"]

G = TypeVar("G", bound="Group")


class Group(ABC):
    """One group. Its committed offsets are kept apart from it (`Offsets`)."""

    type: ClassVar[str]
    """Kafka's name of the kind."""

    def __init__(self, group_id: str) -> None:
        self.id = group_id
        self.protocol_type: str | None = None
        """Type of the members' metadata, such as "consumer"; None for a group that never had members."""

    @property
    @abstractmethod
    def state_name(self) -> str:
        """State as Kafka spells it."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """True if the group has no members, and waits for none."""

    @property
    @abstractmethod
    def member_ids(self) -> Collection[str]:
        """Ids of the members."""

    @abstractmethod
    def check_commit(self, member_id: str, instance_id: str | None, generation: int) -> ErrorCode | None:
        """Error of a commit that is refused. A group without members takes commits that claim no membership."""

    @abstractmethod
    def check_offset_delete(self) -> ErrorCode | None:
        """Error of a group whose offsets cannot be deleted one by one."""

    @abstractmethod
    def is_subscribed(self, topic: str) -> bool:
        """True if a member consumes the topic, or if that cannot be known."""

    @abstractmethod
    def unused_since(self, committed: CommittedOffset) -> float | None:
        """Time at which the retention of a committed offset begins (KIP-211); None while the group uses it."""

    @abstractmethod
    def unload(self) -> None:
        """Refuse all waiting members and go back to the saved state, since the coordinator has lost the group."""


class GroupProtocol(ABC, Generic[G]):
    """Protocol of one kind of group: it makes groups and applies the effects of requests and time to them."""

    group_class: type[G]

    @abstractmethod
    def new_group(self, group_id: str, now: float) -> G:
        """Make an empty group."""

    @abstractmethod
    def keep_member(self, group: G, member_id: str, now: float) -> None:
        """Begin a member's session anew, since it has committed."""

    @abstractmethod
    def forget(self, group: G) -> None:
        """Delete the saved state of a group."""

    @abstractmethod
    def load(self, group: G, now: float) -> None:
        """Begin the sessions of all members with a new coordinator."""
