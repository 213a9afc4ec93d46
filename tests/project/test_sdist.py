"""What is distributed: as source all of the checkout, as a wheel the package alone, with metadata
that an index takes."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path

import pytest
from project_root import ROOT

pytest.importorskip("setuptools", "77")
IGNORED = [line.strip("/") for line in (ROOT / ".gitignore").read_text().split()]
BUILD = (
    "import sys; from setuptools import build_meta as b; to = sys.argv[1]; b.build_sdist(to);"
    " b.build_wheel(to)"
)


def ignored(folder: str, names: list[str]) -> set[str]:
    return {
        name
        for name in names
        if any(fnmatch.fnmatch(name, pattern) for pattern in (*IGNORED, ".git"))
    }


def files(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


@dataclass
class Built:
    """What the checkout holds, and the folders that the source distribution and the wheel unpack
    to."""

    held: set[str]
    source: Path
    wheel: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """From a copy of the checkout, without what git ignores, since building writes into it. No
    warning was said."""
    top = tmp_path_factory.mktemp("distributed")
    shutil.copytree(ROOT, top / "checkout", ignore=ignored)
    held = files(top / "checkout")
    line = [sys.executable, "-c", BUILD, str(top / "dist")]
    environment = os.environ | {"PYTHONWARNINGS": "error::DeprecationWarning"}
    done = subprocess.run(
        line, cwd=top / "checkout", env=environment, capture_output=True, text=True, check=False
    )
    told = done.stdout + done.stderr
    assert done.returncode == 0 and not re.search("deprecat|absent from", told, re.I), told[-3000:]
    with tarfile.open(*(top / "dist").glob("*.tar.gz")) as packed:
        packed.extractall(top / "source", filter="data")
    with zipfile.ZipFile(*(top / "dist").glob("*.whl")) as packed:
        packed.extractall(top / "wheel")
    (source,) = (top / "source").iterdir()
    return Built(held, source, top / "wheel")


def test_what_is_distributed(built: Built) -> None:
    """One test, so that one process of a run builds it."""
    the_source_holds_every_file_of_the_checkout(built)
    the_wheel_holds_the_package_alone(built)
    the_metadata_name_licence_authors_and_pythons(built)


def the_source_holds_every_file_of_the_checkout(built: Built) -> None:
    made = {
        "PKG-INFO",
        "setup.cfg",
        *(f for f in files(built.source) if f.startswith("weft.egg-info/")),
    }
    assert files(built.source) - made == built.held - made


def the_wheel_holds_the_package_alone(built: Built) -> None:
    folders = {
        "array_api",
        "codegen",
        "commands",
        "compiler",
        "frontend",
        "inspection",
        "ir",
        "fft",
        "linalg",
        "nn",
        "runtime",
    }
    single = {
        "__init__.py",
        "__main__.py",
        "errors.py",
        "locks.py",
        "mistakes.py",
        "modes.py",
        "options.py",
    }
    single |= {"py.typed", "signals.py", "system.py", "version.py", "wording.py"}
    package = {f for f in built.held if f.partition("/")[0] in folders | single}
    assert {f for f in files(built.wheel) if ".dist-info/" not in f} == {
        f"weft/{f}" for f in package
    }


def the_metadata_name_licence_authors_and_pythons(built: Built) -> None:
    told = Parser().parsestr((built.source / "PKG-INFO").read_text())
    assert (told["License-Expression"], told["License-File"], told["Author"]) == (
        "Apache-2.0",
        "LICENSE",
        "Weft contributors",
    )
    classifiers = told.get_all("Classifier") or []
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13)} < {
        *classifiers
    }
    assert told["Keywords"] and not any(c.startswith("License ::") for c in classifiers), (
        "a licence is an expression now"
    )
