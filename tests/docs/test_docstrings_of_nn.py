"""Every public name of nn says what it does, with shapes, and shows it: the examples run as
doctests."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import pytest
import weft as wf
from weft import nn
from weft.frontend import ops

NAMES: dict[str, Any] = {
    "wf": wf,
    "nn": nn,
    "F": nn.functional,
}  # what an example may use without importing it
SHOWN = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def listed(module: ModuleType, path: str) -> Iterator[tuple[str, Any]]:
    """The functions and classes that a module lists, and those of the modules that it lists."""
    for name in module.__all__:
        item = getattr(module, name)
        if inspect.ismodule(item):
            yield from listed(item, f"{path}.{name}")
        elif inspect.isfunction(item) or inspect.isclass(item):
            yield f"{path}.{name}", item


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class that a module of nn defines."""
    for name in dir(kind):
        found = inspect.getattr_static(kind, name)
        function = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
        if not name.startswith("_") and str(getattr(function, "__module__", "")).startswith(
            nn.__name__
        ):
            yield name, found


ITEMS = {
    path: item for item, path in {item: path for path, item in listed(nn, "nn")}.items()
}  # each once
CLASSES = {path: item for path, item in ITEMS.items() if inspect.isclass(item)}
METHODS = {
    f"{path}.{name}": found for path, kind in CLASSES.items() for name, found in members(kind)
}


def run(name: str, text: str) -> str:
    """What the examples of a text print otherwise than they say."""
    examples = doctest.DocTestParser().get_doctest(text, dict(NAMES), name, None, None)
    report: list[str] = []
    wf.manual_seed(0)
    doctest.DocTestRunner(optionflags=SHOWN).run(examples, out=report.append)
    return "".join(report)


@pytest.mark.thinned(to=30)
@pytest.mark.parametrize("path", ITEMS)
def test_the_example_runs(path: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = inspect.getdoc(ITEMS[path]) or ""
    assert ">>>" in text, f"{path} shows no example"
    monkeypatch.chdir(tmp_path)
    assert not run(path, text)


@pytest.mark.parametrize(
    "path", sorted(path for path, item in METHODS.items() if ">>>" in (inspect.getdoc(item) or ""))
)
def test_the_example_of_a_method_runs(path: str) -> None:
    assert not run(path, inspect.getdoc(METHODS[path]) or "")


@pytest.mark.parametrize(
    "name", [name for name in ops.__all__ if ">>>" in (inspect.getdoc(getattr(wf, name)) or "")]
)
def test_the_example_of_a_function_of_tensors_runs(name: str) -> None:
    assert not run(name, inspect.getdoc(getattr(wf, name)) or "")


def test_every_public_method_says_what_it_does() -> None:
    assert {
        path for path, item in METHODS.items() if not inspect.getdoc(getattr(item, "fget", item))
    } == set()


def files_of(package: ModuleType) -> list[ModuleType]:
    """Those whose names the package lists as its own: a module that it lists itself has names of
    its own."""
    apart = {
        "__main__",
        *(name for name in package.__all__ if inspect.ismodule(getattr(package, name))),
    }
    return [
        import_module(f"{package.__name__}.{file.name}")
        for file in iter_modules(package.__path__)
        if file.name not in apart
    ]


@pytest.mark.parametrize(
    "package", [nn.data, nn.functional, nn.layers, nn.optim, nn.parallel], ids=lambda p: p.__name__
)
def test_a_package_lists_what_its_files_list_once(package: ModuleType) -> None:
    assert {name for file in files_of(package) for name in getattr(file, "__all__", ())} <= {
        *package.__all__
    }
    assert len({*package.__all__}) == len(package.__all__)


def test_the_parts_of_nn_are_all_looked_at() -> None:
    parts = {path.rsplit(".", 1)[0] for path in ITEMS}
    assert {
        "nn",
        "nn.data",
        "nn.data.transforms",
        "nn.functional",
        "nn.init",
        "nn.optim",
        "nn.parallel",
        "nn.utils",
    } <= parts
