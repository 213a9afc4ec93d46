"""`wf.summary`: the tree of a Module with shapes and counts, which leaves the Module as it was."""

from __future__ import annotations

import doctest
import json
from collections.abc import Callable

import pytest
import weft as wf
from weft import nn
from weft.errors import DTypeError, ShapeError
from weft.inspection.summary import summary as modules
from weft.inspection.summary.tree import Layer, Summary

NETWORKS: dict[str, Callable[[], tuple[nn.Module, wf.Tensor]]] = {
    "convolutions": lambda: (
        nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)),
        wf.zeros(2, 1, 8, 8),
    ),
    "norm and dropout": lambda: (
        nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)),
        wf.ones(6, 3),
    ),
    "attention": lambda: (
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
        wf.zeros(2, 3, 8),
    ),
    "without parameters": lambda: (nn.ReLU(), wf.zeros(4)),
}


def layers(layer: Layer, path: str = "") -> dict[str, Layer]:
    """Every layer by its dotted name."""
    found = {path: layer}
    for child in layer.children:
        found |= layers(child, f"{path}.{child.name}".strip("."))
    return found


@pytest.mark.parametrize("name", NETWORKS)
def test_names_kinds_and_counts_are_those_of_the_module(name: str) -> None:
    model, _ = NETWORKS[name]()
    found = layers(wf.summary(model).tree)
    assert {path: (layer.kind, layer.count) for path, layer in found.items()} == {
        path: (type(module).__name__, module.num_parameters())
        for path, module in model.named_modules()
    }


@pytest.mark.parametrize("name", NETWORKS)
def test_parameters_and_buffers_are_those_of_the_module(name: str) -> None:
    model, _ = NETWORKS[name]()
    found = layers(wf.summary(model).tree)
    held = {
        f"{path}.{h.name}".strip("."): (h.shape, h.dtype)
        for path, layer in found.items()
        for h in layer.held
    }
    named = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    assert held == {path: (t.shape, t.dtype.name) for path, t in named.items()}


@pytest.mark.parametrize("name", NETWORKS)
def test_shapes_are_those_that_the_layers_return(name: str) -> None:
    model, x = NETWORKS[name]()
    told: dict[str, str] = {}
    for path, module in model.named_modules():
        module.register_forward_hook(
            lambda m, a, result, path=path: told.update({path: modules.shapes(result)})
        )
    model(x)
    assert {
        path: layer.output
        for path, layer in layers(wf.summary(model, x).tree).items()
        if layer.calls
    } == told


def test_totals_count_what_is_shared_once() -> None:
    model = nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 10, bias=False))
    model[1].weight = model[0].weight
    found = wf.summary(model)
    assert (found.parameters, found.bytes) == (40, 160) and model.num_parameters() == 40
    (weight,) = layers(found.tree)["1"].held
    assert weight.shared == "0.weight" and "the same as 0.weight" in str(found)


def test_a_layer_that_stands_twice_is_shown_once() -> None:
    layer = nn.Linear(3, 3)
    found = wf.summary(nn.Sequential(layer, layer), wf.zeros(1, 3))
    assert layers(found.tree)["1"].shared == "0" and found.parameters == 12
    assert layers(found.tree)["0"].calls == 2 and "(1, 3) in 2 calls" in str(found)


def test_parameters_that_do_not_learn_are_counted_apart() -> None:
    model = nn.Linear(3, 2)
    model.bias.requires_grad_(False)
    found = wf.summary(model)
    assert (found.parameters, found.trainable) == (
        8,
        6,
    ) and "8 parameters, 6 of them trained" in str(found)


def test_nothing_is_computed_and_nothing_changes() -> None:
    wf.manual_seed(3)
    model, x = NETWORKS["norm and dropout"]()
    model(x).realize()
    state = {name: t.tolist() for name, t in model.state_dict().items()}
    before = wf.get_rng_state()
    programs = wf.frontend.lazy.program_table.statistics["runs"]
    wf.summary(model, x)
    assert (
        wf.frontend.lazy.program_table.statistics["runs"] == programs
        and wf.get_rng_state() == before
    )
    assert {name: t.tolist() for name, t in model.state_dict().items()} == state


def test_a_module_that_fails_is_left_without_hooks() -> None:
    model = nn.Linear(3, 2)
    with pytest.raises(ShapeError, match="linear"):
        wf.summary(model, wf.zeros(5, 4))
    calls: list[object] = []
    model.register_forward_hook(lambda *found: calls.append(found))
    model(wf.zeros(5, 3))
    assert len(calls) == 1


def test_parameters_in_lists_have_their_places() -> None:
    class Lists(nn.Module):
        def __init__(self) -> None:
            self.weights = [nn.Parameter(wf.zeros(2)), nn.Parameter(wf.zeros(3))]

    assert [h.name for h in wf.summary(Lists()).tree.held] == ["weights.0", "weights.1"]


def test_results_of_every_form_have_a_text() -> None:
    x = wf.zeros(2, 3)
    assert modules.shapes((x, [x, None], {"a": x})) == "(2, 3), (2, 3), None, a: (2, 3)"


def test_the_table_of_the_docstring_is_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    for found in finder.find(wf.summary, "summary", globs={"wf": wf, "nn": nn}):
        runner.run(found)
    assert runner.summarize(verbose=False) == (0, 1)


@pytest.mark.parametrize("columns", [80, 120])
def test_rows_fit_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert max(map(len, str(wf.summary(*NETWORKS["attention"]())).splitlines())) <= columns


def test_the_data_is_json_with_what_a_page_needs() -> None:
    model, x = NETWORKS["convolutions"]()
    found = json.loads(json.dumps(wf.summary(model, x).to_dict()))
    first = found["children"][0]
    assert first["parameters"][0] == {
        "name": "weight", "kind": "parameter", "shape": [4, 1, 3, 3], "dtype": "float32",
        "count": 36, "bytes": 144,
        "trainable": True, "shared": "",
    }  # fmt: skip
    assert (
        found["totals"]["parameters"] == found["count"] == 765
        and first["detail"] == "1, 4, kernel_size=(3, 3), bias=True"
    )


def test_a_notebook_gets_a_table() -> None:
    html = wf.summary(nn.Linear(3, 2))._repr_html_()
    assert html.count("<tr>") == 4 and "8 parameters" in html


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(DTypeError, match="summary: expected a Module, not 3"):
        wf.summary(3)
    assert isinstance(wf.summary(nn.ReLU()), Summary)
