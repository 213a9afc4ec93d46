"""wf.debug_nans: which operation and line it names, what it leaves alone, and that nothing is lost
when it raises."""

from __future__ import annotations

import gc
import inspect
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import rarely
from weft import errors, nn, options
from weft.compiler.backends.kinds import current_backend
from weft.compiler.compile import build
from weft.compiler.programs import on_disk
from weft.compiler.programs.nan_culprit import Search
from weft.frontend.lazy import program_table, realize
from weft.ir.graph import graph
from weft.nn import functional as F
from weft.runtime.failures import Interrupted

Function = Callable[..., Any]
inf, nan = math.inf, math.nan


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    with options.override():
        yield


def bad_line(function: Function) -> int:
    """The number of the line of a function that is marked with `# bad`."""
    lines, first = inspect.getsourcelines(getattr(function, "_function", function))
    (found,) = (first + i for i, line in enumerate(lines) if "# bad" in line)
    return found


def raised(function: Function, *args: Any, **how: Any) -> errors.FloatingPointError:
    """What computing the function's result raises in the mode."""
    with wf.debug_nans(**how), pytest.raises(errors.FloatingPointError) as info:
        wf.realize(function(*args))
    return info.value


def named(function: Function, *args: Any, **how: Any) -> errors.FloatingPointError:
    """The same, after a look at file and line."""
    error = raised(function, *args, **how)
    assert (error.file, error.line) == (__file__, bad_line(function)), error
    assert f"{__file__}:{error.line}" in str(error) and "# bad" in str(error)
    return error


# ---------------------------------------------------------------- the line, forward, inside one
# kernel of 20 operations


def around(x: wf.Tensor) -> wf.Tensor:
    """Nine operations that leave finite numbers finite."""
    return (((x * 0.5 + 1.0) * 0.25 - 3.0).tanh() * 2.0 + 0.5).sin() * 0.125


def log_of_zero(x: wf.Tensor) -> wf.Tensor:
    a = around(x)
    b = (a - a).log()  # bad
    return 1.0 / around(b.exp() + 1.0)


def zero_by_zero(x: wf.Tensor) -> wf.Tensor:
    a = around(x)
    b = (a - a) / (x * 0.0)  # bad
    return around(wf.where(b > 0.0, b, 2.0))


def overflow_in_exp(x: wf.Tensor) -> wf.Tensor:
    a = around(x)
    b = (a * a + 100.0).exp()  # bad
    return around(1.0 / (b + 1.0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "op", "value"),
    [
        (log_of_zero, "log", -inf),
        pytest.param(zero_by_zero, "div", nan, marks=pytest.mark.slow),
        pytest.param(overflow_in_exp, "exp", inf, marks=pytest.mark.slow),
    ],
)
def test_the_line_inside_one_kernel_of_twenty_operations(
    function: Function, op: str, value: float
) -> None:
    x = wf.tensor(np.linspace(0.1, 2.0, 1000, dtype=np.float32))
    (kernel,) = wf.explain(function(x)).kernels
    assert len(kernel.nodes) >= 20
    error = named(function, x)
    assert (error.op, error.kernel, error.gradient) == (op, kernel.name, False)
    assert error.value == pytest.approx(value, nan_ok=True) and error.index == (0,)


def test_element_and_operands_are_those_of_the_operation() -> None:
    def function() -> wf.Tensor:
        x, y = wf.tensor([[1.0, 2.0], [3.0, -4.0]]), wf.tensor([[1.0, 2.0], [0.0, 0.0]])
        return (x / y).tanh()  # bad

    error = named(function)
    assert (error.index, error.operands, error.value, error.shape) == (
        (1, 0),
        (3.0, 0.0),
        inf,
        (2, 2),
    )
    assert str(error).startswith("div(3, 0) gives inf, at index (1, 0) of a float32[2, 2]")


def test_the_first_operation_is_named_not_what_follows() -> None:
    def function() -> wf.Tensor:
        x = wf.tensor([2.0, 0.0])
        y = x.log()  # bad
        return (y - y).sqrt() + y.exp().log()

    assert named(function).op == "log"


def test_the_line_is_that_of_this_time_where_the_graph_was_built_elsewhere_before() -> None:
    x = wf.tensor([0.0, 5.0])
    wf.realize(x.log() * 7.0)

    def function() -> wf.Tensor:
        return x.log() * 7.0  # bad

    named(function)


