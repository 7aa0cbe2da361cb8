"""The structure of the packages: no circle of imports, no crowded folder, one class of a name, docstrings in plain English."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("kafkawire", "mockbroker", "pyspark_kafkawire")

MOST_MODULES = 14
"""The most modules that a folder of core or of the mock broker may hold beside its `__init__`."""

ONE_FILE_AN_API = ("mockbroker/broker/handlers",)
"""Folders that may grow with the protocol: their files are found by name."""

APART = (
    "kafkawire/net/blocking",  # each driver has its own Net, Link, Signal ... of the contract in net.base
    "kafkawire/net/aio",
)
"""Places whose own name tells their classes apart from those of the same name elsewhere in the package."""

KAFKAS_NAMES = ("kafkawire/protocol/messages", "kafkawire/protocol/formats")
"""Folders of structs, which have the names that Kafka gives them, in one file as in another."""

RIDDLES = ("What ", "The same", "The one ", "Those ")
"""Beginnings of docstrings that have no subject."""


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


def modules() -> dict[str, Path]:
    """Every module of the packages: its dotted name -> its file."""
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    return {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in files}


def imports() -> dict[str, set[str]]:
    """Module -> the modules it imports: anywhere in the file, under TYPE_CHECKING and inside functions too."""
    known = modules()
    found: dict[str, set[str]] = {}
    for name, file in known.items():
        targets: set[str] = set()
        for node in ast.walk(parsed(file)):
            if isinstance(node, ast.Import):
                targets.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{name} imports relatively"
                attributes = {f"{node.module}.{alias.name}" for alias in node.names}
                targets.update(attributes & known.keys())
                if attributes - known.keys():
                    targets.add(str(node.module))
        found[name] = (targets & known.keys()) - {name}
    return found


def reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - seen
        seen |= new
        waiting.extend(new)
    return seen


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """Sets of modules each of which imports all others of its set, at whatever remove."""
    reach = {name: reachable(graph, name) for name in graph}
    sets = {frozenset(other for other in reach[name] if name in reach[other]) for name in graph if name in reach[name]}
    return sorted((set(members) for members in sets), key=sorted)


def test_circles_are_found_at_any_remove_and_told_apart():
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"e"}, "e": {"f"}, "f": {"e"}}
    assert circles(graph) == [{"a", "b", "c"}, {"e", "f"}]
    assert circles({"a": {"b"}, "b": set()}) == []


def test_imports_are_seen_wherever_they_stand():
    assert "kafkawire.config" in imports()["kafkawire.net.base"]  # under TYPE_CHECKING
    assert "kafkawire.cli.app" in imports()["kafkawire.cli"]  # inside a function


def test_no_circle_of_imports():
    assert circles(imports()) == []


@pytest.mark.parametrize("top", ["kafkawire/core", "mockbroker"])
def test_no_folder_is_crowded(top):
    folders = {file.parent for file in (ROOT / top).rglob("*.py")} - {ROOT / place for place in ONE_FILE_AN_API}
    sizes = {folder: len([file for file in folder.glob("*.py") if file.stem != "__init__"]) for folder in folders}
    assert {str(folder): size for folder, size in sizes.items() if size > MOST_MODULES} == {}


def package_of(file: Path) -> str:
    """A layer of the client (`kafkawire/core`, with its wings; `kafkawire` for the modules beside them), or all of the mock."""
    package, *layer = file.relative_to(ROOT).parent.parts
    return "/".join([package, *layer[:1]]) if package == "kafkawire" else package


def test_a_class_name_means_one_class_of_its_package():
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for file in modules().values():
        path = file.relative_to(ROOT).as_posix()
        if path.startswith(KAFKAS_NAMES):
            continue
        place = next((place for place in APART if path.startswith(place)), package_of(file))
        for node in parsed(file).body:
            if isinstance(node, ast.ClassDef):
                found[place, node.name].append(path)
    assert {name: paths for (_, name), paths in found.items() if len(paths) > 1} == {}


def docstrings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Docstrings of modules, classes, functions and attributes."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value


def test_docstrings_begin_with_their_subject():
    files = [file for package in (*PACKAGES, "bench") for file in sorted((ROOT / package).rglob("*.py"))]
    found = [
        f"{file.relative_to(ROOT)}:{text.lineno}: {text.value!r}"
        for file in files
        for text in docstrings(parsed(file))
        if str(text.value).startswith(RIDDLES)
    ]
    assert found == []
