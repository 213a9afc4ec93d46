"""The document of compiled programs: nodes in their kernels, lines, passes, texts, all as JSON of
bounded size."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import Any

import pytest
import weft as wf
from cudakit import device, needs_compiler
from weft.compiler.compile import Compiled, program_of
from weft.frontend.lazy import realize
from weft.inspection.documents import document as documents
from weft.inspection.documents.changes import changes
from weft.inspection.documents.document import Entry, document
from weft.inspection.documents.layers import add_layers
from weft.inspection.names.labels import label
from weft.ir.graph.graph import toposort

F = wf.nn.functional
Json = dict[str, Any]


def stored(*shape: int, device: str | None = None) -> wf.Tensor:
    return wf.full(shape, 0.5, device=device).realize().requires_grad_()


def compiled(*roots: wf.Tensor) -> Compiled:
    return program_of(realize.structure_of(*roots))


def attention() -> list[wf.Tensor]:
    """Several kernels, with gradients."""
    q, k = stored(2, 16, 8), stored(2, 16, 8)
    weights = (q @ k.transpose(-1, -2)).softmax(axis=-1)
    return [weights, *wf.grad((weights @ k).sum(), [q])]


@pytest.fixture(scope="module")
def shown() -> Json:
    c = compiled(*attention())
    entry = Entry("attention", "cpu", c, {0: "q"}, 3, 2.0, 4.0, [1.0] * len(c.in_order()))
    return document([entry, Entry("other", "cpu", runs=1, seconds=0.5)], "title", "command")


@pytest.mark.slow
def test_it_is_json(shown: Json) -> None:
    assert json.loads(json.dumps(shown, allow_nan=False))["title"] == "title"


def test_the_limits_of_the_machine_stand_beside_the_programs(shown: Json) -> None:
    assert shown["machine"]["threads"] >= 1 and {"bandwidth", "flops"} <= {*shown["machine"]}


def test_nodes_come_after_their_sources(shown: Json) -> None:
    nodes = shown["programs"][0]["nodes"]
    assert [n["id"] for n in nodes] == [*range(len(nodes))]
    assert all(s < n["id"] for n in nodes for s in n["src"])


def test_the_graph_is_the_one_that_fusion_saw() -> None:
    c = compiled(*attention())
    nodes = document([Entry("", "cpu", c)], "")["programs"][0]["nodes"]
    assert [n["op"] for n in nodes] == [n.op.value for n in toposort(c.fused_graph)]
    assert {u.node for k in c.fused.kernels for u in k.units} <= {*toposort(c.fused_graph)}


def test_every_computed_node_is_in_the_kernel_that_computes_it() -> None:
    c = compiled(*attention())
    shown = document([Entry("", "cpu", c)], "")["programs"][0]
    ids = {n: i for i, n in enumerate(toposort(c.fused_graph))}
    for place, k in enumerate(c.in_order()):
        assert k.kernel is not None
        assert {ids[u.node] for u in k.kernel.units} <= {*shown["kernels"][place]["node_ids"]}


def test_a_view_belongs_to_the_kernel_that_reads_it() -> None:
    x = stored(6, 8)
    shown = document([Entry("", "cpu", compiled(x.transpose(0, 1).exp()))], "")["programs"][0]
    assert {n["op"]: n["kernel"] for n in shown["nodes"]} == {"input": None, "permute": 0, "exp": 0}


def test_kernels_belong_to_the_layer_whose_parameters_they_read_or_stand_between() -> None:
    def tree(name: str, *children: Json, held: tuple[str, ...] = ()) -> Json:
        return {
            "name": name,
            "kind": "Net",
            "parameters": [{"name": h} for h in held],
            "buffers": [],
            "children": [*children],
        }

    net = tree(
        "Net",
        tree("block", tree("a", held=("weight",)), tree("b", held=("weight",))),
        tree("c", held=("bias",)),
    )
    reads = [
        ["x", "block.a.weight"],
        [],
        ["Adam exp_avg of block.b.weight"],
        ["Net.c.bias"],
        ["block.a.weight", "c.bias"],
        ["x"],
    ]
    kernels = [{"reads": r} for r in reads]
    view = {"id": 1, "src": [0], "kernel": None}  # k0 -> a view -> k1 -> k2
    nodes = [
        {"id": 0, "src": [], "kernel": 0},
        view,
        {"id": 2, "src": [1], "kernel": 1},
        {"id": 3, "src": [2], "kernel": 2},
    ]
    add_layers([{"kernels": kernels, "nodes": nodes}], [net])
    found = [k["layer"] for k in kernels]
    assert found == [[0, "block.a"], [0, "block"], [0, "block.b"], [0, "c"], [0, ""], None]


def test_kernels_list_their_nodes(shown: Json) -> None:
    p = shown["programs"][0]
    listed = {i: k["index"] for k in p["kernels"] for i in k["node_ids"]}
    assert listed == {n["id"]: n["kernel"] for n in p["nodes"] if n["kernel"] is not None}


def test_gradients_have_the_line_of_the_forward_node(shown: Json) -> None:
    here = attention.__code__.co_firstlineno
    lines = {tuple(n["line"]) for n in shown["programs"][0]["nodes"] if n["gradient"] and n["line"]}
    assert lines and lines <= {(__file__, here + 3), (__file__, here + 4)}


def test_constants_are_of_no_line() -> None:
    nodes = document([Entry("", "cpu", compiled(stored(8) * 2.5))], "")["programs"][0]["nodes"]
    constants = [n for n in nodes if n["label"] == "2.5"]
    assert {n["op"] for n in constants} == {"const", "expand"} and all(
        n["line"] is None for n in constants
    )


def test_the_files_behind_lines_are_there_whole(shown: Json) -> None:
    found = shown["sources"][__file__]
    assert found["name"] == "test_document.py"
    assert found["lines"][attention.__code__.co_firstlineno - 1].startswith("def attention")


def test_inputs_have_their_names(shown: Json) -> None:
    p = shown["programs"][0]
    (named,) = (i for i in p["inputs"] if i["name"])
    assert p["nodes"][named["id"]]["label"] == "q"


def test_boundaries_name_kernels_by_their_place(shown: Json) -> None:
    p = shown["programs"][0]
    found = {
        (p["kernels"][b["producer"]]["name"], p["kernels"][b["consumer"]]["name"])
        for b in p["boundaries"]
    }
    assert (
        found == {(b["other"], k["name"]) for k in p["kernels"] for b in k["boundaries"]} != set()
    )


def test_measured_times_add_up(shown: Json) -> None:
    p = shown["programs"][0]
    assert sum(k["measured"] for k in p["kernels"]) == p["kernel_seconds"] == len(p["kernels"])
    assert "measured" in p["report"]


def test_a_program_that_is_only_listed_has_no_details(shown: Json) -> None:
    p = shown["programs"][1]
    assert p["name"] == "other" and not p["detailed"] and p.keys() == shown["programs"][0].keys()
    assert not p["kernels"] and p["seconds"] == 0.5


def test_changes_of_a_pass_lead_from_one_graph_to_the_next() -> None:
    c = compiled(*attention())
    graphs = [p for p in c.passes if p.roots is not None]
    for before, after in zip(changes(graphs), changes(graphs)[1:], strict=False):
        assert before["nodes"] + len(after["added"]) - len(after["removed"]) == after["nodes"]


@pytest.mark.slow
def test_a_change_counts_once_not_all_that_is_built_on_it() -> None:
    x = stored(8)
    y = x.reshape(2, 4).reshape(8)  # which simplifying removes
    for _ in range(50):
        y = y.exp()
    simplified = next(p for p in changes(compiled(y).passes) if p["name"] == "simplify")
    assert len(simplified["removed"]) <= 3 and len(simplified["added"]) <= 1


def test_rewrites_name_their_rule_and_line() -> None:
    line = test_rewrites_name_their_rule_and_line.__code__.co_firstlineno + 2
    (found,) = (r for p in changes(compiled(stored(8) * 1.0).passes) for r in p["rewrites"])
    assert (
        found["line"] == [__file__, line]
        and found["before"].startswith("mul(input, 1)")
        and found["rule"]
    )


def test_lines_of_a_pass_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.inspection.documents.changes.MOST_LINES", 5)
    y = sum((stored(4) * 1.0 + i for i in range(8)), stored(4))
    simplified = next(p for p in changes(compiled(y).passes) if p["name"] == "simplify")
    assert len(simplified["removed"]) == 6 and simplified["removed"][-1].endswith(" more")


def test_texts_of_equal_kernels_are_there_once() -> None:
    x = stored(64, 64)
    c = compiled((x @ x + 1).exp() @ x @ x)
    kernels = document([Entry("", "cpu", c)], "")["programs"][0]["kernels"]
    counts = Counter(c.kernel_keys)
    assert max(counts.values()) > 1 and sum(bool(k["texts"]) for k in kernels) == len(counts)
    for k, key in zip(kernels, c.kernel_keys, strict=True):
        assert k["same_code_as"] is None or c.kernel_keys[k["same_code_as"]] == key


def test_long_texts_are_cut_at_a_line_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MOST_TEXT", 300)
    texts = document([Entry("", "cpu", compiled(stored(4096).exp()))], "")["programs"][0][
        "kernels"
    ][0]["texts"]
    assert all(len(text) < 400 for text in texts.values())
    assert all("characters more" in texts[e].splitlines()[-1] for e in ("ll", "opt.ll", "s"))


def test_of_very_many_texts_those_of_the_slowest_kernels_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(documents, "ALL_TEXTS", 3000)
    c = compiled(*attention())
    times = [1.0 + i for i in range(len(c.in_order()))]
    kernels = document([Entry("", "cpu", c, kernels=times)], "")["programs"][0]["kernels"]
    assert "ll" in kernels[-1]["texts"] and kernels[0]["texts"] == documents.LEFT_OUT
    assert sum(len(text) for k in kernels for text in k["texts"].values()) < 10_000


@pytest.mark.slow
def test_a_large_graph_is_shown_soon_and_in_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    x = stored(2, 4)
    for _ in range(50):  # equal layers, whose kernels are compiled once
        x = x / (x.exp() * 2.0).sum(axis=1, keepdims=True)
        for _ in range(12):
            x = (x * 2.0 - 1.0).sqrt()
        x = x @ stored(4, 4)
    c = compiled(x)
    assert len(toposort(c.fused_graph)) > 2000
    monkeypatch.setattr(
        Compiled, "texts", lambda self, k: {"loops": ""}
    )  # which is to compile once more
    start = time.process_time()
    size = len(json.dumps(document([Entry("", "cpu", c)], "")))
    assert time.process_time() - start < 2 and size < 3_000_000


@pytest.mark.slow
@needs_compiler
def test_a_program_of_a_gpu_has_cuda_c() -> None:
    device()
    c = compiled(stored(64, 300, device="cuda").softmax(axis=1))
    shown = document([Entry("", "cuda:0", c)], "")
    (kernel,) = shown["programs"][0]["kernels"]
    assert (
        shown["device"] == "cuda:0" and "__global__" in kernel["texts"]["cu"] and kernel["launches"]
    )


LABELS = {
    "sum axis=1": lambda x: x.sum(axis=1),
    "sum": lambda x: x.sum(),
    "max axis=0": lambda x: x.max(axis=0),
    "matmul 12x20x12": lambda x: x @ x.transpose(0, 1),
    "x * 2.5": lambda x: x * 2.5,
    "1 / x": lambda x: 1 / x,
    "0.5 - x": lambda x: 0.5 - x,
    "cos": lambda x: x.cos(),
    "permute 1,0": lambda x: x.transpose(0, 1),
    "reshape 240": lambda x: x.reshape(240),
    "to float64": lambda x: x.double(),
    "cumsum axis=1": lambda x: x.cumsum(1),
    "slice [:, 2:10]": lambda x: x[:, 2:10],
    "mul": lambda x: x * x,
    "float32 12x20": lambda x: x,
}


@pytest.mark.parametrize("text", LABELS)
def test_labels_are_short_and_readable(text: str) -> None:
    assert label(LABELS[text](stored(12, 20)).node) == text


def test_a_convolution_is_labelled_by_its_extents() -> None:
    labels = [label(n) for n in toposort([F.conv2d(stored(2, 3, 8, 8), stored(4, 3, 3, 3)).node])]
    assert "conv 2x4x6x6 over 3x3x3" in labels and "windows of 3" in labels
