"""nn/optim.py against the update formulas in NumPy, and what a step leaves behind."""

from __future__ import annotations

import copy
import inspect
import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import rarely
from stepping import states, stepper
from weft.frontend.lazy.program_table import statistics
from weft.nn import functional as F
from weft.nn import optim

Array = np.ndarray
STEPS = 7  # RAdam is rectified from the sixth on
Make = Callable[[list[wf.Tensor]], optim.Optimizer]


def start() -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((3, 2)), rng.standard_normal(2)]


def train(make: Make) -> list[Array]:
    """The parameters after a few steps on loss = sum(sin(w) * b), b + w broadcast."""
    params = [wf.nn.Parameter(a) for a in start()]
    optimizer = make(params)
    for _ in range(STEPS):
        optimizer.zero_grad()
        (params[0].sin() * params[1]).sum().backward()
        optimizer.step()
    return [p.numpy() for p in params]


def gradients(p: list[Array]) -> list[Array]:
    return [np.cos(p[0]) * p[1], np.sin(p[0]).sum(0)]


# ---------------------------------------------------------------- the formulas, in NumPy

State = dict[str, Any]  # of one parameter; a name that is new in it is 0


def sgd(
    p: Array,
    g: Array,
    s: State,
    t: int,
    *,
    lr: float,
    momentum: float,
    dampening: float,
    nesterov: bool,
    **_: Any,
) -> Array:
    if momentum:
        s["m"] = g if t == 1 else momentum * s["m"] + (1 - dampening) * g
        g = g + momentum * s["m"] if nesterov else s["m"]
    return p - lr * g


def adam(
    p: Array,
    g: Array,
    s: State,
    t: int,
    *,
    lr: float,
    betas: Any,
    eps: float,
    amsgrad: bool,
    **_: Any,
) -> Array:
    (a, b), s["m"], s["v"] = (
        betas,
        betas[0] * s["m"] + (1 - betas[0]) * g,
        betas[1] * s["v"] + (1 - betas[1]) * g * g,
    )
    s["top"] = np.maximum(s["top"], s["v"])
    v = s["top"] if amsgrad else s["v"]
    return p - lr * s["m"] / (1 - a**t) / (np.sqrt(v / (1 - b**t)) + eps)


def adamw(p: Array, g: Array, s: State, t: int, *, decay: float, **options: Any) -> Array:
    return adam(p * (1 - options["lr"] * decay), g, s, t, **options)


def rmsprop(
    p: Array,
    g: Array,
    s: State,
    t: int,
    *,
    lr: float,
    alpha: float,
    eps: float,
    momentum: float,
    centered: bool,
    **_: Any,
) -> Array:
    s["v"], s["mean"] = alpha * s["v"] + (1 - alpha) * g * g, alpha * s["mean"] + (1 - alpha) * g
    s["m"] = momentum * s["m"] + g / (
        np.sqrt(s["v"] - s["mean"] ** 2 if centered else s["v"]) + eps
    )
    return p - lr * s["m"]


def adagrad(
    p: Array,
    g: Array,
    s: State,
    t: int,
    *,
    lr: float,
    lr_decay: float,
    initial_accumulator_value: float,
    eps: float,
    **_: Any,
) -> Array:
    s["sum"] = (initial_accumulator_value if t == 1 else s["sum"]) + g * g
    return p - lr / (1 + (t - 1) * lr_decay) * g / (np.sqrt(s["sum"]) + eps)


def adadelta(
    p: Array, g: Array, s: State, t: int, *, lr: float, rho: float, eps: float, **_: Any
) -> Array:
    s["v"] = rho * s["v"] + (1 - rho) * g * g
    delta = np.sqrt(s["a"] + eps) / np.sqrt(s["v"] + eps) * g
    s["a"] = rho * s["a"] + (1 - rho) * delta * delta
    return p - lr * delta


def adamax(
    p: Array, g: Array, s: State, t: int, *, lr: float, betas: Any, eps: float, **_: Any
) -> Array:
    s["m"], s["u"] = (
        betas[0] * s["m"] + (1 - betas[0]) * g,
        np.maximum(betas[1] * s["u"], abs(g) + eps),
    )
    return p - lr / (1 - betas[0] ** t) * s["m"] / s["u"]


def moments(g: Array, s: State, betas: Any) -> None:
    s["m"], s["v"] = (
        betas[0] * s["m"] + (1 - betas[0]) * g,
        betas[1] * s["v"] + (1 - betas[1]) * g * g,
    )


