"""The version, for the package's metadata and for brokers (KIP-511)."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
