"""The page docs/options.md, made of the declarations in `kafkawire.config.options` and of the names that other clients have.

`python -m tests.config.options_page` writes it; it needs the other clients, and a JRE for Kafka's own.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kafkawire.config import ConnectionOptions, ConsumerOptions, ProducerOptions
from kafkawire.config.documentation import OptionText, options_of
from kafkawire.foreign_options import RENAMED
from tests.config.peer_options import PEERS

__all__ = ["PAGE", "names_in", "names_of", "page"]

PAGE = Path(__file__).parents[2] / "docs/options.md"
Names = Mapping[tuple[str, str], list[str]]
"""(Heading, option) -> the names of the option in one client."""

PARTS: Mapping[str, tuple[type[Any], str]] = {
    "Connection, Producer and Consumer": (ConnectionOptions, "PC"),
    "Producer": (ProducerOptions, "P"),
    "Consumer": (ConsumerOptions, "C"),
}
"""Heading -> the class of the options, and the sides of other clients that have such."""

HEAD = """\
# Options

All options are keywords of the constructor: `Producer(bootstrap_servers="localhost:9092", linger_ms=20)`. `from_properties()`
takes them as Kafka properties, with dots for the underscores: `Producer.from_properties({"linger.ms": "20"})`. A name that is
unknown and a value that is not allowed raise `ConfigurationError`, which says what is; `help(kafkawire.Producer)` lists the
options too. Names of other clients are not taken, but the error names the option to use.

Below each option are the names that it has in Kafka's Java client, librdkafka (confluent-kafka), kafka-python and aiokafka.
Options of several names there may differ in detail: [coming from another client](migrating.md#options).
"""


def names_of(client: str) -> Names:
    """Ask a client that is installed for the names of our options."""
    found: dict[tuple[str, str], list[str]] = {}
    theirs = {side: PEERS[client](side) for side in "PC"}
    for heading, (kind, sides) in PARTS.items():
        names = sorted({name for side in sides for name in theirs[side]})
        for option in options_of(kind):
            same = [name for name in names if name.replace(".", "_") == option.name]
            renamed = [name for name in names if RENAMED.get(name.replace(".", "_"), ("",))[0] == option.name]
            found[heading, option.name] = same + renamed
    return found


def names_in(text: str, client: str) -> Names:
    """Read the names of our options in a client from a page."""
    found: dict[tuple[str, str], list[str]] = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading = part.partition("\n")[0]
        for entry in re.split(r"^### ", part, flags=re.MULTILINE)[1:]:
            option = entry.partition("\n")[0].strip("`")
            names = re.search(rf"^- {re.escape(client)}: (.*)$", entry, re.MULTILINE)
            found[heading, option] = re.findall(r"`([^`]+)`", names[1]) if names else []
    return found


def page(elsewhere: Mapping[str, Names]) -> str:
    """Make the page, given each client's names."""
    lines = [HEAD]
    for heading, (kind, _) in PARTS.items():
        lines += [f"## {heading}", ""]
        for option in options_of(kind):
            lines += _entry(option, {client: names[heading, option.name] for client, names in elsewhere.items()})
    return "\n".join(lines)


def _entry(option: OptionText, elsewhere: Mapping[str, list[str]]) -> list[str]:
    limits = f", {option.limits}" if option.limits else ""
    shown = [f"- {client}: {', '.join(f'`{name}`' for name in names)}" for client, names in elsewhere.items() if names]
    return [
        f"### `{option.name}`",
        "",
        f"{option.text} Type: `{option.type}`, default: `{option.option.default!r}`{limits}.",
        "",
        *(shown or ["No other client has it."]),
        "",
    ]


if __name__ == "__main__":
    warnings.simplefilter("ignore", DeprecationWarning)  # of kafka-python, when it is imported
    PAGE.write_text(page({client: names_of(client) for client in PEERS}))
