"""Declared messages: class bodies whose annotations are both Python and wire types, turned into slotted data classes.

A declaration is the only place where a message's versions are written down; `codegen` compiles it on first use.
"""

from __future__ import annotations

import sys
from operator import attrgetter
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Union, dataclass_transform, get_args, get_origin

from kafkawire.protocol.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["HIDDEN", "Field", "Message", "Request", "Response", "Struct", "VersionRange", "field"]

HIDDEN = "***"
"""Text in place of a secret's value."""

_UNSET: Any = object()


class VersionRange:
    """The versions from `min` to `max`, both included; `max` is None where there is no end yet."""

    __slots__ = ("max", "min")

    def __init__(self, text: str) -> None:
        """Parse Kafka's notation: "3", "0-13", "4+" or "none"."""
        first, dash, last = text.partition("-")
        if text == "none":
            self.min, self.max = 1, 0
        elif text.endswith("+"):
            self.min, self.max = int(text[:-1]), 0x7FFF
        else:
            self.min, self.max = int(first), int(last if dash else first)

    def __contains__(self, version: int) -> bool:
        return self.min <= version <= self.max

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.min, self.max + 1))

    def __bool__(self) -> bool:
        return self.min <= self.max

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VersionRange) and (self.min, self.max) == (other.min, other.max)

    def __hash__(self) -> int:
        return hash((self.min, self.max))

    def __repr__(self) -> str:
        return f"VersionRange({self!s})"

    def __str__(self) -> str:
        if not self:
            return "none"
        if self.max == 0x7FFF:
            return f"{self.min}+"
        return str(self.min) if self.min == self.max else f"{self.min}-{self.max}"


class _Declared:
    """Arguments of `field()`; the metaclass makes a Field of them."""

    __slots__ = ("default", "ignorable", "nullable", "secret", "tag", "versions")

    def __init__(self, versions: str, default: Any, nullable: str, tag: int | None, *, ignorable: bool, secret: bool) -> None:
        self.versions = VersionRange(versions)
        self.default = default
        self.nullable = VersionRange(nullable)
        self.tag = tag
        self.ignorable = ignorable
        self.secret = secret


