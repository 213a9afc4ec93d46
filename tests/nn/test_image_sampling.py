"""Images read at any place, and draws that are differentiated: against loops in NumPy, and by what
they must be."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
import weft as wf
from nnref import Array, close, normal
from weft.nn import functional as F

X, GRID = normal(2, 3, 5, 4), np.random.default_rng(1).uniform(-1.7, 1.7, (2, 3, 2, 2))
TAPS: dict[
    str, Callable[[float], list[tuple[int, float]]]
] = {  # elements, and the share of each, at a place
    "nearest": lambda at: [(round(at), 1.0)],
    "bilinear": lambda at: [
        (i, 1 - abs(at - i)) for i in (int(np.floor(at)), int(np.floor(at)) + 1)
    ],
    "bicubic": lambda at: [
        (i, cubic(abs(at - i))) for i in range(int(np.floor(at)) - 1, int(np.floor(at)) + 3)
    ],
}


def cubic(d: float, a: float = -0.75) -> float:
    return (a + 2) * d**3 - (a + 3) * d**2 + 1 if d <= 1 else a * (d**3 - 5 * d**2 + 8 * d - 4)


def inside(at: float, n: int, padding: str, aligned: bool) -> float:
    """A place moved to the border, or mirrored there until it is inside."""
    low, high = (0, n - 1) if aligned else (-0.5, n - 0.5)
    while padding == "reflection" and not low <= at <= high:
        at = 2 * low - at if at < low else 2 * high - at
    return at if padding == "zeros" else min(max(at, 0), n - 1)


def sampled(x: Array, grid: Array, mode: str, padding: str, aligned: bool) -> Array:
    """By loops over places and their neighbours, of any number of axes."""
    extents, out = x.shape[2:], np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for n, *place in np.ndindex(*grid.shape[:-1]):
        taps = []
        for at, extent in zip(grid[n, *place][::-1], extents, strict=True):
            moved = (at + 1) / 2 * (extent - 1) if aligned else ((at + 1) * extent - 1) / 2
            taps.append(
                TAPS[mode](moved if mode == "bicubic" else inside(moved, extent, padding, aligned))
            )
        for chosen in product(*taps):
            indices = [
                i if mode != "bicubic" else int(inside(i, e, padding, aligned))
                for (i, _), e in zip(chosen, extents, strict=True)
            ]
            if all(0 <= i < e for i, e in zip(indices, extents, strict=True)):
                out[n, :, *place] += x[n, :, *indices] * np.prod([share for _, share in chosen])
    return out


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize(("mode", "padding"), [*product(TAPS, ["zeros", "border", "reflection"])])
def test_images_at_any_place(mode: str, padding: str, aligned: bool) -> None:
    close(
        F.grid_sample(wf.tensor(X), wf.tensor(GRID), mode, padding, aligned),
        sampled(X, GRID, mode, padding, aligned),
        1e-9,
    )


@pytest.mark.slow
def test_volumes_at_any_place() -> None:
    x, grid = normal(2, 2, 3, 4, 2), np.random.default_rng(2).uniform(-1.5, 1.5, (2, 2, 1, 3, 3))
    for padding in ("zeros", "reflection"):
        close(
            F.grid_sample(wf.tensor(x), wf.tensor(grid), padding_mode=padding),
            sampled(x, grid, "bilinear", padding, False),
            1e-9,
        )


def test_gradients_of_images_and_of_places() -> None:
    for mode, padding in (("bilinear", "zeros"), ("bicubic", "border")):
        wf.check_grad(
            lambda x, g, m=mode, p=padding: F.grid_sample(x, g, m, p),
            wf.tensor(X[:, :1]),
            wf.tensor(GRID[:, :2]),
            max_elements=6,
        )


def test_a_place_that_is_no_number_reads_nothing() -> None:
    grid = wf.full((1, 1, 3, 2), float("nan")) * wf.tensor([1.0, 0.0])
    assert F.grid_sample(wf.ones(1, 1, 2, 2), grid).tolist() == [[[[0.0, 0.0, 0.0]]]]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("mode", TAPS)
def test_what_lies_outside_is_0_whatever_the_edge_holds(mode: str) -> None:
    """And moves no place, nor the edge."""
    x = wf.full((1, 1, 3, 3), float("nan"), requires_grad=True)
    grid = wf.tensor([[[[-5.0, 0.0], [0.0, 5.0], [4.0, -6.0]]]], requires_grad=True)
    y = F.grid_sample(x, grid, mode, align_corners=True)
    y.sum().backward()
    assert y.tolist() == [[[[0.0, 0.0, 0.0]]]]
    assert all(t.grad is None or not t.grad.numpy().any() for t in (x, grid))


def test_a_place_on_the_edge_is_infinite_where_that_is() -> None:
    x = wf.tensor([[[[1.0, float("inf")], [2.0, float("inf")]]]])
    for padding in ("zeros", "border"):
        y = F.grid_sample(
            x, wf.tensor([[[[1.0, 0.0], [1.0, 1.0]]]]), padding_mode=padding, align_corners=True
        )
        assert y.tolist() == [[[[float("inf")] * 2]]], padding


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("shape", [(1, 2, 4, 5), (1, 2, 3, 1, 4)])
def test_the_grid_of_the_identity_gives_the_image_and_that_of_a_mirror_its_mirror_image(
    shape: tuple[int, ...], aligned: bool
) -> None:
    x, n = normal(*shape), len(shape) - 2
    for signs in product((1.0, -1.0), repeat=n):
        theta = np.concatenate([np.diag(signs), np.zeros((n, 1))], 1)[None]
        got = F.grid_sample(
            x, F.affine_grid(wf.tensor(theta), shape, aligned), align_corners=aligned
        )
        close(got, np.flip(x, [len(shape) - 1 - i for i in range(n) if signs[i] < 0]), 1e-9)


def test_an_affine_grid() -> None:
    theta = normal(2, 2, 3)
    got = F.affine_grid(wf.tensor(theta), (2, 1, 3, 4), align_corners=True).numpy()
    for i, j in np.ndindex(3, 4):
        np.testing.assert_allclose(got[:, i, j], theta @ [2 * j / 3 - 1, i - 1, 1.0])
    wf.check_grad(lambda t: F.affine_grid(t, (2, 1, 3, 2)), wf.tensor(theta))


def test_what_grids_must_be() -> None:
    x, grid = wf.zeros(2, 3, 4, 5), wf.zeros(2, 6, 7, 2)
    for bad in (grid[:1], grid[..., :1], grid.unsqueeze(1)):
        with pytest.raises(
            wf.errors.ShapeError,
            match=r"grid_sample: expected x \(N, C, H, W\) and grid \(N, H', W', 2\)",
        ):
            F.grid_sample(x, bad)
    with pytest.raises(wf.errors.ArgumentError, match="mode 'bicubic' is for images"):
        F.grid_sample(wf.zeros(1, 1, 2, 2, 2), wf.zeros(1, 1, 1, 1, 3), "bicubic")
    with pytest.raises(
        wf.errors.DTypeError, match="x and grid must be floats, not float32 and int64"
    ):
        F.grid_sample(x, grid.long())
    with pytest.raises(wf.errors.ShapeError, match=r"affine_grid: expected theta \(N, 2, 3\)"):
        F.affine_grid(wf.zeros(1, 2, 3), (2, 1, 3, 3))


# ---------------------------------------------------------------- draws


@pytest.mark.slow
def test_hard_draws_come_as_often_as_the_softmax_says() -> None:
    wf.manual_seed(0)
    logits = wf.tensor([0.0, 1.0, -1.0, 2.0])
    draws = F.gumbel_softmax(logits.broadcast_to((20000, 4)), tau=0.7, hard=True).numpy()
    assert set(np.unique(draws)) == {0.0, 1.0} and (draws.sum(1) == 1).all()
    np.testing.assert_allclose(draws.mean(0), logits.softmax().numpy(), atol=0.015)


def test_a_hard_draw_has_the_gradient_of_the_soft_one() -> None:
    logits, weights, gradients = (
        wf.tensor(normal(3, 4), requires_grad=True),
        wf.tensor(normal(3, 4, seed=1)),
        [],
    )
    for hard in (False, True):
        wf.manual_seed(7)
        out = F.gumbel_softmax(logits, 0.5, hard, axis=0)
        gradients.append(wf.grad((out * weights).sum(), logits).numpy())
        np.testing.assert_allclose(out.numpy().sum(0), 1.0, rtol=1e-6)
    np.testing.assert_array_equal(*gradients)


def test_every_call_of_a_jitted_function_draws_anew() -> None:
    draw = wf.jit(F.gumbel_softmax)
    first, second = (draw(wf.zeros(8)).tolist() for _ in range(2))
    assert first != second