def shrunk(
    p: Array, g: Array, lr: float, weight_decay: float, decoupled_weight_decay: bool, **_: Any
) -> tuple[Array, Array]:
    """The parameter and the gradient, to which the decay was added already."""
    return (p * (1 - lr * weight_decay), g - weight_decay * p) if decoupled_weight_decay else (p, g)


def nadam(
    p: Array,
    g: Array,
    s: State,
    t: int,
    *,
    lr: float,
    betas: Any,
    eps: float,
    momentum_decay: float,
    **how: Any,
) -> Array:
    p, g = shrunk(p, g, lr, **how)
    moments(g, s, betas)
    mus = [betas[0] * (1 - 0.5 * 0.96 ** (i * momentum_decay)) for i in range(1, t + 2)]
    of_grad, of_mean = (1 - mus[-2]) / (1 - np.prod(mus[:-1])), mus[-1] / (1 - np.prod(mus))
    return p - lr * (of_grad * g + of_mean * s["m"]) / (np.sqrt(s["v"] / (1 - betas[1] ** t)) + eps)


def radam(
    p: Array, g: Array, s: State, t: int, *, lr: float, betas: Any, eps: float, **how: Any
) -> Array:
    p, g = shrunk(p, g, lr, **how)
    moments(g, s, betas)
    limit = 2 / (1 - betas[1]) - 1
    rho, mean = limit - 2 * t * betas[1] ** t / (1 - betas[1] ** t), s["m"] / (1 - betas[0] ** t)
    if rho <= 5:
        return p - lr * mean
    factor = np.sqrt((rho - 4) * (rho - 2) * limit / ((limit - 4) * (limit - 2) * rho))
    return p - lr * factor * mean * np.sqrt(1 - betas[1] ** t) / (np.sqrt(s["v"]) + eps)


def rprop(
    p: Array, g: Array, s: State, t: int, *, lr: float, etas: Any, step_sizes: Any, **_: Any
) -> Array:
    turned = g * s["g"]
    factor = np.where(turned > 0, etas[1], np.where(turned < 0, etas[0], 1.0))
    s["size"] = ((lr if t == 1 else s["size"]) * factor).clip(*step_sizes)
    s["g"] = np.where(turned < 0, 0, g)
    return p - np.sign(s["g"]) * s["size"]


def expected(formula: Callable[..., Array], options: dict[str, Any]) -> list[Array]:
    """The parameters after the same steps; AdamW alone does not add its decay to the gradient."""
    p, states = start(), [defaultdict(float), defaultdict(float)]
    decoupled = formula is adamw
    for t in range(1, STEPS + 1):
        for i, g in enumerate(gradients(p)):
            towards = -g if options["maximize"] else g
            decay = {"decay": options["weight_decay"]} if decoupled else {}
            towards = towards if decoupled else towards + options.get("weight_decay", 0) * p[i]
            p[i] = formula(p[i], towards, states[i], t, **decay, **options)
    return p


