"""Base of the blocking and the asyncio delivery results."""

from __future__ import annotations

from kafkawire.core.produce.batch import Batch
from kafkawire.core.produce.deliveries import Runs

__all__ = ["BatchDeliveryBase", "DeliveryBase"]


class DeliveryBase:
    """Delivery result of one record: number `index` of `batch`."""

    __slots__ = ("batch", "index")

    batch: Batch
    index: int

    def done(self) -> bool:
        """Return True if the record is acknowledged or failed. Does not wait.

        Example:
            >>> delivery.done()
            True
        """
        return self.batch.done


class BatchDeliveryBase:
    """Delivery result of the records of one `send_many` or `send_arrow`."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def done(self) -> bool:
        """Return True if every record is acknowledged or failed. Does not wait.

        Example:
            >>> delivery.done()
            True
        """
        return all(batch.done for batch, _, _ in self._runs)
