"""Locks under interrupts: none is kept, and none is taken twice where that would tear what it guards."""

from __future__ import annotations

import time

import pytest

from kafkawire.errors import ConcurrentUseError
from kafkawire.net.mutex import Exclusive, Mutex
from tests.net.test_interrupts import Storm


@pytest.mark.parametrize("kind", [Mutex, Exclusive])
def test_an_interrupt_never_keeps_a_lock(kind):
    def take_and_give_back():
        while True:
            with lock:
                pass

    lock = kind()
    end = time.monotonic() + 0.5
    with Storm(0.0005) as storm:
        while time.monotonic() < end or storm.hits < 50:
            try:
                storm.armed = True
                take_and_give_back()
            except KeyboardInterrupt:
                with pytest.raises(RuntimeError, match="un-acquired"):
                    lock.release()


def test_a_mutex_lets_its_holder_in_again():
    mutex = Mutex()
    with mutex, mutex:
        pass
    with pytest.raises(RuntimeError, match="un-acquired"):
        mutex.release()


def test_an_exclusive_lock_refuses_its_holder():
    lock = Exclusive()
    with lock, pytest.raises(ConcurrentUseError, match="signal handler"), lock:
        pass
    with lock:
        pass