FORMULAS = {
    "SGD": sgd,
    "Adam": adam,
    "AdamW": adamw,
    "RMSprop": rmsprop,
    "Adagrad": adagrad,
    "Adadelta": adadelta,
}
FORMULAS |= {"Adamax": adamax, "NAdam": nadam, "RAdam": radam, "Rprop": rprop}
ADAMS = {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0}
DEFAULTS: dict[str, dict[str, Any]] = {  # torch's
    "SGD": {"lr": 1e-3, "momentum": 0, "dampening": 0, "weight_decay": 0, "nesterov": False},
    "Adam": {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0, "amsgrad": False},
    "AdamW": {
        "lr": 1e-3,
        "betas": (0.9, 0.999),
        "eps": 1e-8,
        "weight_decay": 1e-2,
        "amsgrad": False,
    },
    "RMSprop": {
        "lr": 1e-2,
        "alpha": 0.99,
        "eps": 1e-8,
        "weight_decay": 0,
        "momentum": 0,
        "centered": False,
    },
    "Adagrad": {
        "lr": 1e-2,
        "lr_decay": 0,
        "weight_decay": 0,
        "initial_accumulator_value": 0,
        "eps": 1e-10,
    },
    "Adadelta": {"lr": 1.0, "rho": 0.9, "eps": 1e-6, "weight_decay": 0},
    "Adamax": {"lr": 2e-3, **ADAMS},
    "NAdam": {"lr": 2e-3, **ADAMS, "momentum_decay": 4e-3, "decoupled_weight_decay": False},
    "RAdam": {"lr": 1e-3, **ADAMS, "decoupled_weight_decay": False},
    "Rprop": {"lr": 1e-2, "etas": (0.5, 1.2), "step_sizes": (1e-6, 50)},
}
OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.5, "maximize": True}),
    ("Adam", {"lr": 0.05, "betas": (0.5, 0.3), "eps": 1e-2, "weight_decay": 0.3, "amsgrad": True}),
    ("AdamW", {"lr": 0.05, "betas": (0.5, 0.7), "weight_decay": 0.3, "maximize": True}),
    (
        "RMSprop",
        {
            "lr": 0.1,
            "alpha": 0.7,
            "eps": 1e-2,
            "centered": True,
            "momentum": 0.5,
            "weight_decay": 0.1,
        },
    ),
    (
        "Adagrad",
        {
            "lr": 0.1,
            "lr_decay": 0.5,
            "initial_accumulator_value": 0.3,
            "weight_decay": 0.1,
            "eps": 1e-2,
        },
    ),
    ("Adadelta", {"lr": 0.5, "rho": 0.5, "eps": 1e-2, "weight_decay": 0.2, "maximize": True}),
    (
        "Adamax",
        {"lr": 0.1, "betas": (0.5, 0.7), "eps": 1e-2, "weight_decay": 0.3, "maximize": True},
    ),
    (
        "NAdam",
        {"lr": 0.1, "betas": (0.5, 0.7), "eps": 1e-2, "weight_decay": 0.3, "momentum_decay": 0.5},
    ),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.3, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.1, "betas": (0.5, 0.999), "weight_decay": 0.3, "maximize": True}),
    (
        "RAdam",
        {
            "lr": 0.1,
            "betas": (0.5, 0.7),
            "eps": 1e-2,
            "weight_decay": 0.3,
            "decoupled_weight_decay": True,
        },
    ),
    ("Rprop", {"lr": 0.3, "etas": (0.3, 1.7), "step_sizes": (0.05, 0.6), "maximize": True}),
]
OPTIONS = [*((name, {}) for name in FORMULAS), *OTHERS]


