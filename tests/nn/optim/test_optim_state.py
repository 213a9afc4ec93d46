"""What an optimiser's state_dict holds, and that loading it goes on bit for bit, or changes
nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from stepping import states, stepper
from weft.frontend.lazy.program_table import statistics
from weft.nn import optim

MAKE: dict[str, Callable[[Any], optim.Optimizer]] = {
    "momentum": lambda p: optim.SGD(p, 0.1, 0.9, 0.5),
    "adamw": lambda p: optim.AdamW(p, 0.01, amsgrad=True),
    "rmsprop": lambda p: optim.RMSprop(p, 0.01, momentum=0.5, centered=True),
    "nadam": lambda p: optim.NAdam(p, 0.01),
    "rprop": lambda p: optim.Rprop(p, 0.01),
    "adagrad": lambda p: optim.Adagrad(p, 0.1, lr_decay=0.1, initial_accumulator_value=0.5),
}


def model() -> wf.nn.Linear:
    wf.manual_seed(0)
    return wf.nn.Linear(4, 3)


def batch(i: int) -> tuple[wf.Tensor, wf.Tensor]:
    rng = np.random.default_rng(i)
    return wf.tensor(rng.standard_normal((5, 4)).astype("float32")), wf.tensor(
        rng.integers(0, 3, 5)
    )


def everything(net: wf.nn.Module, optimizer: optim.Optimizer) -> list[Any]:
    return [*(t.tolist() for t in [*net.parameters(), *states(optimizer)]), [*optimizer.steps]]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", MAKE)
def test_training_goes_on_from_a_state_bit_for_bit(name: str) -> None:
    straight = model()
    first = MAKE[name](straight.parameters())
    step = stepper(straight, first)
    for i in range(2):
        step(*batch(i))
    resumed = model()
    resumed.load_state_dict(straight.state_dict())
    second = MAKE[name](resumed.parameters())
    second.param_groups[0]["lr"] = 7.0
    second.load_state_dict(first.state_dict())
    again = stepper(resumed, second)
    for i in range(2, 4):
        step(*batch(i))
        again(*batch(i))
    assert everything(straight, first) == everything(resumed, second) and second.lr == first.lr


def test_the_state_is_tensors_and_plain_numbers_in_torchs_form() -> None:
    net = model()
    optimizer = optim.Adam([{"params": [net.weight], "lr": 0.5}, {"params": [net.bias]}])
    stepper(net, optimizer)(*batch(0))
    found = optimizer.state_dict()
    assert [*found] == ["state", "param_groups"] and [*found["state"]] == [0, 1]
    assert [*found["state"][1]] == ["step", "exp_avg", "exp_avg_sq"] and found["state"][1][
        "step"
    ] == 1
    assert [(g["lr"], g["params"]) for g in found["param_groups"]] == [(0.5, [0]), (0.001, [1])]
    assert json.loads(json.dumps(found["param_groups"]))[1]["betas"] == [0.9, 0.999]


def test_a_state_is_a_snapshot() -> None:
    net = model()
    optimizer = optim.Adam(net.parameters())
    step = wf.jit(stepper(net, optimizer))
    step(*batch(0))
    found = optimizer.state_dict()
    before = found["state"][0]["exp_avg"].tolist()
    step(*batch(1))
    assert found["state"][0]["exp_avg"].tolist() == before != optimizer.state[0]["exp_avg"].tolist()
    assert found["state"][0]["step"] == 1


def test_what_has_made_no_step_has_no_state_and_starts_anew_when_loaded() -> None:
    net = model()
    fresh, trained = optim.Adam(net.parameters()), optim.Adam(net.parameters())
    stepper(net, trained)(*batch(0))
    assert fresh.state_dict()["state"] == {}
    trained.load_state_dict(fresh.state_dict())
    assert trained.steps == [0, 0] and not any(np.any(t.numpy()) for t in states(trained))


def test_a_jitted_step_goes_on_from_what_is_loaded_and_compiles_nothing() -> None:
    net = model()
    optimizer = optim.Adam(net.parameters())
    step = wf.jit(stepper(net, optimizer))
    step(*batch(0))
    start, kept = net.state_dict(), optimizer.state_dict()
    step(*batch(1))
    wanted, built = everything(net, optimizer), statistics["built"]
    for _ in range(2):
        net.load_state_dict(start)
        optimizer.load_state_dict(kept)
        step(*batch(1))
        assert everything(net, optimizer) == wanted
    assert statistics["built"] == built


def test_a_state_is_not_loaded_in_a_jitted_function() -> None:
    """It would happen only once."""
    optimizer = optim.Adam(model().parameters())
    with pytest.raises(wf.errors.JitError, match=r"Adam\.load_state_dict in the jitted function"):
        wf.jit(lambda x: optimizer.load_state_dict(optimizer.state_dict()) or x)(wf.ones(1))


def test_a_state_keyed_by_text_and_of_arrays_fits() -> None:
    net = model()
    optimizer = optim.SGD(net.parameters(), 0.1, 0.9)
    arrays = {
        str(i): {"step": np.float32(3), "momentum_buffer": np.full(p.shape, 2.0)}
        for i, p in enumerate(net.parameters())
    }
    optimizer.load_state_dict(
        {
            "state": arrays,
            "param_groups": json.loads(json.dumps(optimizer.state_dict()["param_groups"])),
        }
    )
    assert optimizer.steps == [3, 3] and optimizer.state[1]["momentum_buffer"].tolist() == [
        2.0,
        2.0,
        2.0,
    ]
    assert optimizer.state[1]["momentum_buffer"].dtype is wf.float32


def test_options_of_the_state_bring_their_tensors() -> None:
    net = model()
    plain, other = optim.Adam(net.parameters()), optim.Adam(net.parameters(), amsgrad=True)
    stepper(net, other)(*batch(0))
    plain.load_state_dict(other.state_dict())
    assert plain.param_groups[0]["amsgrad"] and [*plain.state[0]] == [
        "exp_avg",
        "exp_avg_sq",
        "max_exp_avg_sq",
    ]
    assert plain.state[0]["max_exp_avg_sq"].tolist() == other.state[0]["max_exp_avg_sq"].tolist()


@pytest.mark.slow
def test_a_state_fits_after_options_have_been_turned_on_and_off() -> None:
    net = model()
    first, second = optim.SGD(net.parameters(), momentum=0.9), optim.SGD(net.parameters())
    stepper(net, first)(*batch(0))
    stepper(net, second)(*batch(0))
    first.param_groups[0]["momentum"], second.param_groups[0]["momentum"] = 0.0, 0.5
    for source in (first, second):
        fresh = optim.SGD(net.parameters())
        fresh.load_state_dict(source.state_dict())
        assert fresh.param_groups[0]["momentum"] == source.param_groups[0][
            "momentum"
        ] and fresh.steps == [1, 1]
    assert fresh.state[1]["momentum_buffer"].tolist() == [0.0, 0.0, 0.0]


def test_a_rate_that_is_a_tensor_stays_one_and_a_number_a_number() -> None:
    net, rate = model(), wf.tensor(0.25)
    tensor, number = optim.Adam(net.parameters(), lr=rate), optim.Adam(net.parameters(), lr=0.5)
    kept = tensor.state_dict()
    tensor.load_state_dict(number.state_dict())
    assert tensor.lr is rate and rate.item() == 0.5
    number.load_state_dict(kept)
    assert number.lr == 0.25 and isinstance(number.lr, float)


def edited(state: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The state with some entries of parameter 0 replaced, or with `lr` and `params` of its
    group."""
    groups = [
        {
            **state["param_groups"][0],
            **{k: v for k, v in changes.items() if k in ("lr", "betas", "params")},
        }
    ]
    entry = {
        **state["state"][0],
        **{k: v for k, v in changes.items() if k not in ("lr", "betas", "params")},
    }
    return {
        "state": {**state["state"], 0: {k: v for k, v in entry.items() if v is not None}},
        "param_groups": groups,
    }


