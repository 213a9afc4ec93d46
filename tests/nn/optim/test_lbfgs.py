"""L-BFGS against its formula in NumPy, and against torch; its line search; what it keeps, compiles
and refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from nnref import Array
from weft import nn
from weft.frontend.lazy.program_table import statistics
from weft.nn import optim
from weft.nn.optim.line_search import Point, strong_wolfe

START = np.array([-1.2, 1.0, 0.3]), np.array([1.0, -2.0, 0.7])
SETTINGS: dict[str, dict[str, Any]] = {
    "fixed": {"lr": 1e-3, "max_iter": 6, "history_size": 3},
    "search": {"line_search_fn": "strong_wolfe", "max_iter": 8},
    "search, few evaluations": {"line_search_fn": "strong_wolfe", "max_eval": 3, "history_size": 2},
}


def rosenbrock(a: Any, b: Any) -> Any:
    return ((1 - a) ** 2).sum() + 100 * ((b - a * a) ** 2).sum()


def slope(x: Array) -> Array:
    a, b = x[:3], x[3:]
    return np.concatenate([2 * (a - 1) - 400 * a * (b - a * a), 200 * (b - a * a)])


def losses_of(optimizer: Any, params: list[Any], losses: list[float]) -> Callable[[], Any]:
    def closure() -> Any:
        optimizer.zero_grad()
        loss = rosenbrock(*params)
        loss.backward()
        losses.append(loss.item())
        return loss

    return closure


def trained(steps: int, **settings: Any) -> tuple[list[nn.Parameter], optim.LBFGS, list[float]]:
    params, losses = [nn.Parameter(x) for x in START], []
    optimizer = optim.LBFGS(params, **settings)
    for _ in range(steps):
        optimizer.step(losses_of(optimizer, params, losses))
    return params, optimizer, losses


def by_formula(iterations: int, lr: float, history: int) -> Array:
    """Steps of one length along directions of the two-loop recursion (Nocedal and Wright 2006,
    algorithm 7.4)."""
    x = np.concatenate(START)
    g, pairs = slope(x), []
    d, t = -g, lr * min(1, 1 / abs(g).sum())
    for _ in range(iterations):
        old, x = g, x + t * d
        g = slope(x)
        pairs = [*pairs, (t * d, g - old)][-history:]
        q, shares = -g, []
        for s, y in reversed(pairs):
            shares.append(s @ q / (y @ s))
            q = q - shares[-1] * y
        s, y = pairs[-1]
        q = q * (s @ y) / (y @ y)
        for (s, y), share in zip(pairs, reversed(shares), strict=True):
            q = q + s * (share - y @ q / (y @ s))
        d, t = q, lr
    return x


def test_steps_of_one_length_follow_the_formula() -> None:
    params, optimizer, losses = trained(1, **SETTINGS["fixed"])
    np.testing.assert_allclose(
        np.concatenate([p.numpy() for p in params]), by_formula(6, 1e-3, 3), rtol=1e-9
    )
    assert (
        len(losses) == 6
        and optimizer.state[0]["n_iter"] == 6
        and len(optimizer.state[0]["old_dirs"]) == 3
    )


@pytest.mark.slow
def test_a_search_ends_at_the_lowest_point() -> None:
    params, _, losses = trained(4, line_search_fn="strong_wolfe")
    for p in params:
        np.testing.assert_allclose(p.numpy(), 1.0, atol=1e-5)
    assert losses[-1] < 1e-10 and losses[0] == pytest.approx(rosenbrock(*START))


@pytest.mark.parametrize("name", SETTINGS)
def test_torchs_steps(name: str) -> None:
    torch = pytest.importorskip("torch")
    theirs, losses = [torch.tensor(x, requires_grad=True) for x in START], []
    optimizer = torch.optim.LBFGS(theirs, **SETTINGS[name])
    for _ in range(3):
        optimizer.step(losses_of(optimizer, theirs, losses))
    params, mine, ours = trained(3, **SETTINGS[name])
    np.testing.assert_allclose(ours, losses, rtol=1e-6)
    for p, q in zip(params, theirs, strict=True):
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=1e-7)
    state = optimizer.state[theirs[0]]
    assert all(mine.state[0][what] == state[what] for what in ("n_iter", "func_evals"))


def test_torchs_state_goes_on_here_and_ours_there() -> None:
    torch = pytest.importorskip("torch")
    theirs, ignored = [torch.tensor(x, requires_grad=True) for x in START], []
    there = torch.optim.LBFGS(theirs, **SETTINGS["search"])
    there.step(losses_of(there, theirs, ignored))
    params = [nn.Parameter(p.detach().numpy()) for p in theirs]
    here = optim.LBFGS(params)
    here.load_state_dict(there.state_dict())
    state = here.state_dict()
    back = torch.optim.LBFGS(theirs)
    back.load_state_dict(
        {
            "state": {0: {k: tensors(torch, v) for k, v in state["state"][0].items()}},
            **groups(state),
        }
    )
    for optimizer, p in ((here, params), (back, theirs)):
        optimizer.step(losses_of(optimizer, p, ignored))
    for p, q in zip(params, theirs, strict=True):
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=1e-7)


def tensors(torch: Any, x: Any) -> Any:
    if isinstance(x, list):
        return [tensors(torch, item) for item in x]
    return torch.tensor(np.array(x)) if isinstance(x, wf.Tensor) else x


def groups(state: dict[str, Any]) -> dict[str, Any]:
    return {"param_groups": state["param_groups"]}


# ---------------------------------------------------------------- the search

LINES: dict[
    str, tuple[Callable[[float], float], Callable[[float], float], float]
] = {  # value, slope, first guess
    "too short a guess": (lambda t: (t - 30) ** 2, lambda t: 2 * (t - 30), 0.1),
    "too long a guess": (lambda t: (t - 0.01) ** 2, lambda t: 2 * (t - 0.01), 1.0),
    "a wall": (
        lambda t: t**4 - t + 50 * max(0, t - 0.5) ** 2,
        lambda t: 4 * t**3 - 1 + 100 * max(0, t - 0.5),
        3.0,
    ),
    "waves": (lambda t: np.sin(5 * t) * -1 + 0.1 * t, lambda t: -5 * np.cos(5 * t) + 0.1, 2.0),
}


@pytest.mark.parametrize("name", LINES)
def test_the_strong_conditions_hold_where_a_search_ends(name: str) -> None:
    value, derivative, guess = LINES[name]
    asked = []

    def at(t: float) -> Point:
        asked.append(t)
        return Point(t, float(value(t)), wf.ones(1), float(derivative(t)), 1.0)

    start = at(0.0)
    found, count = strong_wolfe(at, start, guess, 1.0, 1e-9, 25)
    assert found.value <= start.value + 1e-4 * found.t * start.slope and abs(
        found.slope
    ) <= 0.9 * abs(start.slope)
    assert count == len(asked) - 1 and found.t in asked


def test_a_search_gives_up_after_so_many_points_with_the_best() -> None:
    asked = []

    def at(t: float) -> Point:
        asked.append(t)
        return Point(t, -t, wf.ones(1), -1.0, 1.0)  # endless

    found, count = strong_wolfe(at, at(0.0), 1.0, 1.0, 1e-9, 4)
    assert count == len(asked) - 1 == 5 and found.t == max(asked) > 100


WALLS: dict[
    str, tuple[Callable[[Any], Any], float]
] = {  # what is no number beyond a place, and where it is lowest
    "NaN": (lambda p: (p - p.log()).sum(), 1.0),
    "NaN, its slope, too": (lambda p: (p - 2.0 * p.sqrt()).sum(), 1.0),
    "infinite": (lambda p: (wf.where(p > 0.0, p - p.log(), float("inf"))).sum(), 1.0),
}


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("lr", [7.0, 50.0, 1e4])
@pytest.mark.parametrize("name", WALLS)
def test_a_search_comes_back_from_where_there_is_no_number(name: str, lr: float) -> None:
    function, lowest = WALLS[name]
    p = nn.Parameter([5.0])
    optimizer = optim.LBFGS([p], lr=lr, line_search_fn="strong_wolfe", max_iter=50)

    def closure() -> wf.Tensor:
        optimizer.zero_grad()
        loss = function(p)
        loss.backward()
        return loss

    optimizer.step(closure)
    assert p.item() == pytest.approx(lowest, abs=1e-2)


def test_a_search_of_which_nothing_is_left_stays_where_it_began() -> None:
    start = Point(0.0, 1.0, wf.ones(1), -1.0, 1.0)
    found, _ = strong_wolfe(
        lambda t: Point(t, float("nan"), wf.ones(1), 2.0, 1.0), start, 1.0, 1.0, 1e-9, 5
    )
    assert found is start


def test_a_rate_of_0_changes_nothing() -> None:
    params, optimizer, losses = trained(2, lr=0.0, line_search_fn="strong_wolfe")
    for p, x in zip(params, START, strict=True):
        np.testing.assert_array_equal(p.numpy(), x)
    assert len(losses) == optimizer.state[0]["func_evals"] == 2


@pytest.mark.parametrize(
    ("search", "lr", "asked"), [(None, 1e-3, [2, 2, 3, 4]), ("strong_wolfe", 100.0, [2, 3, 4, 5])]
)
def test_a_search_may_ask_once_more_than_the_limit(
    search: str | None, lr: float, asked: list[int]
) -> None:
    """The numbers are torch's."""
    assert [
        len(trained(1, lr=lr, max_eval=n, line_search_fn=search)[2]) for n in (1, 2, 3, 4)
    ] == asked


