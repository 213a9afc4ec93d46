"""The reference of the site: every public name stands there once, and says what it is."""

from __future__ import annotations

import importlib.util
import inspect
from collections import Counter
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
import weft as wf
from project_root import ROOT

DOCS = ROOT / "docs"
# Modules whose names stand under another one: nn has those of its layers, and of amp; optim those
# of lr_scheduler.
TWICE = {"wf.nn.amp", "wf.nn.layers", "wf.nn.optim.lr_scheduler"}


def hook(name: str) -> ModuleType:
    """A module of docs/hooks, which is no package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "hooks" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reference = hook("reference")
PAGES = sorted((DOCS / "reference").glob("*.md"))
NAMED = Counter(name for page in PAGES for name in reference.named(page.read_text()))


def public(path: str, module: Any) -> Iterator[tuple[str, str]]:
    """(namespace, name) of what a module lists, and of the modules that it lists."""
    for name in module.__all__:
        inner = getattr(module, name)
        if not inspect.ismodule(inner):
            yield path, name
        elif hasattr(inner, "__all__"):
            yield from public(f"{path}.{name}", inner)


def expected() -> set[tuple[str, str]]:
    found = {*public("wf", wf), *public("wf.nn", wf.nn), *public("wf.cuda", wf.cuda)}
    found |= {*public("wf.linalg", wf.linalg), *public("wf.fft", wf.fft)}
    found |= {
        ("wf.errors", name)
        for name in dir(wf.errors)
        if isinstance(getattr(wf.errors, name), type) and name[0].isupper()
    }
    found |= {("wf.Tensor", name) for name in dir(wf.Tensor) if not name.startswith("_")}
    return {
        (path, name)
        for path, name in found
        if path not in TWICE and (path, name) != ("wf.errors", "Any")
    }


def test_every_public_name_stands_in_the_reference_once() -> None:
    assert NAMED.keys() == expected()
    assert {name for name, times in NAMED.items() if times > 1} == set()


@pytest.mark.parametrize("path", sorted(TWICE))
def test_names_left_out_stand_under_another_module(path: str) -> None:
    listed = {id(getattr(reference.namespace(p), name)) for p, name in NAMED}
    module = reference.namespace(path)
    assert all(id(getattr(module, name)) in listed for name in module.__all__)


def test_what_can_be_called_says_what_it_does() -> None:
    silent = {
        f"{path}.{name}"
        for path, name in NAMED
        if callable(thing := getattr(reference.namespace(path), name))
        and not (inspect.getdoc(thing) or "").strip()
    }
    assert silent == set()


def test_attributes_of_tensors_say_what_they_are() -> None:
    assert {
        name
        for path, name in NAMED
        if path == "wf.Tensor" and not inspect.getdoc(getattr(wf.Tensor, name))
    } == set()


def test_an_entry_has_the_signature_and_the_text() -> None:
    shown = reference.entry("wf", "softmax")
    assert "wf.softmax(x: Tensor, /, axis: Axes = -1) -> Tensor" in shown
    assert "without overflow" in shown


def test_a_method_that_is_a_function_points_to_it() -> None:
    line = "- `.softmax(axis: Axes = -1) -> Tensor`: [wf.softmax](reductions.md#wf.softmax)"
    assert reference.entry("wf.Tensor", "softmax") == line


def test_another_name_of_a_function_points_to_it() -> None:
    assert "Another name of [wf.absolute](elementwise.md#wf.absolute)" in reference.entry(
        "wf", "abs"
    )


def test_a_class_has_the_methods_that_it_adds() -> None:
    assert "#### step { #wf.nn.optim.Optimizer.step }" in reference.entry(
        "wf.nn.optim", "Optimizer"
    )
    assert "#### step " not in reference.entry("wf.nn.optim", "Adam")


def test_long_signatures_are_broken_at_parameters() -> None:
    call = reference.call_of("wf.nn.Conv2d", wf.nn.Conv2d)
    assert "\n    " in call and max(map(len, call.splitlines())) <= 100


def test_signs_of_markdown_in_a_docstring_are_text() -> None:
    assert reference.paragraph("a*b*c < `x*y*z` of x_") == r"a\*b\*c &lt; `x*y*z` of x\_"
    assert reference.paragraph(">>> 1 + 1\n2") == "```pycon\n>>> 1 + 1\n2\n```"


def test_a_module_stands_for_the_names_that_the_block_does_not_spell_out() -> None:
    names = reference.names_in("wf.errors", "WeftError weft.errors.*")
    assert names[0] == "WeftError" and names[1:] == sorted({*names} - {"WeftError"})
    assert "ShapeError" in names and "Any" not in names


def test_a_name_that_is_not_there_fails() -> None:
    with pytest.raises(AttributeError):
        reference.on_page_markdown("::: wf\nno_such_function\n:::\n")
