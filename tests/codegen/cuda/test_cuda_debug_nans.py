"""wf.debug_nans for programs of a GPU: the same names, lines and elements as on the CPU, and
nothing lost."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable

import numpy as np
import pytest
import weft as wf
from cudakit import device, in_order, needs_compiler
from effort import rarely
from weft import errors, nn
from weft.compiler.programs.nan_culprit import Search

pytestmark = needs_compiler


@pytest.fixture(autouse=True)
def gpu() -> None:
    device()


def raised(function: Callable[[], wf.Tensor]) -> errors.FloatingPointError:
    """What computing the result raises, at the line marked with `# bad`."""
    with wf.debug_nans(), pytest.raises(errors.FloatingPointError) as info:
        wf.realize(function())
    lines, first = inspect.getsourcelines(function)
    assert lines[info.value.line - first].rstrip().endswith("# bad") and info.value.file == __file__
    return info.value


def test_an_operation_inside_of_a_kernel_is_named_in_any_order_of_threads() -> None:
    values = np.linspace(1.0, 2.0, 5000, dtype=np.float32)
    values[[1234, 4000]] = 100.0
    x = wf.tensor(values, device="cuda")

    def function() -> wf.Tensor:
        y = wf.where(x > 0.0, x * 1.5, x.log())
        z = (y * 0.75).exp()  # bad
        return (1.0 / (1.0 + z)).tanh() + y

    for order in ("forward", "random"):
        with in_order(order):
            error = raised(function)
            assert (error.op, error.index, error.value, error.gradient) == (
                "exp",
                (1234,),
                math.inf,
                False,
            )
    assert np.isfinite(function().cpu().numpy()).all()


@pytest.mark.slow
def test_a_product_and_a_row_that_overflow_are_named() -> None:
    a, b = np.ones((40, 70), np.float32), np.ones((70, 50), np.float32)
    a[7], b[:, 9] = 1e20, 1e20
    x, y = wf.tensor(a, device="cuda"), wf.tensor(b, device="cuda")

    def function() -> wf.Tensor:
        return (x @ y).tanh()  # bad

    error = raised(function)
    assert (error.op, error.index) == ("sum of products", (7, 9))


@pytest.mark.slow
@pytest.mark.parametrize("causal", [*rarely(False), True])
def test_attention_of_finite_numbers_needs_no_search(
    causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def searched(*_: object) -> None:
        raise AssertionError

    q, k, v = (wf.rand(1, 2, 40, 16, device="cuda").realize() for _ in range(3))
    with wf.debug_nans(), monkeypatch.context() as patch:
        patch.setattr(Search, "find", searched)
        nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal).realize()


@pytest.mark.slow
def test_attention_whose_products_overflow_is_named() -> None:
    q, k = (wf.full((1, 1, 40, 16), value, device="cuda").realize() for value in (1.0, 1e38))

    def function() -> wf.Tensor:
        return nn.functional.scaled_dot_product_attention(q, k, q) * 2.0  # bad

    assert raised(function).op == "sum of products"


@pytest.mark.slow
def test_what_only_the_steps_inside_of_a_kernel_make_has_a_line() -> None:
    q, v = (wf.full((1, 1, 40, 16), value, device="cuda").realize() for value in (1.0, 3e38))

    def function() -> wf.Tensor:
        return nn.functional.scaled_dot_product_attention(q, q, v * 1.0) * 2.0  # bad

    with (
        wf.debug_nans(),
        pytest.raises(errors.FloatingPointError, match=r"test_cuda_debug_nans\.py"),
    ):
        function().realize()


@pytest.mark.slow
def test_a_jitted_step_names_the_line_of_a_gradient_and_updates_nothing() -> None:
    w = nn.Parameter(wf.tensor([4.0, 1.0, 9.0], device="cuda"))
    optimizer = nn.optim.SGD([w], lr=0.1)

    def step(x: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        loss = (w * x).sqrt().sum()  # bad
        loss.backward()
        optimizer.step()
        return loss

    jitted = wf.jit(step)
    good, bad = wf.tensor([1.0, 2.0, 3.0], device="cuda"), wf.tensor([1.0, 0.0, 3.0], device="cuda")
    jitted(good)
    before = w.cpu().numpy()
    with (
        wf.debug_nans(),
        pytest.raises(errors.FloatingPointError, match="in the gradient of") as info,
    ):
        jitted(bad)
    lines, first = inspect.getsourcelines(step)
    assert "# bad" in lines[info.value.line - first] and info.value.index == (1,)
    np.testing.assert_array_equal(w.cpu().numpy(), before)
    jitted(good)
    assert (w.cpu().numpy() != before).all()
