"""Equal kernels are lowered once, and with the loops that each would have had by itself."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import fuzz
import graphs as g
import numpy as np
import pytest
from effort import rarely
from harness import compiled, execute, inputs_of, leaf
from weft.codegen.cpu.lowering import CpuLowering
from weft.compiler.compile import Compiled
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.graph import Node
from weft.ir.graph.op import Op
from weft.ir.loops.text import show
from weft.ir.ops.interp import run as oracle

LAYERS = 4
SEEDS = [0, 2, 3, 4, *rarely(*range(5, 13))]
CANONICAL = "weft.codegen.kernels.lower_program.canonical"


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels that are lowered from now on."""
    names: list[str] = []
    kernel = CpuLowering.kernel
    monkeypatch.setattr(
        CpuLowering, "kernel", lambda self, k, *rest: names.append(k.name) or kernel(self, k, *rest)
    )
    return names


def layers(*widths: int) -> list[Node]:
    """The outputs of layers, each kept."""
    out = [leaf(40, widths[0])]
    for before, after in pairwise(widths):
        x, w, b = out[-1], leaf(before, after), leaf(after)
        out.append(g.relu(g.add_row(g.matmul(x, w), b)))
    return out[1:]


def texts(program: Compiled) -> list[tuple[str, str, tuple[int, ...]]]:
    return [
        (show(k.step.loops), show(k.lowered.loops), k.step.params) for k in program.lowered.kernels
    ]


def test_equal_layers_are_lowered_once_and_compute_their_own_values(lowered: list[str]) -> None:
    outputs = layers(*[48] * (LAYERS + 1))
    program = compiled(outputs)
    assert len(program.lowered.kernels) == LAYERS
    assert lowered == ["k0_matmul", "k1_matmul"], "the first layer reads what another line has made"
    assert (
        len({*program.kernel_keys}) == 1
        and len({k.name for k in program.lowered.kernels}) == LAYERS
    )
    rng = np.random.default_rng(0)
    env = {n: (rng.random(n.shape) - 0.5).astype(np.float32) for n in inputs_of(outputs)}
    for result, expected in zip(execute(program, outputs, env), oracle(outputs, env), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def pair(first: Callable[[Node], Node], second: Callable[[Node], Node]) -> list[Node]:
    return [first(leaf(9, 5)), second(leaf(9, 5))]


DIFFERENT: dict[str, Callable[[], list[Node]]] = {
    "constants": lambda: pair(lambda x: g.scale(x, 2.0), lambda x: g.scale(x, 3.0)),
    "signs of zero": lambda: pair(
        lambda x: g.add(x, g.like(0.0, x)), lambda x: g.add(x, g.like(-0.0, x))
    ),
    "shapes": lambda: [g.exp(leaf(9, 5)), g.exp(leaf(9, 6))],
    "dtypes": lambda: [g.exp(leaf(9)), g.exp(leaf(9, dtype=dt.float64))],
    "operations": lambda: pair(g.exp, g.log),
    "views": lambda: pair(
        lambda x: g.mul(x, x), lambda x: g.mul(x, graph.node(Op.FLIP, (x,), (1,)))
    ),
    "operands": lambda: [g.mul(x := leaf(9), x), g.mul(leaf(9), leaf(9))],
}


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("case", DIFFERENT)
def test_what_differs_is_lowered_anew(case: str, lowered: list[str]) -> None:
    program = compiled(DIFFERENT[case]())
    assert len(lowered) == len(program.lowered.kernels) == 2


def alone(monkeypatch: pytest.MonkeyPatch, outputs: list[Node]) -> Compiled:
    """The program whose kernels are all lowered."""
    with monkeypatch.context() as patch:
        patch.setattr(CANONICAL, lambda *_: object())
        return compiled(outputs)


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("seed", SEEDS)
def test_twins_have_the_loops_that_each_has_alone(
    seed: int, lowered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = twins(seed)
    program = compiled(case.outputs)
    count = len(lowered)
    assert (
        texts(program) == texts(alone(monkeypatch, case.outputs)) and len(lowered) - count > count
    )


def twins(seed: int) -> fuzz.Case:
    """A random program twice, over inputs of their own."""
    a, b = (fuzz.random_case(fuzz.seeded(seed)) for _ in range(2))
    return fuzz.Case([*a.outputs, *b.outputs], a.env | b.env, [*a.exact, *b.exact])


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("seed", SEEDS)
def test_twins_compute_what_each_does(seed: int) -> None:
    fuzz.compare_case(twins(seed), fuzz.Hits())
