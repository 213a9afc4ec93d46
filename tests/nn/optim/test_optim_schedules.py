"""Schedules against torch, epoch by epoch, and against numbers that torch gave; that no step of one
compiles; their state."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from stepping import stepper
from weft.frontend.lazy.program_table import statistics
from weft.nn import optim

EPOCHS = 12
Schedule = Callable[[Any, Any], Any]  # (a module with torch's names, an optimiser) -> a schedule
CASES: dict[str, Schedule] = {
    "step": lambda m, o: m.StepLR(o, 3, 0.5),
    "multi-step": lambda m, o: m.MultiStepLR(o, [2, 5, 5, 9], gamma=0.5),
    "exponential": lambda m, o: m.ExponentialLR(o, 0.9),
    "constant": lambda m, o: m.ConstantLR(o, total_iters=4),
    "linear": lambda m, o: m.LinearLR(o),
    "linear, down": lambda m, o: m.LinearLR(o, 1.0, 0.1, 8),
    "cosine": lambda m, o: m.CosineAnnealingLR(o, 5, 0.1),
    "restarts": lambda m, o: m.CosineAnnealingWarmRestarts(o, 3, eta_min=0.1),
    "restarts, longer": lambda m, o: m.CosineAnnealingWarmRestarts(o, 2, 2),
    "lambda": lambda m, o: m.LambdaLR(o, lambda epoch: 1 / (1 + epoch)),
    "lambdas": lambda m, o: m.LambdaLR(
        o, [lambda epoch: 1 / (1 + epoch), lambda epoch: 0.5**epoch]
    ),
    "one cycle": lambda m, o: m.OneCycleLR(o, 2.0, EPOCHS),
    "one cycle, three phases": lambda m, o: m.OneCycleLR(
        o, [2.0, 1.0], epochs=3, steps_per_epoch=4, three_phase=True
    ),
    "one cycle, linear": lambda m, o: m.OneCycleLR(
        o, 2.0, EPOCHS, anneal_strategy="linear", cycle_momentum=False, pct_start=0.5
    ),
    "warm-up, then cosine": lambda m, o: m.SequentialLR(
        o, [m.LinearLR(o, 0.1, 1.0, 4), m.CosineAnnealingLR(o, 6)], [4]
    ),
    "polynomial": lambda m, o: m.PolynomialLR(o, 6, 1.5),
    "multiplied": lambda m, o: m.MultiplicativeLR(o, lambda epoch: 1 - 0.5 / epoch),
    "cyclic": lambda m, o: m.CyclicLR(o, 0.1, [1.0, 0.7], 3),
    "cyclic, lower and lower": lambda m, o: m.CyclicLR(
        o, 0.1, 1.0, 3, 2, "triangular2", base_momentum=0.5
    ),
    "cyclic, exponential": lambda m, o: m.CyclicLR(
        o, [0.0, 0.2], 1.0, 2, 4, "exp_range", 0.9, cycle_momentum=False
    ),
    "cyclic, a scale of one's own": lambda m, o: m.CyclicLR(
        o, 0.1, 1.0, 2, scale_fn=lambda x: 1 / x
    ),
    "chained": lambda m, o: m.ChainedScheduler([m.ConstantLR(o, 0.1, 3), m.ExponentialLR(o, 0.9)]),
    "chained, of many kinds": lambda m, o: m.ChainedScheduler(
        [
            m.LinearLR(o, 0.2, 0.9, 4),
            m.StepLR(o, 3, 0.5),
            m.CosineAnnealingLR(o, 4),
            m.PolynomialLR(o, 9),
        ],
        o,
    ),
    "chained, anew by one": lambda m, o: m.ChainedScheduler(
        [m.MultiStepLR(o, [2]), m.LambdaLR(o, lambda e: 0.5**e)]
    ),
    "three in a row": lambda m, o: m.SequentialLR(
        o, [m.ConstantLR(o, 0.5, 2), m.StepLR(o, 2, 0.5), m.ExponentialLR(o, 0.5)], [3, 8]
    ),
}
MAKE: dict[str, Callable[[Any, Any], Any]] = {
    "SGD": lambda m, groups: m.SGD(groups, lr=0.5, momentum=0.9),
    "Adam": lambda m, groups: m.Adam(groups, lr=0.5),
}


def optimizer(make: str = "SGD") -> Any:
    """Of two groups with rates 1 and 0.5."""
    a, b = wf.nn.Parameter(wf.zeros(1)), wf.nn.Parameter(wf.zeros(1))
    return MAKE[make](optim, [{"params": [a], "lr": 1.0}, {"params": [b]}])


def rates(o: Any, schedule: Any, epochs: int = EPOCHS) -> list[list[float]]:
    """The rates and momenta of each epoch."""
    found = []
    for epoch in range(epochs):
        if epoch:
            o.step()
            schedule.step()
        assert schedule.get_last_lr() == [g["lr"] for g in o.param_groups]
        found.append(
            [
                x
                for g in o.param_groups
                for x in (g["lr"], g["betas"][0] if "betas" in g else g["momentum"])
            ]
        )
    return found


@pytest.mark.thinned(to=25)
@pytest.mark.parametrize("make", MAKE)
@pytest.mark.parametrize("name", CASES)
def test_every_epoch_has_torchs_rates_and_momenta(name: str, make: str) -> None:
    torch = pytest.importorskip("torch")
    a, b = (torch.zeros(1, requires_grad=True) for _ in range(2))
    theirs = MAKE[make](torch.optim, [{"params": [a], "lr": 1.0}, {"params": [b]}])
    wanted = rates(theirs, CASES[name](torch.optim.lr_scheduler, theirs))
    mine = optimizer(make)
    np.testing.assert_allclose(
        rates(mine, CASES[name](optim.lr_scheduler, mine)), wanted, rtol=1e-12, atol=1e-15
    )


GOLDEN: dict[str, list[float]] = {  # of torch 2.13
    "step": [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125, 0.125, 0.125],
    "multi-step": [1, 1, 0.5, 0.5, 0.5, 0.125, 0.125, 0.125, 0.125, 0.0625, 0.0625, 0.0625],
    "exponential": [
        1,
        0.9,
        0.81,
        0.729,
        0.6561,
        0.59049,
        0.531441,
        0.478297,
        0.430467,
        0.38742,
        0.348678,
        0.313811,
    ],
    "constant": [0.333333, 0.333333, 0.333333, 0.333333, 1, 1, 1, 1, 1, 1, 1, 1],
    "linear": [0.333333, 0.466667, 0.6, 0.733333, 0.866667, 1, 1, 1, 1, 1, 1, 1],
    "linear, down": [1, 0.8875, 0.775, 0.6625, 0.55, 0.4375, 0.325, 0.2125, 0.1, 0.1, 0.1, 0.1],
    "cosine": [
        1,
        0.914058,
        0.689058,
        0.410942,
        0.185942,
        0.1,
        0.185942,
        0.410942,
        0.689058,
        0.914058,
        1,
        0.914058,
    ],
    "restarts": [1, 0.775, 0.325, 1, 0.775, 0.325, 1, 0.775, 0.325, 1, 0.775, 0.325],
    "restarts, longer": [
        1,
        0.5,
        1,
        0.853553,
        0.5,
        0.146447,
        1,
        0.96194,
        0.853553,
        0.691342,
        0.5,
        0.308658,
    ],
    "lambda": [
        1,
        0.5,
        0.333333,
        0.25,
        0.2,
        0.166667,
        0.142857,
        0.125,
        0.111111,
        0.1,
        0.0909091,
        0.0833333,
    ],
    "lambdas": [
        1,
        0.5,
        0.333333,
        0.25,
        0.2,
        0.166667,
        0.142857,
        0.125,
        0.111111,
        0.1,
        0.0909091,
        0.0833333,
    ],
    "one cycle": [
        0.08,
        0.699579,
        1.75857,
        1.98883,
        1.86603,
        1.62349,
        1.29476,
        0.925274,
        0.566122,
        0.266955,
        0.069134,
        8e-06,
    ],
    "one cycle, three phases": [
        0.08,
        0.699579,
        1.75857,
        1.89004,
        0.924285,
        0.107896,
        0.0763034,
        0.0624492,
        0.0421693,
        0.0212695,
        0.00573314,
        8e-06,
    ],
    "one cycle, linear": [
        0.08,
        0.464,
        0.848,
        1.232,
        1.616,
        2,
        1.66667,
        1.33334,
        1,
        0.666672,
        0.33334,
        8e-06,
    ],
    "warm-up, then cosine": [
        0.1,
        0.325,
        0.55,
        0.775,
        1,
        0.933013,
        0.75,
        0.5,
        0.25,
        0.0669873,
        0,
        0.0669873,
    ],
    "polynomial": [1, 0.760726, 0.544331, 0.353553, 0.19245, 0.0680414, 0, 0, 0, 0, 0, 0],
    "multiplied": [
        1,
        0.5,
        0.375,
        0.3125,
        0.273438,
        0.246094,
        0.225586,
        0.209473,
        0.196381,
        0.185471,
        0.176197,
        0.168188,
    ],
    "cyclic": [0.1, 0.4, 0.7, 1, 0.7, 0.4, 0.1, 0.4, 0.7, 1, 0.7, 0.4],
    "cyclic, lower and lower": [0.1, 0.4, 0.7, 1, 0.55, 0.1, 0.25, 0.4, 0.55, 0.325, 0.1, 0.175],
    "cyclic, exponential": [
        0,
        0.45,
        0.81,
        0.54675,
        0.32805,
        0.147622,
        0,
        0.239148,
        0.430467,
        0.290565,
        0.174339,
        0.0784526,
    ],
    "cyclic, a scale of one's own": [
        0.1,
        0.55,
        1,
        0.55,
        0.1,
        0.325,
        0.55,
        0.325,
        0.1,
        0.25,
        0.4,
        0.25,
    ],
    "chained": [
        0.1,
        0.09,
        0.081,
        0.729,
        0.6561,
        0.59049,
        0.531441,
        0.478297,
        0.430467,
        0.38742,
        0.348678,
        0.313811,
    ],
    "chained, of many kinds": [
        0.2,
        0.284518,
        0.213889,
        0.0353913,
        0,
        0.117157,
        0.15,
        0.170711,
        0.1,
        0,
        0,
        0,
    ],
    "chained, anew by one": [
        1,
        0.5,
        0.25,
        0.125,
        0.0625,
        0.03125,
        0.015625,
        0.0078125,
        0.00390625,
        0.00195312,
        0.000976562,
        0.000488281,
    ],
    "three in a row": [0.5, 0.5, 1, 1, 1, 0.5, 0.5, 0.25, 1, 0.5, 0.25, 0.125],
}


def test_a_cosine_of_one_epoch_is_the_same_in_a_chain() -> None:
    mine, chained = optimizer(), optimizer()
    wanted = rates(mine, optim.CosineAnnealingLR(mine, 1, 0.1), 5)
    found = rates(chained, optim.ChainedScheduler([optim.CosineAnnealingLR(chained, 1, 0.1)]), 5)
    assert wanted[0][0] == found[0][0] == 1.0
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.thinned(to=13)
@pytest.mark.parametrize("name", GOLDEN)
def test_the_rates_of_the_first_group_are_these(name: str) -> None:
    mine = optimizer()
    found = [row[0] for row in rates(mine, CASES[name](optim, mine))]
    np.testing.assert_allclose(found, GOLDEN[name], rtol=1e-5)


def test_the_momentum_of_one_cycle_falls_while_the_rate_grows() -> None:
    for make in MAKE:
        mine = optimizer(make)
        found = [
            row[1]
            for row in rates(
                mine,
                optim.OneCycleLR(mine, 2.0, 11, pct_start=5 / 11, anneal_strategy="linear"),
                11,
            )
        ]
        np.testing.assert_allclose(found[:5], [0.95, 0.925, 0.9, 0.875, 0.85])
        np.testing.assert_allclose(found[-1], 0.95)


def test_the_last_epoch_may_be_given() -> None:
    """Fractions, too, where the formula takes them."""
    mine = optimizer()
    schedule = optim.CosineAnnealingWarmRestarts(mine, 2, 2)
    for epoch, rate in (
        (0.5, (1 + np.cos(np.pi / 4)) / 2),
        (4, 0.5),
        (2, 1.0),
        (6.5, (1 + np.cos(np.pi / 16)) / 2),
    ):
        schedule.step(epoch)
        assert schedule.get_last_lr()[0] == pytest.approx(rate) and schedule.last_epoch == epoch


def test_a_schedule_goes_on_behind_an_epoch() -> None:
    straight, later = optimizer(), optimizer()
    rates(straight, schedule := optim.ExponentialLR(straight, 0.5), 4)
    for group in later.param_groups:
        group["initial_lr"] = group["lr"]
    assert optim.ExponentialLR(later, 0.5, last_epoch=2).get_last_lr() == schedule.get_last_lr()
    with pytest.raises(wf.errors.StateError, match="every group needs an 'initial_lr'"):
        optim.ExponentialLR(optimizer(), 0.5, last_epoch=2)


def test_a_group_that_is_added_later_keeps_its_rate() -> None:
    mine = optimizer()
    schedule = optim.ExponentialLR(mine, 0.5)
    mine.add_param_group({"params": [wf.nn.Parameter(wf.zeros(1))], "lr": 7.0})
    schedule.step()
    assert schedule.get_last_lr() == [0.5, 0.25, 7.0]


# ---------------------------------------------------------------- a plateau

PLATEAUS: dict[str, dict[str, Any]] = {
    "defaults": {"patience": 1},
    "more is better": {"mode": "max", "patience": 0, "factor": 0.5},
    "difference": {"threshold_mode": "abs", "threshold": 0.5, "patience": 1, "factor": 0.5},
    "difference, more": {"threshold_mode": "abs", "threshold": 0.5, "patience": 1, "mode": "max"},
    "cooldown": {"patience": 0, "cooldown": 2, "factor": 0.5},
    "least": {"patience": 0, "factor": 0.1, "min_lr": [0.05, 0.2]},
}
METRICS = [3.0, 2.9, 2.9, 2.95, 2.2, float("nan"), 2.1, 2.1, 2.1, 3.3, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("name", PLATEAUS)
def test_plateaus_have_torchs_rates(name: str) -> None:
    torch = pytest.importorskip("torch")
    theirs = MAKE["SGD"](
        torch.optim,
        [{"params": [torch.zeros(1, requires_grad=True)], "lr": lr} for lr in (1.0, 0.5)],
    )
    mine = optimizer()
    wanted = torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, **PLATEAUS[name])
    schedule = optim.ReduceLROnPlateau(mine, **PLATEAUS[name])
    for value in METRICS:
        wanted.step(value)
        schedule.step(value)
        np.testing.assert_allclose(
            schedule.get_last_lr(), [g["lr"] for g in theirs.param_groups], rtol=1e-12
        )


def test_the_rate_falls_after_the_patience_and_rests_for_the_cooldown() -> None:
    mine = optimizer()
    schedule = optim.ReduceLROnPlateau(mine, factor=0.5, patience=1, cooldown=1, min_lr=0.2)
    found = []
    for value in [3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]:
        schedule.step(wf.tensor(value))
        found.append(schedule.get_last_lr()[0])
    assert found == [1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2, 0.2]


# ---------------------------------------------------------------- nothing is compiled


def batch(i: int) -> tuple[wf.Tensor, wf.Tensor]:
    rng = np.random.default_rng(i)
    return wf.tensor(rng.standard_normal((6, 4)).astype("float32")), wf.tensor(
        rng.integers(0, 3, 6)
    )


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("wrapper", [wf.jit, lambda f: f], ids=["jit", "lazy"])
@pytest.mark.parametrize("make", MAKE)
@pytest.mark.parametrize("name", ["one cycle", "warm-up, then cosine"])
def test_a_schedule_compiles_nothing(name: str, make: str, wrapper: Callable[[Any], Any]) -> None:
    model = wf.nn.Linear(4, 3)
    mine = MAKE[make](optim, [{"params": [model.weight], "lr": 1.0}, {"params": [model.bias]}])
    schedule = CASES[name](optim, mine)
    traced = []

    def step(x: wf.Tensor, y: wf.Tensor) -> wf.Tensor:
        traced.append(1)
        return stepper(model, mine)(x, y)

    f = wrapper(step)
    f(*batch(0))
    built, biases = statistics["built"], []
    for i in range(1, EPOCHS):
        schedule.step()
        f(*batch(i))
        biases.append(model.bias.tolist())
    assert statistics["built"] == built and len(traced) == (1 if wrapper is wf.jit else EPOCHS)
    assert len({*map(tuple, biases)}) >= EPOCHS - 2, "one of the rates is 0"


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("wrapper", [wf.jit, lambda f: f], ids=["jit", "lazy"])
def test_a_rate_that_is_a_tensor_stays_that_tensor(wrapper: Callable[[Any], Any]) -> None:
    model = wf.nn.Linear(4, 3)
    rate = wf.tensor(1.0)
    mine = optim.AdamW(model.parameters(), lr=rate)
    schedule = optim.StepLR(mine, 1, 0.5)
    step = wrapper(stepper(model, mine))
    for i in range(3):
        step(*batch(i))
        schedule.step()
    built = statistics["built"]
    for i in range(3):
        step(*batch(i))
        schedule.step()
    assert statistics["built"] == built
    assert mine.param_groups[0]["lr"] is rate and rate.item() == 0.5**6


def test_a_step_inside_a_jitted_function_is_refused() -> None:
    """It would happen only once."""
    schedule, plateau = optim.StepLR(optimizer(), 1), optim.ReduceLROnPlateau(optimizer())
    for step in (schedule.step, lambda: plateau.step(1.0)):
        with pytest.raises(
            wf.errors.JitError, match="the step of a schedule in the jitted function"
        ):
            wf.jit(lambda x, step=step: step() or x + 1)(wf.ones(1))


# ---------------------------------------------------------------- state


@pytest.mark.thinned(to=13)
@pytest.mark.parametrize("name", CASES)
def test_a_schedule_goes_on_from_its_state(name: str) -> None:
    first, second = optimizer(), optimizer()
    a, b = CASES[name](optim, first), CASES[name](optim, second)
    for _ in range(5):
        a.step()
    second.load_state_dict(first.state_dict())
    b.load_state_dict(json.loads(json.dumps(a.state_dict())))
    assert rates(first, a, 5) == rates(second, b, 5)


def test_a_plateau_goes_on_from_its_state() -> None:
    first, second = optimizer(), optimizer()
    a, b = (optim.ReduceLROnPlateau(o, patience=2) for o in (first, second))
    a.step(1.0)
    a.step(1.0)
    b.load_state_dict(a.state_dict())
    for schedule in (a, b):
        schedule.step(1.0)
        schedule.step(1.0)
    assert a.get_last_lr() == b.get_last_lr() == [pytest.approx(0.1), pytest.approx(0.05)]


def test_a_state_of_torch_is_taken() -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(theirs, 5)
    rates(theirs, schedule, 4)
    mine = optim.SGD([wf.nn.Parameter(wf.zeros(1))], lr=0.3)
    here = optim.CosineAnnealingLR(mine, 5)
    here.load_state_dict(schedule.state_dict())
    np.testing.assert_allclose(here.get_last_lr(), schedule.get_last_lr(), rtol=1e-12)


STATES: list[tuple[Any, type[Exception], str]] = [
    (3, TypeError, "ExponentialLR.load_state_dict: the state must be a dict"),
    ({"last_epoch": 3}, KeyError, "ExponentialLR.load_state_dict: the state has no base_lrs"),
    ({"last_epoch": -3, "base_lrs": [1.0, 1.0]}, ValueError, "epoch must be at least 0, not -3"),
    (
        {"last_epoch": "a", "base_lrs": [1.0, 1.0]},
        TypeError,
        "epoch must be a real number, not 'a'",
    ),
    (
        {"last_epoch": 3, "base_lrs": [1.0]},
        KeyError,
        "base_lrs has 1 values, but the optimiser has 2 groups",
    ),
    (
        {"last_epoch": 3, "base_lrs": [1.0, None]},
        TypeError,
        "each of base_lrs must be a real number",
    ),
]


@pytest.mark.parametrize(("state", "kind", "text"), STATES, ids=[text for _, _, text in STATES])
def test_a_state_that_does_not_fit_changes_nothing(
    state: Any, kind: type[Exception], text: str
) -> None:
    mine = optimizer()
    schedule = optim.ExponentialLR(mine, 0.5)
    with pytest.raises(kind, match=re.escape(text)) as caught:
        schedule.load_state_dict(state)
    assert isinstance(caught.value, wf.errors.WeftError)
    assert (schedule.last_epoch, schedule.base_lrs, schedule.get_last_lr()) == (
        0,
        [1.0, 0.5],
        [1.0, 0.5],
    )


def test_a_cycle_that_is_over_refuses_to_go_on_and_stays_where_it_is() -> None:
    mine = optimizer()
    schedule = optim.OneCycleLR(mine, 1.0, 3)
    for _ in range(3):
        schedule.step()
    before = schedule.get_last_lr()
    for change in (
        schedule.step,
        lambda: schedule.load_state_dict({"last_epoch": 4, "base_lrs": [1.0, 1.0]}),
    ):
        with pytest.raises(
            ValueError, match="OneCycleLR: step 4 is beyond the 3 steps of the cycle"
        ):
            change()
        assert schedule.get_last_lr() == before and schedule.last_epoch == 3


# ---------------------------------------------------------------- what is refused

WRONG: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda o: optim.StepLR(3, 1), TypeError, "StepLR: optimizer must be an Optimizer, not 3"),  # type: ignore[arg-type]
    (lambda o: optim.StepLR(o, 0), ValueError, "StepLR: step_size must be at least 1, not 0"),
    (lambda o: optim.StepLR(o, 1.5), TypeError, "StepLR: step_size must be an int"),  # type: ignore[arg-type]
    (lambda o: optim.StepLR(o, 1).step("a"), TypeError, "StepLR.step: epoch must be a real number"),  # type: ignore[arg-type]
    (lambda o: optim.MultiStepLR(o, "ab"), TypeError, "MultiStepLR: milestones"),  # type: ignore[arg-type]
    (
        lambda o: optim.ExponentialLR(o, "a"),
        TypeError,
        "ExponentialLR: gamma must be a real number",
    ),  # type: ignore[arg-type]
    (
        lambda o: optim.ExponentialLR(o, -0.5),
        ValueError,
        "ExponentialLR: gamma must be at least 0, not -0.5",
    ),
    (
        lambda o: optim.ExponentialLR(o, 9.0).step(9999),
        OverflowError,
        "ExponentialLR: the rate of epoch 9999 is too large",
    ),
    (lambda o: optim.ConstantLR(o, 2.0), ValueError, "ConstantLR: factor must be in [0, 1], not 2"),
    (lambda o: optim.LinearLR(o, 0.0), ValueError, "LinearLR: start_factor must be greater than 0"),
    (
        lambda o: optim.LinearLR(o, 0.5, 1.5),
        ValueError,
        "LinearLR: end_factor must be in [0, 1], not 1.5",
    ),
    (
        lambda o: optim.CosineAnnealingLR(o, 0),
        ValueError,
        "CosineAnnealingLR: T_max must be at least 1",
    ),
    (lambda o: optim.CosineAnnealingWarmRestarts(o, 3, 0), ValueError, "T_mult must be at least 1"),
    (lambda o: optim.LambdaLR(o, 3), TypeError, "LambdaLR: lr_lambda must be a function, not 3"),  # type: ignore[arg-type]
    (
        lambda o: optim.LambdaLR(o, [abs]),
        ValueError,
        "LambdaLR: lr_lambda has 1 values, but the optimiser has 2 groups",
    ),
    (
        lambda o: optim.LambdaLR(o, str),
        TypeError,
        "LambdaLR: what lr_lambda gives must be a real number, not '0'",
    ),  # type: ignore[arg-type]
    (lambda o: optim.OneCycleLR(o, 1.0), ValueError, "OneCycleLR: pass total_steps"),
    (
        lambda o: optim.OneCycleLR(o, 1.0, 10, pct_start=2),
        ValueError,
        "OneCycleLR: pct_start must be in [0, 1]",
    ),
    (
        lambda o: optim.OneCycleLR(o, 1.0, 10, anneal_strategy="sin"),
        ValueError,
        "OneCycleLR: anneal_strategy must be 'cos'",
    ),
    (
        lambda o: optim.OneCycleLR(o, 1.0, 10, div_factor=0),
        ValueError,
        "div_factor must be greater than 0",
    ),
    (
        lambda o: optim.OneCycleLR(optim.Adagrad([P]), 1.0, 10),
        ValueError,
        "Adagrad has neither momentum nor betas to cycle",
    ),
    (
        lambda o: optim.ReduceLROnPlateau(o, "mini"),
        ValueError,
        "ReduceLROnPlateau: mode must be 'min' or 'max', not 'mini'",
    ),
    (
        lambda o: optim.ReduceLROnPlateau(o, factor=1.0),
        ValueError,
        "ReduceLROnPlateau: factor must be less than 1",
    ),
    (
        lambda o: optim.ReduceLROnPlateau(o).step("a"),
        TypeError,
        "ReduceLROnPlateau.step: metrics must be a real number",
    ),
    (
        lambda o: optim.CyclicLR(o, 0.1, 1.0, mode="square"),
        ValueError,
        "CyclicLR: mode must be 'triangular'",
    ),
    (
        lambda o: optim.CyclicLR(optim.Adagrad([P]), 0.1, 1.0),
        ValueError,
        "CyclicLR: Adagrad has neither momentum nor betas",
    ),
    (
        lambda o: optim.CyclicLR(o, 0.1, 1.0, scale_fn=3),
        TypeError,
        "CyclicLR: scale_fn must be a function, not 3",
    ),
    (
        lambda o: optim.PolynomialLR(o, power=-1),
        ValueError,
        "PolynomialLR: power must be at least 0, not -1",
    ),
    (lambda o: optim.ChainedScheduler([]), ValueError, "ChainedScheduler: there are no schedulers"),
    (
        lambda o: optim.ChainedScheduler([3]),
        ValueError,
        "schedulers must be formula schedules of one optimiser",
    ),
    (
        lambda o: optim.ChainedScheduler([optim.ReduceLROnPlateau(o)]),
        ValueError,
        "of one optimiser, not ReduceLROnPlateau(",
    ),
    (
        lambda o: optim.SequentialLR(o, [optim.StepLR(o, 1)], [3]),
        ValueError,
        "one milestone must stand between two schedulers",
    ),
    (
        lambda o: optim.SequentialLR(o, [optim.ReduceLROnPlateau(o)], []),
        ValueError,
        "schedules of this optimiser by",
    ),
    (
        lambda o: optim.SequentialLR(o, [optim.StepLR(optimizer(), 1)], []),
        ValueError,
        "schedules of this optimiser",
    ),
]
P = wf.nn.Parameter(wf.zeros(1))


@pytest.mark.parametrize(("call", "kind", "text"), WRONG, ids=[text for _, _, text in WRONG])
def test_what_makes_no_schedule_is_refused(
    call: Callable[[Any], Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=re.escape(text)) as caught:
        call(optimizer())
    assert isinstance(caught.value, wf.errors.WeftError)


def test_the_repr_shows_the_settings_and_the_epoch() -> None:
    mine = optimizer()
    schedule = optim.StepLR(mine, 2, 0.5)
    schedule.step()
    assert repr(schedule) == "StepLR(step_size=2, gamma=0.5, last_epoch=1, base_lrs=[1.0, 0.5])"
