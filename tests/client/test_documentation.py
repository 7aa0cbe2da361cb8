"""Every public method is documented, once for both kinds of client, and its example runs."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import doctest
import inspect
import io
import re

import pytest

import kafkawire
import kafkawire.aio
import kafkawire.aio.producer
import kafkawire.message
import kafkawire.producer
from mockbroker import MockCluster
from tests import bare
from tests.client.faces import SOON

INTERNAL = {"deadline"}
"""Methods without an underscore that only other modules of the package call."""
PROPERTIES = {"brokers", "controller"}
"""Properties of the blocking Connection."""
CANNOT_FAIL = {"abandon", "assignment", "bootstrap_connected", "close", "counts", "done", "paused"}
RETURN_NOTHING = {
    *("abandon", "assign", "close", "flush", "pause", "refresh", "resume", "seek", "seek_to_beginning", "seek_to_end"),
}
SAID_IN_ONE_SENTENCE = {"bootstrap_connected", "done", "paused"}
"""Methods whose summary says what they return."""

CLASSES = {
    "blocking": [
        kafkawire.Connection,
        kafkawire.Producer,
        kafkawire.Consumer,
        kafkawire.producer.Delivery,
        kafkawire.producer.BatchDelivery,
    ],
    "asyncio": [
        kafkawire.aio.Connection,
        kafkawire.aio.Producer,
        kafkawire.aio.Consumer,
        kafkawire.aio.producer.Delivery,
        kafkawire.aio.producer.BatchDelivery,
    ],
}


def methods(cls):
    return {
        name: found
        for name, found in inspect.getmembers(cls, lambda member: inspect.isfunction(member) or inspect.ismethod(member))
        if not name.startswith("_") and name not in INTERNAL | PROPERTIES
    }


ALL = [
    pytest.param(kind, cls, name, id=f"{kind}-{cls.__name__}-{name}")
    for kind, classes in CLASSES.items()
    for cls in classes
    for name in methods(cls)
]


def parameters(method):
    """Names of the parameters that a caller gives."""
    found = inspect.signature(method).parameters.values()
    return [one.name for one in found if one.name not in {"self", "cls"} and one.annotation != "Never"]


def test_there_are_many_methods():
    assert len(ALL) > 80


@pytest.mark.parametrize(("kind", "cls", "name"), ALL)
def test_every_method_says_all_there_is_to_know(kind, cls, name):
    method = methods(cls)[name]
    text = str(inspect.getdoc(method))
    assert re.match(r"[A-Z][^\n]*[.:;]", text)
    sections = re.findall(r"^(\w+):$", text, re.MULTILINE)
    named = re.findall(r"^    (\w+): ", text.partition("Args:\n")[2].partition("\n\n")[0], re.MULTILINE)
    assert named == parameters(method)
    assert ("Returns" in sections) == (name not in RETURN_NOTHING | SAID_IN_ONE_SENTENCE)
    assert ("Raises" in sections) == (name not in CANNOT_FAIL)
    assert sections[-1] == "Example"
    assert sections == sorted(sections, key=["Args", "Returns", "Raises", "Example"].index)


@pytest.mark.parametrize("number", range(3))
def test_both_kinds_have_the_same_methods_with_the_same_arguments(number):
    blocking, asynchronous = (methods(CLASSES[kind][number]) for kind in ("blocking", "asyncio"))
    assert blocking.keys() == asynchronous.keys()
    for name, method in blocking.items():
        theirs = inspect.signature(asynchronous[name])
        assert inspect.signature(method).parameters == theirs.parameters, name
        declared = next(vars(base)[name] for base in reversed(CLASSES["blocking"][number].__mro__) if name in vars(base))
        if name not in {"from_properties", "close", "abandon"}:
            assert parameters(method) == parameters(declared), name


@pytest.mark.parametrize(("kind", "cls", "name"), ALL)
def test_the_example_of_every_method_runs(kind, cls, name):
    if "arrow" in name:
        bare.package("pyarrow")
    with MockCluster(brokers=1, topics={"flights": 2}) as kafka:
        for number, value in enumerate((b"EWR-IAH", b"LGA-IAH")):
            kafka.produce("flights", value, key=b"UA", partition=0, timestamp=1_700_000_000_000 + 1000 * number)
        run_example(kind, cls, str(inspect.getdoc(methods(cls)[name])), kafka)


@pytest.mark.parametrize(
    ("kind", "cls"), [(kind, cls) for kind, found in CLASSES.items() for cls in found if "Example:" in str(cls.__doc__)]
)
def test_the_example_of_a_class_runs(kind, cls):
    with MockCluster(brokers=1, topics={"flights": 2}) as kafka:
        for value in (b"EWR-IAH", b"LGA-IAH"):
            kafka.produce("flights", value, key=b"UA", partition=0)
        run_example(kind, cls, str(cls.__doc__), kafka)


def test_every_client_has_an_example():
    assert all("Example:" in str(cls.__doc__) for kind in CLASSES for cls in CLASSES[kind][:3])


def test_the_example_of_a_message_runs():
    done = doctest.testmod(kafkawire.message)
    assert done.attempted > 0
    assert done.failed == 0


def run_example(kind, cls, text, kafka):
    """Run an example and compare what it prints; its `await` is at top level, as in `python -m asyncio`."""
    package = kafkawire if kind == "blocking" else kafkawire.aio
    examples = doctest.DocTestParser().get_examples(text.replace("localhost:9092", kafka.bootstrap))
    assert examples

    async def body():
        scope = await prepared(package, cls, kafka)
        used = dict(scope)
        try:
            for example in examples:
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if kind == "asyncio" else 0
                    code = compile(example.source, "<example>", "single", flags)
                    made = eval(code, used)
                    if inspect.iscoroutine(made):
                        async with asyncio.timeout(SOON):
                            await made
                checker = doctest.OutputChecker()
                assert checker.check_output(example.want, printed.getvalue(), doctest.ELLIPSIS), printed.getvalue()
        finally:
            for name in ("producer", "consumer", "connection"):
                await completed(used[name].close())
                await completed(scope[name].close())

    asyncio.run(body())


async def completed(made):
    return await made if inspect.iscoroutine(made) else made


async def prepared(package, cls, kafka):
    """Make what an example finds there: clients that have done nothing, and for methods of deliveries one that is done."""
    producer = package.Producer(bootstrap_servers=kafka.bootstrap)
    consumer = package.Consumer("flights", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest")
    delivery = None
    if "Delivery" in cls.__name__:
        many = cls.__name__ == "BatchDelivery"
        send, value = (producer.send_many, [b"x"]) if many else (producer.send, b"x")
        delivery = await completed(send("flights", value, partition=1))
        await completed(producer.flush(SOON))
    return {
        "delivery": delivery,
        "connection": package.Connection(kafka.bootstrap),
        "producer": producer,
        "consumer": consumer,
        "Connection": package.Connection,
        "Producer": package.Producer,
        "Consumer": package.Consumer,
    }
