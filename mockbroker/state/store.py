"""Storage behind the logs and the groups of a cluster: collections that their owners read and write.

`MemoryStore` keeps them in memory. A store on disk gives out collections that write through to its files.
"""

from __future__ import annotations

from collections.abc import MutableMapping, MutableSequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from mockbroker.state.log import Batch

__all__ = ["MemoryStore", "Store"]


class Store(Protocol):
    """Storage of one cluster. A collection is asked for once and then kept by its owner, so that requests pay nothing."""

    def log(self, topic_id: bytes, partition: int) -> MutableSequence[Batch]:
        """Batches of a partition in offset order: they are appended, and deleted from the start."""

    def delete_log(self, topic_id: bytes, partition: int) -> None:
        """Delete the batches of a partition, with its topic."""

    def table(self, name: str, part: str = "") -> MutableMapping[Any, Any]:
        """Latest value of each key, as a compacted topic keeps it. Values are replaced, never changed in place.

        part: tells tables of one name apart, such as those of groups.
        """

    def delete_table(self, name: str, part: str = "") -> None:
        """Delete a table with its values."""


class MemoryStore:
    """Storage that ends with the cluster: lists and dictionaries, which their owners hold alone."""

    def log(self, topic_id: bytes, partition: int) -> MutableSequence[Batch]:
        return []

    def delete_log(self, topic_id: bytes, partition: int) -> None:
        """Do nothing: the batches go with their log."""

    def table(self, name: str, part: str = "") -> MutableMapping[Any, Any]:
        return {}

    def delete_table(self, name: str, part: str = "") -> None:
        """Do nothing: the values go with the owner of the table."""
