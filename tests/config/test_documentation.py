"""Options are documented once: in their declarations, from where help(), errors and docs/options.md have the text."""

from __future__ import annotations

import inspect
import re

import pytest

import kafkawire
import kafkawire.aio
from kafkawire.config import ConnectionOptions, ConsumerOptions, ProducerOptions, declared, resolve
from kafkawire.config.documentation import meaning, options_of, written
from kafkawire.errors import ConfigurationError
from tests.config.options_page import PAGE, names_in, names_of, page
from tests.config.peer_options import PEERS

KINDS = {"Connection": ConnectionOptions, "Producer": ProducerOptions, "Consumer": ConsumerOptions}
ALL = [pytest.param(option, id=f"{kind.__name__}-{option.name}") for kind in KINDS.values() for option in options_of(kind)]
UNITS = {r"_ms$": "milliseconds", r"_bytes$|_size$|_memory$": r"\b[Bb]ytes\b"}


@pytest.mark.parametrize("option", ALL)
def test_each_option_has_a_sentence_with_its_unit(option):
    assert re.fullmatch(r"[A-Z].*[^.]\.", option.text)
    assert option.type
    for names, unit in UNITS.items():
        assert not re.search(names, option.name) or re.search(unit, option.text), option.text


def test_the_options_of_a_class_are_its_own_and_those_of_the_connection():
    for kind in KINDS.values():
        named = [option.name for part in {ConnectionOptions, kind} for option in options_of(part)]
        assert sorted(named) == sorted(declared(kind))


@pytest.mark.parametrize("package", [kafkawire, kafkawire.aio])
@pytest.mark.parametrize("name", KINDS)
def test_help_shows_every_option(package, name):
    text = inspect.getdoc(getattr(package, name)) or ""
    for part in (KINDS[name], ConnectionOptions):
        for option in options_of(part):
            assert f"\n{option.name}: {option.type} = {option.option.default!r}" in text
            assert f"\n    {option.text}" in text


@pytest.mark.parametrize(
    ("kind", "given", "text"),
    [
        (ProducerOptions, {"linger_ms": "soon"}, "linger_ms: 'soon' is not int. Time in milliseconds that .*. Default: 5."),
        (ConnectionOptions, {"request_timeout_ms": 0}, "request_timeout_ms: 0 is less than 1. Time in .*. Default: 30000."),
        (ConsumerOptions, {"client_id": 5}, "client_id: 5 is not str. Name of the client .*. Default: 'kafkawire'."),
        (
            ConsumerOptions,
            {"auto_offset_reset": 5},
            "auto_offset_reset: 5 is not one of .*. Offset to start .*. Default: 'latest'.",
        ),
    ],
)
def test_errors_say_what_an_option_means(kind, given, text):
    with pytest.raises(ConfigurationError) as caught:
        resolve(kind, given)
    assert re.fullmatch(text, str(caught.value))


def test_without_the_source_errors_and_help_remain(monkeypatch):
    def lost(module):
        raise OSError(f"could not get source code of {module}")

    written.cache_clear()
    monkeypatch.setattr(inspect, "getsource", lost)
    try:
        assert meaning(ProducerOptions, "linger_ms") == "Default: 5."
        assert "linger_ms" in str(inspect.getdoc(kafkawire.Producer))
    finally:
        written.cache_clear()


def test_the_page_of_options_is_up_to_date():
    written = PAGE.read_text()
    assert page({client: names_in(written, client) for client in PEERS}) == written, "run python -m tests.config.options_page"


@pytest.mark.filterwarnings(r"ignore:\w+_text is deprecated:DeprecationWarning")  # kafka-python, when imported
@pytest.mark.parametrize("client", [pytest.param(name, marks=pytest.mark.real if name == "Java" else ()) for name in PEERS])
def test_the_page_of_options_has_the_names_of_other_clients(client):
    assert names_in(PAGE.read_text(), client) == names_of(client)
