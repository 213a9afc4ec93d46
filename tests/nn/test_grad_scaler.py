"""Loss scaling: gradients within float16's range, steps that are skipped whole, lazily and in
jitted functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import rarely
from far_driver import far_devices
from weft import errors, nn

F = nn.functional
Array = np.ndarray[Any, Any]
LAZY_AND_JIT = pytest.mark.parametrize("how", [lambda f: f, wf.jit], ids=["lazy", "jit"])
OPTIMIZERS: dict[str, Callable[[Any], nn.optim.Optimizer]] = {
    "SGD": lambda p: nn.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01),
    "Adam": lambda p: nn.optim.Adam(p, 0.05, weight_decay=0.01),
    "AdamW": lambda p: nn.optim.AdamW(p, 0.05, amsgrad=True),
    "RMSprop": lambda p: nn.optim.RMSprop(p, 0.01, momentum=0.5),
}


def arrays(optimizer: nn.optim.Optimizer) -> list[Array]:
    """The parameters and their state."""
    tensors = [
        t
        for p, state in zip(optimizer.params, optimizer.state, strict=True)
        for t in (p, *state.values())
    ]
    return [t.numpy().copy() for t in tensors]


def parameter() -> nn.Parameter:
    return nn.Parameter(np.array([1.0, -2.0, 3.0], np.float32))


def training(
    optimizer: nn.optim.Optimizer, scaler: nn.GradScaler
) -> Callable[[wf.Tensor], wf.Tensor]:
    """A step whose gradient is its argument."""
    (p,) = optimizer.params

    def step(gradient: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        loss = (p * gradient).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    return step


GOOD = wf.tensor([0.5, -1.0, 2.0])
BAD = {"infinity": wf.tensor([0.5, float("inf"), 2.0]), "nan": wf.tensor([float("nan"), 1.0, 2.0])}


# ------------------------------------------------------------ steps that are made


@pytest.mark.thinned(to=2)
@LAZY_AND_JIT
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_scaled_step_is_the_step_without_scale(name: str, how: Any) -> None:
    plain, scaled = (OPTIMIZERS[name]([parameter()]) for _ in range(2))
    expected, found = (
        how(training(plain, nn.GradScaler(enabled=False))),
        how(training(scaled, nn.GradScaler())),
    )
    for _ in range(4):
        expected(GOOD)
        found(GOOD)
    for a, b in zip(arrays(plain), arrays(scaled), strict=True):
        np.testing.assert_array_equal(a, b)  # the scale is a power of 2
    assert plain.steps == scaled.steps == [4]


def test_scaling_keeps_gradients_that_vanish_in_float16() -> None:
    def gradient(scaler: nn.GradScaler) -> float:
        w, x = nn.Parameter([[1.0]]), wf.tensor([[1e-4]])
        with nn.autocast(dtype=wf.float16):
            out = F.linear(x, w)
        optimizer = nn.optim.SGD([w], 0.0)
        scaler.scale(out.float().sum() * 1e-6).backward()
        scaler.unscale_(optimizer)
        assert w.grad is not None
        return w.grad.item()

    assert gradient(nn.GradScaler(enabled=False)) == 0.0
    assert gradient(nn.GradScaler()) == pytest.approx(1e-10, rel=1e-2)


def test_the_loss_in_16_bits_is_scaled_in_float32() -> None:
    scaled = nn.GradScaler().scale(wf.tensor(3.0, dtype=wf.float16))
    assert (scaled.dtype, scaled.item()) == (wf.float32, 3 * 2.0**16)


def test_several_losses_are_scaled_alike() -> None:
    scaled = nn.GradScaler(init_scale=4.0).scale([wf.tensor(1.0), (wf.tensor(2.0),)])
    assert (scaled[0].item(), scaled[1][0].item()) == (4.0, 8.0)


# ------------------------------------------------------------ steps that are skipped


@pytest.mark.thinned(to=3)
@LAZY_AND_JIT
@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_that_overflows_changes_nothing(name: str, kind: str, how: Any) -> None:
    optimizer, scaler = OPTIMIZERS[name]([parameter()]), nn.GradScaler(init_scale=8.0)
    step = how(training(optimizer, scaler))
    for gradient, changes, count in [
        (BAD[kind], False, 0),
        (GOOD, True, 1),
        (BAD[kind], False, 1),
        (BAD[kind], False, 1),
    ]:
        before = arrays(optimizer)
        step(gradient)
        same = [np.array_equal(a, b) for a, b in zip(before, arrays(optimizer), strict=True)]
        assert all(same) != changes
        assert optimizer.steps == [count]
    assert scaler.get_scale() == 1.0


@LAZY_AND_JIT
def test_training_goes_on_as_if_a_skipped_step_had_never_been(how: Any) -> None:
    with_skips, without = (OPTIMIZERS["Adam"]([parameter()]) for _ in range(2))
    one, other = how(training(with_skips, nn.GradScaler())), how(training(without, nn.GradScaler()))
    for gradient in [GOOD, BAD["nan"], GOOD, BAD["infinity"], GOOD]:
        one(gradient)
    for _ in range(3):
        other(GOOD)
    for a, b in zip(arrays(with_skips), arrays(without), strict=True):
        np.testing.assert_array_equal(a, b)


@LAZY_AND_JIT
def test_one_bad_gradient_skips_all_parameters(how: Any) -> None:
    p, q = nn.Parameter([1.0]), nn.Parameter([2.0])
    optimizer, scaler = nn.optim.SGD([p, q], 1.0), nn.GradScaler()

    def step(x: wf.Tensor) -> None:
        scaler.scale((p * 1.0 + q * x).sum()).backward()
        scaler.step(optimizer)
        scaler.update()

    how(step)(wf.tensor([float("inf")]))
    assert (p.item(), q.item()) == (1.0, 2.0)


@LAZY_AND_JIT
def test_optimizers_are_skipped_one_by_one(how: Any) -> None:
    p, q = nn.Parameter([1.0]), nn.Parameter([2.0])
    optimizers, scaler = [nn.optim.SGD([t], 1.0) for t in (p, q)], nn.GradScaler(init_scale=2.0)

    def step(x: wf.Tensor) -> None:
        scaler.scale((p + q * x).sum()).backward()
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()

    how(step)(wf.tensor([float("nan")]))
    assert (p.item(), q.item(), [o.steps for o in optimizers]) == (0.0, 2.0, [[1], [0]])
    assert scaler.get_scale() == 1.0


def test_a_skipped_step_writes_in_place_and_costs_two_kernels() -> None:
    def report(scaler: nn.GradScaler) -> str:
        step = wf.jit(training(nn.optim.Adam([parameter()]), scaler))
        step(GOOD)
        return str(wf.explain(step)).splitlines()[0]

    plain, scaled = report(nn.GradScaler(enabled=False)), report(nn.GradScaler())
    assert int(scaled.split()[0]) <= int(plain.split()[0]) + 2
    assert (
        "3 outputs in place" in plain and "5 outputs in place" in scaled
    )  # with the scale and its count


# ------------------------------------------------------------ the scale


@LAZY_AND_JIT
def test_the_scale_grows_after_steps_in_a_row_and_shrinks_after_a_skipped_one(how: Any) -> None:
    scaler = nn.GradScaler(
        init_scale=8.0, growth_factor=4.0, backoff_factor=0.25, growth_interval=2
    )
    step, scales = how(training(OPTIMIZERS["SGD"]([parameter()]), scaler)), []
    for gradient in [GOOD, GOOD, GOOD, BAD["nan"], GOOD, GOOD, BAD["nan"]]:
        step(gradient)
        scales.append(scaler.get_scale())
    assert scales == [8.0, 32.0, 32.0, 8.0, 8.0, 32.0, 8.0]


def test_the_scale_stays_finite() -> None:
    scaler = nn.GradScaler(init_scale=2.0**127, growth_interval=1)
    p = nn.Parameter([0.0])
    optimizer = nn.optim.SGD([p], 0.1)
    scaler.scale((p * 2.0**-100).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 2.0**127


def test_update_takes_a_scale() -> None:
    scaler = nn.GradScaler()
    scaler.update(16.0)
    assert scaler.get_scale() == 16.0
    scaler.update(wf.tensor(4.0))
    assert scaler.get_scale() == 4.0


# ------------------------------------------------------------ clipping between


@LAZY_AND_JIT
def test_unscaled_gradients_can_be_clipped(how: Any) -> None:
    p = nn.Parameter([1.0, 1.0])
    optimizer, scaler = nn.optim.SGD([p], 1.0), nn.GradScaler()

    def step(gradient: wf.Tensor) -> wf.Tensor:
        scaler.scale((p * gradient).sum()).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_([p], 1.0)
        scaler.step(optimizer)
        scaler.update()
        return norm

    assert how(step)(wf.tensor([3.0, 4.0])).item() == 5.0
    np.testing.assert_allclose(p.numpy(), [0.4, 0.2], rtol=1e-5)


# ------------------------------------------------------------ parts of an iteration in a jitted
# function


def test_the_update_may_stand_outside_of_the_jitted_function() -> None:
    optimizer, scaler = OPTIMIZERS["Adam"]([parameter()]), nn.GradScaler(init_scale=8.0)
    (p,) = optimizer.params

    @wf.jit
    def step(gradient: wf.Tensor) -> None:
        scaler.scale((p * gradient).sum()).backward()
        scaler.step(optimizer)

    for gradient, scale in [(GOOD, 8.0), (BAD["nan"], 4.0), (GOOD, 4.0), (BAD["nan"], 2.0)]:
        step(gradient)
        scaler.update()
        assert scaler.get_scale() == scale
    assert optimizer.steps == [2]


def test_a_jitted_step_knows_whether_the_gradients_are_unscaled_already() -> None:
    optimizer, scaler = nn.optim.SGD([parameter()], 1.0), nn.GradScaler(init_scale=8.0)
    (p,) = optimizer.params

    @wf.jit
    def step(gradient: wf.Tensor) -> None:
        p.grad = gradient
        scaler.step(optimizer)

    for _ in range(2):
        p.assign([0.0, 0.0, 0.0])
        p.grad = GOOD * 8.0
        scaler.unscale_(optimizer)
        unscaled, p.grad = p.grad, None
        step(unscaled)
        scaler.update()
        np.testing.assert_array_equal(p.numpy(), -GOOD.numpy())
        step(GOOD * 8.0)
        scaler.update()
        np.testing.assert_array_equal(p.numpy(), -2 * GOOD.numpy())


def test_a_failed_trace_leaves_the_scaler_as_it_was() -> None:
    optimizer, scaler = OPTIMIZERS["SGD"]([parameter()]), nn.GradScaler()
    step = training(optimizer, scaler)

    @wf.jit
    def failing(gradient: wf.Tensor) -> None:
        optimizer.zero_grad()
        scaler.scale((optimizer.params[0] * gradient).sum()).backward()
        scaler.unscale_(optimizer)
        raise KeyError("on purpose")

    with pytest.raises(KeyError):
        failing(GOOD)
    step(GOOD)
    assert optimizer.steps == [1]


# ------------------------------------------------------------ elsewhere


@LAZY_AND_JIT
def test_the_scale_goes_to_the_device_of_the_loss(how: Any) -> None:
    def run(device: str) -> tuple[list[float], list[int], list[Array]]:
        p = nn.Parameter(wf.tensor([1.0, -2.0, 3.0], device=device))
        optimizer, scaler = (
            OPTIMIZERS["Adam"]([p]),
            nn.GradScaler(init_scale=8.0, growth_interval=2),
        )
        step, scales = how(training(optimizer, scaler)), []
        for gradient in [GOOD, GOOD, BAD["nan"], GOOD]:
            step(gradient.to(device))
            scales.append(scaler.get_scale())
        return (
            scales,
            optimizer.steps,
            [p.cpu().numpy(), optimizer.state[0]["exp_avg"].cpu().numpy()],
        )

    here = run("cpu")
    with far_devices():
        there = run("cuda")
    assert here[:2] == there[:2] == ([8.0, 16.0, 8.0, 8.0], [3])
    for a, b in zip(here[2], there[2], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


# ------------------------------------------------------------ state


def test_state_comes_back() -> None:
    optimizer, scaler = (
        OPTIMIZERS["SGD"]([parameter()]),
        nn.GradScaler(init_scale=8.0, growth_interval=3),
    )
    step = training(optimizer, scaler)
    step(GOOD)
    step(GOOD)
    kept = scaler.state_dict()
    assert kept == {
        "scale": 8.0,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 3,
        "_growth_tracker": 2,
    }
    other = nn.GradScaler()
    other.load_state_dict(kept)
    assert other.state_dict() == kept
    training(optimizer, other)(GOOD)
    assert other.get_scale() == 16.0


def test_a_jitted_step_goes_on_from_a_loaded_state() -> None:
    optimizer, scaler = OPTIMIZERS["SGD"]([parameter()]), nn.GradScaler(init_scale=8.0)
    step = wf.jit(training(optimizer, scaler))
    step(GOOD)
    scaler.load_state_dict({**nn.GradScaler(init_scale=2.0, growth_interval=1).state_dict()})
    step(GOOD)
    assert scaler.get_scale() == 4.0


def test_incomplete_state_changes_nothing() -> None:
    scaler = nn.GradScaler()
    with pytest.raises(errors.StateError, match="has no growth_interval, _growth_tracker"):
        scaler.load_state_dict({"scale": 1.0, "growth_factor": 3.0, "backoff_factor": 0.5})
    with pytest.raises(errors.ArgumentError, match="grows by more than 1"):
        scaler.load_state_dict({**scaler.state_dict(), "scale": 1.0, "growth_factor": 0.5})
    assert scaler.state_dict() == nn.GradScaler().state_dict()


def test_disabled_it_does_nothing() -> None:
    scaler, loss = nn.GradScaler(enabled=False), wf.tensor(2.0)
    assert (
        scaler.scale(loss) is loss
        and scaler.get_scale() == 1.0
        and scaler.state_dict() == {}
        and not scaler.is_enabled()
    )
    scaler.load_state_dict({})
    scaler.update()


# ------------------------------------------------------------ errors


@pytest.mark.parametrize(
    "settings",
    [
        {"growth_factor": 1.0},
        {"backoff_factor": 1.0},
        {"growth_interval": 0},
        {"init_scale": 0.0},
        {"init_scale": 1e39},
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(errors.ArgumentError, match=r"GradScaler: "):
        nn.GradScaler(**settings)


def test_a_second_step_needs_an_update() -> None:
    optimizer, scaler = OPTIMIZERS["SGD"]([parameter()]), nn.GradScaler()
    scaler.scale(optimizer.params[0].sum()).backward()
    scaler.step(optimizer)
    with pytest.raises(errors.ArgumentError, match=r"GradScaler.step: step\(\) has been called"):
        scaler.step(optimizer)
    with pytest.raises(
        errors.ArgumentError, match=r"GradScaler.unscale_: step\(\) has been called"
    ):
        scaler.unscale_(optimizer)


def test_an_update_needs_a_step() -> None:
    with pytest.raises(
        errors.ArgumentError, match=r"GradScaler.update: no optimiser has made a step"
    ):
        nn.GradScaler().update()


def test_weights_of_float16_are_refused() -> None:
    p = nn.Parameter(wf.ones(2, dtype=wf.float16))
    optimizer, scaler = nn.optim.SGD([p], 0.1), nn.GradScaler()
    scaler.scale(p.sum()).backward()
    with pytest.raises(errors.DTypeError, match="is float16: weights are float32"):
        scaler.step(optimizer)


@pytest.mark.parametrize("loss", [3.0, wf.tensor(3), None])
def test_what_is_no_loss_is_refused(loss: Any) -> None:
    with pytest.raises(errors.DTypeError, match=r"GradScaler.scale: a loss must be a float Tensor"):
        nn.GradScaler().scale(loss)


def test_what_is_no_optimizer_is_refused() -> None:
    with pytest.raises(errors.DTypeError, match=r"GradScaler.step: expected an optimiser"):
        nn.GradScaler().step(parameter())  # type: ignore[arg-type]


# ------------------------------------------------------------ all together


@pytest.mark.slow
@pytest.mark.parametrize("how", [wf.jit, *rarely(lambda f: f)], ids=["jit", "lazy"])
def test_model_learns_in_float16(how: Any) -> None:
    wf.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 4)
    )
    optimizer, scaler = nn.optim.Adam(model.parameters(), 0.02), nn.GradScaler()
    rng = np.random.default_rng(0)
    labels = np.arange(32) % 4
    images = (
        rng.standard_normal((32, 1, 8, 8)) + 2 * rng.standard_normal((4, 1, 8, 8))[labels]
    ).astype(np.float32)

    def step(x: wf.Tensor, y: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        with nn.autocast("cuda", dtype=wf.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    run = how(step)
    losses = [run(wf.tensor(images), wf.tensor(labels)).item() for _ in range(30)]
    assert losses[0] > 1.0 and losses[-1] < 0.1
    assert {p.dtype for p in model.parameters()} == {wf.float32}
