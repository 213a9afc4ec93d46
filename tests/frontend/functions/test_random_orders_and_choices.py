"""Random orders and choices: distributions, the seed, jitted functions, errors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import weft as wf

E, T = wf.errors, wf.tensor
P = np.array([0.5, 0.0, 0.3, 0.2])
MANY = 20_000


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    state = wf.get_rng_state()
    wf.manual_seed(11)
    yield
    wf.set_rng_state(state)


def assert_shares(counts: Any, total: int, expected: Any) -> None:
    """Counts within 5 standard deviations."""
    shares = np.asarray(expected, np.float64)
    spread = 5 * np.sqrt(shares * (1 - shares) / total)
    assert (np.abs(np.asarray(counts) / total - shares) <= spread).all(), (counts, expected)


DRAWS: dict[str, Callable[[], wf.Tensor]] = {
    "randperm": lambda: wf.randperm(9),
    "choice": lambda: wf.choice(100, (2, 3)),
    "choice without replacement": lambda: wf.choice(100, 5, replace=False),
    "choice by weights": lambda: wf.choice(100, 5, p=np.ones(100)),
    "weights without replacement": lambda: wf.choice(100, 5, replace=False, p=np.ones(100)),
    "multinomial": lambda: wf.multinomial(wf.ones(2, 50), 5),
    "rand_like": lambda: wf.rand_like(wf.ones(2, 3)),
    "randn_like": lambda: wf.randn_like(wf.ones(2, 3)),
}


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("name", DRAWS)
def test_draws_follow_from_the_seed_with_and_without_jit(name: str) -> None:
    draw, jitted = DRAWS[name], wf.jit(DRAWS[name])
    plain = [draw().tolist() for _ in range(3)]
    wf.manual_seed(11)
    assert [jitted().tolist() for _ in range(3)] == plain and plain[0] != plain[1]


@pytest.mark.slow
def test_every_order_is_as_likely() -> None:
    draw = wf.jit(lambda: wf.concat([wf.randperm(3) for _ in range(20)]))
    found = Counter(tuple(row) for _ in range(60) for row in draw().reshape(20, 3).tolist())
    assert found.keys() == {*permutations(range(3))}
    assert_shares([*found.values()], 1200, [1 / 6] * 6)
    assert sorted(wf.randperm(5000).tolist()) == [*range(5000)] and wf.randperm(0).shape == (0,)
    assert wf.randperm(3, dtype="int32").dtype is wf.int32


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize(
    "weights",
    [P, P * 7, wf.tensor(P), [5, 0, 3, 2]],
    ids=["array", "unnormalised", "Tensor", "ints"],
)
def test_choices_come_by_their_weights(weights: Any) -> None:
    found = wf.choice(4, (MANY // 100, 100), p=weights)
    assert found.shape == (MANY // 100, 100) and found.dtype is wf.int64
    assert_shares(np.bincount(found.numpy().ravel(), minlength=4), MANY, P)


def test_choices_without_replacement_are_drawn_one_after_the_other() -> None:
    rows = wf.multinomial(wf.tensor(P).broadcast_to((MANY, 4)), 3).numpy()
    assert (np.sort(rows, axis=1) == [0, 2, 3]).all()
    assert_shares(np.bincount(rows[:, 0], minlength=4), MANY, P)
    after = rows[rows[:, 0] == 2, 1]
    assert_shares(np.bincount(after, minlength=4), len(after), P * [1, 1, 0, 1] / 0.7)
    assert wf.multinomial(wf.tensor(P), 4).tolist()[3] == 1  # what weighs nothing comes last


def test_rows_are_drawn_by_their_own_weights() -> None:
    weights = np.array([[[1.0, 0.0, 3.0]], [[0.0, 2.0, 0.0]]])
    found = wf.multinomial(weights, MANY, replacement=True).numpy()
    assert found.shape == (2, 1, MANY) and (found[1] == 1).all()
    assert_shares(np.bincount(found[0, 0], minlength=3), MANY, [0.25, 0, 0.75])


@pytest.mark.slow
def test_choices_of_a_tensor_are_its_slices() -> None:
    x = wf.tensor(np.arange(12.0).reshape(3, 4), requires_grad=True)
    rows = wf.choice(x, 2, replace=False)
    assert len({tuple(row) for row in rows.tolist()} & {tuple(row) for row in x.tolist()}) == 2
    assert wf.choice(x, (2, 5), axis=1).shape == (3, 2, 5) and wf.choice(x, axis=-1).shape == (3,)
    rows.sum().backward()
    assert x.grad is not None and sorted(x.grad.sum(axis=1).tolist()) == [0, 4, 4]
    assert wf.choice([10, 20, 30], 4, p=[0, 1, 0]).tolist() == [20] * 4
    assert isinstance(wf.choice(5).item(), int)
    assert wf.choice(np.int64(5), 3, replace=False).shape == (3,)


def test_draws_like_another_tensor_have_its_dtype() -> None:
    x = wf.zeros(2, 3, dtype="float64")
    assert wf.rand_like(x).dtype is wf.randn_like(x).dtype is wf.float64 and wf.rand_like(
        x
    ).shape == (2, 3)
    assert wf.rand_like(wf.arange(3), "float16", requires_grad=True).requires_grad


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "weights", [[0.0, 0.0], [np.nan, 1.0], [2.0, -1.0], [1.0, np.inf], [1e308, 1e308]], ids=str
)
def test_weights_without_meaning_are_refused_or_draw_what_is_there(weights: list[float]) -> None:
    for given in (weights, np.array(weights)):
        for call in (lambda p: wf.choice(2, 3, p=p), lambda p: wf.multinomial([[1.0, 1.0], p], 1)):
            with pytest.raises(
                E.ArgumentError, match="must be finite weights, at least 0 and not all 0, not"
            ):
                call(given)
    lazy = T(weights, dtype="float64")
    for replace in (True, False):
        for found in (
            wf.choice(2, 2, replace, lazy),
            wf.multinomial(lazy, 2, replace),
            wf.choice(T([0, 1]), 1, replace, lazy),
        ):
            assert {*found.tolist()} <= {0, 1}
    assert wf.choice(2, p=[wf.tensor(0.0), 1.0]).item() == 1


WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: wf.randperm(-1), ValueError, "randperm: n must be at least 0, not -1"),
    (
        lambda: wf.choice(3, 4, replace=False),
        ValueError,
        "choice: 4 are more than the 3 that there are without replacement",
    ),
    (lambda: wf.choice(0), ValueError, "choice: there is nothing to draw 1 from"),
    (
        lambda: wf.choice(wf.tensor(1.0)),
        ValueError,
        "choice: a must be an int or have an axis to choose from, not shape ()",
    ),
    (
        lambda: wf.choice(3, p=[0.5, 0.5]),
        ValueError,
        "choice: weights of shape (2,) for 3 elements",
    ),
    (
        lambda: wf.choice(3, 4, p=[0, 0, 0]),
        ValueError,
        "choice: p must be finite weights, at least 0 and not all 0, not",
    ),
    (
        lambda: wf.multinomial(wf.ones(2, 3), 4),
        ValueError,
        "multinomial: 4 are more than the 3 that there are",
    ),
    (
        lambda: wf.multinomial(wf.ones(2, 0), 1),
        ValueError,
        "multinomial: expected weights along the last axis, got shape (2, 0)",
    ),
    (lambda: wf.rand_like(wf.arange(3)), TypeError, "rand_like: draws floats, not int64"),
]


@pytest.mark.parametrize("case", WRONG, ids=[text for *_, text in WRONG])
def test_errors_name_function_and_argument(
    case: tuple[Callable[[], Any], type[Exception], str],
) -> None:
    call, kind, text = case
    with pytest.raises(kind, match=re.escape(text)):
        call()
