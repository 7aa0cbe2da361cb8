"""Registry of producers that may hold records, for the ends that no call of `close` announces.

Those are the end of the interpreter (an `atexit` function), fork() (a hook in the child), and the drop of a connection.
"""

from __future__ import annotations

import atexit
import os
import weakref
from functools import partial

from kafkawire.core.produce.flows import ProducerCore
from kafkawire.errors import ForkedError
from kafkawire.net.base import OwnedNet

__all__ = ["keep_until_sent", "shut_when_idle"]

_producers: weakref.WeakKeyDictionary[ProducerCore, OwnedNet] = weakref.WeakKeyDictionary()
"""Cores and their drivers, those of dropped producers included for as long as they send. Written by `keep_until_sent`."""


def keep_until_sent(core: ProducerCore, net: OwnedNet) -> None:
    """Register a new producer, for as long as its core lives."""
    _producers[core] = net


def shut_when_idle(net: OwnedNet) -> None:
    """Close the driver of a connection that was dropped, once none of its producers, dropped with it, is sending any more."""
    for core, its_net in list(_producers.items()):
        if its_net is net:
            core.at_end = partial(shut_when_idle, net)
            if core.busy:
                return
    net.shut()


def _flush_at_exit() -> None:
    """Send the records of producers that were not closed, for up to exit_flush_timeout_ms, and give up the rest.

    Python calls this when threads other than daemons have ended: after `sys.exit`, the end of the script, Ctrl-C and any other
    exception, not after SIGTERM or `os._exit`.
    """
    running = {core: net for core, net in list(_producers.items()) if core.running}
    deadlines = {core: net.now() + core.exit_patience for core, net in running.items()}
    try:
        for core in running:
            core.finish("the interpreter ended")
        for core, net in running.items():
            net.drive(core.close(deadlines[core]), core.exit_patience + 1)
    finally:  # also of Ctrl-C
        for core, net in running.items():
            if core.running:
                core.abandon()
                net.cut_off()


def _abandon_in_child() -> None:
    """Fail the records that a child process inherits by fork(): its producers have no sender."""
    error = ForkedError("this producer was made before fork(), in the parent process: make a new one in the child")
    for core in list(_producers):
        core.accumulator.abandon(error)


atexit.register(_flush_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_in_child)
