"""Loops under locks and before `finally`, as Python compiles them: an interrupt between two rounds must be caught there.

Python 3.12 to 3.14 do not see to that where a loop ends with an `if` (CPython gh-130279).
"""

from __future__ import annotations

import ast
import dis
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest

PACKAGE = Path(next(iter(importlib.util.find_spec("kafkawire").submodule_search_locations)))  # type: ignore[union-attr,arg-type]
FILES = sorted(file for part in ("net", "core", "_clients") for file in (PACKAGE / part).rglob("*.py"))


def undone_by(tree: ast.AST) -> Iterator[range]:
    """The lines of what an interrupt undoes: bodies of `with`, and of `try` with `finally` or `except BaseException`."""
    for node in ast.walk(tree):
        caught = {getattr(handler.type, "id", None) for handler in node.handlers} if isinstance(node, ast.Try) else set()
        if isinstance(node, ast.With) or (isinstance(node, ast.Try) and (node.finalbody or "BaseException" in caught)):
            yield range(node.body[0].lineno, (node.body[-1].end_lineno or 0) + 1)


def functions(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from functions(constant)


def open_loops(source: str) -> list[str]:
    """Loops within such lines that an interrupt can leave without undoing anything, in this version of Python."""
    undone = list(undone_by(ast.parse(source)))
    found = []
    for code in functions(compile(source, "source", "exec")):
        bytecode = dis.Bytecode(code)
        instructions = list(bytecode)
        entries = bytecode.exception_entries  # type: ignore[attr-defined]
        lines = {at.offset: at.positions.lineno for at in instructions if at.positions is not None}
        for at in instructions:
            if at.opname != "JUMP_BACKWARD":  # where a loop goes on, and looks for signals
                continue
            inside = [body for body in undone if {lines.get(at.offset), lines.get(at.argval)} <= set(body)]
            inside = [body for body in inside if body.start > code.co_firstlineno]
            if inside and not any(entry.start <= at.offset < entry.end for entry in entries):
                found.append(f"{code.co_qualname}, line {lines[at.offset]}")
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_no_loop_lets_an_interrupt_pass_by_what_undoes_it(file):
    assert open_loops(file.read_text()) == []
