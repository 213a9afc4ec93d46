"""Parts of a Graph that repeat: which are found, that a pass and fusion by parts give what they
give for the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
import weft as wf
from effort import examples, rarely
from hypothesis import given
from hypothesis import strategies as st
from weft.compiler.compile import Compiled
from weft.frontend.lazy import program_table
from weft.inspection.explain.explain import compiled_behind
from weft.ir.graph import dtype as dt
from weft.ir.graph.graph import const, node, toposort
from weft.ir.graph.op import Op
from weft.ir.kernels.reason import Rule
from weft.ir.parts import split
from weft.ir.parts.part import part_of
from weft.ir.parts.parted import PartedGraph, alone
from weft.ir.parts.split import parts_of
from weft.ir.passes.distinct import distinct_in_parts
from weft.ir.passes.simplify import simplify

LAYERS = 6
WIDTH = 16
TURNS = 24  # of few Nodes, but more than a Graph has that is left whole


@contextmanager
def all_in_parts(least: int = 64) -> Iterator[None]:
    """Small graphs, too, are looked at."""
    with mock.patch.object(split, "LEAST_NODES", least):
        yield


def whole() -> mock._patch[int]:
    """No graph is looked at."""
    return mock.patch.object(split, "LEAST_NODES", 1 << 60)


class Attention(wf.nn.Module):
    def __init__(self) -> None:
        self.norm, self.project = wf.nn.LayerNorm(WIDTH), wf.nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        q, k, v = self.project(self.norm(x)).chunk(3, axis=-1)
        return x + wf.nn.functional.scaled_dot_product_attention(q, k, v)


class Perceptron(wf.nn.Module):
    def __init__(self) -> None:
        self.up, self.down = wf.nn.Linear(WIDTH, 2 * WIDTH), wf.nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        return x + self.down(self.up(x).gelu())


class Plain(wf.nn.Module):
    def __init__(self) -> None:
        self.linear = wf.nn.Linear(WIDTH, WIDTH)

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        return self.linear(x).tanh()


class Gated(wf.nn.Module):
    """With a value that all layers read."""

    def __init__(self) -> None:
        self.linear = wf.nn.Linear(WIDTH, WIDTH)

    def forward(self, x: wf.Tensor, gate: wf.Tensor) -> wf.Tensor:
        return x * gate + self.linear(x).sigmoid()


KINDS = {"attention": Attention, "perceptron": Perceptron, "plain": Plain, "gated": Gated}


def step(kinds: list[str], layers: int, clip: bool) -> list[wf.Tensor]:
    """What a training step of a network computes: the result and the new weights, from equal
    beginnings each time."""
    wf.manual_seed(0)
    stack = [KINDS[kind]() for _ in range(layers) for kind in kinds]
    weights = [p.realize() for m in stack for p in m.parameters()]
    random = np.random.default_rng(0)
    x, gate = (
        wf.tensor(random.standard_normal((2, 24, WIDTH), dtype=np.float32)) for _ in range(2)
    )
    gate = gate.sigmoid()
    for m in stack:
        x = m(x, gate) if isinstance(m, Gated) else m(x)
    gradients = wf.grad(x.square().mean(), weights)
    if clip:
        norm = wf.stack([g.square().sum() for g in gradients]).sum().sqrt()
        gradients = [g / (norm + 1e-6) for g in gradients]
    return [x, *(w - 0.1 * g for w, g in zip(weights, gradients, strict=True))]


def compiled(outputs: list[wf.Tensor]) -> Compiled:
    program = compiled_behind("explain", outputs, (), {})
    assert program is not None
    return program


@pytest.mark.slow
def test_a_layer_its_gradient_and_the_updates_of_its_weights_are_one_part() -> None:
    program = compiled(step(["attention", "perceptron"], LAYERS, clip=False))
    roots = program.fused_graph
    attention, perceptron, rest = sorted(
        parts_of(roots, {}), key=lambda alike: (-len(alike), len(alike[0].nodes))
    )
    assert len(attention) == len(perceptron) == LAYERS - 1 and len(rest) == 1
    for part in (*attention, *perceptron):
        (forward, backward) = part.inputs.values()
        assert (
            forward == [] and len(backward) == 1
        )  # a gradient that is made of what the part gives to the next one
    made = [n for alike in (attention, perceptron, rest) for p in alike for n in p.outputs]
    assert len(made) == len(set(made)) and set(roots) <= set(made)


def assert_same_in_parts(kinds: list[str], layers: int, clip: bool) -> Compiled:
    """Gives the program in parts."""
    with whole():
        expected = step(kinds, layers, clip)
        kernels = len(compiled(expected).in_order())
        values = [t.numpy() for t in expected]
    with all_in_parts():
        outputs = step(kinds, layers, clip)
        program = compiled(outputs)
        # What several layers share is computed before the first. Of the whole, one kernel takes the
        # squares of all small gradients and updates their weights; a layer has its own.
        own = 2 * (len(outputs) - 1) if clip else 0
        assert len(program.in_order()) <= kernels + 2 + own
        assert all((t.numpy() == v).all() for t, v in zip(outputs, values, strict=True))
    return program


def is_in_parts(program: Compiled) -> bool:
    return any(b.reason.rule is Rule.PARTS for b in program.fused.boundaries)


@pytest.mark.parametrize(
    "kinds",
    [["plain", "gated"], *rarely(["attention"], ["attention", "gated"], ["gated", "perceptron"])],
    ids="-".join,
)
def test_the_same_values_and_no_more_kernels_than_of_the_whole(kinds: list[str]) -> None:
    assert is_in_parts(assert_same_in_parts(kinds, LAYERS, clip=False))


@pytest.mark.slow
@given(
    kinds=st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=2),
    layers=st.integers(4, 5),
    clip=st.booleans(),
)
@examples(20)
def test_few_layers_of_any_kinds_are_the_same_in_parts(
    kinds: list[str], layers: int, clip: bool
) -> None:
    assert_same_in_parts(kinds, layers, clip)


@pytest.mark.slow
def test_parts_are_of_this_graph_and_of_no_other() -> None:
    program = compiled(step(["attention", "perceptron"], LAYERS, clip=True))
    assert is_in_parts(program)
    nodes = set(toposort([*program.fused_graph]))
    for k in program.fused.kernels:
        assert nodes.issuperset([*k.inputs, *k.outputs, *(u.node for u in k.units)])
    assert all(n.op is not Op.ELSEWHERE for n in nodes)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "turn",
    [lambda x, w: (x * 2 - 1).sin() @ w, lambda x, w: x * 1.5 - x.cos()],
    ids=["product", "map"],
)
def test_nothing_is_cut_where_values_stay_in_registers(
    turn: Callable[[wf.Tensor, wf.Tensor], wf.Tensor],
) -> None:
    def chain() -> wf.Tensor:
        x, w = wf.ones((64, 64)).realize(), wf.ones((64, 64)).realize()
        for _ in range(TURNS):
            x = turn(x, w)
        return x

    with whole():
        kernels = len(compiled([chain()]).in_order())
    with all_in_parts():
        assert len(compiled([chain()]).in_order()) == kernels


def test_parts_that_come_to_compute_one_value_are_joined() -> None:
    x = node(Op.EXP, (const(1.0, dt.float32),))
    one = const(1.0, dt.float32)
    roots = [node(Op.MUL, (x, one)), node(Op.DIV, (x, one))]
    graph = PartedGraph((roots, []), [alone([part_of([r], (), {})]) for r in roots])
    assert distinct_in_parts(graph).alike == graph.alike
    joined = distinct_in_parts(graph.after(simplify))
    assert joined.is_whole and len(set(joined.roots)) == 2


@pytest.mark.slow
def test_words_of_a_seed_that_parts_evaluate_for_themselves_are_stored_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def weights() -> list[np.ndarray]:
        monkeypatch.setattr(program_table, "_programs", program_table.Programs())
        wf.manual_seed(0)
        words = wf.nn.Embedding(10, WIDTH)
        sizes = [(1, 1), (1, 1), (1, 1), (1, 1), (1, 4), (4, 1)] * 5
        layers = [wf.nn.Linear(i * WIDTH, o * WIDTH) for i, o in sizes]
        words.weight.realize()  # and with it all that wait for their first value
        return [p.numpy() for m in (words, *layers) for p in m.parameters()]

    in_parts = weights()
    with whole():
        expected = weights()
    assert all((a == b).all() for a, b in zip(in_parts, expected, strict=True))