@pytest.mark.thinned(to=7)
@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_seven_steps_follow_the_formula(name: str, options: dict[str, Any]) -> None:
    wanted = expected(FORMULAS[name], {"maximize": False, **DEFAULTS[name], **options})
    for got, want in zip(train(lambda p: getattr(optim, name)(p, **options)), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10)


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize(("name", "options"), OTHERS)
def test_a_rate_may_be_a_tensor(name: str, options: dict[str, Any]) -> None:
    rate = wf.tensor(options["lr"], dtype="float64")
    made = train(lambda p: getattr(optim, name)(p, **{**options, "lr": rate}))
    for got, want in zip(
        made,
        expected(FORMULAS[name], {"maximize": False, **DEFAULTS[name], **options}),
        strict=True,
    ):
        np.testing.assert_allclose(got, want, rtol=1e-10)


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_seven_steps_give_torchs_values(name: str, options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    theirs = [torch.tensor(a, requires_grad=True) for a in start()]
    optimizer = getattr(torch.optim, name)(theirs, **options)
    for _ in range(STEPS):
        optimizer.zero_grad()
        (theirs[0].sin() * theirs[1]).sum().backward()
        optimizer.step()
    tolerance = 1e-7 if name == "NAdam" else 1e-10  # torch keeps mu_product in float32
    for got, want in zip(train(lambda p: getattr(optim, name)(p, **options)), theirs, strict=True):
        np.testing.assert_allclose(got, want.detach().numpy(), rtol=tolerance)


@pytest.mark.parametrize("name", [*FORMULAS, "LBFGS"])
def test_the_arguments_and_defaults_are_torchs(name: str) -> None:
    torch = pytest.importorskip("torch")
    mine, theirs = (inspect.signature(getattr(m, name)).parameters for m in (optim, torch.optim))
    for position, (argument, parameter) in enumerate(mine.items()):
        assert theirs[argument].default == parameter.default
        assert parameter.kind is parameter.KEYWORD_ONLY or [*theirs][position] == argument


# ---------------------------------------------------------------- groups


def parameters(n: int = 2) -> list[wf.nn.Parameter]:
    return [wf.nn.Parameter(np.full(2, i + 1.0)) for i in range(n)]


def descend(optimizer: optim.Optimizer) -> None:
    """A step down sum(p), so that every gradient is 1."""
    optimizer.zero_grad()
    sum((p.sum() for p in optimizer.params), wf.tensor(0.0)).backward()
    optimizer.step()


def test_each_group_has_its_own_hyperparameters() -> None:
    a, b = parameters()
    optimizer = optim.SGD([{"params": [a], "lr": 0.5}, {"params": b, "momentum": 0.5}], lr=0.25)
    descend(optimizer)
    descend(optimizer)
    assert a.tolist() == [0.0, 0.0] and b.tolist() == [2 - 0.25 * 2.5] * 2
    assert [(g["lr"], g["momentum"], len(g["params"])) for g in optimizer.param_groups] == [
        (0.5, 0.0, 1),
        (0.25, 0.5, 1),
    ]


def test_a_group_may_be_added_and_is_updated_from_then_on() -> None:
    a, b = parameters()
    optimizer = optim.SGD([a], lr=0.5)

    @wf.jit
    def step() -> None:
        optimizer.zero_grad()
        (a + b).sum().backward()
        optimizer.step()

    step()
    optimizer.add_param_group({"params": [b], "lr": 1.0})
    step()
    assert (a.tolist(), b.tolist(), optimizer.steps) == ([0.0, 0.0], [1.0, 1.0], [2, 1])


@pytest.mark.parametrize("wrapper", [wf.jit, lambda f: f], ids=["jit", "lazy"])
def test_entries_of_a_group_may_change_between_steps_and_compile_nothing(
    wrapper: Callable[[Any], Any],
) -> None:
    a, b = parameters()
    optimizer = optim.AdamW([{"params": [a]}, {"params": [b]}], lr=0.1)
    step = wrapper(lambda: descend(optimizer))
    step()
    built, shadow = statistics["built"], b.numpy(copy=True)
    for lr, decay in ((0.5, 0.1), (0.25, 0.3)):
        before = a.numpy(copy=True)
        optimizer.param_groups[0].update(lr=0.0, betas=(0.5, 0.5), eps=1.0)
        optimizer.param_groups[1].update(lr=lr, weight_decay=decay)
        step()
        shadow = shadow * (1 - lr * decay) - lr
        np.testing.assert_array_equal(a.numpy(), before)
        np.testing.assert_allclose(b.numpy(), shadow, rtol=1e-6)
    assert statistics["built"] == built


@pytest.mark.parametrize("wrapper", [wf.jit, lambda f: f], ids=["jit", "lazy"])
def test_an_option_turned_on_later_gets_its_state(wrapper: Callable[[Any], Any]) -> None:
    (a,) = parameters(1)
    optimizer = optim.SGD([a], lr=0.25)
    step = wrapper(lambda: descend(optimizer))
    step()
    optimizer.param_groups[0]["momentum"] = 0.5
    step()
    step()
    assert a.tolist() == [1 - 0.25 * (1 + 1 + 1.5)] * 2 and optimizer.state[0][
        "momentum_buffer"
    ].tolist() == [1.5, 1.5]


@pytest.mark.parametrize("wrapper", [wf.jit, lambda f: f], ids=["jit", "lazy"])
def test_what_is_no_hyperparameter_is_refused_at_the_next_step_and_may_be_mended(
    wrapper: Callable[[Any], Any],
) -> None:
    (a,) = parameters(1)
    optimizer = optim.AdamW([a], lr=0.5, weight_decay=0.0)
    step = wrapper(lambda: descend(optimizer))
    step()
    group, before = optimizer.param_groups[0], a.tolist()
    for spoilt, kind, text in (
        ({**group, "lr": "a"}, TypeError, "AdamW: lr must be a real number, not 'a'"),
        ({**group, "betas": 0.5}, TypeError, "AdamW: betas must be a sequence, not 0.5"),
        ({k: v for k, v in group.items() if k != "eps"}, ValueError, "AdamW: a group has no eps"),
    ):
        optimizer.param_groups[0] = spoilt
        a.grad = None
        with pytest.raises(kind, match=text):
            step()
        assert a.tolist() == before and optimizer.steps == [1]
    a.grad, optimizer.param_groups[0] = None, {**group, "lr": np.float32(0.25)}
    step()
    np.testing.assert_allclose(a.numpy(), [0.25, 0.25], rtol=1e-6)


def test_named_parameters_are_accepted_and_their_names_kept() -> None:
    model = wf.nn.Linear(2, 1)
    optimizer = optim.SGD(model.named_parameters(), lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert all(
        p is q for p, q in zip(optimizer.param_groups[0]["params"], model.parameters(), strict=True)
    )


def test_lr_is_that_of_all_groups() -> None:
    optimizer = optim.Adam([{"params": [p]} for p in parameters()], lr=0.1)
    optimizer.lr = 0.5
    assert optimizer.lr == 0.5 and [g["lr"] for g in optimizer.param_groups] == [0.5, 0.5]
    optimizer.param_groups[0]["lr"] = 0.25
    with pytest.raises(ValueError, match="Adam: the groups have rates of their own"):
        _ = optimizer.lr
    with pytest.raises(ValueError, match="Adam: lr must be at least 0, not -1"):
        optimizer.lr = -1
    assert optimizer.param_groups[1]["lr"] == 0.5


def test_the_repr_shows_every_group() -> None:
    a, b = parameters()
    assert (
        repr(optim.Adagrad([a]))
        == "Adagrad(1 parameter: lr=0.01, lr_decay=0.0, initial_accumulator_value=0.0,"
        " weight_decay=0.0, eps=1e-10, maximize=False)"
    )
    text = repr(
        optim.Adadelta([{"params": [a]}, {"params": [b], "lr": 2, "name": "head"}])
    ).splitlines()
    assert text[0] == "Adadelta(" and text[1].startswith("  group 0: 1 parameter: lr=1.0, rho=0.9")
    assert "lr=2.0" in text[2] and "name='head'" in text[2] and text[3] == ")"


# ---------------------------------------------------------------- a step


def test_a_closure_computes_the_gradients_and_its_loss_is_returned() -> None:
    (a,) = parameters(1)
    optimizer = optim.SGD([a], lr=0.25)

    def closure() -> wf.Tensor:
        optimizer.zero_grad()
        loss = (a * a).sum()
        loss.backward()
        return loss

    with wf.no_grad():
        losses = [optimizer.step(closure).item() for _ in range(2)]
    assert losses == [2.0, 0.5]
    assert wf.jit(lambda: optimizer.step(closure))().item() == 0.125


def test_zero_grad_forgets_gradients_or_makes_them_zero() -> None:
    a, b = parameters()
    optimizer = optim.SGD([a, b])
    a.sum().backward()
    optimizer.zero_grad(set_to_none=False)
    assert a.grad is not None and a.grad.tolist() == [0.0, 0.0] and b.grad is None
    optimizer.zero_grad()
    assert a.grad is None


def test_a_new_learning_rate_is_used_at_the_next_step() -> None:
    p = wf.nn.Parameter(np.zeros(2))
    optimizer = optim.SGD([p], lr=1.0)
    for rate in (1.0, 0.5):
        optimizer.lr = rate
        optimizer.zero_grad()
        p.sum().backward()
        optimizer.step()
    np.testing.assert_array_equal(p.numpy(), [-1.5, -1.5])


def test_a_schedule_over_sliced_minibatches_compiles_at_most_twice() -> None:
    x, y = (
        wf.tensor(np.random.default_rng(0).standard_normal((40, 3))),
        wf.tensor(np.arange(40) % 2),
    )
    w = wf.nn.Parameter(np.zeros((2, 3)))
    for make in (lambda: optim.SGD([w], lr=1.0, momentum=0.9), lambda: optim.Adam([w], lr=1.0)):
        optimizer = make()
        before = statistics["built"]
        for i in range(10):
            optimizer.lr = 0.1 / (i + 1)
            optimizer.zero_grad()
            rows = slice(4 * i, 4 * i + 4)
            F.cross_entropy(F.linear(x[rows], w), y[rows]).backward()
            optimizer.step()
        assert statistics["built"] - before <= 2


DECAY = {"weight_decay": 0.01}
EVERY: dict[str, Make] = {
    "sgd": lambda p: optim.SGD(p, 0.1),
    "sgd, decay": lambda p: optim.SGD(p, 0.1, **DECAY),
    "momentum": lambda p: optim.SGD(p, 0.1, 0.9),
    "momentum, dampening, decay": lambda p: optim.SGD(p, 0.1, 0.9, 0.5, **DECAY),
    "nesterov": lambda p: optim.SGD(p, 0.1, 0.9, nesterov=True),
    "nesterov, decay": lambda p: optim.SGD(p, 0.1, 0.9, nesterov=True, **DECAY),
    "adam": optim.Adam,
    "adam, decay": lambda p: optim.Adam(p, **DECAY),
    "adam, tensor rate": lambda p: optim.Adam(p, lr=wf.tensor(0.01), **DECAY),
    "adamw, amsgrad": lambda p: optim.AdamW(p, amsgrad=True),
    "rmsprop, centered, momentum": lambda p: optim.RMSprop(p, momentum=0.9, centered=True),
    "adagrad": optim.Adagrad,
    "adadelta": optim.Adadelta,
    "adamax": optim.Adamax,
    "nadam, decoupled": lambda p: optim.NAdam(p, decoupled_weight_decay=True, **DECAY),
    "radam": optim.RAdam,
    "rprop": optim.Rprop,
}


HALF = [
    ("adam, decay", wf.float16),
    ("adamw, amsgrad", wf.bfloat16),
    ("rmsprop, centered, momentum", wf.float16),
]
CASES = [*((name, wf.float32) for name in EVERY), *HALF, ("nesterov, decay", wf.float64)]
SHOWN = [*((*case, 1) for case in CASES), ("adam", wf.float32, 2)]
RARE = [pytest.param(*case, 3, marks=pytest.mark.slow) for case in CASES if case[0] != "adam"]


def network(layers: int) -> wf.nn.Sequential:
    """For images of 8 x 8."""
    if layers == 1:
        return wf.nn.Sequential(wf.nn.Flatten(), wf.nn.Linear(64, 10))
    first = [wf.nn.Conv2d(1, 3, 3), wf.nn.ReLU(), wf.nn.Flatten(), wf.nn.Linear(108, 70)]
    return wf.nn.Sequential(*first, wf.nn.ReLU(), wf.nn.Linear(70, 10))


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize(("name", "dtype", "layers"), [*SHOWN, *RARE])
def test_every_optimiser_writes_everything_in_place(
    name: str, dtype: wf.DType, layers: int
) -> None:
    model = network(layers).to(dtype)
    optimizer = EVERY[name](list(model.parameters()))
    step = wf.jit(stepper(model, optimizer))
    everything = [*optimizer.params, *states(optimizer)]
    batch = wf.randn(32, 1, 8, 8).to(dtype).realize(), wf.tensor(np.arange(32) % 10)
    step(*batch)
    step(*batch)
    places = [t._stored().address for t in everything]
    before = statistics["donated"]
    loss = step(*batch)
    assert [t._stored().address for t in everything] == places and np.isfinite(loss.item())
    assert statistics["donated"] - before == len(everything)
    assert len(step.last.makers) == len(everything) + 1, "the loss alone gets new memory"


def deep(layers: int) -> wf.nn.Sequential:
    """Each with two parameters."""
    wf.manual_seed(0)
    return wf.nn.Sequential(*(m for _ in range(layers) for m in (wf.nn.Linear(8, 8), wf.nn.Tanh())))


@pytest.mark.parametrize("layers", [2, *rarely(30)])
def test_a_step_of_many_parameters_is_one_run_and_adds_at_most_a_kernel_to_the_gradients(
    layers: int,
) -> None:
    model, batch = deep(layers), (wf.randn(4, 8).realize(), wf.tensor([0, 3, 5, 7]))
    optimizer = optim.AdamW(
        [
            {"params": [p], "lr": 0.01 * i, "weight_decay": 0.1}
            for i, p in enumerate(model.parameters(), 1)
        ],
        maximize=True,
    )
    step = stepper(model, optimizer)
    step(*batch)
    runs, built = statistics["runs"], statistics["built"]
    step(*batch)
    assert (
        len(optimizer.params) == 2 * layers
        and statistics["runs"] - runs == 1
        and statistics["built"] == built
    )

    def gradients(x: wf.Tensor, y: wf.Tensor) -> list[wf.Tensor]:
        model.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return [loss, *(p.grad for p in model.parameters())]

    model.zero_grad()
    counts = [len(wf.explain(wf.jit(f), *batch).kernels) for f in (gradients, step)]
    assert counts[1] <= counts[0] + 1


def test_the_loss_is_computed_by_the_step() -> None:
    w = wf.nn.Parameter(np.array([1.0, 2.0]))
    optimizer = optim.SGD([w], lr=0.5)
    loss = (w * w).sum()
    loss.backward()
    optimizer.step()
    before = statistics["runs"]
    assert (
        loss.item() == 5.0 and list(w.grad.numpy()) == [2.0, 4.0] and list(w.numpy()) == [0.0, 0.0]
    )
    assert statistics["runs"] == before


def test_a_failed_step_counts_for_nothing() -> None:
    w = wf.nn.Parameter(np.ones((2, 3)))
    optimizer = optim.Adam([w], lr=0.1)
    loss = F.cross_entropy(F.linear(wf.tensor(np.ones((1, 3))), w), wf.tensor([2]))
    loss.backward()
    with pytest.raises(IndexError):
        optimizer.step()
    assert optimizer.steps == [0]
    np.testing.assert_array_equal(w.numpy(), np.ones((2, 3)))


def test_a_parameter_without_gradient_keeps_its_value_and_its_step_count() -> None:
    used, unused = wf.nn.Parameter(np.ones(2)), wf.nn.Parameter(np.ones(2))
    optimizer = optim.Adam([used, unused], lr=0.1)
    used.sum().backward()
    optimizer.step()
    assert optimizer.steps == [1, 0]
    np.testing.assert_array_equal(unused.numpy(), [1, 1])
    optimizer.zero_grad()
    assert used.grad is None
    optimizer.step()
    np.testing.assert_allclose(used.numpy(), [0.9, 0.9])


def test_an_optimiser_accepts_any_iterable() -> None:
    optim.SGD({"a": wf.nn.Parameter(np.ones(1))}.values(), lr=0.1)
    optim.SGD((p for p in parameters()), lr=0.1)
    optim.SGD(({"params": (p,)} for p in parameters()), lr=0.1)


A, B = wf.nn.Parameter(np.ones(1)), wf.nn.Parameter(np.ones(1))
WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: optim.SGD([], lr=0.1), ValueError, "SGD: there are no parameters"),
    (
        lambda: optim.Adam([wf.zeros(2)]),
        ValueError,
        "Adam: each must be a Parameter, or a Tensor that requires a gradient",
    ),
    (lambda: optim.Adam([3]), ValueError, "requires a gradient, not 3"),
    (
        lambda: optim.Adam(wf.nn.Linear(2, 1)),
        TypeError,
        "Adam: params are the parameters() of a model, not the Linear itself",
    ),
    (lambda: optim.Adam([A * 2]), ValueError, "Adam: a parameter must be a leaf"),
    (
        lambda: optim.Adam(A),
        TypeError,
        "Adam: params must be a sequence of parameters or of groups, not tensor([",
    ),
    (lambda: optim.Adam({"params": [A]}), TypeError, "Adam: params must be a sequence"),
    (lambda: optim.Adam({A, B}), TypeError, "Adam: params must be a sequence"),
    (lambda: optim.Adam([A, B, A]), ValueError, "Adam: a parameter occurs twice"),
    (
        lambda: optim.Adam([{"params": [A]}, {"params": [B, A]}]),
        ValueError,
        "a parameter occurs twice",
    ),
    (
        lambda: optim.Adam([{"params": [A]}, B]),
        ValueError,
        "Adam: a group must be a dict with its parameters",
    ),
    (
        lambda: optim.Adam([{"param": [A]}]),
        ValueError,
        "a group must be a dict with its parameters under 'params', not {'param'",
    ),
    (
        lambda: optim.Adam([("a", A), B]),
        ValueError,
        "pairs of a name and a parameter, not some of each",
    ),
    (lambda: optim.SGD([A], -0.1), ValueError, "SGD: lr must be at least 0, not -0.1"),
    (lambda: optim.SGD([A], float("nan")), ValueError, "SGD: lr must be at least 0, not nan"),
    (lambda: optim.SGD([A], wf.ones(2)), ValueError, "SGD: lr must be a number or a 0-d Tensor"),
    (lambda: optim.SGD([A], momentum=-1), ValueError, "SGD: momentum must be at least 0"),
    (lambda: optim.SGD([A], dampening="a"), TypeError, "SGD: dampening must be a real number"),  # type: ignore[arg-type]
    (lambda: optim.SGD([A], nesterov=True), ValueError, "SGD: nesterov needs a momentum"),
    (
        lambda: optim.SGD([A], momentum=0.9, dampening=0.1, nesterov=True),
        ValueError,
        "SGD: nesterov needs a momentum, and no",
    ),
    (
        lambda: optim.SGD([{"params": [A], "weight_decay": -1}]),
        ValueError,
        "SGD: weight_decay must be at least 0",
    ),
    (lambda: optim.Adam([A], betas=(0.9, 1.0)), ValueError, "Adam: betas must be two numbers in"),
    (lambda: optim.Adam([A], betas=(0.9,)), ValueError, "Adam: betas must be two numbers in"),  # type: ignore[arg-type]
    (lambda: optim.AdamW([A], eps=-1e-8), ValueError, "AdamW: eps must be at least 0"),
    (lambda: optim.SGD([A]).step(3), TypeError, "SGD.step: closure must be a function, not 3"),  # type: ignore[arg-type]
    (lambda: optim.RMSprop([A], alpha=-1), ValueError, "RMSprop: alpha must be at least 0"),
    (lambda: optim.Adagrad([A], lr_decay=-1), ValueError, "Adagrad: lr_decay must be at least 0"),
    (lambda: optim.Adadelta([A], rho=1.5), ValueError, "Adadelta: rho must be in"),
]


