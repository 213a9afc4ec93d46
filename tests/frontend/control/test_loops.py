"""wf.scan, fori_loop, while_loop and map: beside the same loops written in Python, with derivatives
of both orders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pytest
import weft as wf
from weft import errors
from weft.frontend.lazy import program_table

Body = Callable[[Any, Any], tuple[Any, Any]]
rng = np.random.default_rng(0)


def draw(*shape: int) -> wf.Tensor:
    return wf.tensor(rng.standard_normal(shape) * 0.5, requires_grad=True)


def unrolled(f: Body, carry: Any, xs: wf.Tensor, reverse: bool = False) -> tuple[Any, Any]:
    ys = []
    for t in range(len(xs))[:: -1 if reverse else 1]:
        carry, y = f(carry, xs[t])
        ys.append(y)
    return carry, wf.stack(ys[:: -1 if reverse else 1])


# ---------------------------------------------------------------- values and derivatives

W, B = draw(3, 3), draw(3)
# each takes a carry of shape (2, 3) and an element of that shape
STEPS: dict[str, Callable[[wf.Tensor, wf.Tensor], wf.Tensor]] = {
    "linear": lambda c, x: c @ W + x,
    "recurrent": lambda c, x: (c @ W + x + B).tanh(),
    "gated": lambda c, x: c.sigmoid() * x + (1 - c.sigmoid()) * c,
    "where": lambda c, x: wf.where(c > x, (c + 2).abs().sqrt(), x * c),
    "softmax": lambda c, x: wf.softmax(c, -1) * x + c * 0.5,
    "gather": lambda c, x: c.take(wf.tensor([2, 0, 1]), 1) * 0.5 + x,
    "sum": lambda c, x: c - c.sum(0, keepdims=True) * 0.1 + x.exp() * 0.1,
    "inner loop": lambda c, x: wf.fori_loop(0, 3, lambda i, v: v * 0.7 + x * i * 0.1, c),
    "branch": lambda c, x: wf.cond(c.sum() > x.sum(), lambda: c * 0.5 + x, lambda: c * W[0] - x),
}
EMITS: dict[str, Callable[[wf.Tensor, wf.Tensor], wf.Tensor]] = {
    "carry": lambda c, _: c,
    "sum": lambda c, x: (c * x).sum(),
    "product": lambda c, _: c @ W,
}


def losses(last: Any, ys: wf.Tensor) -> wf.Tensor:
    return (last * last).sum() + (ys * ys.detach().cos()).sum()


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("emit", EMITS)
@pytest.mark.parametrize("step", STEPS)
def test_a_scan_is_the_loop_that_it_replaces(
    step: str, emit: str, length: int, reverse: bool
) -> None:
    """Values, first and second derivatives."""
    first, xs = draw(2, 3), draw(length, 2, 3)

    def body(c: wf.Tensor, x: wf.Tensor) -> tuple[wf.Tensor, wf.Tensor]:
        new = STEPS[step](c, x)
        return new, EMITS[emit](new, x)

    wrt = [first, xs, W, B]
    found, wanted = [], []
    for out, made in (
        (found, wf.scan(body, first, xs, reverse=reverse)),
        (wanted, unrolled(body, first, xs, reverse)),
    ):
        loss = losses(*made)
        gradients = wf.grad(loss, wrt, allow_unused=True)
        second = wf.grad(sum((g * g).sum() for g in gradients), wrt, allow_unused=True)
        out += [*made, *gradients, *second]
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-8, atol=1e-9)


def test_bits_are_those_of_the_unrolled_loop() -> None:
    x = wf.tensor(rng.standard_normal((7, 40, 50)).astype(np.float32))

    def body(c: wf.Tensor, x: wf.Tensor) -> tuple[wf.Tensor, wf.Tensor]:
        c = (c * 0.5 + x).tanh()
        return c, c.sum(-1)

    for a, b in zip(
        wf.scan(body, wf.zeros((40, 50)), x), unrolled(body, wf.zeros((40, 50)), x), strict=True
    ):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_gradients_equal_central_differences() -> None:
    def f(first: wf.Tensor, xs: wf.Tensor, w: wf.Tensor) -> wf.Tensor:
        last, ys = wf.scan(lambda c, x: ((c @ w + x).tanh(), c.sum()), first, xs)
        return last.sum() + ys.sum()

    wf.check_grad(f, rng.standard_normal((2, 3)), rng.standard_normal((4, 2, 3)), W.numpy())


@pytest.mark.parametrize("length", [0, 1])
def test_short_loops(length: int) -> None:
    xs = wf.ones((length, 3))
    last, ys = wf.scan(lambda c, x: (c + x, c * 2), wf.ones(3), xs)
    assert ys.shape == (length, 3)
    np.testing.assert_array_equal(last.numpy(), np.full(3, 1.0 + length))
    np.testing.assert_array_equal(ys.numpy(), np.full((length, 3), 2.0))


# ---------------------------------------------------------------- structures


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass
class Point:
    x: Any
    y: Any


def named(a: Any, b: Any) -> dict[str, Any]:
    return {"a": a, "b": b}


@pytest.mark.parametrize("kind", [named, Pair, Point, lambda a, b: (a, [b])])
def test_carries_keep_their_structure(kind: Callable[[Any, Any], Any]) -> None:
    leaves = wf.frontend.tensor.tree.leaves

    def body(c: Any, x: wf.Tensor) -> tuple[Any, Any]:
        a, b = leaves(c)
        return kind(b, a + x), kind(a, None)

    last, ys = wf.scan(body, kind(wf.tensor(0.0), 1.0), wf.tensor([1.0, 2.0, 3.0]))
    assert type(last) is type(kind(0, 0)) is type(ys)
    assert [t.item() for t in leaves(last)] == [3.0, 4.0]
    assert leaves(ys)[0].tolist() == [0.0, 1.0, 1.0]


# ---------------------------------------------------------------- the other loops


def test_a_counted_loop_counts() -> None:
    assert wf.fori_loop(3, 7, lambda i, c: c * 10 + i, 0).item() == 3456
    assert wf.fori_loop(7, 3, lambda i, c: c * 10 + i, 5).item() == 5
    assert wf.fori_loop(wf.tensor(3), wf.tensor(7), lambda i, c: c * 10 + i, 0).item() == 3456


def test_a_while_loop_stops_when_its_data_say_so() -> None:
    @wf.jit
    def steps(n: wf.Tensor) -> wf.Tensor:
        def collatz(c: tuple[wf.Tensor, wf.Tensor]) -> tuple[wf.Tensor, wf.Tensor]:
            n, steps = c
            return wf.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

        return wf.while_loop(lambda c: c[0] != 1, collatz, (n, 0))[1]

    assert [steps(wf.tensor(n)).item() for n in (1, 6, 27)] == [0, 8, 111]


def test_a_bounded_while_loop_has_a_gradient() -> None:
    def grown(x: wf.Tensor) -> wf.Tensor:
        return wf.while_loop(lambda c: c < 10.0, lambda c: c * (1 + x), x + 0.3, max_steps=20)

    wf.check_grad(grown, np.array(0.3))
    assert wf.while_loop(lambda c: c < 10.0, lambda c: c + 1.0, 0.0, max_steps=3).item() == 3.0
    x = wf.tensor(1.0, requires_grad=True)
    with pytest.raises(errors.GradientError, match="max_steps"):
        wf.while_loop(lambda c: c < 10.0, lambda c: c * 2, x).backward()


def test_no_derivative_goes_into_a_loop_through_detached_values() -> None:
    x, y = draw(3), draw(3)
    of = (x * 2).detach()
    last = wf.while_loop(lambda c: c.sum() < 10, lambda c: c + of + 3, of)
    assert not last.requires_grad
    (last * y).sum().backward()
    assert x.grad is None and y.grad is not None
    np.testing.assert_array_equal(y.grad.numpy(), last.numpy())


def test_map_stacks_what_the_function_gives() -> None:
    x = draw(4, 3)
    np.testing.assert_allclose(wf.map(lambda r: r @ W, x).numpy(), (x @ W).numpy(), rtol=1e-12)


# ---------------------------------------------------------------- what bodies do besides


def test_assignments_pass_from_iteration_to_iteration() -> None:
    p = wf.tensor([1.0, 2.0])

    def body(c: wf.Tensor, _: None) -> tuple[wf.Tensor, wf.Tensor]:
        p.assign(p * 2 + c)
        return c + 1, p.sum()

    _, sums = wf.scan(body, 0.0, length=3)
    assert p.tolist() == [12.0, 20.0]
    assert sums.tolist() == [6.0, 14.0, 32.0]


def test_random_numbers_differ_from_iteration_to_iteration() -> None:
    wf.manual_seed(0)
    drawn = wf.scan(lambda c, _: (c, wf.rand(100)), None, length=20)[1].numpy()
    assert len(np.unique(drawn)) > 1900
    assert abs(drawn.mean() - 0.5) < 0.05


def test_many_iterations_compile_once() -> None:
    built = wf.frontend.lazy.program_table.statistics
    doubled = wf.jit(lambda n: wf.fori_loop(0, n, lambda i, c: c + i, 0))
    doubled(wf.tensor(1))
    before = built["built"]
    assert doubled(wf.tensor(100_000)).item() == 4999950000
    assert built["built"] == before


def test_floats_that_vary_become_inputs_of_bodies() -> None:
    """Also of a branch in a loop; the same bits as those of constants."""

    def run(rate: float) -> wf.Tensor:
        def body(h: wf.Tensor, x: wf.Tensor) -> tuple[wf.Tensor, wf.Tensor]:
            h = wf.cond(x.sum() > 0, lambda: h * rate + x, lambda: h - x * (rate + 0.25))
            return h, (h / rate).sin()

        return wf.scan(body, wf.ones(3), wf.arange(12.0).reshape(4, 3) - 5)[1]

    before = program_table.statistics["built"]
    found = [run(rate).numpy() for rate in (0.5, 0.3, 0.7, 3.0)]
    assert program_table.statistics["built"] == before + 2
    with mock.patch.object(program_table, "_programs", program_table.Programs()):
        assert (run(0.7).numpy() == found[2]).all()


def test_threads_do_not_change_bits() -> None:
    x = wf.tensor(rng.standard_normal((5, 300, 300)).astype(np.float32) * 0.1)

    def run() -> np.ndarray[Any, Any]:
        return wf.scan(lambda c, x: ((c @ x).tanh(), None), wf.ones((300, 300)), x)[0].numpy()

    with wf.options.override(num_threads=1):
        one = run()
    np.testing.assert_array_equal(one, run())


# ---------------------------------------------------------------- bad input


def test_errors_show_both_sides() -> None:
    with pytest.raises(errors.ShapeError, match=r"carry is float32\[3\] before .* float64\[3\]"):
        wf.scan(lambda c, x: (c.double(), x), wf.zeros(3), wf.zeros((2, 3)))
    with pytest.raises(errors.ShapeError, match=r"carry 1 is int64\[\] before .* int64\[2\]"):
        wf.fori_loop(0, 3, lambda i, c: (c[0], wf.stack([i, i])), (1, 2))
    with pytest.raises(errors.ShapeError, match="structure"):
        wf.while_loop(lambda c: c[0] < 3, lambda c: (c[0], c), (1, 2))
    with pytest.raises(errors.ShapeError, match="differ in length"):
        wf.scan(lambda c, x: (c, None), 0, (wf.zeros(3), wf.zeros(4)))
    with pytest.raises(errors.ArgumentError, match="length"):
        wf.scan(lambda c, x: (c, None), 0)
    with pytest.raises(errors.DTypeError, match=r"\(carry, y\)"):
        wf.scan(lambda c, x: c, 0, length=3)
    with pytest.raises(errors.DTypeError, match="one bool"):
        wf.while_loop(lambda c: c, lambda c: c - 1, 3)
    with pytest.raises(errors.DTypeError, match="not 'text'"):
        wf.scan(lambda c, x: (c, "text"), 0, length=2)
    with pytest.raises(errors.DTypeError, match="while_loop: the condition must be a function"):
        wf.while_loop(True, lambda c: c, 0)  # type: ignore[arg-type]
    with pytest.raises(errors.DTypeError, match="map: f must be a function, not 3"):
        wf.map(3, wf.ones(2))  # type: ignore[arg-type]
    with pytest.raises(
        errors.DTypeError, match=r"fori_loop: lower must be one int, not int64\[2\]"
    ):
        wf.fori_loop([wf.tensor(0), wf.tensor(1)], wf.tensor(2), lambda i, c: c, 0)
    with pytest.raises(errors.JitError, match="is read"):
        wf.scan(lambda c, x: (c if c > 0 else -c, None), 0, length=3)


def test_a_failed_check_names_the_iteration() -> None:
    table = wf.tensor(np.arange(10.0))
    with pytest.raises(errors.IndexError, match=r"index 33 .* in iteration 2, in .*test_loops.py"):
        wf.scan(lambda c, i: (c, table.take(i, 0)), None, wf.tensor([1, 2, 33, 4]))[1].numpy()
    with (
        wf.debug_nans(),
        pytest.raises(errors.FloatingPointError, match=r"in iteration 3:\n.*test_loops.py"),
    ):
        wf.scan(lambda c, _: (c - 1.0, c.log()), wf.tensor(2.5), length=5)[1].numpy()


def test_a_body_that_adds_to_old_gradients_is_refused() -> None:
    p = wf.tensor([1.0], requires_grad=True)

    def body(c: wf.Tensor, _: None) -> tuple[wf.Tensor, None]:
        (p * c).sum().backward()
        return c + 1, None

    with pytest.raises(errors.JitError, match="zero_grad"):
        wf.scan(body, 0.0, length=2)


def test_carries_that_nobody_reads_do_not_share_memory() -> None:
    def body(c: tuple[wf.Tensor, wf.Tensor], x: wf.Tensor) -> tuple[Any, wf.Tensor]:
        a, b = c
        new = ((a.flip(0) + x).tanh(), b * 0.5 + a)
        return new, new[0] + new[1]

    xs, zeros = draw(6, 5), wf.zeros(5, dtype=wf.float64)
    found, wanted = (f(body, (zeros, zeros), xs)[1] for f in (wf.scan, unrolled))
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-12)


OPTIMIZERS = {
    "sgd": lambda p: wf.nn.optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: wf.nn.optim.Adam(p, lr=0.05),
    "radam": lambda p: wf.nn.optim.RAdam(p, lr=0.05),
}


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_steps_in_a_loop_have_the_bits_of_jitted_steps(kind: str, jitted: bool) -> None:
    """Two runs of it, so that the second goes on where the first ended."""

    def trained(in_a_loop: bool) -> list[np.ndarray[Any, Any]]:
        wf.manual_seed(0)
        net = wf.nn.Sequential(wf.nn.Linear(3, 4), wf.nn.ReLU(), wf.nn.Linear(4, 1))
        optimizer = OPTIMIZERS[kind](net.parameters())
        data = np.random.default_rng(0)
        xs, ys = (wf.tensor(data.standard_normal((6, 5, k)).astype(np.float32)) for k in (3, 1))

        def step(x: wf.Tensor, y: wf.Tensor) -> wf.Tensor:
            optimizer.zero_grad()
            loss = ((net(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        def epoch(xs: wf.Tensor, ys: wf.Tensor) -> wf.Tensor:
            return wf.scan(lambda _, xy: (None, step(*xy)), None, (xs, ys))[1]

        if in_a_loop:
            run = wf.jit(epoch) if jitted else epoch
            losses = wf.concatenate([run(xs, ys) for _ in range(2)])
        else:
            compiled = wf.jit(step)
            losses = wf.stack([compiled(xs[t], ys[t]) for _ in range(2) for t in range(6)])
        return [losses.numpy(), *(p.numpy() for p in net.parameters()), np.array(optimizer.steps)]

    for a, b in zip(trained(True), trained(False), strict=True):
        np.testing.assert_array_equal(a, b)


def test_steps_that_nobody_counts_are_refused() -> None:
    p = wf.nn.Parameter([1.0])
    optimizer = wf.nn.optim.Adam([p], lr=0.1)

    def body(c: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        (p * c).sum().backward()
        optimizer.step()
        return c + 1.0

    with pytest.raises(errors.JitError, match="the step of an optimiser"):
        wf.while_loop(lambda c: c < 3.0, body, 0.0)


@pytest.mark.slow
def test_explain_says_what_a_gradient_keeps_of_a_loop_and_what_it_computes_again() -> None:
    w = wf.randn(8, 8)
    wf.realize(w)

    def last(w: wf.Tensor) -> wf.Tensor:
        return wf.fori_loop(0, 6, lambda _, x: ((x @ w) * 3).tanh(), w)

    y = last(w)
    forward, backward = wf.explain(wf.grad((y * y).sum(), w)).loops
    assert (forward.runs, backward.runs) == ("6 iterations", "6 iterations, backwards")
    assert [s.gradient for s in forward.stacked] == [True, True]  # x and 1 - tanh**2
    assert "keeps     for the gradient: float32[8,8] (1.54 kB in all)" in str(forward)
    lstm = wf.nn.LSTM(4, 4)
    hidden = lstm(wf.ones(5, 2, 4))[0].sum()
    assert wf.explain(wf.grad(hidden, lstm.weight_hh_l0)).loops[1].again.count("tanh") == 2
    assert not any(s.gradient for loop in wf.explain(y).loops for s in loop.stacked)


def test_explain_counts_what_all_iterations_do() -> None:
    x = wf.zeros((5, 100)).realize()
    report = wf.explain(wf.scan(lambda c, x: (c + x, None), x[0], x)[0])
    (kernel,) = [k for k in report.kernels if "_loop_" in k.name]
    assert kernel.times == 5
    assert kernel.bytes == 5 * 3 * 400
    assert "in 5 iterations 6 kB moved" in str(kernel)
