"""wf.vmap gives what stacking the function of each example gives, in as few kernels as a batch
written by hand."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import examples
from fuzz import Unsuitable, seeded
from fuzz_batches import compare_batch
from hypothesis import given
from hypothesis import strategies as st
from weft import nn
from weft.nn import functional as F

RNG = np.random.default_rng(0)
N = 5


def floats(*shape: int) -> wf.Tensor:
    return wf.tensor(RNG.standard_normal(shape, dtype=np.float32))


W, TABLE, KERNEL = floats(4, 3), floats(7, 3), floats(2, 3, 3, 3)


def collatz(n: wf.Tensor) -> wf.Tensor:
    def body(state: Any) -> Any:
        n, steps = state
        return wf.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

    return wf.while_loop(lambda state: state[0] != 1, body, (n, 0))[1]


CASES: dict[str, tuple[Callable[..., Any], tuple[wf.Tensor, ...]]] = {
    "matrix-vector": (lambda x: W @ x, (floats(N, 3),)),
    "per-example matrices": (lambda w, x: w @ x, (floats(N, 4, 3), floats(N, 3))),
    "convolution": (lambda x: F.conv2d(x[None], KERNEL)[0], (floats(N, 3, 6, 6),)),
    "per-example kernels": (
        lambda x, k: F.conv2d(x[None], k)[0],
        (floats(N, 3, 6, 6), floats(N, 2, 3, 3, 3)),
    ),
    "softmax": (lambda x: x.softmax(0) * x.max(), (floats(N, 6),)),
    "sort": (lambda x: (x.sort(), x.argsort(descending=True)), (floats(N, 6),)),
    "cumulative": (lambda x: (x.cumsum(0), x.cumprod(0)), (floats(N, 6),)),
    "table": (lambda i: TABLE[i], (wf.tensor(RNG.integers(0, 7, (N, 4))),)),
    "own table": (lambda t, i: t[i], (floats(N, 7, 3), wf.tensor(RNG.integers(0, 7, (N, 4))))),
    "scatter": (
        lambda x, i: wf.scatter_add(wf.zeros(7), i, x),
        (floats(N, 4), wf.tensor(RNG.integers(0, 7, (N, 4)))),
    ),
    "window": (lambda x: F.max_pool2d(x[None], 2)[0], (floats(N, 2, 6, 6),)),
    "halves": (lambda x: (x.half() * 2).sum(), (floats(N, 6),)),
    "scan": (lambda x: wf.scan(lambda c, a: (c * a + 1, c), x[0], x), (floats(N, 4),)),
    "condition": (
        lambda p, x: wf.cond(p, lambda x: x.exp(), lambda x: -x, x),
        (wf.tensor([True, False, True, True, False]), floats(N, 3)),
    ),
    "while": (collatz, (wf.tensor([1, 2, 7, 27, 9]),)),
    "gradient": (wf.value_and_grad(lambda x: ((W @ x) ** 3).sum()), (floats(N, 3),)),
    "constant": (lambda x: wf.arange(3), (floats(N),)),
    "norm": (lambda x: F.layer_norm(x, (6,)), (floats(N, 6),)),
}


def leaves(made: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in (made if isinstance(made, tuple) else (made,))]


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("how", [lambda f: f, wf.jit], ids=["lazy", "jitted"])
@pytest.mark.parametrize("name", CASES)
def test_vmap_stacks_the_results_of_all_examples(name: str, how: Callable[..., Any]) -> None:
    f, args = CASES[name]
    got = leaves(how(wf.vmap(f))(*args))
    each = [leaves(f(*(a[i] for a in args))) for i in range(N)]
    for k, value in enumerate(got):
        want = np.stack([rows[k] for rows in each])
        assert value.dtype == want.dtype
        np.testing.assert_allclose(value, want, rtol=2e-5, atol=1e-6)


def test_axes_may_be_any_and_structures() -> None:
    x, y = floats(4, N), floats(3)

    def f(p: dict[str, wf.Tensor], y: wf.Tensor, *, scale: wf.Tensor) -> Any:
        return {"sum": p["a"].sum() * scale, "rest": (y, p["a"] + p["b"])}

    axes = ({"a": 1, "b": None}, None)
    got = wf.vmap(f, axes, {"sum": 0, "rest": (None, -1)})(
        {"a": x, "b": wf.ones(4)}, y, scale=wf.arange(5.0)
    )
    np.testing.assert_allclose(got["sum"].numpy(), x.numpy().sum(0) * np.arange(5), rtol=1e-5)
    np.testing.assert_array_equal(got["rest"][0].numpy(), y.numpy())
    np.testing.assert_array_equal(got["rest"][1].numpy(), x.numpy() + 1)


def test_vmaps_nest_and_take_gradients_inside_and_outside() -> None:
    x, y = floats(3, 4), floats(2, 4)
    table = wf.vmap(wf.vmap(lambda a, b: (a * b).sum(), (None, 0)), (0, None))(x, y)
    np.testing.assert_allclose(table.numpy(), x.numpy() @ y.numpy().T, rtol=1e-5)
    _, outside = wf.value_and_grad(lambda x: wf.vmap(lambda r: (r**3).sum())(x).sum())(x)
    _, inside = wf.vmap(wf.value_and_grad(lambda r: (r**3).sum()))(x)
    np.testing.assert_array_equal(outside.numpy(), inside.numpy())


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda x: W @ x, (floats(64, 3),)),
        (lambda w, x: w @ x, (floats(64, 40, 30), floats(64, 30))),
    ],
    ids=["one matrix", "own matrices"],
)
def test_products_of_all_examples_are_one_kernel(f: Callable[..., Any], args: Any) -> None:
    wf.realize(*args, W)
    assert len(wf.explain(wf.vmap(f)(*args)).kernels) == 1


def test_gradients_of_each_example_take_no_more_kernels_than_those_of_the_batch() -> None:
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10))
    x, y = floats(16, 1, 8, 8), wf.tensor(RNG.integers(0, 10, 16))
    parameters = dict(net.named_parameters())
    wf.realize(*parameters.values())

    def loss(p: Any, x: wf.Tensor, y: wf.Tensor) -> wf.Tensor:
        return F.cross_entropy(nn.functional_call(net, p, x[None]), y[None])

    losses, each = wf.vmap(wf.value_and_grad(loss), (None, 0, 0))(parameters, x, y)
    whole = wf.grad(F.cross_entropy(net(x), y), [*parameters.values()])
    assert len(wf.explain([losses, *each.values()]).kernels) <= len(wf.explain(whole).kernels) + 3
    for g, mean in zip(each.values(), whole, strict=True):
        np.testing.assert_allclose(g.numpy().mean(0), mean.numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_ensembles_have_stacked_parameters() -> None:
    nets = [nn.Linear(3, 2) for _ in range(4)]
    parameters, buffers = nn.stack_module_state(nets)
    x = floats(5, 3)
    got = wf.vmap(lambda p: nn.functional_call(nets[0], p, x))(parameters)
    want = np.stack([net(x).numpy() for net in nets])
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5)
    assert buffers == {} and all(isinstance(p, nn.Parameter) for p in parameters.values())
    with pytest.raises(wf.errors.StateError, match="differ in the names or shapes"):
        nn.stack_module_state([nn.Linear(3, 2), nn.Linear(2, 2)])


def test_random_numbers_differ_are_the_same_or_an_error() -> None:
    x = wf.zeros(3)
    different = wf.vmap(lambda x: wf.rand(100) + x)(x).numpy()
    assert len({row.tobytes() for row in different}) == 3 and 0.4 < different.mean() < 0.6
    same = wf.vmap(lambda x: wf.rand(100) + x, randomness="same")(x).numpy()
    assert len({row.tobytes() for row in same}) == 1
    nested = wf.vmap(wf.vmap(lambda x: wf.rand(100) + x))(wf.zeros(3, 2)).numpy()
    assert len({row.tobytes() for row in nested.reshape(6, 100)}) == 6
    with pytest.raises(wf.errors.ArgumentError, match="draws random numbers"):
        wf.vmap(lambda x: wf.rand(2), randomness="error")(x)


def test_no_examples_give_no_results() -> None:
    assert wf.vmap(lambda x: (x * 2).sum())(wf.zeros(0, 3)).numpy().shape == (0,)
    assert wf.vmap(lambda: wf.arange(2), axis_size=3)().numpy().tolist() == [[0, 1]] * 3


def test_an_index_out_of_range_names_the_line() -> None:
    with pytest.raises(IndexError, match=r"test_vmap\.py"):
        wf.vmap(lambda i: TABLE[i])(wf.tensor([0, 9])).numpy()


E = wf.errors
MISTAKES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: wf.vmap(lambda a, b: a + b)(wf.ones(2), wf.ones(3)),
        E.ShapeError,
        r"\[2\] along axis 0, \[3\]",
    ),
    (lambda: wf.vmap(lambda a: a)(1.0), E.ShapeError, "axis 0 of a Tensor with 0 axes"),
    (lambda: wf.vmap(lambda a: a, (0, 0))(wf.ones(2)), E.ArgumentError, "2 entries for 1 arg"),
    (lambda: wf.vmap(lambda a: a, ((0, 0),))(wf.ones(2)), E.ArgumentError, "structure of an arg"),
    (lambda: wf.vmap(lambda a: a, None)(wf.ones(2)), E.ArgumentError, "give axis_size"),
    (lambda: wf.vmap(lambda a: a, out_axes=None)(floats(2)), E.ArgumentError, "differs from exa"),
    (lambda: wf.vmap(lambda a: a, out_axes=2)(wf.ones(2)), E.ShapeError, "axis 2"),
    (lambda: wf.vmap(lambda a: a.item())(wf.ones(2)), E.JitError, "read while vmap is traced"),
    (lambda: wf.vmap(lambda a: TABLE.assign(TABLE + a))(wf.ones(2)), E.JitError, "assigns to"),
    (lambda: wf.vmap(lambda a: "x")(wf.ones(2)), E.DTypeError, "must hold Tensors"),
    (lambda: wf.vmap(3), E.DTypeError, "f"),  # type: ignore[arg-type]
    (lambda: wf.vmap(len, randomness="no")(wf.ones(2)), E.ArgumentError, "randomness is one of"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_mistakes_are_errors(number: int) -> None:
    call, kind, text = MISTAKES[number]
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.slow
@examples(40, quick=4)
@given(st.integers(0, 1 << 30))
def test_random_graphs_in_batches_have_the_values_of_their_rows(seed: int) -> None:
    with suppress(Unsuitable):
        compare_batch(seeded(seed), seed % 5 == 0, threads=(2,))
