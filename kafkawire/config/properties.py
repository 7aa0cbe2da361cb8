"""Options from dotted Kafka properties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_origin

from kafkawire.config.hints import alternatives
from kafkawire.config.options import ConnectionOptions, declared
from kafkawire.config.unknown import advice_on, is_unset
from kafkawire.errors import ConfigurationError

__all__ = ["from_properties"]


def from_properties(kind: type[ConnectionOptions], properties: Mapping[str, Any]) -> dict[str, Any]:
    """Convert dotted Kafka properties to keyword options; values may be text, as in a properties file.

    Raises ConfigurationError for an unknown name, and for text that is no number where one is needed.
    """
    table = declared(kind)
    options = {}
    for key, value in properties.items():
        name = key.replace(".", "_")
        if name in table:
            options[name] = _parse(key, value, table[name][0]) if isinstance(value, str) else value
        elif not is_unset(name, value):
            raise ConfigurationError(f"unknown property {key!r}{advice_on(name, table, dotted=True)}")
    return options


def _parse(key: str, text: str, hint: Any) -> Any:
    kinds = alternatives(hint)
    if bool in kinds and text.strip().lower() in ("true", "false"):
        return text.strip().lower() == "true"
    if int in kinds or get_origin(hint) is Literal:
        try:
            return int(text)
        except ValueError:
            if get_origin(hint) is Literal or str in kinds:
                return text
            raise ConfigurationError(f"{key}: {text!r} is not a whole number") from None
    return text
