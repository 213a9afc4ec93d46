"""Products leave a loop where they need no carry: there is one of all iterations, in bounded
memory."""

from __future__ import annotations

import pytest
import weft as wf
from weft.ir.graph.graph import Node, toposort
from weft.ir.graph.op import Op
from weft.ir.passes import leave_loops as passes


def products(roots: list[Node]) -> tuple[int, int]:
    """How many there are outside of loops, and in their bodies."""
    order = toposort(roots)
    (body,) = {n.arg[0].body for n in order if n.op is Op.LOOP}
    return tuple(
        sum(map(passes._is_contraction, nodes)) for nodes in (order, toposort(body.outputs))
    )


def network(steps: int) -> list[Node]:
    """y = tanh(h @ u + x @ w) @ v, with four times as many features in the state as in x."""
    shapes = [(steps, 16, 16), (16, 64), (64, 64), (64, 16)]
    x, w, u, v = (wf.rand(*shape).realize() for shape in shapes)

    def step(h: wf.Tensor, x: wf.Tensor) -> tuple[wf.Tensor, wf.Tensor]:
        h = (h @ u + x @ w).tanh()
        return h, h @ v

    last, ys = wf.scan(step, wf.zeros(16, 64), x)
    return [last.node, ys.node]


def test_products_of_slices_and_of_results_leave_a_loop() -> None:
    assert products(network(16)) == (0, 3)
    assert products(passes.leave_loops(network(16))) == (2, 1)


def test_what_would_take_more_memory_than_there_is_room_for_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(passes, "ROOM", 16 * 16 * 64 * 4 - 1)  # a state of each iteration
    assert products(passes.leave_loops(network(16))) == (0, 3)
    assert products(passes.leave_loops(network(15))) == (2, 1)
