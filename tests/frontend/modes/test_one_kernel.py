"""wf.one_kernel: what takes several kernels raises, wherever its program comes from, and can be
computed afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest
import weft as wf
from weft.frontend.lazy import program_table, watchers

FusionError = wf.errors.FusionError
F = wf.nn.functional


def randn(*shape: int) -> wf.Tensor:
    return wf.tensor(np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32))


def fused(x: wf.Tensor) -> wf.Tensor:
    return x.softmax(axis=-1)


def parted(x: wf.Tensor) -> wf.Tensor:
    h = x @ x
    return h @ x  # a second contraction


@pytest.fixture
def no_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process."""
    monkeypatch.setattr(program_table, "_programs", program_table.Programs())


# ---------------------------------------------------------------- what is computed lazily


def test_one_kernel_computes() -> None:
    x = randn(40, 40)
    with wf.one_kernel():
        assert np.allclose(fused(x).numpy().sum(axis=1), 1.0)


def test_what_is_in_memory_already_takes_no_kernel() -> None:
    x = randn(40, 40)
    with wf.one_kernel():
        x.numpy()
        x.T.numpy()


def test_two_kernels_raise_and_are_computed_later() -> None:
    x = randn(41, 41)
    y = parted(x)
    with pytest.raises(FusionError, match="this takes 2 kernels"), wf.one_kernel():
        y.numpy()
    assert "lazy" in repr(y)
    assert np.allclose(y.numpy(), x.numpy() @ x.numpy() @ x.numpy(), atol=1e-3)


def test_the_error_names_the_reason_and_the_lines_on_both_sides() -> None:
    with pytest.raises(AssertionError) as caught, wf.one_kernel():
        parted(randn(42, 42)).numpy()
    first = parted.__code__.co_firstlineno + 1
    text = str(caught.value)
    assert f"    test_one_kernel.py:{first}  h = x @ x\n" in text
    assert f"    test_one_kernel.py:{first + 1}  return h @ x  # a second contraction\n" in text
    assert "is not one with k0_matmul: one contraction" in text


def test_kernels_that_share_nothing_say_so() -> None:
    with (
        pytest.raises(FusionError, match="shares no data with the kernels before it"),
        wf.one_kernel(),
    ):
        wf.realize(randn(30).exp(), randn(50).log1p())


def test_a_check_of_indices_is_no_kernel() -> None:
    table, rows = randn(50, 8), wf.tensor([1, 49])
    with wf.one_kernel():
        assert np.array_equal(F.embedding(rows, table).numpy(), table.numpy()[[1, 49]])
    with pytest.raises(IndexError), wf.one_kernel():
        F.embedding(wf.tensor([1, 50]), table).numpy()


def test_each_computation_counts_for_itself() -> None:
    with wf.one_kernel():
        fused(randn(43, 43)).numpy()
        fused(randn(44, 44)).numpy()


def test_a_program_that_is_found_again_raises_with_the_lines_of_this_time() -> None:
    x = randn(45, 45)
    parted(x).numpy()

    def elsewhere(x: wf.Tensor) -> wf.Tensor:
        return (x @ x) @ x

    for _ in range(2):
        with (
            pytest.raises(
                FusionError, match=f"test_one_kernel.py:{elsewhere.__code__.co_firstlineno + 1} "
            ),
            wf.one_kernel(),
        ):
            elsewhere(x).numpy()


def test_a_program_from_disk_raises(no_programs: None) -> None:
    x = randn(46, 46)
    parted(x).numpy()
    fused(x).numpy()
    program_table._programs.clear()
    with wf.one_kernel():
        with pytest.raises(FusionError, match="2 kernels"):
            parted(x).numpy()
        fused(x).numpy()


def test_what_it_knows_of_a_program_goes_with_it(no_programs: None) -> None:
    from weft.inspection.explain import explain

    before = len(explain._known)
    with wf.one_kernel():
        fused(randn(47, 47)).numpy()
    assert len(explain._known) == before + 1
    program_table._programs.clear()
    assert len(explain._known) <= before


# ---------------------------------------------------------------- jitted functions


def test_a_jitted_function_raises_before_it_runs() -> None:
    f, g = wf.jit(parted), wf.jit(fused)
    x = randn(48, 48)
    with wf.one_kernel():
        g(x)
        with pytest.raises(FusionError, match="2 kernels"):
            f(x)
    assert np.allclose(f(x).numpy(), x.numpy() @ x.numpy() @ x.numpy(), atol=1e-3)