BAD: list[tuple[Callable[[dict[str, Any]], Any], type[Exception], str]] = [
    (
        lambda s: 3,
        TypeError,
        "Adam.load_state_dict: the state must be a dict with 'state' and 'param_groups', not 3",
    ),
    (lambda s: {"state": {}}, TypeError, "the state must be a dict with"),
    (
        lambda s: {**s, "state": 3},
        TypeError,
        "'state' must be a dict by the places of parameters, not 3",
    ),
    (lambda s: {**s, "param_groups": [3]}, TypeError, "a group must be a dict"),
    (
        lambda s: {**s, "param_groups": s["param_groups"] * 2},
        KeyError,
        r"has groups of \[2\] parameters, the state has \[2, 2\]",
    ),
    (lambda s: edited(s, params=[0]), KeyError, "which are in no group|has groups of"),
    (
        lambda s: {**s, "param_groups": [{"params": [0, 1], "lr": 1.0}]},
        KeyError,
        "has no betas, eps",
    ),
    (lambda s: edited(s, lr=-1), ValueError, "lr must be at least 0, not -1"),
    (lambda s: edited(s, betas=[2, 3]), ValueError, "betas must be two numbers"),
    (
        lambda s: {**s, "state": {**s["state"], 5: {}}},
        KeyError,
        "has parameters 5, which are in no group",
    ),
    (
        lambda s: {**s, "state": {0: 3}},
        TypeError,
        "parameter 0: the state of a parameter must be a dict, not 3",
    ),
    (lambda s: edited(s, exp_avg=None), KeyError, "parameter 0: missing exp_avg"),
    (lambda s: edited(s, sum=wf.ones(2)), KeyError, "parameter 0: unexpected sum"),
    (lambda s: edited(s, step="a"), TypeError, "parameter 0: step must be a real number"),
    (
        lambda s: edited(s, exp_avg_sq=wf.ones(7)),
        ValueError,
        r"exp_avg_sq has shape \(3, 4\), but the state has \(7,\)",
    ),
    (lambda s: edited(s, exp_avg_sq="a"), TypeError, "parameter 0: exp_avg_sq"),
]


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize(("spoil", "kind", "text"), BAD, ids=[text for _, _, text in BAD])
def test_a_state_that_does_not_fit_changes_nothing(
    spoil: Callable[[Any], Any], kind: type[Exception], text: str
) -> None:
    net = model()
    optimizer, other = optim.Adam(net.parameters()), optim.Adam(net.parameters(), lr=0.5)
    for o in (optimizer, other):
        stepper(net, o)(*batch(0))
    before, groups = everything(net, optimizer), optimizer.state_dict()["param_groups"]
    with pytest.raises(kind, match=text) as caught:
        optimizer.load_state_dict(spoil(other.state_dict()))
    assert isinstance(caught.value, wf.errors.WeftError)
    assert everything(net, optimizer) == before and optimizer.state_dict()["param_groups"] == groups