# ---------------------------------------------------------------- a step


def test_later_steps_compile_nothing() -> None:
    params, optimizer, losses = trained(2, line_search_fn="strong_wolfe", max_iter=3)
    built = statistics["built"]
    for _ in range(2):
        optimizer.step(losses_of(optimizer, params, losses))
    assert statistics["built"] == built


@pytest.mark.slow
def test_a_jitted_closure_gives_the_gradients_too() -> None:
    wf.manual_seed(0)
    x, y = wf.randn(40, 3), wf.tensor([[1.0], [-2.0], [0.5]])
    net = nn.Linear(3, 1)
    optimizer = optim.LBFGS(net.parameters(), line_search_fn="strong_wolfe")

    @wf.jit
    def evaluated() -> Any:
        optimizer.zero_grad()
        loss = ((net(x) - x @ y) ** 2).mean()
        loss.backward()
        return loss, [p.grad for p in net.parameters()]

    optimizer.step(lambda: evaluated()[0])
    np.testing.assert_allclose(net.weight.numpy(), y.numpy().T, atol=1e-4)


@pytest.mark.slow
def test_a_parameter_without_gradient_stays() -> None:
    p, q = nn.Parameter([4.0]), nn.Parameter([7.0])
    optimizer = optim.LBFGS([p, q], line_search_fn="strong_wolfe")

    def closure() -> wf.Tensor:
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 16.0 and abs(p.item()) < 1e-3 and q.item() == 7.0