# ---------------------------------------------------------------- backward


def sqrt_at_zero(x: wf.Tensor) -> wf.Tensor:
    y = around(x - x)
    loss = (around((x - x).sqrt()) * y).sum()  # bad
    (g,) = wf.grad(loss, [x])
    return g


def log_near_zero(x: wf.Tensor) -> wf.Tensor:
    loss = (around(x) + (x * 1e-44).log() * 2.0).sum()  # bad
    (g,) = wf.grad(loss, [x])
    return g


def norm_at_zero(x: wf.Tensor) -> wf.Tensor:
    y = ((x - x) * (x - x)).sum().sqrt()  # bad
    (g,) = wf.grad(around(y), [x])
    return g


def power_at_zero(x: wf.Tensor) -> wf.Tensor:
    loss = around((x - x) ** 0.25).sum()  # bad
    (g,) = wf.grad(loss, [x])
    return g


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "function", [sqrt_at_zero, norm_at_zero, *rarely(log_near_zero, power_at_zero)]
)
def test_a_gradient_carries_the_line_of_its_forward_operation(function: Function) -> None:
    x = wf.tensor(np.linspace(0.1, 2.0, 100, dtype=np.float32), requires_grad=True)
    error = named(function, x)
    assert error.gradient and "in the gradient of" in str(error)


# ---------------------------------------------------------------- reductions, products, casts


