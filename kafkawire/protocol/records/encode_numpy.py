"""What numpy does for `encode`: records that are all of one size are written as the rows of one array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kafkawire.protocol.wire import Buffer

__all__ = ["interleave"]


def interleave(columns: Sequence[bytes | Sequence[Buffer]], count: int) -> list[Buffer]:
    """The pieces of `count` records in their order; a column is a piece of every record: the same for all, or one each.

    The pieces of a column are all of one size.
    """
    widths = [len(column) if isinstance(column, bytes) else len(column[0]) for column in columns]
    rows = np.empty((count, sum(widths)), np.uint8)
    at = 0
    for column, width in zip(columns, widths, strict=True):
        if isinstance(column, bytes):
            rows[:, at : at + width] = np.frombuffer(column, np.uint8)
        else:
            rows[:, at : at + width] = np.frombuffer(b"".join(column), np.uint8).reshape(count, width)
        at += width
    return [rows.reshape(-1).data]
