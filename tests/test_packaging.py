"""Packaging: the source distribution, and the wheel that is built from it."""

from __future__ import annotations

import email
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from kafkawire.version import __version__

ROOT = Path(__file__).parents[1]
PACKAGES = ("kafkawire", "mockbroker", "pyspark_kafkawire")
NAME = f"kafkawire-{__version__}"


def build(kind: str, source: Path, target: Path) -> Path:
    """Build the "sdist" or "wheel" of a source tree as pip does; where it is."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", str(target)]
    subprocess.run(command, cwd=source, capture_output=True, text=True, check=True, timeout=120)
    (made,) = target.iterdir()
    return made


def files(*folders: str) -> set[str]:
    found = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    return {str(path.relative_to(ROOT)) for path in found if path.suffix != ".pyc"}


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked source distribution."""
    target = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build("sdist", ROOT, target / "built")) as archive:
        archive.extractall(target, filter="data")
    return target / NAME


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked wheel, built where there is nothing but the source distribution."""
    target = tmp_path_factory.mktemp("wheel")
    built = build("wheel", sdist, target / "built")
    assert built.name == f"{NAME}-py3-none-any.whl"
    with zipfile.ZipFile(built) as archive:
        archive.extractall(target / "unpacked")
    return target / "unpacked"


def contents(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_the_source_distribution_holds_the_packages_and_the_guides_only(sdist):
    texts = {"README.md", "CHANGELOG.md", "ARCHITECTURE.md", "LICENSE", "pyproject.toml", ".gitignore", "PKG-INFO"}
    assert contents(sdist) == files(*PACKAGES, "docs") | texts


def test_the_wheel_holds_the_packages_only(wheel):
    about = {f"{NAME}.dist-info/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")}
    assert contents(wheel) == files(*PACKAGES) | about


def test_the_packages_are_typed(wheel):
    assert (wheel / "kafkawire/py.typed").exists()
    assert (wheel / "mockbroker/py.typed").exists()


def test_nothing_is_required_but_python(wheel):
    about = email.message_from_string((wheel / f"{NAME}.dist-info/METADATA").read_text())
    assert about["Requires-Python"] == ">=3.11"
    assert all("extra ==" in requirement for requirement in about.get_all("Requires-Dist", []))


def test_what_is_installed_runs(wheel):
    """By itself, without the working directory or anything of the environment."""
    program = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); import runpy; runpy.run_module('kafkawire', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, str(wheel), "doctor"], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split()[:2] == ["kafkawire", __version__]
