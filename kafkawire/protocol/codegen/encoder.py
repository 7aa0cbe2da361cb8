"""Generates the function that encodes one version of a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.protocol import wire
from kafkawire.protocol.codegen.builder import Builder
from kafkawire.protocol.wire import Wire

if TYPE_CHECKING:
    from kafkawire.protocol.schema import Field, Message, Struct

__all__ = ["EncoderBuilder"]


class EncoderBuilder(Builder):
    """Builder of `encode(message) -> parts`."""

    def __init__(self, cls: type[Message], version: int) -> None:
        super().__init__(cls, version)
        self.write = "w"
        """The name of the `append` that takes the parts."""
        records = self.has_records(cls)
        with self.block("def encode(o):"):
            self.add("out = []", "w = out.append", *(["mark = 0"] if records else []))
            self.struct(cls, "o")
            self.flush()
            self.add(*(["out[mark:] = [b''.join(out[mark:])]", "return out"] if records else ["return [b''.join(out)]"]))

    def put(self, expression: str) -> None:
        """Write the bytes of an expression."""
        self.add(f"{self.write}({expression})")

    def flush(self) -> None:
        """Emit the pack for the run."""
        if self.array is not None or self.run:
            self.put(self.packed())
        self.run, self.array = [], None

    def packed(self) -> str:
        """The expression that packs the run."""
        if self.array is None and self.run == [("B", "0")]:
            return r"b'\0'"
        values = [expression for _, expression in self.run]
        if self.array is not None:
            values.insert(0, f"*{self.array[1]}")
        return f"{self.packer('pack')}({', '.join(values)})"

    def length(self, code: str, long: str = "encode_varint") -> None:
        """Write the length in `n` as the last of the run. Compact lengths are `n` already with their 1 added."""
        if not self.flexible:
            self.run.append((code, "n"))
            self.flush()
            return
        long_form = f"{long}(n)"
        if self.array is None and not self.run:
            self.put(f"SHORT[n] if n < 128 else {long_form}")
            return
        without = self.packed()
        self.run.append(("B", "n"))
        self.put(f"{self.packed()} if n < 128 else {without} + {long_form}")
        self.run, self.array = [], None

    def struct(self, cls: type[Struct], var: str) -> None:
        """Write the object `var`."""
        lost = [f for f in cls.fields if not self.has(f) and not f.ignorable]
        if lost:
            with self.block(f"if {' or '.join(self.differs(f, f'{var}.{f.name}') for f in lost)}:"):
                self.add("raise ValueError('a field that this version does not have')")
        if not self.flexible:
            with self.block(f"if {var}.unknown_tags:"):
                self.add("raise ValueError('tagged fields in a version without them')")
        for f in cls.fields:
            if self.has(f) and f.tag is None:
                self.field(f, f"{var}.{f.name}")
        if self.flexible:
            self.tags(cls, var)

    def differs(self, field: Field, expression: str) -> str:
        """A test for "is not the default"."""
        if field.optional_tag and isinstance(field.element, type):
            return f"{expression} is not None and {expression} != {self.class_constant(field.element)}()"
        if field.default is None:
            return f"{expression} is not None"
        if field.default is field.element and isinstance(field.element, type):
            return f"{expression} != {self.class_constant(field.element)}()"
        if isinstance(field.default, bool):
            return f"not {expression}" if field.default else expression
        return f"{expression} != {field.default!r}"

    def field(self, field: Field, source: str) -> None:
        """Write a field that this version has."""
        if field.array:
            self.array_field(field, source)
        elif isinstance(field.element, type):
            self.struct_field(field, field.element, source)
        else:
            self.value(field.element, source, nullable=self.nullable(field))

    def measure(self, var: str, source: str, measure: str, empty: str, *, nullable: bool) -> None:
        """Set `var` to the bytes or elements and `n` to the length on the wire."""
        more = " + 1" if self.flexible else ""
        if nullable:
            self.add(f"{var} = {source}")
            with self.block(f"if {var} is None:"):
                self.add(f"n, {var} = {0 if self.flexible else -1}, {empty}")
            with self.block("else:"):
                self.add(*([f"{var} = {measure.format(var)}"] if measure else []), f"n = len({var}){more}")
        else:
            self.add(f"{var} = {measure.format(source) if measure else source}", f"n = len({var}){more}")

    def value(self, kind: Wire, source: str, *, nullable: bool) -> None:
        """Write a value that is neither array nor struct."""
        if kind.code:
            self.run.append((kind.code, f"uuid16({source})" if kind is wire.UUID else source))
        elif kind is wire.STRING:
            self.measure("b", source, "{}.encode()", "b''", nullable=nullable)
            self.length("h", "string_length")
            self.put("b")
        elif kind is wire.RECORDS:
            self.measure("b", source, "flat({})", "b''", nullable=nullable)
            self.length("i")
            with self.block(f"if n > {wire.BIG_RECORDS}:"):
                self.add("mark = cut(out, mark, b)")
            with self.block("else:"):
                self.put("b")
        else:
            self.measure("b", source, "flat({})", "b''", nullable=nullable)
            self.length("i")
            self.put("b")

    def array_field(self, field: Field, source: str) -> None:
        """Write an array."""
        items = self.fresh("items")
        measure = "[*map(uuid16, {})]" if field.element is wire.UUID else ""
        self.measure(items, source, measure, "()", nullable=self.nullable(field))
        self.length("i")
        if isinstance(field.element, Wire) and field.element.code:
            self.array = (field.element, items, f"len({items})")
            return
        element = self.fresh("o")
        with self.block(f"for {element} in {items}:"):
            if isinstance(field.element, type):
                self.struct(field.element, element)
                self.flush()
            else:
                self.value(field.element, element, nullable=False)

    def struct_field(self, field: Field, cls: type[Struct], source: str) -> None:
        """Write a struct, behind a byte if it is nullable: an int8, -1 or 1 (KIP-893, trap 20), in a tagged field 0 or 1."""
        var = self.fresh("o")
        self.add(f"{var} = {source}")
        if not self.nullable(field):
            self.struct(cls, var)
            return
        self.flush()
        with self.block(f"if {var} is None:"):
            self.put(r"b'\xff'" if field.tag is None else r"b'\0'")
        with self.block("else:"):
            self.run.append(("b", "1"))
            self.struct(cls, var)
            self.flush()

    def tags(self, cls: type[Struct], var: str) -> None:
        """Write the tag section: known fields that are not at their default, and unknown ones (trap 18)."""
        tagged = self.tagged(cls)
        tests = [f"{var}.unknown_tags", *(self.differs(f, f"{var}.{f.name}") for f in tagged)]
        with self.block(f"if {' or '.join(tests)}:"):
            run, array = list(self.run), self.array
            self.flush()
            known = self.fresh("known")
            self.add(f"{known} = {{}}")
            for f in tagged:
                with self.block(f"if {self.differs(f, f'{var}.{f.name}')}:"):
                    self.tag(f, f"{var}.{f.name}", known)
            self.put(f"tag_section({known}, {var}.unknown_tags, {tuple(f.tag for f in tagged)})")
        self.run, self.array = run, array
        with self.block("else:"):
            self.run.append(("B", "0"))
            self.flush()

    def tag(self, field: Field, source: str, known: str) -> None:
        """Encode a tagged field on its own, into `known`."""
        outer, self.write = self.write, self.fresh("w")
        parts = self.fresh("parts")
        self.add(f"{parts} = []", f"{self.write} = {parts}.append")
        self.field(field, source)
        self.flush()
        self.add(f"{known}[{field.tag}] = b''.join({parts})")
        self.write = outer
