"""Every public name of nn says what it does, with shapes, and shows it: the examples run as doctests."""

from __future__ import annotations

import doctest
import inspect
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
import weft as wf
from weft import nn

MODULES = [  # those whose every name of __all__ has its example
    "nn.checkpoint",
    "nn.data.collate",
    "nn.data.buckets",
    "nn.data.corpus",
    "nn.data.dataset",
    "nn.data.embedded",
    "nn.data.glove",
    "nn.data.image_sets",
    "nn.data.images",
    "nn.data.loader",
    "nn.data.points",
    "nn.data.samplers",
    "nn.data.lines",
    "nn.data.sst2",
    "nn.data.text",
    "nn.data.transforms",
    "nn.functional.activation",
    "nn.functional.attention",
    "nn.functional.classification",
    "nn.functional.dropout",
    "nn.functional.embedding",
    "nn.functional.loss",
    "nn.functional.normalization",
    "nn.functional.padding",
    "nn.functional.piecewise",
    "nn.functional.resampling",
    "nn.functional.similarity",
    "nn.functional.windows",
    "nn.init",
    "nn.layers.activation",
    "nn.layers.attention",
    "nn.layers.container",
    "nn.layers.conv",
    "nn.layers.dropout",
    "nn.layers.embedding",
    "nn.layers.linear",
    "nn.layers.loss",
    "nn.layers.normalization",
    "nn.layers.piecewise",
    "nn.layers.pooling",
    "nn.layers.resampling",
    "nn.layers.shape",
    "nn.layers.transformer",
    "nn.module",
    "nn.optim",
    "nn.parallel",
    "nn.utils",
]
SECTIONS = [import_module(f"weft.{name}") for name in MODULES]
ITEMS = [(module, name) for module in SECTIONS for name in module.__all__]
NAMES: dict[str, Any] = {"wf": wf, "nn": nn, "F": nn.functional}  # what an example may use without importing it


@pytest.mark.parametrize(("module", "name"), ITEMS, ids=lambda x: x if isinstance(x, str) else x.__name__)
def test_the_example_runs(module: ModuleType, name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    item = getattr(module, name)
    if inspect.ismodule(item) or not callable(item):
        return
    monkeypatch.chdir(tmp_path)
    examples = doctest.DocTestParser().get_doctest(inspect.getdoc(item) or "", dict(NAMES), name, None, None)
    assert examples.examples, f"{name} shows no example"
    wf.manual_seed(0)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(examples, out=report.append)
    assert not report, "".join(report)