def test_a_sum_that_overflows_is_named_with_its_place() -> None:
    def function() -> wf.Tensor:
        x = np.ones((3, 40), np.float32)
        x[1] = 3e38
        return wf.tensor(x).sum(axis=1).tanh()  # bad

    error = named(function)
    assert (error.op, error.index, error.value, error.operands) == ("sum", (1,), inf, ())


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("shape", [(70, 60, 80), (1, 300, 200), *rarely((3, 4, 5), (64, 512, 64))])
def test_a_matrix_product_that_overflows_is_named(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    a, b = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
    a[m // 2], b[:, 2] = 1e20, 1e20
    x, y = wf.tensor(a), wf.tensor(b)

    def function() -> wf.Tensor:
        return (x @ y).tanh()  # bad

    error = named(function)
    assert (error.op, error.index) == ("sum of products", (m // 2, 2))


@pytest.mark.slow
def test_a_convolution_that_overflows_is_named() -> None:
    x, w = wf.full((2, 3, 12, 12), 1e19).realize(), wf.full((8, 3, 5, 5), 1e19).realize()

    def function() -> wf.Tensor:
        return F.max_pool2d(F.conv2d(wf.tensor(x.numpy()), wf.tensor(w.numpy())).tanh(), 2)  # bad

    assert named(function).op == "sum of products"


@pytest.mark.slow
def test_attention_that_overflows_is_named() -> None:
    q = wf.tensor(np.full((1, 2, 32, 16), 1e19, np.float32))

    def function() -> wf.Tensor:
        return F.scaled_dot_product_attention(q, q * 1e19, q, is_causal=True)  # bad

    assert named(function).op == "sum of products"


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_a_scan_that_overflows_is_named_at_its_first_place(name: str) -> None:
    x = wf.tensor([1.0, 3e38, 2e38, 1.0])

    def function() -> wf.Tensor:
        return getattr(x, name)(axis=0) * 0.5  # bad

    error = named(function)
    assert error.index == (2,)


def test_what_a_scatter_adds_beyond_the_range_is_named() -> None:
    x, places = wf.tensor([3e38, 3e38, 1.0]), wf.tensor([1, 1, 0])

    def function() -> wf.Tensor:
        return wf.scatter_add(wf.zeros(4), places, x)  # bad

    error = named(function)
    assert error.index == (1,)


@pytest.mark.parametrize(
    ("dtype", "large", "factor"), [(wf.float16, 60000.0, 3.0), (wf.bfloat16, 2.0**127, 1.99804688)]
)
def test_a_product_that_overflows_when_it_is_rounded_to_16_bits_is_named(
    dtype: wf.DType, large: float, factor: float
) -> None:
    x = wf.tensor([1.0, large])

    def function() -> wf.Tensor:
        return (x * factor).to(dtype)  # bad

    error = named(function)
    assert (error.op, error.index, error.dtype) == (f"mul rounded to {dtype.name}", (1,), dtype)


def test_a_product_of_16_bit_floats_that_overflows_is_named() -> None:
    x = wf.tensor([1.0, 60000.0], dtype=wf.float16)

    def function() -> wf.Tensor:
        return x * 3.0  # bad

    error = named(function)
    assert (error.op, error.index, error.dtype) == ("mul rounded to float16", (1,), wf.float16)


def test_a_cast_to_fewer_bits_that_overflows_is_named() -> None:
    x = wf.tensor([1e30, 1e300], dtype=wf.float64)

    def function() -> wf.Tensor:
        return x.to(wf.float32) + 1.0  # bad

    assert named(function).op == "cast to float32"


def test_operations_on_constants_are_looked_at() -> None:
    def function() -> wf.Tensor:
        return wf.zeros(3).log() + 1.0  # bad

    assert named(function).operands == (0.0,)


@pytest.mark.slow
def test_a_part_of_a_long_sum_has_a_line_and_no_index() -> None:
    x = wf.full((1 << 20,), 1e36).realize()

    def function() -> wf.Tensor:
        return (x * wf.tensor(1.0)).sum()  # bad

    error = named(function)
    assert error.op.startswith("sum") and error.index is None and "index" not in str(error)


def test_without_memory_for_the_search_the_lines_of_the_kernel_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: Any) -> None:
        raise errors.MemoryError("a terabyte")

    monkeypatch.setattr(Search, "_run", fails)
    error = raised(lambda: wf.tensor([0.0]).log().tanh())
    assert error.kernel in str(error) and __file__ in str(error) and error.op is None


@pytest.mark.slow
def test_what_only_the_steps_inside_of_a_kernel_make_has_a_line() -> None:
    """The weights of attention are divided last, so that the sums before may be larger than the
    result, times 2 here."""
    q, v = wf.ones(1, 1, 40, 16).realize(), wf.full((1, 1, 40, 16), 3e37).realize()

    def function() -> wf.Tensor:
        return F.scaled_dot_product_attention(q, q, v * 1.0) * 2.0  # bad

    error = raised(function)
    assert error.op is None and "what the kernel makes on its way" in str(error)
    assert f"{__file__}:{bad_line(function)}" in str(error)


# ---------------------------------------------------------------- what is no fault

X = np.array([[1.0, 0.0, -2.0, inf], [nan, 3.0, -inf, 0.5]], np.float32)
FINE: dict[str, Function] = {
    "nothing": lambda x: x + 1.0,
    "what was given, and what follows": lambda x: (x * 2.0 - x).exp(),
    "a sum of what was given": lambda x: x.sum(axis=1),
    "a product of what was given": lambda x: x @ wf.ones(4, 6),
    "softmax of what was given": lambda x: x.softmax(axis=1),
    "a running sum of what was given": lambda x: x.cumsum(axis=1),
    "sorting": lambda x: wf.sort(x, axis=1),
    "an infinite constant": lambda x: wf.maximum(x, -inf) + wf.full((2, 4), inf),
    "a choice that leaves it out": lambda x: wf.where(x[:, :3] > 0.0, x[:, :3].log(), 0.0),
    "a choice of the other side": lambda x: wf.where(x == 0.0, 1.0, 1.0 / x),
    "a choice in a choice": lambda x: wf.where(x > 0.0, wf.where(x < 10.0, x, 1.0).log(), -1.0),
    "what a slice leaves out": lambda x: wf.tensor([0.0, 1.0]).log()[1:] + 1.0,
    "a mask of minus infinity": (
        lambda x: wf.where(wf.arange(4) < 3, wf.ones(5, 4), -inf).softmax(axis=1)
    ),
    "max-pooling with padding": lambda x: F.max_pool2d(wf.ones(1, 1, 5, 5), 3, padding=1),
    "causal attention": lambda x: F.scaled_dot_product_attention(
        *[wf.rand(1, 2, 70, 16)] * 3, is_causal=True
    ),
    "cross entropy": lambda x: F.cross_entropy(
        wf.randn(8, 10) * 100.0, wf.zeros(8, dtype=wf.int64)
    ),
    "comparisons": lambda x: (x < inf) & (x == x),
    "integers": lambda x: wf.arange(5) // 0,
}


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("what", FINE)
def test_it_is_no_fault(what: str) -> None:
    x = wf.tensor(X)
    wf.manual_seed(1)
    expected = FINE[what](x).numpy()
    wf.manual_seed(1)
    with wf.debug_nans():
        found = FINE[what](x).numpy()
    np.testing.assert_array_equal(found, expected)


def test_a_value_in_memory_counts_where_a_choice_of_another_kernel_takes_it() -> None:
    x = wf.tensor(np.arange(6.0, dtype=np.float32).reshape(2, 3))

    def function(chosen: float) -> wf.Tensor:
        y = x.log()  # bad
        return wf.where(x > chosen, y, 0.0) @ wf.ones(3, 4) + (
            wf.where(x > chosen, y, 0.0).sum(axis=0) @ wf.ones(3, 4)
        )

    with wf.debug_nans():
        assert np.isfinite(function(0.5).numpy()).all()
    assert named(function, -1.0).operands == (0.0,)


def test_infinities_may_be_allowed() -> None:
    def function(x: wf.Tensor) -> wf.Tensor:
        y = x.exp()
        return (y - y) + y.sum()  # bad

    x = wf.tensor([1.0, 100.0])
    with wf.debug_nans(infs=False):
        assert x.exp().numpy()[1] == inf
    error = named(function, x, infs=False)
    assert (error.op, error.operands) == ("sub", (inf, inf))
    assert raised(function, x).op == "exp"


# ---------------------------------------------------------------- nothing is lost


def test_what_could_not_be_computed_is_lazy_still_and_can_be_computed_without() -> None:
    x = wf.tensor([1.0, 0.0])
    y = x.log() + 1.0
    raised(lambda: y)
    assert "lazy" in repr(y)
    np.testing.assert_array_equal(y.numpy(), np.array([1.0, -inf], np.float32))


def test_an_update_is_not_made() -> None:
    w = nn.Parameter(wf.tensor([4.0, 0.0]))
    optimizer = nn.optim.SGD([w], lr=0.1, momentum=0.9)
    loss = w.sqrt().sum()
    loss.backward()
    with wf.debug_nans(), pytest.raises(errors.FloatingPointError, match="gradient"):
        optimizer.step()
    np.testing.assert_array_equal(w.numpy(), [4.0, 0.0])


def test_a_jitted_step_updates_nothing_and_goes_on_afterwards() -> None:
    w = nn.Parameter(wf.tensor([4.0, 1.0]))
    optimizer = nn.optim.Adam([w], lr=0.1)

    @wf.jit
    def step(x: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        loss = (w * x).sqrt().sum()  # bad
        loss.backward()
        optimizer.step()
        return loss

    def run(values: list[float]) -> Any:
        return step(wf.tensor(values))

    for _ in range(3):
        run([1.0, 2.0])
    before = w.numpy().copy()
    with wf.debug_nans():
        with pytest.raises(errors.FloatingPointError) as info:
            run([1.0, 0.0])
        np.testing.assert_array_equal(w.numpy(), before)
        run([1.0, 2.0])
    assert (info.value.line, info.value.gradient) == (bad_line(step), True)
    after = w.numpy().copy()
    assert (after != before).all()
    run([1.0, 0.0])
    assert not np.isfinite(w.numpy()).all()


def test_the_mode_computes_the_same_bits() -> None:
    def trained(checks: bool) -> list[Any]:
        wf.manual_seed(3)
        model = nn.Sequential(nn.Linear(6, 33), nn.Tanh(), nn.Dropout(0.2))
        optimizer = nn.optim.SGD(model.parameters(), lr=0.01)
        x, y = wf.randn(70, 6).realize(), wf.randint(0, 33, (70,)).realize()
        with wf.debug_nans(checks):
            for _ in range(2):
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
        return [p.numpy() for p in model.parameters()]

    for with_checks, without in zip(trained(True), trained(False), strict=True):
        np.testing.assert_array_equal(with_checks, without)


# ---------------------------------------------------------------- jitted functions, compiled graphs


def test_a_function_jitted_before_is_checked_inside_and_not_after() -> None:
    @wf.jit
    def function(x: wf.Tensor) -> wf.Tensor:
        return x.log() + 1.0  # bad

    x = wf.tensor([1.0, 0.0])
    for _ in range(2):
        for _ in range(3):
            assert function(x).numpy()[1] == -inf
        for _ in range(3):
            named(function, x)


def test_a_function_jitted_inside_is_not_checked_afterwards() -> None:
    @wf.jit
    def function(x: wf.Tensor) -> wf.Tensor:
        return x.log() + 1.0  # bad

    x = wf.tensor([1.0, 0.0])
    named(function, x)
    assert function(x).numpy()[1] == -inf


def test_a_graph_compiled_before_is_checked() -> None:
    x = wf.tensor([1.0, 2.0])
    compiled = wf.compile(x.log() * 2.0, [x])
    zero = wf.tensor([1.0, 0.0])
    assert compiled(zero).numpy()[1] == -inf
    assert raised(compiled, zero).op == "log"
    assert compiled(zero).numpy()[1] == -inf


# ---------------------------------------------------------------- networks


class Net(nn.Module):
    """Layers as LeNet has, with a root between two of them."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 5, padding=2), nn.ReLU())
        self.pool, self.dense = (
            nn.MaxPool2d(2),
            nn.Sequential(nn.Flatten(), nn.Linear(144, 40), nn.ReLU()),
        )
        self.last = nn.Linear(40, 10)

    def forward(self, x: wf.Tensor, root: bool = False) -> wf.Tensor:
        x = self.pool(self.features(x))
        x = self.dense(x)
        if root:
            x = (x * 0.0).sqrt()  # bad
        return self.last(x)


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.slow
def test_a_training_step_with_a_wrong_gradient_in_the_middle(jitted: bool) -> None:
    wf.manual_seed(0)
    model = Net()
    optimizer = nn.optim.SGD(model.parameters(), lr=0.01)
    x, y = wf.randn(8, 1, 12, 12).realize(), wf.randint(0, 10, (8,)).realize()

    def step(x: wf.Tensor, y: wf.Tensor, root: bool = False) -> wf.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x, root), y)
        loss.backward()
        optimizer.step()
        return loss

    function = wf.jit(step, static_argnames="root") if jitted else step
    with wf.debug_nans():
        assert np.isfinite(function(x, y).item())
        with pytest.raises(errors.FloatingPointError) as info:
            function(x, y, root=True)
    assert (info.value.line, info.value.gradient) == (bad_line(Net.forward), True)
    assert all(np.isfinite(p.numpy()).all() for p in model.parameters())


@pytest.mark.slow
def test_autocast_that_overflows_in_float16_is_named() -> None:
    x, w = wf.full((40, 50), 200.0).realize(), wf.full((60, 50), 30.0).realize()

    def function() -> wf.Tensor:
        with nn.autocast(dtype=wf.float16):
            return F.linear(x, w)  # bad

    error = named(function)
    assert error.dtype is wf.float16 and error.index == (0, 0)


# ---------------------------------------------------------------- the mode itself


@pytest.mark.parametrize("threads", [1, 5, *rarely(2)])
def test_the_answer_does_not_depend_on_threads(threads: int) -> None:
    x = np.linspace(1.0, 2.0, 200_000, dtype=np.float32)
    x[[70_001, 150_000, 199_999]] = 0.0

    def function() -> wf.Tensor:
        return wf.tensor(x).log().tanh()  # bad

    with options.override(num_threads=threads, min_chunks=4, serial_threshold=0):
        assert named(function).index == (70_001,)


def test_blocks_nest_and_put_back_what_was_before() -> None:
    assert options.current().debug_nans == ""
    with wf.debug_nans():
        with wf.debug_nans(infs=False):
            assert options.current().debug_nans == "nan"
            with wf.debug_nans(False):
                assert options.current().debug_nans == ""
        assert options.current().debug_nans == "inf"
    assert options.current().debug_nans == ""
    wf.debug_nans(True)
    assert options.current().debug_nans == "inf"


@pytest.mark.parametrize(
    ("text", "found"), [("1", "inf"), ("on", "inf"), ("nan", "nan"), ("0", "")]
)
def test_the_environment_turns_it_on(
    monkeypatch: pytest.MonkeyPatch, text: str, found: str
) -> None:
    monkeypatch.setenv("WEFT_DEBUG_NANS", text)
    assert options._read_environment().debug_nans == found


@pytest.mark.slow
def test_an_unmodified_script_is_checked_from_outside(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import weft as wf\nx = wf.tensor([1.0, 0.0])\ny = x + 1.0\nprint((x / (y -"
        " 1.0)).numpy())\n"
    )
    paths = os.pathsep.join(p for p in sys.path if p)
    env = os.environ | {"PYTHONPATH": paths, "WEFT_DEBUG_NANS": "1"}
    run = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, env=env
    )
    assert run.returncode == 1
    assert "FloatingPointError: div(0, 0) gives nan, at index (1,) of a float32[2]" in run.stderr
    assert f"in {script}:4:  print((x / (y - 1.0)).numpy())" in run.stderr


def test_programs_with_checks_are_found_on_disk_beside_the_others(tmp_path: Path) -> None:
    x = wf.tensor([1.0, 2.0])
    with options.override(cache_dir=tmp_path):
        structure = realize.structure_of((x * 5.0).log() + 3.0)
        plain, checked = on_disk.executable(structure), on_disk.checked(structure, "inf")
        again = on_disk.checked(structure, "inf")
    assert not plain.checks
    assert [c.kernel for c in checked.checks] == [c.kernel for c in again.checks] == [0]


def test_a_signal_while_it_is_searched_leaves_nothing_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = wf.tensor([4.0, 0.0]).realize()

    def ran_to_its_end(*_: Any) -> None:
        raise Interrupted(KeyboardInterrupt())

    with wf.debug_nans():
        x.assign(x.log())
        with monkeypatch.context() as patch:
            patch.setattr(Search, "_run", ran_to_its_end)
            with pytest.raises(KeyboardInterrupt):
                x.realize()
    np.testing.assert_array_equal(x.numpy(), [4.0, 0.0])


def test_after_an_error_nothing_is_kept_of_the_search() -> None:
    def compute(size: int) -> None:
        with options.override(dynamic_shapes=False):  # a program of many sizes keeps its Nodes
            raised(lambda: (wf.zeros(size) * wf.tensor(2.0)).log().tanh().sum())

    compute(5)
    gc.collect()
    graph.forget_dead()
    before = len(graph.interned)
    for size in range(6, 9):
        compute(size)
    gc.collect()
    graph.forget_dead()
    assert len(graph.interned) == before


def test_what_the_interpreter_computes_is_checked() -> None:
    x, y = wf.tensor([1.0, 0.0]).realize(), wf.tensor([1.0, 2.0]).realize()
    with options.override(interpret=True):
        jitted = wf.jit(lambda x: x.log() * 3.0)
        expected = jitted(y).numpy()
        assert raised(lambda: x.log() * 3.0).op == raised(jitted, x).op == "log"
        with wf.debug_nans():
            np.testing.assert_array_equal(jitted(y).numpy(), expected)
            np.testing.assert_array_equal((y.log() * 3.0).numpy(), expected)


def test_a_wrong_switch_is_refused() -> None:
    with pytest.raises(errors.DTypeError, match="debug_nans: enabled"):
        wf.debug_nans(np.ones(2))  # type: ignore[arg-type]
    with pytest.raises(
        errors.DTypeError, match="debug_nans: enabled must be True or False, not 'nan'"
    ):
        wf.debug_nans("nan")  # type: ignore[arg-type]
    assert options.current().debug_nans == ""


def test_an_index_out_of_range_is_the_error_that_it_is_elsewhere() -> None:
    with wf.debug_nans(), pytest.raises(errors.IndexError, match="index 7 is out of range"):
        wf.tensor([1.0, 2.0])[wf.tensor([0, 7])].numpy()


def test_other_programs_are_what_they_are() -> None:
    x = wf.tensor([1.0, 2.0]).realize()
    y = x.log() * 3.0
    built = program_table.statistics["built"]
    wf.realize(y)
    with wf.debug_nans():
        wf.realize(x.log() * 3.0)
        text = str(wf.explain(x.log() * 3.0))
    assert program_table.statistics["built"] <= built + 1 and "check" not in text


def test_equal_kernels_share_their_code_with_checks() -> None:
    x, w = wf.rand(40, 64).realize(), [wf.rand(64, 64).realize() for _ in range(4)]
    for v in w:
        x = (x @ v).tanh()
    compiled = build(*realize.structure_of(x).unfolded(), current_backend(nans="inf"))
    assert len(compiled.kernel_keys) == 4 and len(set(compiled.kernel_keys)) == 1
