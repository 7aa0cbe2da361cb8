"""Values of options: the defaults, the checks, and the values of other clients that mean one of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from kafkawire.config.documentation import meaning
from kafkawire.config.hints import expected, fits
from kafkawire.config.options import ConnectionOptions, Option, Options, declared, secret_names
from kafkawire.config.unknown import advice_on, is_unset
from kafkawire.errors import ConfigurationError

__all__ = ["connection_part", "forget_secrets", "resolve", "resolve_shared"]


def resolve(kind: type[Options], given: Mapping[str, Any]) -> Options:
    """Return all options of `kind`: the values given, checked, and defaults for the others.

    Raises ConfigurationError for an unknown name (naming the nearest valid one), a value of the wrong type or out of range.
    """
    table = declared(kind)
    values = {name: option.default for name, (_, option) in table.items()}
    for name, value in given.items():
        if name in table:
            hint, option = table[name]
            values[name] = _meant(value, option)
            problem = _problem(values[name], hint, option)
            if problem:
                raise ConfigurationError(f"{name}: {problem}. {meaning(kind, name)}")
        elif not is_unset(name, value):
            raise ConfigurationError(f"unknown option {name!r}{advice_on(name, table)}")
    return cast(Options, _Resolved(values))


class _Resolved(dict[str, Any]):
    """Options whose `repr` hides secrets."""

    def __repr__(self) -> str:
        secret = secret_names()
        return repr({name: "(hidden)" if name in secret and value is not None else value for name, value in self.items()})


def resolve_shared(kind: type[Options], given: Mapping[str, Any], connection: ConnectionOptions | None) -> Options:
    """Resolve the options of a client that may use a connection made before, which then brings its own options.

    Raises ConfigurationError for an option of the connection beside such a connection, else as `resolve`.
    """
    if connection is None:
        return resolve(kind, given)
    fixed = sorted(set(given) & set(declared(ConnectionOptions)))
    if fixed:
        raise ConfigurationError(f"{fixed[0]} belongs to the connection: give it there, or give no connection")
    return resolve(kind, {**connection, **given})


def connection_part(options: ConnectionOptions) -> ConnectionOptions:
    """Return those options of a client that a connection of its own is made with."""
    names = declared(ConnectionOptions)
    return cast(ConnectionOptions, {name: value for name, value in options.items() if name in names})


def forget_secrets(options: ConnectionOptions) -> None:
    """Replace secrets by None, once the connection of these options is made: nothing needs them after that."""
    cast(dict[str, Any], options).update(dict.fromkeys(secret_names()))


def _meant(value: Any, option: Option) -> Any:
    """Return our value for a value of another client, or for a choice in other capitals; any other value as it is."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float, type(None))):
        return value
    spelled = value.lower() if isinstance(value, str) else value
    ours: Mapping[Any, Any] = {choice.lower(): choice for choice in option.choices or () if isinstance(choice, str)}
    return option.same[spelled] if spelled in option.same else ours.get(spelled, value)


def _problem(value: Any, hint: Any, option: Option) -> str:
    """Return the reason why an option cannot have the value; "" if it can."""
    if option.choices is not None:
        return _problem_of_choice(value, option.choices, option.hint)
    if not fits(value, hint):
        return f"{'the value given' if option.secret else repr(value)} is not {expected(hint)}"
    if option.minimum is not None and value is not None and value < option.minimum:
        return f"{value} is less than {option.minimum}"
    return ""


def _problem_of_choice(value: Any, choices: tuple[Any, ...], hint: str) -> str:
    if any(value == choice and isinstance(value, bool) == isinstance(choice, bool) for choice in choices):
        return ""
    if len(choices) == 1:
        return f"{hint}, so it can only be {choices[0]!r}, not {value!r}"
    return f"{value!r} is not one of {', '.join(map(repr, choices))}" + (f": {hint}" if hint else "")
