"""How a client is closed without a call of `close`: by a `with` statement, or by its finalizer."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any, Self

from kafkawire._clients.help import with_awaited_examples

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["AsyncClosing", "ClientBase", "Closing"]


def is_leaving(kind: type[BaseException] | None) -> bool:
    """Return True if an exception asks to leave at once: Ctrl-C, cancellation, the end of the interpreter."""
    return kind is not None and not issubclass(kind, Exception)


class ClientBase:
    """Base of Connection, Producer and Consumer: holds sockets and threads until it is closed.

    A client that is dropped unclosed releases them in its finalizer, with a ResourceWarning. For that no thread, task or
    registry may hold a reference that leads to a client.
    """

    _open = False
    """True from the end of the constructor until `close`, which set it."""
    _servers: object

    def close(self) -> Any:
        """End the client: each kind says what it waits for."""
        raise NotImplementedError

    def abandon(self) -> Any:
        """Close without waiting for anything; an idempotent call.

        Example:
            >>> consumer.abandon()
        """
        raise NotImplementedError

    def __del__(self) -> None:
        if not self._open or sys.is_finalizing():
            return
        self._open = False
        if self._drop():
            name = f"{type(self).__module__.rpartition('.')[0]}.{type(self).__name__}"
            text = f"unclosed {name} of {self._servers}: close it, or use it in a `with` statement"
            warnings.warn(text, ResourceWarning, stacklevel=2, source=self)

    def _drop(self) -> bool:
        """Close without waiting, for the finalizer. Returns True if the user should have closed it."""
        raise NotImplementedError


class Closing(ClientBase):
    """Context manager that closes a blocking client."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if is_leaving(kind):
            self.abandon()
        else:
            self.close()

    def abandon(self) -> None:
        self.close()


@with_awaited_examples
class AsyncClosing(ClientBase):
    """Asynchronous context manager that closes an asyncio client."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if is_leaving(kind):
            await self.abandon()
        else:
            await self.close()

    async def abandon(self) -> None:
        await self.close()
