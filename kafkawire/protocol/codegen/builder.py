"""Base of the decoder and the encoder under construction: source lines, constants, runs of fixed-width values."""

from __future__ import annotations

import struct
from contextlib import contextmanager
from struct import Struct as Packer
from typing import TYPE_CHECKING, Any

from kafkawire.protocol import wire
from kafkawire.protocol.wire import PackTable, Wire

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.protocol.schema import Field, Message, Struct

__all__ = ["Builder"]

ONE_BYTE_VARINTS = [bytes([n]) for n in range(128)]

NAMES: dict[str, Any] = {
    "FAULTS": (wire.Malformed, struct.error, IndexError, UnicodeDecodeError),
    "Malformed": wire.Malformed,
    "SHORT": ONE_BYTE_VARINTS,
    "cut": wire.cut,
    "decode_error": wire.decode_error,
    "decode_varint": wire.decode_varint,
    "encode_varint": wire.encode_varint,
    "flat": wire.flat,
    "length_fault": wire.length_fault,
    "next_tag": wire.next_tag,
    "new": object.__new__,
    "string_length": wire.string_length,
    "tag_count": wire.tag_count,
    "tag_section": wire.tag_section,
    "unknown_tags": wire.unknown_tags,
    "uuid16": wire.uuid16,
}
"""Names that generated code may call."""


class Builder:
    """Builder of one function: its source so far, and the objects that the source names."""

    def __init__(self, cls: type[Message], version: int) -> None:
        self.cls = cls
        self.version = version
        self.flexible = cls.flexible is not None and version >= cls.flexible
        self.names = dict(NAMES)
        self.lines: list[str] = []
        self.indent = 0
        self.serial = 0
        self.run: list[tuple[str, str]] = []
        """Fixed-width values waiting for one `struct` call: (format, target or expression)."""
        self.array: tuple[Wire, str, str] | None = None
        """The array of fixed-width elements that the run begins with: (element, target or expression, its length)."""

    def add(self, *lines: str) -> None:
        """Append lines at the current indentation."""
        self.lines += ["    " * self.indent + line for line in lines]

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Add `header`, and indent the lines that are added inside the block."""
        self.add(header)
        self.indent += 1
        yield
        self.indent -= 1

    def fresh(self, stem: str) -> str:
        """A variable name that is not in use."""
        self.serial += 1
        return f"{stem}{self.serial}"

    def constant(self, stem: str, value: Any) -> str:
        """The name under which generated code sees a value; equal formats share one."""
        self.names.setdefault(stem, value)
        return stem

    def class_constant(self, cls: type[Struct]) -> str:
        """The name under which generated code sees a struct class."""
        return self.constant(cls.__qualname__.replace(".", "_"), cls)

    def source(self) -> str:
        """All lines so far."""
        return "\n".join(self.lines) + "\n"

    def compile(self, function: str) -> Any:
        """Compile the source; the function of that name."""
        code = compile(self.source(), f"<{self.cls.__name__} v{self.version} {function}>", "exec")
        exec(code, self.names)  # noqa: S102  # made from declarations, never from input
        return self.names[function]

    def has(self, field: Field) -> bool:
        """True if this version has the field."""
        return self.version in field.versions

    def nullable(self, field: Field) -> bool:
        """True if the field may be null in this version."""
        return self.version in field.nullable

    def tagged(self, cls: type[Struct]) -> list[Field]:
        """The tagged fields of this version."""
        return [f for f in cls.fields if f.tag is not None and self.has(f)]

    def is_fixed(self, cls: type[Struct]) -> bool:
        """True if the struct has only fixed-width fields in this version, so that all values are of one size."""
        fields = [f for f in cls.fields if self.has(f)]
        plain = all(isinstance(f.element, Wire) and f.element.code and not f.array for f in fields)
        return bool(fields) and plain and not self.flexible

    def has_records(self, cls: type[Struct]) -> bool:
        """True if there is a records field somewhere in the struct."""
        return any(
            f.element is wire.RECORDS or (isinstance(f.element, type) and self.has_records(f.element))
            for f in cls.fields
            if self.has(f)
        )

    def format(self) -> str:
        """The `struct` format of the run, without its array."""
        return "".join(code for code, _ in self.run)

    def packer(self, method: str) -> str:
        """The name of the `pack` or `unpack_from` for the run."""
        code = self.format()
        if self.array is None:
            return self.constant(f"{method}_{code}".replace("?", "t"), getattr(Packer(">" + code), method))
        element = self.array[0].code
        name = f"{method}_{element}_n_{code}".replace("?", "t")
        return self.constant(name, PackTable(element, code, method)) + f"[{self.array[2]}]"

    def smallest(self, field: Field) -> int:
        """Fewest bytes that an element of an array takes."""
        if isinstance(field.element, type):
            return max(1, self._smallest_struct(field.element))
        return field.element.size if field.element.code or not self.flexible else 1

    def _smallest_struct(self, cls: type[Struct]) -> int:
        total = 1 if self.flexible else 0
        for f in cls.fields:
            if not self.has(f) or f.tag is not None:
                continue
            if f.array:
                total += 1 if self.flexible else 4
            elif isinstance(f.element, type) and self.nullable(f):
                total += 1
            else:
                total += self.smallest(f)
        return total
