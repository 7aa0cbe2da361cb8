"""`kafkawire mock`."""

from __future__ import annotations

import signal
import subprocess
import sys

from kafkawire import Connection


def test_it_serves_its_topics_until_it_is_interrupted():
    command = [sys.executable, "-m", "kafkawire", "mock", "--brokers", "2", "--topic", "flights:6"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            name, _, servers = process.stdout.readline().strip().partition("=")
            assert name == "bootstrap.servers"
            with Connection(servers) as connection:
                assert len(connection.brokers()) == 2
                assert connection.topics() == ["flights"]
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()
