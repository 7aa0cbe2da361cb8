"""Registry of producers that may hold records, for the ends that no call of `close` announces.

Those are the end of the interpreter (an `atexit` function), fork() (a hook in the child), and the drop of a connection.
"""

from __future__ import annotations

import atexit
import os
import weakref
from functools import partial

from kafkawire.core.produce.lifecycle import ProducerLifecycle
from kafkawire.errors import ForkedError
from kafkawire.net.base import OwnedNet

__all__ = ["keep_until_sent", "shut_when_idle"]

_producers: weakref.WeakKeyDictionary[ProducerLifecycle, OwnedNet] = weakref.WeakKeyDictionary()
"""Lifecycles and their drivers, those of dropped producers included while they send. Written by `keep_until_sent`."""


def keep_until_sent(producer: ProducerLifecycle, net: OwnedNet) -> None:
    """Register a new producer, for as long as its lifecycle lives."""
    _producers[producer] = net


def shut_when_idle(net: OwnedNet) -> None:
    """Close the driver of a connection that was dropped, once none of its producers, dropped with it, is sending any more."""
    for producer, its_net in list(_producers.items()):
        if its_net is net:
            producer.at_end = partial(shut_when_idle, net)
            if producer.busy:
                return
    net.shut()


def _flush_at_exit() -> None:
    """Send the records of producers that were not closed, for up to exit_flush_timeout_ms, and give up the rest.

    Python calls this when threads other than daemons have ended: after `sys.exit`, the end of the script, Ctrl-C and any other
    exception, not after SIGTERM or `os._exit`.
    """
    running = {producer: net for producer, net in list(_producers.items()) if producer.running}
    deadlines = {producer: net.now() + producer.exit_patience for producer, net in running.items()}
    try:
        for producer in running:
            producer.finish("the interpreter ended")
        for producer, net in running.items():
            net.drive(producer.close(deadlines[producer]), producer.exit_patience + 1)
    finally:  # also of Ctrl-C
        for producer, net in running.items():
            if producer.running:
                producer.cut_short()
                net.cut_off()


def _abandon_in_child() -> None:
    """Fail the records that a child process inherits by fork(): its producers have no sender."""
    error = ForkedError("this producer was made before fork(), in the parent process: make a new one in the child")
    for producer in list(_producers):
        producer.close_after_fork(error)


atexit.register(_flush_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_in_child)