@pytest.mark.parametrize(
    "name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adamax", "NAdam", "RAdam", "Rprop"]
)
def test_a_state_of_torch_goes_on_as_there(name: str) -> None:
    torch = pytest.importorskip("torch")
    extra = {"momentum": 0.5} if name in ("SGD", "RMSprop") else {}
    net, start = model(), [p.numpy(copy=True) for p in model().parameters()]
    theirs = [torch.tensor(a, requires_grad=True) for a in start]
    extra |= {} if name == "Rprop" else {"weight_decay": 0.125}
    there = getattr(torch.optim, name)(theirs, lr=0.25, **extra)
    here = getattr(optim, name)(net.parameters(), **extra)

    def step(optimizer: Any, params: list[Any]) -> None:
        optimizer.zero_grad()
        (params[0].sin().sum() + params[1].cos().sum()).backward()
        optimizer.step()

    for _ in range(3):
        step(there, theirs)
    net.load_state_dict(
        {n: t.detach().numpy() for n, t in zip(("weight", "bias"), theirs, strict=True)}
    )
    here.load_state_dict(there.state_dict())
    back = getattr(torch.optim, name)(theirs)
    state = here.state_dict()
    tensors = {
        i: {k: torch.tensor(np.array(v)) for k, v in s.items()} for i, s in state["state"].items()
    }
    back.load_state_dict({"state": tensors, "param_groups": state["param_groups"]})
    for _ in range(2):
        step(back, theirs)
        step(here, [*net.parameters()])
    for p, q in zip(net.parameters(), theirs, strict=True):
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=1e-5, atol=1e-6)
