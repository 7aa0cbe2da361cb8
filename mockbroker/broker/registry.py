"""The APIs that are served: those that have a module in `handlers`."""

from __future__ import annotations

from pathlib import Path
from pkgutil import iter_modules
from typing import Final

from kafkawire.protocol.messages import API_KEYS, module_name

__all__ = ["SERVED"]

_MODULES: Final = {module.name for module in iter_modules([str(Path(__file__).with_name("handlers"))])}

SERVED: Final[dict[int, str]] = {key: name for name, key in API_KEYS.items() if module_name(name) in _MODULES}
"""Their names by key."""
