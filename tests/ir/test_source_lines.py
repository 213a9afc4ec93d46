"""Every Node that the compiler makes has the user's line that it stands for, never that of who
asked for the program."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import weft as wf
from weft.compiler.compile import Compiled, program_of
from weft.frontend.jit.jit import step_behind
from weft.frontend.lazy import realize
from weft.frontend.lazy.capture import is_constant
from weft.ir.graph.graph import Node, toposort
from weft.ir.graph.op import LEAVES, Op
from weft.ir.graph.site import keeping_sites, user_site

F = wf.nn.functional
GRAPHS: dict[str, Callable[[], list[wf.Tensor]]] = {}


def graph(make: Callable[[], list[wf.Tensor]]) -> Callable[[], list[wf.Tensor]]:
    GRAPHS[make.__name__] = make
    return make


def stored(*shape: int, dtype: wf.DType = wf.float32) -> wf.Tensor:
    return wf.ones(*shape, dtype=dtype).realize().requires_grad_()


@graph
def convolution_and_its_gradients() -> list[wf.Tensor]:
    x, w = stored(4, 3, 12, 12), stored(5, 3, 3, 3)
    return list(wf.grad(F.max_pool2d(F.conv2d(x, w, stride=1).relu(), 2).sum(), [x, w]))


@graph
def attention_and_its_gradients() -> list[wf.Tensor]:
    q, k, v = stored(2, 2, 32, 8), stored(2, 2, 32, 8), stored(2, 2, 32, 8)
    out = F.scaled_dot_product_attention(q, k, v)
    return [out, *wf.grad((out * out).sum(), [q, k, v])]


@graph
def long_sums_and_deviations() -> list[wf.Tensor]:
    x = stored(1 << 17)
    return [x.sum(), x.std(), (x * x).mean()]


@graph
def computed_indices() -> list[wf.Tensor]:
    table, x = stored(20, 6), wf.ones(9, dtype=wf.int64).realize()
    rows = table[(x * x).cumsum(0) % 20]
    return [rows, *wf.grad((rows * rows).sum(), [table])]


@graph
def halves() -> list[wf.Tensor]:
    x = stored(8, 16, dtype=wf.float16)
    return [(x @ x.transpose(0, 1)).softmax(axis=1), x + 0]


def compiled(roots: list[wf.Tensor]) -> tuple[Compiled, int]:
    """The program, and the line that asked for it."""
    structure = realize.structure_of(*roots)
    return program_of(structure), sys._getframe().f_lineno


def nodes_of(c: Compiled) -> list[Node]:
    return [n for p in c.passes if p.roots is not None for n in toposort(p.roots)]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", GRAPHS)
def test_nodes_have_lines_of_the_expression(name: str) -> None:
    c, asking = compiled(GRAPHS[name]())
    lines = {
        n.site[:2]
        for n in nodes_of(c)
        if n.site is not None and not (n.op in LEAVES or is_constant(n))
    }
    first = GRAPHS[name].__code__.co_firstlineno
    wrong = {line for line in lines if line[0] != __file__ or not first < line[1] < first + 8}
    assert lines and wrong == set() and not first < asking < first + 8


def test_inputs_have_no_line_of_who_asks() -> None:
    c, asking = compiled([stored(3).exp()])
    assert (__file__, asking) not in {n.site for n in nodes_of(c) if n.site is not None}


def test_what_decorates_a_function_of_the_package_is_no_line_of_the_users() -> None:
    namespace: dict[str, Any] = {}
    inside = (
        Path(wf.__file__).parent / "ir" / "graph" / "made.py"
    )  # a function of the package, as far as its frames say
    exec(
        compile("def made(): return user_site()", inside, "exec"),
        {"user_site": user_site},
        namespace,
    )
    with_context = keeping_sites()(namespace["made"])
    assert with_context() == (__file__, sys._getframe().f_lineno)


def test_inputs_have_the_line_that_made_their_tensor() -> None:
    x = stored(3)
    c, _ = compiled([x.exp()])
    (leaf,) = (n for n in nodes_of(c)[:2] if n.op is Op.INPUT)
    assert leaf.site is not None and leaf.site[0] == __file__


def test_a_structure_knows_whose_value_an_input_is() -> None:
    weight = wf.nn.Parameter([1.0, 2.0, 3.0])
    ((owner, _),) = realize.structure_of(weight.exp()).origins
    assert owner is not None and owner() is weight


def test_so_does_that_of_a_jitted_function_for_its_arguments_and_what_it_captures() -> None:
    weight, x = wf.nn.Parameter([1.0, 2.0, 3.0]), wf.tensor([1.0, 2.0, 3.0])
    step = step_behind("explain", wf.jit(lambda x: (weight * x).sum()), (x,), {})
    owners = [owner() for owner, _ in step.program.structure.origins if owner is not None]
    assert {id(t) for t in owners} == {id(weight), id(x)}


def test_it_keeps_no_tensor_alive() -> None:
    weight = wf.nn.Parameter([1.0, 2.0, 3.0])
    ((owner, _),) = realize.structure_of(weight.exp()).origins
    del weight
    assert owner is not None and owner() is None
