"""Mixed precision: which operations autocast lowers and widens, that gradients are float32, that
jit knows of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from far_driver import far_devices
from weft import errors, nn

F = nn.functional
HALVES = pytest.mark.parametrize("low", [wf.bfloat16, wf.float16], ids=["bfloat16", "float16"])
EPS = {wf.bfloat16: 2.0**-8, wf.float16: 2.0**-11}  # half a step at 1


def draw(*shape: int, seed: int = 0) -> wf.Tensor:
    return wf.tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


LOWERED: dict[str, Callable[[], Any]] = {
    "@": lambda: draw(3, 4) @ draw(4, 5),
    "@ of an array": lambda: draw(3, 4) @ np.ones((4, 5), np.float32),
    "array @": lambda: np.ones((2, 3), np.float32) @ draw(3, 4),
    "matmul": lambda: wf.matmul(draw(2, 3, 4), draw(4, 5)),
    "tensordot": lambda: wf.tensordot(draw(3, 4), draw(4, 5), 1),
    "inner": lambda: wf.inner(draw(3, 4), draw(5, 4)),
    "dot": lambda: wf.dot(draw(3, 4), draw(4, 5)),
    "einsum": lambda: wf.einsum("ij,jk->ik", draw(3, 4), draw(4, 5)),
    "einsum of lists": lambda: wf.einsum(draw(3, 4), [0, 1], draw(4, 5), [1, 2]),
    "linear": lambda: F.linear(draw(3, 4), draw(5, 4), draw(5)),
    "conv1d": lambda: F.conv1d(draw(2, 3, 8), draw(4, 3, 3), draw(4)),
    "conv2d": lambda: F.conv2d(draw(2, 3, 8, 8), draw(4, 3, 3, 3), draw(4)),
    "conv2d of an image": lambda: F.conv2d(draw(3, 8, 8), draw(4, 3, 3, 3)),
    "conv_transpose2d": lambda: F.conv_transpose2d(draw(2, 3, 4, 4), draw(3, 4, 3, 3), draw(4)),
    "attention": lambda: F.scaled_dot_product_attention(
        draw(2, 5, 4), draw(2, 6, 4), draw(2, 6, 3)
    ),
}

ALONE = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "tan",
    "sinh",
    "cosh",
    "rsqrt",
    "reciprocal",
]
ALONE += [
    "sum",
    "mean",
    "prod",
    "var",
    "std",
    "softmax",
    "log_softmax",
    "logsumexp",
    "norm",
    "softplus",
    "cumsum",
]
WIDENED: dict[str, Callable[[wf.Tensor], Any]] = {
    **{name: getattr(wf, name) for name in ALONE},
    "pow": lambda x: x**3,
    "pow of floats": lambda x: x**0.5,
    "number to the power": lambda x: 3.0**x,
    "method": lambda x: x.exp(),
    "F.softmax": F.softmax,
    "layer_norm": lambda x: F.layer_norm(x, 4),
    "rms_norm": lambda x: F.rms_norm(x, 4),
    "group_norm": lambda x: F.group_norm(x, 2),
    "cross_entropy": lambda x: F.cross_entropy(x, wf.tensor([0, 1, 3])),
    "nll_loss": lambda x: F.nll_loss(x, wf.tensor([0, 1, 3])),
    "mse_loss": lambda x: F.mse_loss(x, x),
    "l1_loss": lambda x: F.l1_loss(x, x),
    "bce_with_logits": lambda x: F.binary_cross_entropy_with_logits(x, x),
    "cosine_similarity": lambda x: F.cosine_similarity(x, x),
}

KEPT: dict[str, Callable[[wf.Tensor], Any]] = {
    "+": lambda x: x + 1.0,
    "*": lambda x: x * x,
    "relu": lambda x: x.relu(),
    "gelu": F.gelu,
    "sigmoid": lambda x: x.sigmoid(),
    "tanh": lambda x: x.tanh(),
    "max": lambda x: x.max(),
    "concat": lambda x: wf.concat([x, x]),
    "batch_norm": lambda x: F.batch_norm(x, None, None, wf.ones(4), wf.zeros(4), training=True),
}

POSITIVE = wf.tensor(np.random.default_rng(1).uniform(0.25, 1.0, (3, 4)).astype(np.float32))


# ------------------------------------------------------------ what is computed in which dtype


@pytest.mark.thinned(to=2)
@HALVES
@pytest.mark.parametrize("name", LOWERED)
def test_products_are_lowered(name: str, low: wf.DType) -> None:
    exact = LOWERED[name]()
    with nn.autocast(dtype=low):
        found = LOWERED[name]()
    assert exact.dtype is wf.float32 and found.dtype is low
    scale = np.abs(exact.numpy()).max()
    np.testing.assert_allclose(
        found.float().numpy(), exact.numpy(), rtol=0, atol=8 * EPS[low] * scale
    )


@pytest.mark.thinned(to=8)
@HALVES
@pytest.mark.parametrize("name", WIDENED)
def test_what_would_lose_too_much_is_widened(name: str, low: wf.DType) -> None:
    x = POSITIVE.astype(low)
    with nn.autocast(dtype=low):
        found = WIDENED[name](x)
    exact = WIDENED[name](x.float())
    assert found.dtype is wf.float32
    np.testing.assert_array_equal(
        found.numpy(), exact.numpy()
    )  # the operands are rounded, nothing else


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("dtype", [wf.bfloat16, wf.float32], ids=["bfloat16", "float32"])
def test_everything_else_takes_what_it_gets(name: str, dtype: wf.DType) -> None:
    with nn.autocast():
        assert KEPT[name](POSITIVE.astype(dtype)).dtype is dtype


def test_products_of_the_other_short_float_are_converted_too() -> None:
    with nn.autocast(dtype=wf.bfloat16):
        assert (draw(2, 3).half() @ draw(3, 2)).dtype is wf.bfloat16


def test_float64_stays() -> None:
    with nn.autocast():
        assert (draw(2, 3).double() @ draw(3, 2)).dtype is wf.float64


def test_integers_stay() -> None:
    with nn.autocast():
        assert (wf.ones(2, 3, dtype=wf.int32) @ wf.ones(3, 2, dtype=wf.int32)).dtype is wf.int32


def test_a_large_sum_does_not_overflow() -> None:
    with nn.autocast(dtype=wf.float16):
        assert (wf.full((300, 300), 60.0, dtype=wf.float16).sum()).item() == 5.4e6


def test_attention_stays_one_kernel() -> None:
    q = draw(2, 4, 16, 8)
    with nn.autocast():
        report = wf.explain(F.scaled_dot_product_attention(q, q, q, is_causal=True))
    assert str(report).startswith("1 kernel on ")


def test_a_mask_that_is_added_stays_float32() -> None:
    q = draw(2, 4, 8)
    with nn.autocast(dtype=wf.float16):
        out = F.scaled_dot_product_attention(
            q, q, q, attn_mask=wf.full((4, 4), -1e9)
        )  # infinite in float16
    assert out.dtype is wf.float16 and np.isfinite(out.float().numpy()).all()


def test_a_bias_is_rounded_with_the_products() -> None:
    bias = (
        1.0 + 2.0**-8 - 2.0**-12
    )  # rounded to bfloat16 it would be 1, and the sum 2 + 2**-7 a tie that goes to 2
    with nn.autocast():
        out = F.linear(wf.ones(1, 1), wf.tensor([[1.0 + 2.0**-7]]), bias=wf.tensor([bias]))
    assert out.item() == 2.0 + 2.0**-6 and out.dtype is wf.bfloat16


def test_casts_are_fused_into_the_product() -> None:
    a, b = draw(32, 32), draw(32, 32)
    with nn.autocast():
        report = wf.explain(a @ b)
    assert str(report).startswith("1 kernel on ")


# ------------------------------------------------------------ gradients


@HALVES
def test_weights_stay_float32_and_so_do_their_gradients(low: wf.DType) -> None:
    layer, x = nn.Linear(6, 5), draw(7, 6)
    with nn.autocast(dtype=low):
        out = layer(x)
    (out.float() ** 2).sum().backward()
    assert out.dtype is low and layer.weight.dtype is wf.float32
    assert layer.weight.grad.dtype is layer.bias.grad.dtype is wf.float32
    exact = 2 * layer.forward(x).detach().numpy().T @ x.numpy()
    np.testing.assert_allclose(
        layer.weight.grad.numpy(), exact, rtol=0, atol=8 * EPS[low] * np.abs(exact).max()
    )


def test_backward_needs_no_autocast_and_does_not_mind_it() -> None:
    def gradient(inside: bool) -> np.ndarray[Any, Any]:
        w = nn.Parameter(draw(4, 3))
        with nn.autocast():
            loss = F.linear(draw(2, 3), w).sum()
            if inside:
                loss.backward()
        if not inside:
            loss.backward()
        return w.grad.numpy()

    np.testing.assert_array_equal(gradient(True), gradient(False))


def test_it_is_the_same_on_a_gpu() -> None:
    def run(device: str) -> tuple[str, np.ndarray[Any, Any]]:
        w, x = nn.Parameter(draw(4, 3).to(device)), draw(5, 3).to(device)
        with nn.autocast("cuda"):
            out = F.linear(x, w)
            loss = F.cross_entropy(out, wf.tensor([0, 1, 2, 3, 0], device=device))
        loss.backward()
        return (
            f"{out.device} {out.dtype.name} {loss.dtype.name} {w.grad.dtype.name}",
            w.grad.cpu().numpy(),
        )

    _, here = run("cpu")
    with far_devices():
        described, there = run("cuda")
    assert described == "cuda:0 bfloat16 float32 float32"
    np.testing.assert_allclose(here, there, rtol=0, atol=EPS[wf.bfloat16])


# ------------------------------------------------------------ where it is on


def dtype_of_a_product() -> wf.DType:
    return (draw(2, 2) @ draw(2, 2)).dtype


def test_blocks_nest_and_can_be_turned_off() -> None:
    seen = [dtype_of_a_product()]
    with nn.autocast(dtype=wf.bfloat16):
        seen.append(dtype_of_a_product())
        with nn.autocast(dtype=wf.float16):
            seen.append(dtype_of_a_product())
            with nn.autocast(enabled=False):
                seen.append(dtype_of_a_product())
            seen.append(dtype_of_a_product())
        seen.append(dtype_of_a_product())
    seen.append(dtype_of_a_product())
    assert [d.name for d in seen] == [
        "float32",
        "bfloat16",
        "float16",
        "float32",
        "float16",
        "bfloat16",
        "float32",
    ]


def test_one_object_can_be_entered_again_inside_itself() -> None:
    block = nn.autocast()
    with block:
        with block:
            pass
        assert dtype_of_a_product() is wf.bfloat16
    assert dtype_of_a_product() is wf.float32


def test_an_error_inside_ends_it() -> None:
    with pytest.raises(errors.ShapeError), nn.autocast():
        draw(2, 3) @ draw(2, 3)
    assert dtype_of_a_product() is wf.float32


def test_it_decorates_functions() -> None:
    @nn.autocast("cuda", dtype="float16")
    def product() -> wf.DType:
        """A product."""
        return dtype_of_a_product()

    assert (product(), product.__doc__, dtype_of_a_product()) == (
        wf.float16,
        "A product.",
        wf.float32,
    )


def test_other_threads_are_left_alone() -> None:
    seen: list[wf.DType] = []
    with nn.autocast():
        thread = threading.Thread(target=lambda: seen.append(dtype_of_a_product()))
        thread.start()
        thread.join()
    assert seen == [wf.float32]


@pytest.mark.parametrize("dtype", [wf.float32, wf.float64, "int8"])
def test_other_dtypes_are_refused(dtype: Any) -> None:
    with pytest.raises(errors.DTypeError, match="autocast: dtype must be float16 or bfloat16, not"):
        nn.autocast(dtype=dtype)


def test_unknown_devices_are_refused() -> None:
    with pytest.raises(errors.ArgumentError, match="autocast: device_type"):
        nn.autocast("tpu")


# ------------------------------------------------------------ jit


def test_jitted_function_is_compiled_for_the_state_of_the_call() -> None:
    @wf.jit
    def product(a: wf.Tensor, b: wf.Tensor) -> wf.Tensor:
        return a @ b

    a, b = draw(4, 4), draw(4, 4)
    seen = []
    for low in [None, wf.bfloat16, None, wf.float16, wf.bfloat16]:
        with nn.autocast(dtype=low or wf.bfloat16, enabled=low is not None):
            seen += [
                product(a, b).dtype.name for _ in range(3)
            ]  # the first call, others, and the shortest way
    assert seen == [
        name for name in ["float32", "bfloat16", "float32", "float16", "bfloat16"] for _ in range(3)
    ]


@pytest.mark.slow
def test_jit_gives_what_is_computed_without_it() -> None:
    model = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))
    x = draw(5, 6)

    @nn.autocast()
    def loss(x: wf.Tensor) -> wf.Tensor:
        return F.cross_entropy(model(x), wf.tensor([0, 1, 2, 0, 1]))

    assert wf.jit(loss)(x).item() == loss(x).item()


def test_numbers_given_to_a_jitted_function_stay_numbers() -> None:
    @wf.jit
    def scaled(x: wf.Tensor, power: float) -> wf.Tensor:
        return x**power

    with nn.autocast():
        assert scaled(POSITIVE.bfloat16(), 2.5).dtype is wf.float32


@pytest.mark.slow
def test_model_learns_in_bfloat16() -> None:
    wf.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64, 4),
    )
    optimizer = nn.optim.Adam(model.parameters(), 0.02)
    labels = wf.tensor(np.arange(32) % 4)
    images = draw(32, 1, 8, 8) + 2.0 * draw(4, 1, 8, 8, seed=1)[labels]

    @wf.jit
    def step(x: wf.Tensor, y: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        with nn.autocast(dtype=wf.bfloat16):
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    losses = [step(images, labels).item() for _ in range(30)]
    assert losses[0] > 1.0 and losses[-1] < 0.1
    assert {p.dtype for p in model.parameters()} == {wf.float32}