@pytest.mark.parametrize(("call", "kind", "text"), WRONG, ids=[text for _, _, text in WRONG])
def test_what_cannot_learn_is_refused(
    call: Callable[[], Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=re.escape(text)) as caught:
        call()
    assert isinstance(caught.value, wf.errors.WeftError)


def test_a_group_that_is_refused_adds_nothing() -> None:
    optimizer = optim.SGD([A])
    for wrong in ({"params": [B], "lr": -1}, {"params": [B, A]}, {"params": [B], "nesterov": True}):
        with pytest.raises(ValueError, match="SGD"):
            optimizer.add_param_group(wrong)
    assert [*map(id, optimizer.params)] == [id(A)] and len(optimizer.param_groups) == len(
        optimizer.steps
    ) == 1


def test_a_variance_that_rounds_below_zero_is_zero() -> None:
    """torch's RMSprop gives NaN at the 24th step of this."""
    p = wf.nn.Parameter(wf.ones(1))
    optimizer = optim.RMSprop([p], alpha=0.5, centered=True)
    p.grad = wf.tensor([0.3])
    for _ in range(30):
        optimizer.step()
    assert np.isfinite(p.item())


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("dtype", [wf.float16, wf.bfloat16])
@pytest.mark.parametrize("name", FORMULAS)
def test_half_parameters_move_as_float32_ones_would(name: str, dtype: wf.DType) -> None:
    """To within the rounding of each new value; the state is float32."""
    found = []
    for kind in (dtype, wf.float32):
        p = wf.nn.Parameter(wf.tensor([1.0, -2.0], dtype=kind))
        optimizer = getattr(optim, name)([p], lr=0.125)
        for _ in range(3):
            optimizer.zero_grad()
            (p * p).sum().backward()
            optimizer.step()
        assert p.dtype is kind and all(t.dtype is wf.float32 for t in states(optimizer))
        found.append(p.float().numpy())
    np.testing.assert_allclose(*found, atol=0.02)


def test_float32_parameters_stay_float32() -> None:
    p = wf.nn.Parameter(np.ones(3, np.float32))
    for optimizer in (optim.SGD([p], 0.1, 0.9, weight_decay=0.01), optim.Adam([p])):
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()
        assert p.dtype.name == "float32" and all(
            t.dtype.name == "float32" for t in optimizer.state[0].values()
        )


@pytest.mark.slow
def test_a_frozen_parameter_keeps_its_value_until_it_learns_again() -> None:
    model = wf.nn.Sequential(wf.nn.Linear(2, 2), wf.nn.Linear(2, 1))
    model[0].requires_grad_(False)
    optimizer = optim.Adam(model.parameters(), lr=0.1)

    @wf.jit
    def step(x: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    def changed() -> list[bool]:
        before = [p.numpy() for p in model.parameters()]
        step(wf.ones(3, 2))
        return [
            not np.array_equal(b, p.numpy())
            for b, p in zip(before, model.parameters(), strict=True)
        ]

    assert changed() == [False, False, True, True]
    model[0].requires_grad_()
    assert changed() == [True] * 4 and optimizer.steps == [1, 1, 2, 2]


def test_the_state_of_a_parameter_is_found_by_it() -> None:
    params = [wf.nn.Parameter([1.0]), wf.nn.Parameter([2.0])]
    optimizer = optim.Adam(params)
    assert (
        optimizer.state[params[1]] is optimizer.state[1]
        and optimizer.state[-1] is optimizer.state[1]
    )
    assert copy.deepcopy(optimizer).state[1].keys() == {"exp_avg", "exp_avg_sq"}
    with pytest.raises(
        wf.errors.ArgumentError, match="state: this optimiser has no parameter <Tensor"
    ):
        optimizer.state[wf.ones(1)]