def field(
    versions: str = "0+",
    *,
    default: Any = _UNSET,
    nullable: str = "none",
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> Any:
    """Declare a field.

    versions: where it exists, of the versions in which its struct does. default: its value elsewhere, and in a new object;
    without one the type's own (0, "", [], a new struct). nullable: versions in which None travels. tag: travels as a tagged
    field of that number, left out at its default; a tagged struct that was not sent is None. ignorable: other versions drop a
    value that is not the default; without it they refuse to encode it. secret: repr and errors show *** in place of the value.
    """
    return _Declared(versions, default, nullable, tag, ignorable=ignorable, secret=secret)


class Field:
    """One field of a struct."""

    __slots__ = (
        "array",
        "default",
        "element",
        "ignorable",
        "json_name",
        "name",
        "nullable",
        "optional_tag",
        "secret",
        "tag",
        "versions",
    )

    def __init__(self, name: str, annotation: Any, declared: _Declared) -> None:
        self.name = name
        head, *words = name.split("_")
        self.json_name = head + "".join(word[0].upper() + word[1:] for word in words)
        """Kafka's own name in its JSON form, "topicId"."""
        self.versions = declared.versions
        self.nullable = declared.nullable
        self.tag = declared.tag
        self.ignorable = declared.ignorable
        value_type, optional = _without_none(annotation)
        self.array = get_origin(value_type) is list
        self.element: Wire | type[Struct] = _element(name, get_args(value_type)[0] if self.array else value_type)
        """The type of the value, or of an array's elements."""
        self.optional_tag = isinstance(self.element, type) and not self.array and self.tag is not None and not self.nullable
        """True for a tagged struct: None if not sent. If it is nullable too, null becomes a new struct, as in Kafka."""
        self.secret: bool = declared.secret or (isinstance(self.element, type) and any(f.secret for f in self.element.fields))
        """True if the value is a secret, or a struct with one somewhere in it."""
        if optional != (bool(self.nullable) or self.optional_tag):
            raise TypeError(f"{name}: the annotation and nullable={self.nullable!s} do not agree")
        self.default = self._own_default() if declared.default is _UNSET else declared.default
        """The default; [] or the struct's class where every object gets a new one."""

    def _own_default(self) -> Any:
        if self.array:
            return []
        if isinstance(self.element, type):
            return None if self.optional_tag else self.element
        return self.element.default

    @property
    def fresh(self) -> bool:
        """True if every object needs a default of its own (a list or a struct)."""
        return self.default == [] or self.default is self.element

    def new_default(self) -> Any:
        """The default value for one more object."""
        if self.default == []:
            return []
        return self.default() if self.fresh else self.default

    def is_default(self, value: Any) -> bool:
        """True if the value is the default, which a tagged field leaves out."""
        return bool(value == self.new_default())

    def shown(self, value: Any) -> str:
        """The value as repr and errors show it: secrets as ***, large bytes by their length."""
        if self.secret and not _hides_its_secrets(value):
            return HIDDEN
        if isinstance(value, (bytes, bytearray, memoryview)) and len(value) > 32:
            return f"<{len(value)} bytes>"
        return repr(bytes(value)) if isinstance(value, (bytearray, memoryview)) else repr(value)


def _hides_its_secrets(value: Any) -> bool:
    """True if the repr of a secret field's value shows no secret by itself: None, structs and lists of structs."""
    return value is None or isinstance(value, Struct) or (isinstance(value, list) and all(map(_hides_its_secrets, value)))


def _without_none(annotation: Any) -> tuple[Any, bool]:
    """The type without `| None`, and True if it had that."""
    if get_origin(annotation) in (Union, UnionType):
        rest = [part for part in get_args(annotation) if part is not type(None)]
        if len(rest) == 1:
            return rest[0], True
    return annotation, False


def _element(name: str, annotation: Any) -> Wire | type[Struct]:
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return annotation
    if get_origin(annotation) is Annotated:
        for mark in get_args(annotation)[1:]:
            if isinstance(mark, Wire):
                return mark
    raise TypeError(f"{name}: {annotation!r} is not a wire type (message files must not import annotations from __future__)")


def _annotations(namespace: dict[str, Any]) -> dict[str, Any]:
    """The evaluated annotations of a class that is being made. From Python 3.14 they are evaluated lazily (PEP 749)."""
    if sys.version_info >= (3, 14):
        import annotationlib

        annotate = annotationlib.get_annotate_from_class_namespace(namespace)
        return {} if annotate is None else annotationlib.call_annotate_function(annotate, annotationlib.Format.VALUE)
    found: dict[str, Any] = namespace.get("__annotations__", {})
    return found


def _make_init(name: str, fields: tuple[Field, ...]) -> Callable[..., None]:
    """A keyword-only `__init__` with every default, as straight code: messages are made on hot paths."""
    names: dict[str, Any] = {"UNSET": _UNSET}
    parameters = ["unknown_tags=None"]
    lines = ["self.unknown_tags = unknown_tags"]
    for f in fields:
        names[f"D_{f.name}"] = f.default
        parameters.append(f"{f.name}={'UNSET' if f.fresh else f'D_{f.name}'}")
        make = "[]" if f.array else f"D_{f.name}()"
        lines.append(f"self.{f.name} = " + (f"{make} if {f.name} is UNSET else {f.name}" if f.fresh else f.name))
    source = f"def __init__(self, *, {', '.join(parameters)}):\n    " + "\n    ".join(lines)
    exec(compile(source, f"<{name}.__init__>", "exec"), names)  # noqa: S102  # the source is ours, the names are a declaration's
    init: Callable[..., None] = names["__init__"]
    return init


@dataclass_transform(kw_only_default=True)
class StructType(type):
    """Metaclass of structs, with the properties of a class, so that no field can hide them (`FindCoordinator.key`)."""

    _fields: tuple[Field, ...]
    _key: int | None
    _versions: VersionRange
    _stable: VersionRange
    _flexible: int | None

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        key: int | None = None,
        versions: str = "0+",
        stable: str | None = None,
        flexible: str = "none",
    ) -> StructType:
        declared = {n: value for n, value in namespace.items() if isinstance(value, _Declared)}
        annotations = _annotations(namespace) if declared else {}
        fields = tuple(Field(n, annotations[n], d) for n, d in declared.items())
        for n in declared:
            del namespace[n]
        namespace.setdefault("__slots__", tuple(declared))
        namespace.update(_fields=fields, _key=key, _versions=VersionRange(versions))
        namespace["_flexible"] = VersionRange(flexible).min if VersionRange(flexible) else None
        namespace["_stable"] = VersionRange(versions if stable is None else stable)
        namespace["__init__"] = _make_init(name, fields)
        namespace["_values"] = staticmethod(attrgetter("unknown_tags", *declared))
        return super().__new__(mcs, name, bases, namespace)

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **_options: Any) -> None:
        super().__init__(name, bases, namespace)

    @property
    def fields(cls) -> tuple[Field, ...]:
        """The fields in wire order."""
        return cls._fields

    @property
    def key(cls) -> int:
        """The API key of a request or response, the record type of a coordinator's key or value; -1 for other structs."""
        return -1 if cls._key is None else cls._key

    @property
    def name(cls) -> str:
        """Kafka's name of the API ("Metadata"), or of the message where it belongs to no API."""
        return cls.__name__ if cls._key is None else cls.__name__.removesuffix("Request").removesuffix("Response")

    @property
    def versions(cls) -> VersionRange:
        """The versions of a message."""
        return cls._versions

    @property
    def stable(cls) -> VersionRange:
        """The versions that clients choose by themselves: without early access and versions Kafka still works on."""
        return cls._stable

    @property
    def flexible(cls) -> int | None:
        """The first version with compact lengths and tagged fields (KIP-482), None if there is none."""
        return cls._flexible


class Struct(metaclass=StructType):
    """A group of fields. Its objects are plain mutable data: keyword constructor with defaults, equality by value.

    `unknown_tags` holds tagged fields that this library does not know, by tag; they are encoded again.
    """

    __slots__ = ("unknown_tags",)
    __hash__ = None  # type: ignore[assignment]  # mutable

    _values: ClassVar[staticmethod[[Any], Any]]
    if TYPE_CHECKING:
        unknown_tags: dict[int, bytes] | None = None

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return bool(self._values(self) == self._values(other))

    def __repr__(self) -> str:
        """The fields that are not at their defaults; large bytes by their length, secrets as ***."""
        shown = [
            f"{f.name}={f.shown(getattr(self, f.name))}" for f in type(self).fields if not f.is_default(getattr(self, f.name))
        ]
        if self.unknown_tags:
            shown.append(f"unknown_tags={self.unknown_tags!r}")
        return f"{type(self).__qualname__}({', '.join(shown)})"


class Message(Struct):
    """A struct with versions of its own."""

    __slots__ = ()


class Request(Message):
    """A request of a client, sent under an API key."""

    __slots__ = ()


class Response(Message):
    """A broker's response to a request of the same API key."""

    __slots__ = ()