def test_a_jitted_call_that_repeats_raises() -> None:
    f, x = wf.jit(parted), randn(49, 49)
    for _ in range(3):
        expected = f(x).numpy()  # the third takes the short way
    for _ in range(2):
        with wf.one_kernel():
            for _ in range(2):
                with pytest.raises(FusionError):
                    f(x)
        assert np.array_equal(f(x).numpy(), expected)
        f(x)


def test_a_jitted_method_and_numbers_that_repeat_raise() -> None:
    class Model:
        @wf.jit
        def times(self, x: wf.Tensor, factor: float) -> wf.Tensor:
            return parted(x) * factor

    m, x = Model(), randn(50, 50)
    for factor in (1.0, 2.0, 3.0):
        m.times(x, factor)
    with pytest.raises(FusionError), wf.one_kernel():
        m.times(x, 4.0)


def test_a_compiled_graph_raises() -> None:
    x = randn(51, 51)
    f = wf.compile(parted(x), [x])
    f(x)
    with pytest.raises(FusionError), wf.one_kernel():
        f(x)


def test_a_jitted_call_takes_the_short_way_again_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    f, x = wf.jit(lambda x: x + 1.0), randn(52)
    f(x)
    with wf.one_kernel():
        f(x)
    f(x)
    (steps,) = f._steps.values()
    monkeypatch.setattr(type(steps[0]), "run", None)
    assert f(x).shape == (52,)


def training() -> tuple[
    wf.nn.Module, wf.nn.optim.Adam, Callable[..., wf.Tensor], tuple[wf.Tensor, ...]
]:
    wf.manual_seed(5)
    model = wf.nn.Sequential(wf.nn.Linear(20, 30), wf.nn.Dropout(0.5), wf.nn.Linear(30, 5))
    optimizer = wf.nn.optim.Adam(model.parameters(), lr=0.01)

    def step(x: wf.Tensor, y: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return model, optimizer, step, (randn(16, 20), wf.tensor(np.arange(16) % 5))


def test_a_refused_training_step_leaves_no_trace() -> None:
    results = []
    for refuse in (False, True):
        model, optimizer, step, batch = training()
        jitted = wf.jit(step)
        losses = [jitted(*batch).item() for _ in range(3)]
        if refuse:
            before, steps = [p.numpy().copy() for p in model.parameters()], list(optimizer.steps)
            with pytest.raises(FusionError), wf.one_kernel():
                jitted(*batch)
            assert optimizer.steps == steps
            assert all(
                np.array_equal(p.numpy(), b)
                for p, b in zip(model.parameters(), before, strict=True)
            )
        results.append([*losses, jitted(*batch).item(), *(p.tolist() for p in model.parameters())])
    assert results[0] == results[1]


@pytest.mark.slow
def test_a_refused_lazy_step_waits_until_it_is_computed() -> None:
    results = []
    for refuse in (False, True):
        model, _, step, batch = training()
        step(*batch)
        if refuse:
            with pytest.raises(FusionError), wf.one_kernel():
                step(*batch)
            wf.realize()
        else:
            step(*batch)
        results.append([p.tolist() for p in model.parameters()])
    assert results[0] == results[1]


# ---------------------------------------------------------------- blocks


def test_blocks_nest_and_end() -> None:
    y = parted(randn(53, 53))
    with wf.one_kernel():
        with wf.one_kernel():
            pass
        with pytest.raises(FusionError):
            y.numpy()
    assert watchers.requirement() is None
    y.numpy()


def test_a_block_ends_with_whatever_is_raised_inside() -> None:
    with pytest.raises(ZeroDivisionError), wf.one_kernel():
        raise ZeroDivisionError
    assert watchers.requirement() is None
    parted(randn(54, 54)).numpy()


@pytest.mark.slow
def test_it_decorates_a_function() -> None:
    @wf.one_kernel()
    def compute(y: wf.Tensor) -> np.ndarray:
        return y.numpy()

    for _ in range(2):
        compute(fused(randn(55, 55)))
        with pytest.raises(FusionError):
            compute(parted(randn(55, 55)))


def test_other_threads_compute_what_they_like() -> None:
    f, x = wf.jit(parted), randn(56, 56)
    f(x)
    failures: list[BaseException] = []

    def other() -> None:
        try:
            for _ in range(3):
                f(x)
            parted(x).numpy()
        except BaseException as failure:
            failures.append(failure)

    with wf.one_kernel():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        with pytest.raises(FusionError):  # though the other one has just run the same step
            f(x)
    assert not failures


def test_explaining_computes_nothing_and_is_allowed() -> None:
    with wf.one_kernel():
        assert len(wf.explain(parted(randn(57, 57))).kernels) == 2
