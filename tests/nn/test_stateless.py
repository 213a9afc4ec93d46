"""functional_call: a Module as a function of its parameters, for derivatives by them and through
their updates."""

from __future__ import annotations

import numpy as np
import pytest
import weft as wf
from weft import nn


class Net(nn.Module):
    """One Parameter in two places, one in a list, one in a dict of a tuple, and a Buffer."""

    def __init__(self) -> None:
        self.first, self.tied = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)
        self.tied.weight = self.first.weight
        self.scales = [nn.Parameter([2.0])]
        self.shifts = ({"a": nn.Parameter([1.0])},)
        self.calls = nn.Buffer(0)

    def forward(self, x: wf.Tensor, sign: float = 1.0) -> wf.Tensor:
        self.calls = self.calls + 1
        return sign * self.tied(self.first(x)) * self.scales[0] + self.shifts[0]["a"]


def test_the_tensors_given_stand_in_every_place_of_theirs() -> None:
    net, x = Net(), wf.ones(1, 2)
    given = {
        "tied.weight": 3 * wf.eye(2),
        "scales.0": wf.tensor([10.0]),
        "shifts.0.a": wf.tensor([5.0]),
    }
    assert nn.functional_call(net, given, (x,), {"sign": -1.0}).tolist() == [[-85.0, -85.0]]


@pytest.mark.parametrize("fails", [False, True])
def test_the_module_is_as_before(fails: bool) -> None:
    net = Net()
    before = {name: (id(t), t.tolist()) for name, t in net.named_parameters(remove_duplicate=False)}
    if fails:
        with pytest.raises(wf.errors.ShapeError):
            nn.functional_call(net, {"first.weight": wf.ones(2, 3)}, wf.ones(1, 2))
    else:
        nn.functional_call(
            net, {"first.weight": wf.ones(2, 2), "calls": wf.tensor(7)}, wf.ones(1, 2)
        )
    assert {
        name: (id(t), t.tolist()) for name, t in net.named_parameters(remove_duplicate=False)
    } == before
    assert net.calls.item() == int(fails) and isinstance(
        net.scales, list
    )  # its own Buffer goes on, a replaced one does not


@pytest.mark.slow
def test_a_gradient_flows_through_an_update_of_the_parameters() -> None:
    net = nn.Sequential(nn.Linear(1, 3), nn.Tanh(), nn.Linear(3, 1)).double()
    x, y = (
        wf.linspace(-1, 1, 5, dtype="float64").reshape(5, 1),
        wf.linspace(0, 2, 5, dtype="float64").reshape(5, 1),
    )
    names = [name for name, _ in net.named_parameters()]

    def after_a_step(*values: wf.Tensor) -> wf.Tensor:
        grads = wf.grad(
            ((nn.functional_call(net, dict(zip(names, values, strict=True)), x) - y) ** 2).mean(),
            values,
        )
        fast = {name: v - 0.1 * g for name, v, g in zip(names, values, grads, strict=True)}
        return ((nn.functional_call(net, fast, x) - y) ** 2).mean()

    wf.check_grad(after_a_step, *net.parameters())


def test_a_jitted_call_takes_the_parameters_as_arguments() -> None:
    net, x = nn.Linear(2, 2), wf.ones(1, 2)
    jitted = wf.jit(lambda tensors, x: nn.functional_call(net, tensors, x))
    for scale in (1.0, 2.0):
        tensors = {name: p.detach() * scale for name, p in net.named_parameters()}
        np.testing.assert_array_equal(jitted(tensors, x), nn.functional_call(net, tensors, x))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(
        wf.errors.StateError, match=r"functional_call: Linear has no w; it has weight, bias"
    ):
        nn.functional_call(nn.Linear(1, 1), {"w": wf.ones(1)}, wf.ones(1))
    with pytest.raises(wf.errors.DTypeError, match="functional_call: bias must be a Tensor, not 3"):
        nn.functional_call(nn.Linear(1, 1), {"bias": 3}, wf.ones(1))  # type: ignore[dict-item]
    with pytest.raises(
        wf.errors.DTypeError, match="functional_call: takes a Module and a dict of Tensors, not 3"
    ):
        nn.functional_call(3, {}, wf.ones(1))  # type: ignore[arg-type]
