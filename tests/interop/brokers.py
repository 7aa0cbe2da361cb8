"""The releases that most tests are about, and a broker of any release for a test that needs its own."""

from __future__ import annotations

from typing import Any

from tests.real.broker import RealKafka
from tests.real.releases import NEWEST, FetchError
from tests.requirements import missing

__all__ = ["BEFORE", "NEWEST", "OLDEST", "real_broker"]

BEFORE, OLDEST = "4.3.1", "0.8.2.2"
"""The release before the newest, which is still the one in use in most places; and the oldest of all."""


def real_broker(version: str, **config: Any) -> RealKafka:
    """A broker to start by `with`. The test is skipped, or fails in CI, where Maven cannot bring the release."""
    try:
        return RealKafka(version, **config)
    except FetchError as error:
        missing(str(error))
