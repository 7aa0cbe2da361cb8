"""Registry of optional speed-ups: each feature lists its implementations, best first, and chooses one at first use.

Nothing here runs at import (numpy alone costs 110 ms); `kafkawire doctor` shows what was picked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from kafkawire.errors import MissingDependencyError

__all__ = ["Accelerated", "in_use", "reset"]

T = TypeVar("T")

_features: dict[str, Accelerated[Any]] = {}


class Accelerated(Generic[T]):
    """One feature with several implementations.

    `candidates` are pairs of a package's name and a loader that raises ImportError where the package is missing. `advice`
    names the package to install when no candidate can be loaded; a feature whose last candidate is pure Python needs none.
    """

    def __init__(self, feature: str, *candidates: tuple[str, Callable[[], T]], advice: str = "") -> None:
        self.feature = feature
        self._candidates = dict(candidates)
        self._advice = advice
        self._chosen: tuple[str, T] | None = None
        _features[feature] = self

    @property
    def names(self) -> list[str]:
        """The implementations known, best first, installed or not."""
        return list(self._candidates)

    def load(self, name: str) -> T:
        """The implementation of that name; ImportError where its package is missing."""
        return self._candidates[name]()

    def get(self) -> T:
        """The best implementation that can be imported.

        Raises MissingDependencyError, naming what to install, when there is none.
        """
        return (self._chosen or self._choose())[1]

    def name(self) -> str | None:
        """The name of the implementation in use, None when none can be imported."""
        try:
            return (self._chosen or self._choose())[0]
        except MissingDependencyError:
            return None

    def forget(self) -> None:
        """Choose again at the next use."""
        self._chosen = None

    def _choose(self) -> tuple[str, T]:
        reasons = []
        for name, loader in self._candidates.items():
            try:
                self._chosen = name, loader()
            except ImportError as error:
                reasons.append(f"{name}: {error}")
            else:
                return self._chosen
        raise MissingDependencyError(
            f"{self.feature} needs a package that is not installed: {self._advice} (tried {'; '.join(reasons)})"
        )


def in_use() -> dict[str, str | None]:
    """Feature -> implementation in use (None: none can be imported), for the features whose modules are loaded."""
    return {feature: accelerated.name() for feature, accelerated in _features.items()}


def reset() -> None:
    """Make every feature choose again, for a program that installed a package while it ran, and for tests."""
    for accelerated in _features.values():
        accelerated.forget()
