"""Backoff: pauses between attempts."""

from __future__ import annotations

from kafkawire.core.cluster.backoff import Backoff


def test_backoff_grows_to_its_limit():
    backoff = Backoff(100, 1000)
    for failures, middle in ((1, 0.1), (2, 0.2), (3, 0.4), (4, 0.8), (5, 1.0), (1_000_000, 1.0)):
        delays = [backoff.delay(failures) for _ in range(100)]
        assert middle * 0.8 <= min(delays) < max(delays) <= middle * 1.2
    assert Backoff(0, 0).delay(5) == 0
    assert Backoff(500, 100).delay(1) >= 0.4  # a first pause above the limit raises it
