"""The version that a client chooses of those that a broker offers."""

from __future__ import annotations

import pytest

from kafkawire import protocol
from kafkawire.errors import UnsupportedVersionError
from kafkawire.protocol.handshake import common_version


def test_versions_that_kafka_still_works_on_are_spoken_only_when_asked_for() -> None:
    """A broker offers them with `unstable.api.versions.enable`."""
    request = protocol.request("InitProducerId")
    assert common_version(request, {22: (0, 6)}) == 5
    assert common_version(request, {22: (0, 6)}, 6) == 6
    assert common_version(request, {22: (0, 6)}, 4) == 4
    assert common_version(request, {22: (0, 4)}, 6) == 4


@pytest.mark.parametrize("highest", [None, 0, 1])
def test_early_access_is_not_chosen(highest: int | None) -> None:
    request = protocol.request("ShareFetch")
    assert common_version(request, {78: (1, 2)}) == common_version(request, {78: (0, 9)}) == 2
    with pytest.raises(UnsupportedVersionError, match="ShareFetch: the broker speaks v0 to v0"):
        common_version(request, {78: (0, 0)}, highest)
