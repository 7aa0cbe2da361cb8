"""Scripts that end without closing their producer: what it has accepted is written, or it is said what is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from mockbroker import MockCluster
from tests.client.faces import SOON

BLOCKING = """
import os, signal, sys, threading
import kafkawire
p = kafkawire.Producer(bootstrap_servers=sys.argv[1], linger_ms=60_000, **OPTIONS)
for i in range(1000):
    p.send("many" if i % 4 else "one", b"%d" % i, b"%d" % i)
"""

ASYNCIO = """
import asyncio, os, signal, sys
import kafkawire.aio
async def main():
    global p
    p = kafkawire.aio.Producer(bootstrap_servers=sys.argv[1], linger_ms=60_000, **OPTIONS)
    for i in range(1000):
        await p.send("many" if i % 4 else "one", b"%d" % i, b"%d" % i)
"""

BY_INTERRUPT = (1, -signal.SIGINT)
"""The exit codes of an interpreter that Ctrl-C has ended, before and since Python 3.13."""

ENDS: dict[str, tuple[int | tuple[int, ...], str]] = {
    "end of the script": (0, ""),
    "sys.exit": (3, "sys.exit(3)"),
    "exception": (1, "1 / 0"),
    "Ctrl-C": (BY_INTERRUPT, "os.kill(os.getpid(), signal.SIGINT); signal.pause()"),
}
ASYNCIO_ENDS = {
    "end of asyncio.run": (0, "asyncio.run(main())"),
    "exception out of asyncio.run": (1, "async def fail():\n    await main()\n    1 / 0\nasyncio.run(fail())"),
    "a loop left open": (0, "asyncio.new_event_loop().run_until_complete(main())"),
}


def run_script(kafka, body, *, expected: int | tuple[int, ...] = 0, **options):
    """Run a script to its end; returns what it says on stderr."""
    script = f"OPTIONS = {options!r}\n" + textwrap.dedent(body)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script, kafka.bootstrap]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=2 * SOON, env=environment)
    assert done.returncode in (expected if isinstance(expected, tuple) else (expected,)), done.stderr
    for noise in ("never awaited", "pending", "Exception ignored", "Fatal"):
        assert noise not in done.stderr
    return done.stderr


@pytest.mark.parametrize("how", ENDS)
def test_what_was_accepted_is_written_when_the_interpreter_ends(kafka, how):
    code, end = ENDS[how]
    said = run_script(kafka, BLOCKING + end, expected=code)
    assert "not acknowledged" not in said
    assert sorted(int(m.value) for topic in ("one", "many") for m in kafka.messages(topic)) == list(range(1000))


@pytest.mark.parametrize("how", ASYNCIO_ENDS)
def test_what_was_accepted_is_written_when_the_event_loop_ends(kafka, how):
    code, end = ASYNCIO_ENDS[how]
    said = run_script(kafka, ASYNCIO + end, expected=code)
    assert "not acknowledged" not in said
    assert sorted(int(m.value) for topic in ("one", "many") for m in kafka.messages(topic)) == list(range(1000))


def test_a_loop_that_is_closed_already_writes_nothing_and_says_so(kafka):
    body = ASYNCIO + "loop = asyncio.new_event_loop()\nloop.run_until_complete(main())\nloop.close()"
    said = run_script(kafka, body)
    written = sum(len(kafka.messages(topic)) for topic in ("one", "many"))
    assert written == 0
    assert said.count("\n") == 1
    assert "the event loop ended: 1000 records were not acknowledged" in said
    assert "250 of topic 'one'" in said
    assert "750 of topic 'many'" in said


@pytest.mark.parametrize("how", ASYNCIO_ENDS)
def test_a_record_sent_at_the_very_end_of_the_loop_is_written(kafka, how):
    """Nothing has run yet of what will send it."""
    code, end = ASYNCIO_ENDS[how]
    run_script(kafka, ASYNCIO.replace("1000", "1") + end, expected=code)
    assert len(kafka.messages("one")) == 1


def test_a_record_sent_at_the_very_end_of_a_loop_that_is_closed_is_not_lost_in_silence(kafka):
    end = "loop = asyncio.new_event_loop()\nloop.run_until_complete(main())\nloop.close()"
    assert "1 record was not acknowledged" in run_script(kafka, ASYNCIO.replace("1000", "1") + end)


@pytest.mark.parametrize("face", ["blocking", "asyncio"])
@pytest.mark.parametrize("patience", [0, 300])
def test_what_could_not_be_written_in_time_is_said_in_one_warning(kafka, face, patience):
    kafka.drop("Produce")
    body = BLOCKING if face == "blocking" else ASYNCIO + "asyncio.run(main())"
    said = run_script(kafka, body, exit_flush_timeout_ms=patience)
    lines = [line for line in said.splitlines() if "not acknowledged" in line]
    assert len(lines) == 1
    assert "ended: 1000 records were not acknowledged" in lines[0]
    assert "250 of topic 'one'" in lines[0]
    assert "750 of topic 'many'" in lines[0]


def test_a_cluster_that_is_gone_is_waited_for_no_longer_than_the_option_says(kafka):
    end = "p.flush(); p.send('one', b'last')\nprint('ready', flush=True)\nsys.stdin.read()"
    script = f"OPTIONS = {{'exit_flush_timeout_ms': 300}}\n{BLOCKING}{end}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", script, kafka.bootstrap],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        for broker in kafka.brokers.values():
            broker.stop()
        _, said = child.communicate("", timeout=SOON)
    assert child.returncode == 0
    assert "the interpreter ended: 1 record was not acknowledged" in said


def test_threads_that_go_on_after_the_main_thread_may_send(kafka):
    body = (
        BLOCKING
        + """
    main = threading.current_thread()
    def later():
        main.join()
        for i in range(1000, 1100):
            p.send("one", b"%d" % i)
    threading.Thread(target=later).start()
    """.replace("\n    ", "\n")
    )
    assert "not acknowledged" not in run_script(kafka, body)
    assert sum(len(kafka.messages(topic)) for topic in ("one", "many")) == 1100


def test_exit_handlers_may_send(kafka):
    body = BLOCKING + "import atexit\natexit.register(lambda: p.send('new', b'v'))"
    assert "not acknowledged" not in run_script(kafka, body)
    assert len(kafka.messages("new")) == 1


def test_callbacks_are_called_before_the_interpreter_ends(kafka):
    end = "p.send('one', b'v', on_delivery=lambda error, metadata: print('called', error, file=sys.stderr))"
    assert "called None" in run_script(kafka, BLOCKING + end)
    end = "asyncio.run(main())"
    body = ASYNCIO + "    await p.send('one', b'v', on_delivery=lambda e, _: print('called', e, file=sys.stderr))\n" + end
    assert "called None" in run_script(kafka, body)


def test_a_producer_made_from_names_is_flushed_too():
    """Resolving a name and connecting are done by threads of their own, as long as any can be started."""
    with MockCluster(brokers=1, topics={"one": 1, "many": 4}) as kafka:
        body = BLOCKING.replace("sys.argv[1]", "sys.argv[1].replace('127.0.0.1', 'localhost')")
        assert "not acknowledged" not in run_script(kafka, body)
        assert sum(len(kafka.messages(topic)) for topic in ("one", "many")) == 1000


def test_a_script_that_closes_says_nothing(kafka):
    assert run_script(kafka, BLOCKING + "p.close()") == ""
    assert run_script(kafka, BLOCKING) == ""
