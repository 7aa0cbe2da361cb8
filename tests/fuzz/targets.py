"""Every fuzz target by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.fuzz.target_captures import TARGETS as CAPTURES
from tests.fuzz.target_codecs import TARGETS as CODECS
from tests.fuzz.target_formats import TARGETS as FORMATS
from tests.fuzz.target_frames import TARGETS as FRAMES
from tests.fuzz.target_messages import TARGETS as MESSAGES
from tests.fuzz.target_records import TARGETS as RECORDS

if TYPE_CHECKING:
    from tests.fuzz.runner import Target

__all__ = ["TARGETS"]

TARGETS: Final[dict[str, Target]] = {
    target.name: target for target in (*FRAMES, *MESSAGES, *FORMATS, *RECORDS, *CODECS, *CAPTURES)
}
