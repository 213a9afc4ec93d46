"""Normalisation: values against NumPy, large means, 16-bit floats, running statistics, kernels, and
what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weft as wf
from nnref import Array, close, normal
from weft import nn
from weft.nn import functional as F

IMAGES = (4, 6, 3, 2)


def standardised(x: Array, axes: tuple[int, ...], eps: float = 1e-5) -> Array:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def along(t: Array) -> Array:
    return t[:, None, None]


# ---------------------------------------------------------------- values


def grouped(x: Array) -> Array:
    return standardised(x.reshape(4, 3, -1), (2,)).reshape(x.shape)


NORMS = {
    "batch": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        lambda x: standardised(x, (0, 2, 3)),
    ),
    "instance": (
        lambda x, w, b: F.instance_norm(x, None, None, w, b),
        lambda x: standardised(x, (2, 3)),
    ),
    "group": (lambda x, w, b: F.group_norm(x, 3, w, b), grouped),
}


@pytest.mark.parametrize("name", NORMS)
def test_values(name: str) -> None:
    norm, expected = NORMS[name]
    x, w, b = normal(*IMAGES) + 1e3, normal(6, seed=1), normal(6, seed=2)
    close(norm(x, w, b), expected(x) * along(w) + along(b))
    close(norm(x, None, None), expected(x))


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", NORMS)
def test_gradients_of_any_order(name: str) -> None:
    norm, _ = NORMS[name]
    x, w, b = wf.tensor(normal(2, 6, 3)), wf.tensor(normal(6, seed=1)), wf.tensor(normal(6, seed=2))
    wf.check_grad(norm, x, w, b, atol=1e-6)
    wf.check_grad(
        lambda x: wf.grad((norm(x, w, b) ** 3.0).sum(), x), x, rtol=1e-4, atol=1e-5, max_elements=8
    )


def test_rms_norm() -> None:
    x, w = normal(3, 4, 5), normal(4, 5, seed=1)
    close(F.rms_norm(x, (4, 5), w, 0.5), x / np.sqrt((x * x).mean((1, 2), keepdims=True) + 0.5) * w)
    close(F.rms_norm(x * 0, 5), x * 0)
    wf.check_grad(lambda x, w: F.rms_norm(x, (4, 5), w), wf.tensor(x), wf.tensor(w))


@pytest.mark.parametrize("name", NORMS)
def test_a_large_mean_cancels_nothing(name: str) -> None:
    norm, expected = NORMS[name]
    x = (normal(*IMAGES) + 1e4).astype(np.float32)
    close(
        norm(x, None, None), expected(x.astype(float)), 3e-3
    )  # the mean has a rounding error of 0.001
    running = wf.zeros(6)
    F.batch_norm(x, None, running, training=True, momentum=1.0)
    close(running, x.astype(float).var((0, 2, 3), ddof=1), 1e-4)


@pytest.mark.parametrize("name", NORMS)
def test_16_bit_floats_round_once(name: str) -> None:
    norm, expected = NORMS[name]
    x = (normal(*IMAGES) * 100).astype(np.float16)
    got = norm(x, np.ones(6, np.float16), np.zeros(6, np.float16))
    assert got.dtype is wf.float16
    close(got, expected(x.astype(float)), 2**-10)


# ---------------------------------------------------------------- running statistics


def test_running_statistics_follow_the_batches() -> None:
    m = nn.BatchNorm1d(6, momentum=0.25)
    mean, var = np.zeros(6), np.ones(6)
    for i in range(3):
        x = normal(8, 6) * (i + 1) + i
        m(wf.tensor(x.astype(np.float32)))
        mean, var = 0.75 * mean + 0.25 * x.mean(0), 0.75 * var + 0.25 * x.var(0, ddof=1)
    close(m.running_mean, mean, 1e-5)
    close(m.running_var, var, 1e-5)
    assert m.num_batches_tracked.item() == 3 and m.num_batches_tracked.dtype is wf.int64
    last = wf.tensor(normal(5, 6).astype(np.float32))
    close(m.eval()(last), (last.numpy() - mean) / np.sqrt(var + 1e-5), 1e-5)
    assert m.num_batches_tracked.item() == 3


def test_without_momentum_all_batches_count_alike() -> None:
    m, batches = nn.BatchNorm1d(6, momentum=None), [normal(8, 6) * i for i in (1, 2, 3)]
    for x in batches:
        m(wf.tensor(x.astype(np.float32)))
    close(m.running_mean, np.mean([x.mean(0) for x in batches], 0), 1e-5)
    close(m.running_var, np.mean([x.var(0, ddof=1) for x in batches], 0), 1e-5)


def test_no_gradient_flows_through_running_statistics() -> None:
    m, x = nn.BatchNorm1d(6), wf.tensor(normal(8, 6).astype(np.float32), requires_grad=True)
    m(x).sum().backward()
    assert not m.running_mean.requires_grad and m.running_mean.grad is None


def test_statistics_in_16_bit_floats_are_computed_in_32() -> None:
    m, x = nn.BatchNorm1d(6, momentum=1.0).half(), (normal(64, 6) + 300).astype(np.float16)
    assert m(wf.tensor(x)).dtype is m.running_var.dtype is wf.float16
    close(m.running_var, x.astype(float).var(0, ddof=1), 2**-10)


@pytest.mark.slow
def test_a_copy_of_the_state_continues_alike() -> None:
    wf.manual_seed(0)
    one, other = nn.BatchNorm1d(6), nn.BatchNorm1d(6)
    one(wf.rand(8, 6))
    other.load_state_dict(one.state_dict())
    x = wf.rand(8, 6)
    for m in (one, other):
        m(x)
    for name, value in one.state_dict().items():
        np.testing.assert_array_equal(other.state_dict()[name].numpy(), value.numpy())


# ---------------------------------------------------------------- programs


def network() -> tuple[nn.Module, Any]:
    wf.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
    opt = nn.optim.SGD(net.parameters(), lr=0.1)

    def step(x: wf.Tensor) -> wf.Tensor:
        opt.zero_grad()
        loss = (net(x) ** 2.0).mean()
        loss.backward()
        opt.step()
        return loss

    return net, step


def test_normalising_and_all_statistics_are_one_kernel() -> None:
    m, x = nn.BatchNorm2d(6), wf.tensor(normal(*IMAGES).astype(np.float32))
    report = wf.explain([m(x).relu(), m.running_mean, m.running_var])
    assert len(report.kernels) == 1


@pytest.mark.parametrize("size", [1, 3])
def test_a_convolution_before_a_norm_stays_one_product(size: int) -> None:
    """A sum of its places must not become a sum of all its products."""
    x, w = (wf.tensor(normal(*s).astype(np.float32)) for s in ((4, 16, 8, 8), (24, 16, size, size)))
    report = wf.explain(F.batch_norm(F.conv2d(x, w, None, 1, size // 2), None, None, training=True))
    assert [k.kind for k in report.kernels] == ["contraction", "rows"]


def test_a_jitted_training_step_updates_statistics_in_its_program() -> None:
    (lazy, plain), (jitted, step) = network(), network()
    call = wf.jit(step)
    for seed in range(3):
        x = wf.tensor(np.random.default_rng(seed).standard_normal((2, 3, 5, 4)).astype(np.float32))
        np.testing.assert_array_equal(call(x).numpy(), plain(x).numpy())
    for name, value in lazy.state_dict().items():
        np.testing.assert_array_equal(
            jitted.state_dict()[name].numpy(), value.numpy(), err_msg=name
        )
    written = [out for k in wf.explain(call).kernels for out in k.outputs]
    assert (
        len(wf.explain(call).kernels) == 7 and written.count("float32[8]") >= 4
    )  # weight, bias, both statistics
    assert written.count("int64[]") == 1  # the batches


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (
            lambda: nn.BatchNorm1d(3)(wf.zeros(1, 3)),
            r"more than one value per channel is needed.*\(1, 3\)",
        ),
        (
            lambda: nn.InstanceNorm2d(3)(wf.zeros(4, 3, 1, 1)),
            "more than one spatial element is needed",
        ),
        (
            lambda: nn.BatchNorm2d(3)(wf.zeros(4, 3)),
            r"BatchNorm2d: expected x of shape \(N, C, H, W\), got \(4, 3\)",
        ),
        (
            lambda: nn.BatchNorm1d(3)(wf.zeros(4, 5)),
            r"running_mean must have shape \(5,\) for x of shape \(4, 5\), not \(3,\)",
        ),
        (lambda: nn.BatchNorm1d(3)(wf.zeros(3)), r"expected x of shape \(N, C\) or \(N, C, L\)"),
        (
            lambda: F.batch_norm(wf.zeros(4, 3), None, None),
            "running_mean and running_var are needed",
        ),
        (lambda: F.group_norm(wf.zeros(4, 6), 4), "num_groups=4 does not divide the 6 channels"),
        (lambda: nn.GroupNorm(4, 6), "num_groups=4 must divide num_channels=6"),
        (
            lambda: F.rms_norm(wf.zeros(4, 6), 5),
            r"rms_norm: the last axes of x must be normalized_shape=\(5,\)",
        ),
        (lambda: F.instance_norm(wf.zeros(4)), r"expected x of shape \(N, C, ...\), got \(4,\)"),
    ],
)
def test_norms_say_what_they_expect(f: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        f()


def test_a_refused_batch_changes_no_statistics() -> None:
    m = nn.BatchNorm1d(3)
    with pytest.raises(wf.errors.ShapeError):
        m(wf.ones(1, 3))
    assert m.running_mean.tolist() == [0, 0, 0] and m.num_batches_tracked.item() == 0
    m = nn.InstanceNorm1d(3, track_running_stats=True)
    with pytest.raises(
        wf.errors.ShapeError, match=r"means over samples, but x has shape \(0, 3, 5\)"
    ):
        m(wf.ones(0, 3, 5))
    assert m.running_mean.tolist() == [0, 0, 0] and m.num_batches_tracked.item() == 0
