"""Generates the function that decodes one version of a message."""

from __future__ import annotations

from struct import Struct as Packer
from struct import calcsize
from typing import TYPE_CHECKING

from kafkawire.protocol import wire
from kafkawire.protocol.codegen.builder import Builder
from kafkawire.protocol.wire import Wire

if TYPE_CHECKING:
    from kafkawire.protocol.schema import Field, Message, Struct

__all__ = ["DecoderBuilder"]


class DecoderBuilder(Builder):
    """Builder of `decode(data, pos) -> (message, end)`."""

    def __init__(self, cls: type[Message], version: int) -> None:
        super().__init__(cls, version)
        name = self.constant("API", cls.__name__)
        with self.block("def decode(data, pos):"):
            self.add("size = len(data)")
            if self.has_records(cls):
                self.add("view = memoryview(data)")
            with self.block("try:"):
                self.struct(cls, "o")
                self.flush()
                self.add("return o, pos")
            with self.block("except FAULTS as fault:"):
                self.add(f"raise decode_error({name}, {version}, pos, fault) from None")

    def flush(self) -> None:
        """Emit the unpack for the run."""
        if self.array is None and not self.run:
            return
        if self.array is None and [code for code, _ in self.run] == ["B"]:
            self.add(f"{self.run.pop()[1]} = data[pos]", "pos += 1")
            return
        targets = [target for _, target in self.run]
        step = str(calcsize(">" + self.format()))
        if self.array is not None:
            targets.insert(0, f"*{self.array[1]}")
        self.add(
            f"{', '.join(targets)}{',' if len(targets) == 1 else ''} = {self.packer('unpack_from')}(data, pos)",
            f"pos += {step}" if self.array is None else f"pos = end + {step}" if self.run else "pos = end",
        )
        self.run, self.array = [], None

    def struct(self, cls: type[Struct], var: str) -> None:
        """Read a struct into a new object `var`."""
        self.add(f"{var} = new({self.class_constant(cls)})")
        self.defaults(cls, var)
        for f in cls.fields:
            if self.has(f) and f.tag is None:
                self.field(f, f"{var}.{f.name}")
        if self.flexible:
            self.tags(cls, var)

    def defaults(self, cls: type[Struct], var: str) -> None:
        """Set the fields that are not sent, or not always, to their defaults."""
        if not self.flexible:
            self.add(f"{var}.unknown_tags = None")
        for f in cls.fields:
            if not self.has(f) or f.tag is not None:
                self.add(f"{var}.{f.name} = {self.default(f)}")

    def default(self, field: Field) -> str:
        """An expression for the default."""
        if field.default == []:
            return "[]"
        if isinstance(field.element, type) and field.fresh:
            return self.class_constant(field.element) + "()"
        return repr(field.default)

    def field(self, field: Field, target: str) -> None:
        """Read a field that this version has."""
        if field.array:
            self.array_field(field, target)
        elif isinstance(field.element, type):
            self.struct_field(field, field.element, target)
        else:
            self.value(field, field.element, target, nullable=self.nullable(field))

    def length(self, code: str) -> int:
        """Read a length into `n`, as the last of the run; the number to subtract from `n` (1 for compact lengths)."""
        if self.flexible:
            self.run.append(("B", "n"))
            self.flush()
            with self.block("if n > 127:"):
                self.add("n, pos = decode_varint(data, pos - 1)")
            return 1
        self.run.append((code, "n"))
        self.flush()
        return 0

    def value(self, field: Field, kind: Wire, target: str, *, nullable: bool) -> None:
        """Read a value that is neither array nor struct."""
        if kind.code:
            self.run.append((kind.code, target))
            return
        off = self.length(kind.length_code)
        if nullable:
            with self.block(f"if n == {off - 1}:"):
                self.add(f"{target} = None")
            with self.block("else:"):
                self.sized(field, kind, target, off)
        else:
            self.sized(field, kind, target, off)

    def sized(self, field: Field, kind: Wire, target: str, off: int) -> None:
        """Read `n - off` bytes of string, bytes or records."""
        self.add(f"end = pos + n - {off}" if off else "end = pos + n")
        self.check(field, "pos <= end <= size", off)
        if kind is wire.STRING:
            self.add(f"{target} = str(data[pos:end], 'utf-8')")
        elif kind is wire.RECORDS:
            self.add(f"{target} = view[pos:end]")
        else:
            self.add(f"{target} = bytes(data[pos:end])")
        self.add("pos = end")

    def array_field(self, field: Field, target: str) -> None:
        """Read an array."""
        off = self.length("i")
        nullable = self.nullable(field)
        if nullable:
            with self.block(f"if n == {off - 1}:"):
                self.add(f"{target} = None")
            self.add("else:")
            self.indent += 1
        if isinstance(field.element, Wire) and field.element.code:
            count = self.fresh("n")
            self.add(f"{count} = n - {off}" if off else f"{count} = n", f"end = pos + {count} * {field.element.size}")
            self.check(field, "pos <= end <= size", off)
            self.array = (field.element, target, count)
        else:
            self.elements(field, target, off)
        if nullable:
            self.flush()
            self.indent -= 1

    def check(self, field: Field, valid: str, off: int) -> None:
        """Raise for the length in `n` unless `valid`."""
        with self.block(f"if not {valid}:"):
            self.add(f"raise length_fault({field.name!r}, {f'n - {off}' if off else 'n'}, size - pos)")

    def elements(self, field: Field, target: str, off: int) -> None:
        """Read `n - off` elements that are structs or have a length of their own."""
        items, element = self.fresh("items"), self.fresh("o")
        self.add(f"{items} = {target} = []")
        with self.block(f"if n != {off}:" if off else "if n:"):
            self.check(field, f"{off} <= n <= (size - pos) // {self.smallest(field)}{f' + {off}' if off else ''}", off)
            if isinstance(field.element, type) and self.is_fixed(field.element):
                self.fixed_structs(field.element, items, element)
                return
            with self.block(f"for _ in range(n - {off}):" if off else "for _ in range(n):"):
                if isinstance(field.element, type):
                    self.struct(field.element, element)
                    self.flush()
                else:
                    self.value(field, field.element, element, nullable=False)
                self.add(f"{items}.append({element})")

    def fixed_structs(self, cls: type[Struct], items: str, var: str) -> None:
        """Read `n` structs of fixed-width fields: one `struct` call goes over the values of all of them."""
        fields = [(f.name, f.element.code) for f in cls.fields if self.has(f) and isinstance(f.element, Wire)]
        code = "".join(code for _, code in fields)
        unpack = self.constant(f"iter_unpack_{code}".replace("?", "t"), Packer(">" + code).iter_unpack)
        self.add(f"end = pos + n * {calcsize('>' + code)}")
        with self.block(f"for values in {unpack}(data[pos:end]):"):
            self.add(f"{var} = new({self.class_constant(cls)})")
            self.defaults(cls, var)
            self.add(f"{', '.join(f'{var}.{name}' for name, _ in fields)}, = values", f"{items}.append({var})")
        self.add("pos = end")

    def struct_field(self, field: Field, cls: type[Struct], target: str) -> None:
        """Read a struct, behind a byte if it is nullable: an int8, -1 or 1 (KIP-893, trap 20), in a tagged field 0 or 1."""
        var = self.fresh("o")
        if not self.nullable(field):
            self.struct(cls, var)
            self.add(f"{target} = {var}")
            return
        self.run.append(("b", "n"))
        self.flush()
        with self.block(f"if n == {-1 if field.tag is None else 0}:"):
            self.add(f"{target} = None")
        with self.block("elif n == 1:"):
            self.struct(cls, var)
            self.flush()
            self.add(f"{target} = {var}")
        with self.block("else:"):
            self.add(f"raise Malformed(f'{field.name} begins with {{n}}, which is neither null nor a struct')")

    def tags(self, cls: type[Struct], var: str) -> None:
        """Read the tag section that ends every struct of a flexible version (trap 17)."""
        self.add(f"{var}.unknown_tags = None")
        self.run.append(("B", "n"))
        self.flush()
        tagged = self.tagged(cls)
        with self.block("if n:"):
            if tagged:
                self.known_tags(tagged, var)
            else:
                self.add(f"{var}.unknown_tags, pos = unknown_tags(data, pos - 1)")

    def known_tags(self, tagged: list[Field], var: str) -> None:
        """Add the loop over a tag section whose number of fields has just been read."""
        left, tag, last, end = self.fresh("left"), self.fresh("tag"), self.fresh("last"), self.fresh("end")
        self.add(f"{left}, pos = tag_count(data, pos - 1)", f"{last} = -1")
        with self.block(f"for _ in range({left}):"):
            self.add(f"{tag}, {end}, pos = next_tag(data, pos, {last})", f"{last} = {tag}")
            branch = "if"
            for f in tagged:
                with self.block(f"{branch} {tag} == {f.tag}:"):
                    self.field(f, f"{var}.{f.name}")
                    self.flush()
                branch = "elif"
            with self.block("else:"):
                self.add(
                    f"{var}.unknown_tags = {{**({var}.unknown_tags or {{}}), {tag}: bytes(data[pos:{end}])}}", f"pos = {end}"
                )
            with self.block(f"if pos != {end}:"):
                self.add(f"raise Malformed(f'tag {{{tag}}} does not end where its size says')")