def test_training_goes_on_from_a_state_bit_for_bit(tmp_path: Any) -> None:
    pytest.importorskip("safetensors")
    params, optimizer, losses = trained(1, **SETTINGS["search"])
    nn.save(tmp_path / "state", optimizer=optimizer)
    again = [nn.Parameter(p.numpy(copy=True)) for p in params]
    other = optim.LBFGS(again)
    nn.load(tmp_path / "state", optimizer=other)
    optimizer.step(losses_of(optimizer, params, losses))
    other.step(losses_of(other, again, losses))
    assert [p.tolist() for p in params] == [p.tolist() for p in again]
    assert other.param_groups[0]["line_search_fn"] == "strong_wolfe"


def test_what_is_refused() -> None:
    p = nn.Parameter(wf.ones(2))
    optimizer, other = optim.LBFGS([p]), optim.LBFGS([nn.Parameter(wf.ones(3))])
    with pytest.raises(wf.errors.ArgumentError, match="pass a function that computes the loss"):
        optimizer.step()
    with pytest.raises(wf.errors.ArgumentError, match="all parameters are one group"):
        optim.LBFGS([{"params": [p]}, {"params": [nn.Parameter(wf.ones(1))]}])
    with pytest.raises(
        wf.errors.ArgumentError, match="line_search_fn must be None or 'strong_wolfe', not 'armijo'"
    ):
        optim.LBFGS([p], line_search_fn="armijo")
    with pytest.raises(wf.errors.ArgumentError, match="cannot be skipped"):
        optimizer.step_unless(wf.tensor(False))
    with pytest.raises(wf.errors.JitError, match=r"LBFGS\.step in the jitted function"):
        wf.jit(lambda x: optimizer.step(x.sum))(wf.ones(1))
    other.step(losses_of(other, [other.params[0], wf.zeros(3)], []))
    with pytest.raises(wf.errors.ShapeError, match=r"d has shape \(2,\), but the state has \(3,\)"):
        optimizer.load_state_dict(other.state_dict())
    assert optimizer.state_dict()["state"] == {}
