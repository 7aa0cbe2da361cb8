"""Base of the blocking and the asyncio delivery results."""

from __future__ import annotations

from kafkawire.core.produce.deliveries import BatchCompletion, Runs

__all__ = ["BatchDeliveryBase", "DeliveryBase"]


class DeliveryBase:
    """Delivery result of one record: number `index` of the batch that `completion` belongs to."""

    __slots__ = ("completion", "index")

    completion: BatchCompletion
    index: int

    def done(self) -> bool:
        """Return True if the record is acknowledged or failed. Does not wait.

        Example:
            >>> delivery.done()
            True
        """
        return self.completion.done


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
        return all(completion.done for completion, _, _ in self._runs)
