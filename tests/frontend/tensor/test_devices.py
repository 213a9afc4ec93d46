"""Values on a GPU: where they are, how they cross over, gradients, compiled steps. The GPU is
FarDriver (far_driver.py)."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import weft as wf
from cuda_emulator.driver import EmulatorDriver
from cudakit import needs_compiler
from far_driver import FarDriver, far_devices, installed
from weft import errors as E
from weft import nn
from weft.frontend.jit import traced_step
from weft.frontend.lazy import program_table
from weft.nn.parallel import flat

X = np.arange(6, dtype=np.float32).reshape(2, 3)
W = np.linspace(-1, 1, 6, dtype=np.float32).reshape(3, 2)


@pytest.fixture
def gpu() -> Iterator[FarDriver]:
    with far_devices() as drivers:
        yield drivers[0]


@pytest.fixture
def gpus() -> Iterator[list[FarDriver]]:
    with far_devices(2) as drivers:
        yield drivers


@pytest.fixture(params=["far", pytest.param("emulated", marks=needs_compiler)])
def device(request: Any) -> Iterator[str]:
    """A GPU with and one without kernels."""
    with far_devices() if request.param == "far" else installed(EmulatorDriver()):
        yield request.param


def programs() -> int:
    return program_table.statistics["runs"]


# ---------------------------------------------------------------- where a value is


def test_a_value_that_is_moved_is_there(gpu: FarDriver) -> None:
    x = wf.tensor(X).to("cuda")
    assert x.device == "cuda:0" and x.is_cuda
    y = x * 2 + 1
    assert y.device == "cuda:0"
    assert y.tolist() == (X * 2 + 1).tolist()
    assert y.device == "cuda:0" and y._stored().device == "cuda:0"


def test_what_comes_back_is_on_the_cpu(gpu: FarDriver) -> None:
    y = (wf.tensor(X).cuda() * 2).cpu()
    assert y.device == "cpu" and not y.is_cuda
    np.testing.assert_array_equal(y.numpy(), X * 2)


def test_values_on_two_devices_do_not_meet(gpu: FarDriver) -> None:
    x, y = wf.tensor(X), wf.tensor(X).cuda()
    with pytest.raises(
        E.DeviceError,
        match=r"float32\[2, 3\] on cpu meets one float32\[2, 3\] on cuda:0: .*x.to\('cuda:0'\)",
    ):
        x + y
    assert (x.cuda() + y).tolist() == (2 * X).tolist()


def test_values_that_do_not_meet_are_named_as_they_were_given(gpu: FarDriver) -> None:
    x, layer = wf.tensor(X), nn.Linear(3, 2).to("cuda")
    for build in (
        lambda: layer(x),
        lambda: x @ layer.weight.T,
        lambda: wf.concat([x, layer.weight.astype("float64")]),
    ):
        with pytest.raises(
            E.DeviceError, match=r"a value float32\[2, 3\] on \w+(:0)? meets one float32\[2, 3\] on"
        ):
            build()


def test_values_that_share_what_was_computed_are_moved_one_by_one(gpu: FarDriver) -> None:
    x, w = wf.tensor(X, device="cuda"), wf.tensor(W, device="cuda")
    gradients = [g.cpu().numpy() for g in wf.grad(((x @ w).tanh() ** 2).sum(), (x, w))]
    x, w = wf.tensor(X), wf.tensor(W)
    for got, want in zip(gradients, wf.grad(((x @ w).tanh() ** 2).sum(), (x, w)), strict=True):
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-6)


def test_numbers_go_along(gpu: FarDriver) -> None:
    x = wf.tensor(X).cuda()
    y = x + wf.tensor(2.0) + wf.ones(3) + wf.arange(3) + np.ones(3, np.float32)
    assert y.device == "cuda:0"
    assert y.tolist() == (X + 4 + np.arange(3)).tolist()


def test_a_scalar_that_the_cpu_computes_goes_along(gpu: FarDriver) -> None:
    scale = wf.tensor(X).max()
    y = wf.tensor(X).cuda() / scale
    assert y.device == "cuda:0" and scale.device == "cpu"
    np.testing.assert_allclose(y.tolist(), X / 5)


def test_a_value_is_copied_once(gpu: FarDriver) -> None:
    x = wf.tensor(X).cuda()
    for k in range(3):
        y = (x + k).realize()  # which is brought there, too, as programs are interpreted
        assert gpu.count["upload"] == k + 2 and y.tolist() == (X + k).tolist()


def test_new_values_are_made_on_the_device(gpu: FarDriver) -> None:
    for t in (
        wf.zeros(2, 3, device="cuda"),
        wf.ones((2, 3), device=0),
        wf.full((2, 3), 2.5, device="cuda:0"),
        wf.arange(6, device="cuda"),
        wf.eye(3, device="cuda"),
        wf.linspace(0, 1, 5, device="cuda"),
        wf.rand(4, device="cuda"),
        wf.randn(4, device="cuda"),
        wf.tensor([1, 2], device="cuda"),
        wf.tensor(3.0, device="cuda"),
        wf.zeros_like(wf.tensor(X).cuda()),
        wf.asarray([1.0, 2.0], device="cuda"),
    ):
        assert t.device == "cuda:0"
        t.realize()
        assert t._stored().device == "cuda:0" and t.cpu().tolist() == t.tolist()


def test_draws_do_not_depend_on_the_device(gpu: FarDriver) -> None:
    wf.manual_seed(3)
    a = wf.rand(5).tolist()
    wf.manual_seed(3)
    assert wf.rand(5, device="cuda").tolist() == a


def test_numpy_reads_the_memory_of_the_cpu_only(gpu: FarDriver) -> None:
    x = wf.tensor(X).cuda()
    for read in (x.numpy, partial(np.asarray, x)):
        with pytest.raises(E.DeviceError, match=r"x.cpu\(\).numpy\(\)"):
            read()
    assert x.sum().item() == 15 and x.tolist() == X.tolist() and bool((x >= 0).all())
    assert "device=cuda:0" in repr(x.realize()) and "3." in repr(x)


def test_views_on_the_device_copy_nothing(gpu: FarDriver) -> None:
    x = wf.tensor(X).cuda().realize()
    before = gpu.count["bytes"]
    y = x.T[1:, :1]
    y.realize()
    assert gpu.count["bytes"] == before and y._stored().buffer is x._stored().buffer
    assert y.tolist() == X.T[1:, :1].tolist() and y.cpu().tolist() == y.tolist()


def test_from_one_gpu_to_another(gpus: list[FarDriver]) -> None:
    x = wf.tensor(X).to("cuda:0")
    y = (x * 2).to("cuda:1") + 1
    assert y.device == "cuda:1" and y.tolist() == (2 * X + 1).tolist()
    with pytest.raises(E.DeviceError, match=r"on cuda:0 meets .* on cuda:1"):
        x + y


def test_a_gpu_is_named_by_its_number(gpus: list[FarDriver]) -> None:
    assert [wf.tensor(X).cuda(1).device, wf.tensor(X).to(1).device] == ["cuda:1"] * 2
    assert nn.Linear(2, 2).cuda(1).weight.device == "cuda:1"
    with pytest.raises(E.DeviceError):
        wf.tensor(X).cuda(7)


def test_two_devices_are_two_programs(gpu: FarDriver) -> None:
    x, y = wf.tensor(X) + 1, wf.tensor(X).cuda() + 1
    before = programs()
    wf.realize(x, y)
    assert programs() == before + 2
    assert x._stored().device == "cpu" and y._stored().device == "cuda:0"


def test_indices_of_python_go_along(gpu: FarDriver) -> None:
    x = wf.tensor(X).cuda()
    assert x[[1, 0]].tolist() == X[[1, 0]].tolist()
    assert x[:, np.array([2, 0])].tolist() == X[:, [2, 0]].tolist()
    assert wf.take(x, [1], 0).tolist() == X[[1]].tolist()
    assert x[x > 2].tolist() == X[X > 2].tolist()
    x[0] = 7.0
    assert x.tolist() == [[7, 7, 7], [3, 4, 5]] and x.device == "cuda:0"


def test_arrays_and_lists_go_along_as_arguments_of_functions(gpu: FarDriver) -> None:
    x = wf.tensor(X, device="cuda")
    found = [
        wf.maximum(x, np.ones_like(X)),
        wf.where(X > 2, x, 0.0),
        wf.concat([x, [[7.0, 8.0, 9.0]]]),
        nn.functional.embedding(np.array([1, 0]), x),
        nn.functional.linear(x, W.T),
        nn.functional.cross_entropy(x, [0, 2]),
        nn.Linear(3, 2).to("cuda")(X),
    ]
    assert {y.device for y in found} == {"cuda:0"}
    assert found[2].tolist() == [*X.tolist(), [7, 8, 9]] and found[3].tolist() == X[::-1].tolist()


def test_an_index_out_of_range_is_found(gpu: FarDriver) -> None:
    x, i = wf.tensor(X).cuda(), wf.tensor([5]).cuda()
    y = x[i]
    with pytest.raises(
        E.IndexError, match=r"index 5 is out of range for axis 0 of extent 2, in .*test_devices"
    ):
        y.realize()
    assert y.device == "cuda:0"


# ---------------------------------------------------------------- gradients


def test_gradients_come_back_to_where_the_parameter_is(gpu: FarDriver) -> None:
    w = wf.tensor(W, requires_grad=True)
    (wf.tensor(X).cuda() @ w.cuda()).sum().backward()
    assert w.grad.device == "cpu"
    np.testing.assert_allclose(w.grad.numpy(), np.repeat(X.sum(0)[:, None], 2, 1))


def test_the_gradient_of_a_scalar_of_the_cpu_is_on_the_cpu(gpu: FarDriver) -> None:
    for make in (lambda: wf.tensor(2.0, requires_grad=True), lambda: wf.zeros(()).requires_grad_()):
        s = make()
        (wf.tensor(X).cuda() * s).sum().backward()
        assert s.grad.device == "cpu" and s.grad.item() == 15


def test_a_gradient_passes_a_scalar_that_the_cpu_computes(gpu: FarDriver) -> None:
    w = wf.tensor(W, requires_grad=True)
    (wf.tensor(X).cuda() * w.sum()).sum().backward()
    assert w.grad.device == "cpu" and w.grad.tolist() == np.full((3, 2), 15.0).tolist()


def test_a_gradient_that_is_a_constant_is_where_the_parameter_is(gpu: FarDriver) -> None:
    w = nn.Parameter(wf.tensor(W, device="cuda"))
    optimizer = nn.optim.SGD([w], lr=0.5)
    (w * 2).sum().backward()
    assert w.grad is not None and w.grad.device == "cuda:0"
    assert w.grad.tolist() == np.full_like(W, 2).tolist()
    optimizer.step()
    assert w.tolist() == (W - 1).tolist()


def test_a_loop_of_no_iterations_and_its_gradients_are_where_others_are(gpu: FarDriver) -> None:
    w = wf.tensor(W).to("cuda").requires_grad_()
    for count in (0, 2):
        rows = wf.ones(count, 2, 3).to("cuda")
        last, stacked = wf.scan(lambda h, x: (h @ w @ x, h), wf.ones(4, 3), rows)
        gradient = wf.grad(last.sum(), w, allow_unused=True)
        assert {last.device, stacked.device, gradient.device} == {"cuda:0"}
        assert (gradient.detach().requires_grad_() * w).sum().device == "cuda:0"


def test_second_derivatives_and_jvp(gpu: FarDriver) -> None:
    x = wf.tensor([1.0, 2.0], device="cuda", requires_grad=True)
    (g,) = wf.grad((x**3).sum(), [x])
    (h,) = wf.grad(g.sum(), [x])
    assert h.device == "cuda:0" and h.tolist() == [6, 12]
    _, along = wf.jvp(lambda y: y * y, (x.detach(),), (wf.ones(2),))
    assert along.device == "cuda:0" and along.tolist() == [2, 4]


# ---------------------------------------------------------------- training


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = (
            nn.Linear(3, 8, bias=False),
            nn.BatchNorm1d(8),
            nn.Linear(8, 2),
        )

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        return self.last(self.norm(self.first(x)).tanh())


def batches() -> list[tuple[Any, Any]]:
    rng = np.random.default_rng(0)
    return [(rng.normal(size=(4, 3)).astype(np.float32), rng.integers(0, 2, 4)) for _ in range(4)]


def trained(device: str, optimizer: Any, jitted: bool, moved_late: bool = False) -> list[Any]:
    wf.manual_seed(1)
    model = Net()
    if moved_late:
        opt = optimizer(model.parameters())
        model.to(device)
    else:
        model.to(device)
        opt = optimizer(model.parameters())

    def step(x: wf.Tensor, y: wf.Tensor) -> wf.Tensor:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        loss.backward()
        opt.step()
        return loss

    call = wf.jit(step) if jitted else step
    losses = [
        call(wf.tensor(x, device="cpu"), wf.tensor(y, device="cpu")).item() for x, y in batches()
    ]
    assert all(p.device == ("cuda:0" if device == "cuda" else "cpu") for p in model.parameters())
    return [losses, *(v.tolist() for v in model.state_dict().values())]


OPTIMIZERS = {
    "sgd": lambda p: nn.optim.SGD(p, lr=0.1, momentum=0.9),
    "adamw": lambda p: nn.optim.AdamW(p, lr=0.01),
}


def assert_same(found: Any, expected: Any, device: str) -> None:
    """The same values; of kernels of another kind only about the same."""
    if device == "far":
        assert found == expected
    else:
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("jitted", [False, True])
def test_training_on_the_device_is_training_on_the_cpu(
    device: str, name: str, jitted: bool
) -> None:
    assert_same(
        trained("cuda", OPTIMIZERS[name], jitted), trained("cpu", OPTIMIZERS[name], jitted), device
    )


def test_the_state_of_an_optimiser_follows_its_parameters(gpu: FarDriver) -> None:
    assert trained("cuda", OPTIMIZERS["adamw"], False, moved_late=True) == trained(
        "cpu", OPTIMIZERS["adamw"], False
    )


def test_a_loss_that_is_held_is_computed_by_the_step(gpu: FarDriver) -> None:
    p = wf.tensor(X).cuda().requires_grad_()
    opt = nn.optim.SGD([p], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        before = programs()
        loss = (p * p).sum()
        loss.backward()
        opt.step()
        assert loss.item() > 0
    assert programs() == before + 1


def test_parameters_on_the_device_are_updated_in_place(gpu: FarDriver) -> None:
    p = wf.tensor(X).cuda().requires_grad_()
    opt = nn.optim.SGD([p], lr=0.1)
    before = None
    for _ in range(4):
        opt.zero_grad()
        (p * p).sum().backward()
        opt.step()
        address = p._stored().address
        assert before in (None, address)
        before = address
    np.testing.assert_allclose(p.tolist(), X * 0.8**4, rtol=1e-5)


# ---------------------------------------------------------------- wf.cuda


def test_the_gpus_can_be_asked(gpus: list[FarDriver]) -> None:
    assert (
        wf.cuda.is_available()
        and wf.cuda.device_count() == 2
        and wf.devices() == ["cpu", "cuda:0", "cuda:1"]
    )
    assert wf.cuda.get_device_name(1) == "far away"
    before = wf.cuda.memory_allocated()
    x = wf.zeros(1 << 16, device="cuda").realize()
    assert (
        wf.cuda.memory_allocated("cuda:0") >= before + 4 * x.size
        and wf.cuda.memory_allocated(1) == 0
    )
    del x
    assert wf.cuda.memory_allocated() == before and wf.cuda.memory_reserved() > before
    wf.cuda.empty_cache()
    assert wf.cuda.memory_reserved() == before
    synchronized = gpus[1].count["synchronize"]
    wf.cuda.synchronize(1)
    assert gpus[1].count["synchronize"] == synchronized + 1


def test_events_measure_the_time_between(gpu: FarDriver) -> None:
    start, end = wf.cuda.Event(enable_timing=True), wf.cuda.Event()
    with pytest.raises(E.ArgumentError, match="record"):
        start.elapsed_time(end)
    start.record()
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) == 1.0


def test_the_cpu_is_no_gpu(gpu: FarDriver) -> None:
    with pytest.raises(E.DeviceError, match="'cpu' is not a GPU"):
        wf.cuda.synchronize("cpu")


# ---------------------------------------------------------------- other libraries


class OnGpu:
    """An array of another library over the memory of a Tensor on a GPU; `streams`: which it was
    asked to be ready for."""

    def __init__(self, t: wf.Tensor) -> None:
        self.t, self.streams = t, []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.t.__dlpack_device__()

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        self.streams.append(stream)
        return self.t.__dlpack__(stream=stream, max_version=max_version)


class Described:
    def __init__(self, t: wf.Tensor, **changes: Any) -> None:
        self.__cuda_array_interface__ = t.__cuda_array_interface__ | changes
        self.owner = t


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "float16"])
def test_dlpack_shares_memory_of_the_gpu_both_ways(gpu: FarDriver, dtype: str) -> None:
    x = wf.tensor(X, dtype, device="cuda")[:, ::2]
    assert x.__dlpack_device__() == (2, 0)
    array = OnGpu(x)
    y = wf.from_dlpack(array)
    assert y.device == "cuda:0" and y.tolist() == x.tolist() and array.streams == [1]
    assert y._stored().address == x._stored().address and y._stored().buffer.foreign
    assert (y == x).all() and wf.from_dlpack(
        array, copy=True
    )._stored().address != x._stored().address
    assert wf.from_dlpack(array, device="cpu").device == "cpu"


def test_what_is_exported_has_been_computed(gpu: FarDriver) -> None:
    x = wf.tensor(X).cuda().realize()
    for stream, waits in ((1, 1), (-1, 0), (None, 1)):
        before = gpu.count["synchronize"]
        x.__dlpack__(stream=stream)
        assert gpu.count["synchronize"] == before + waits


def test_streams_of_other_libraries_wait_and_are_waited_for(
    gpu: FarDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[tuple[str, int]] = []
    monkeypatch.setattr(
        gpu, "let_wait", lambda stream: order.append(("they", stream)), raising=False
    )
    monkeypatch.setattr(gpu, "wait_for", lambda stream: order.append(("we", stream)), raising=False)
    x = wf.tensor(X).cuda().realize()
    before = gpu.count["synchronize"]
    for stream in (None, -1, 77):
        x.__dlpack__(stream=stream)
    assert gpu.count["synchronize"] == before
    wf.asarray(Described(x, stream=88))
    assert order == [("they", 1), ("they", 77), ("we", 88)]


def test_dlpack_copies_to_the_cpu_where_asked(gpu: FarDriver) -> None:
    x = wf.tensor(X).cuda()

    class ToCpu:
        def __dlpack__(self, max_version: Any = None) -> Any:
            return x.__dlpack__(dl_device=(1, 0), max_version=max_version)

    assert np.array_equal(wf.from_dlpack(ToCpu()).numpy(), X)
    with pytest.raises(E.BufferError, match=r"on cuda:0 \(2, 0\)"):
        x.__dlpack__(dl_device=(1, 0), copy=False)


def test_memory_that_others_see_is_not_overwritten(gpu: FarDriver) -> None:
    p = wf.tensor(X).cuda().requires_grad_()
    seen = wf.from_dlpack(OnGpu(p.detach()))
    p.assign(p.detach() + 1)
    wf.realize(p)
    assert seen.tolist() == X.tolist() and p.tolist() == (X + 1).tolist()


def test_the_cuda_array_interface_goes_both_ways(gpu: FarDriver) -> None:
    x = wf.tensor(X).cuda().T
    found = x.__cuda_array_interface__
    assert (
        found["shape"] == (3, 2)
        and found["strides"] == (4, 12)
        and found["typestr"] == "<f4"
        and found["version"] == 3
    )
    shared = wf.asarray(Described(x), copy=False)
    assert shared.tolist() == X.T.tolist() and shared._stored().address == found["data"][0]
    assert wf.asarray(Described(x))._stored().address != found["data"][0]
    assert wf.asarray(OnGpu(x), dtype="float64").tolist() == X.T.tolist()
    dense = Described(wf.tensor(X).cuda(), strides=None)
    assert (
        wf.asarray(dense).tolist() == X.tolist() and wf.asarray(dense, device="cpu").device == "cpu"
    )
    with pytest.raises(E.BufferError, match="negative"):
        wf.asarray(Described(x, strides=(-4, 12)))


def test_only_what_is_on_a_gpu_has_the_interface(gpu: FarDriver) -> None:
    assert not hasattr(wf.tensor(X), "__cuda_array_interface__") and wf.tensor(
        X
    ).__dlpack_device__() == (1, 0)
    assert not hasattr(wf.tensor(X, "bfloat16", device="cuda"), "__cuda_array_interface__")


# ---------------------------------------------------------------- compiled functions


def test_what_a_compiled_function_moves_is_brought_at_every_call(device: str) -> None:
    w = wf.tensor(X.T).cuda()
    f = wf.jit(lambda x, k: (x.to("cuda") @ w * k).sum(0))
    for n in (2, 2, 400, 400):  # few bytes, and more than are copied together with others
        x = np.arange(n * 3, dtype=np.float32).reshape(n, 3) / n
        y = f(wf.tensor(x), 2.0)
        assert y.device == "cuda:0" and y._stored().device == "cuda:0"
        np.testing.assert_allclose(y.tolist(), (x @ X.T * 2).sum(0), rtol=1e-4)


def test_what_is_moved_may_have_strides(device: str) -> None:
    f = wf.jit(lambda x: x.to("cuda") + 1)
    x = wf.tensor(np.arange(20.0, dtype=np.float32).reshape(4, 5))
    for part in (x, x.T, x[1:3, ::2], x[1:3, ::2]):
        part.realize()
        assert f(part).tolist() == (part.numpy() + 1).tolist()


def test_a_compiled_function_moves_its_argument(gpu: FarDriver) -> None:
    f = wf.jit(lambda x: x.to("cuda"))
    for k in range(3):
        y = f(wf.tensor(X + k))
        assert y.device == "cuda:0" and y.tolist() == (X + k).tolist()
    assert f(wf.tensor(2.0)).device == "cuda:0"


def test_tangents_of_scalars_stay_on_their_device(device: str) -> None:
    def cubes(x: wf.Tensor) -> wf.Tensor:
        return x[0] ** 3 + x[0] * x[1]

    f = wf.jit(lambda x, v: wf.hessian_vector_product(cubes, x, v))
    x, v = wf.tensor([2.0, 3.0]).cuda(), wf.tensor([1.0, -1.0]).cuda()
    assert f(x, v).device == "cuda:0" and f(x, v).tolist() == [11.0, 1.0]


def test_a_compiled_function_is_traced_anew_for_another_device(gpu: FarDriver) -> None:
    f = wf.jit(lambda x: x * 2)
    for x in (wf.tensor(X), wf.tensor(X).cuda(), wf.tensor(X)):
        y = f(x)
        assert y.device == x.device and y.tolist() == (2 * X).tolist()
    assert sum(map(len, f._steps.values())) == 2


def test_draws_of_a_compiled_function_are_those_of_the_cpu(gpu: FarDriver) -> None:
    def draws(device: str) -> list[Any]:
        wf.manual_seed(5)
        f = wf.jit(lambda: wf.rand(3, device=device))
        return [f().tolist() for _ in range(3)]

    assert draws("cuda") == draws("cpu")


def test_values_do_not_leave_the_device_in_a_compiled_function(gpu: FarDriver) -> None:
    x, c = wf.tensor(X).cuda(), wf.tensor(X)
    leaves = (
        r"test_devices.py:\d+: a value on cuda:0 is moved to cpu in the jitted function .*after the"
        r" call"
    )
    with pytest.raises(E.JitError, match=leaves):
        wf.jit(lambda x: (x * 2).cpu() + 1)(x)
    with pytest.raises(E.JitError, match="computes values on cpu and cuda:0"):
        wf.jit(lambda x, y: (x * 2, y * 2))(x, c)
    with pytest.raises(E.DeviceError, match="meets"):
        wf.jit(lambda x: x + c)(x)

    def counts(x: wf.Tensor) -> wf.Tensor:
        count.assign(count + 1)
        return x * 2

    count = wf.tensor(0.0)
    with pytest.raises(E.JitError, match=r"gives parameter float32\[\] on cpu a value on cuda:0"):
        wf.jit(counts)(x)


def test_captured_values_on_the_device_are_updated_in_place(device: str) -> None:
    p = wf.tensor(X).cuda().realize()

    @wf.jit
    def step(x: wf.Tensor) -> wf.Tensor:
        p.assign(p + x)
        return p.sum()

    one = wf.tensor(1.0)
    addresses = set()
    for k in range(1, 5):
        assert step(one).item() == pytest.approx(15 + 6 * k)
        addresses.add(p._stored().address)
    assert len(addresses) == 1 and p.device == "cuda:0"


def test_constants_that_vary_are_one_program(device: str) -> None:
    x = wf.tensor(X).cuda().realize()
    built = []
    for k in range(4):
        before = program_table.statistics["built"]
        assert (x * (0.5 + k)).tolist() == (X * (0.5 + k)).tolist()
        built.append(program_table.statistics["built"] - before)
    assert built[2:] == [0, 0]


# ---------------------------------------------------------------- the default


def test_new_data_go_to_the_default_device(gpu: FarDriver) -> None:
    with wf.options.override(device="cuda"):
        for t in (wf.tensor(X), wf.zeros(3), wf.rand(3) * 2, wf.asarray([1, 2]), wf.tensor(2.0)):
            assert t.device == "cuda:0"
            assert t.realize()._stored().device == "cuda:0"
        assert wf.from_numpy(X).device == "cpu" and wf.tensor(X, device="cpu").device == "cpu"
        assert nn.Linear(2, 2).weight.device == "cuda:0"
        assert wf.array_api.__array_namespace_info__().default_device() == "cuda:0"
        model = nn.Linear(3, 2)
        assert model(wf.tensor(X)).device == "cuda:0"
    assert wf.tensor(X).device == "cpu"


def test_what_was_built_before_a_device_was_named_can_meet_it() -> None:
    x = wf.tensor(X)
    y = (x * 2).sum(0)
    p = wf.tensor(X, requires_grad=True)
    p.assign(p.detach() + y)
    with far_devices():
        z = wf.tensor(X).cuda()
        assert (y.cuda() + z).tolist() == (2 * X.sum(0) + X).tolist()
        with pytest.raises(E.DeviceError, match="on cpu meets"):
            p + z
        with pytest.raises(E.DeviceError, match="meets"):
            y + z


# ---------------------------------------------------------------- memory and failures


def test_a_value_without_a_device_may_have_been_computed_elsewhere(gpu: FarDriver) -> None:
    drawn = wf.rand(4)
    later = drawn + 1
    values = drawn.realize().tolist()
    on_gpu = drawn + wf.zeros(4, device="cuda")
    assert on_gpu.device == "cuda:0" and on_gpu.tolist() == values
    assert later.tolist() == (np.float32(values) + 1).tolist() and later.device == "cpu"


def test_a_copy_belongs_to_one_parameter_alone(gpu: FarDriver) -> None:
    x = wf.tensor(X)
    moved = x.cuda()
    a, b = moved.clone().requires_grad_(), moved.clone().requires_grad_()
    plain = moved + 0
    wf.realize(a, b)
    for _ in range(2):
        with wf.no_grad():
            a += 1
        wf.realize(a)
    assert (
        b.tolist() == X.tolist() and moved.tolist() == X.tolist() and plain.tolist() == X.tolist()
    )
    assert a.tolist() == (X + 2).tolist()


def test_assign_brings_the_value_to_the_device(gpu: FarDriver) -> None:
    p, q = wf.tensor(X).cuda(), wf.tensor(X)
    p.assign(wf.tensor(X + 1))
    q.assign(wf.tensor(X).cuda() + 2)
    p[0] = 3.0
    wf.realize()
    assert (p.device, q.device) == ("cuda:0", "cpu")
    assert p.tolist() == [[3, 3, 3], [4, 5, 6]] and q.tolist() == (X + 2).tolist()


def test_parts_of_a_model_may_be_on_several_devices(gpus: list[FarDriver]) -> None:
    def trained_on(*places: str) -> list[Any]:
        a, b, c = params = [
            wf.tensor(W + k).to(place).requires_grad_() for k, place in enumerate(places)
        ]
        opt = nn.optim.SGD(params, lr=0.01)
        losses = []
        for _ in range(3):
            opt.zero_grad()
            h = (wf.tensor(X).to(places[0]) @ a).tanh()
            h = h.to(places[1]) * b.sum(0) * a.mean().to(places[1])
            loss = ((h.to(places[2]) * c.mean()) ** 2).sum()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        assert [p.device for p in params] == [p.grad.device for p in params] == [*places]
        return [losses, *(p.tolist() for p in params)]

    assert trained_on("cpu", "cuda:0", "cuda:1") == trained_on("cpu", "cpu", "cpu")


def test_too_much_memory_is_refused_and_the_graph_stays() -> None:
    with far_devices(total_memory=1 << 20):
        x = wf.zeros(1 << 17, device="cuda").realize()
        y, z = x + 1, wf.zeros(1 << 17, device="cuda") + 2
        with pytest.raises(
            E.MemoryError, match=r"shape \(131072,\) and dtype float32: .* are needed on cuda:0"
        ):
            wf.realize(y, z)
        del x, z
        assert y.device == "cuda:0" and y.sum().item() == 1 << 17


def test_an_index_out_of_range_changes_nothing(device: str) -> None:
    p = wf.tensor(X).cuda().requires_grad_()
    opt = nn.optim.SGD([p], lr=0.1)
    for index in (1, 9, 0):
        opt.zero_grad()
        before = p.tolist()
        loss = p[wf.tensor([index]).cuda()].sum()
        loss.backward()
        if index == 9:
            with pytest.raises(E.IndexError, match="index 9"):
                opt.step()
            assert p.tolist() == before and p.device == "cuda:0"
        else:
            opt.step()
            assert p.tolist() != before


def test_copies_and_pickles_keep_values(gpu: FarDriver) -> None:
    model = nn.Linear(3, 2).cuda()
    again, loaded = copy.deepcopy(model), pickle.loads(pickle.dumps(model))
    assert (
        again.weight.device == "cuda:0"
        and again.weight.tolist() == loaded.weight.tolist() == model.weight.tolist()
    )


def test_a_checkpoint_goes_to_the_device_of_the_parameters(gpu: FarDriver, tmp_path: Path) -> None:
    def made(device: str) -> tuple[nn.Module, Any]:
        model = Net().to(device)
        opt = nn.optim.AdamW(model.parameters(), lr=0.1)
        return model, opt

    (model, opt), (other, other_opt) = made("cuda"), made("cuda")
    model(wf.tensor(batches()[0][0]).cuda()).sum().backward()
    opt.step()
    nn.save(tmp_path / "run.safetensors", model=model, optimizer=opt)
    nn.load(tmp_path / "run.safetensors", model=other, optimizer=other_opt)
    for a, b in zip(model.state_dict().values(), other.state_dict().values(), strict=True):
        assert b.device == "cuda:0" and a.tolist() == b.tolist()
    for a, b in zip(opt.state, other_opt.state, strict=True):
        assert {k: v.tolist() for k, v in a.items()} == {k: v.tolist() for k, v in b.items()}
        assert all(v.device == "cuda:0" for v in b.values())


def test_arrays_that_a_compiled_function_is_given_go_along(gpu: FarDriver) -> None:
    w = wf.tensor(X).cuda()
    f = wf.jit(lambda x, y: (x + w, y * 2))
    for k in range(3):
        a, b = f(X + k, np.float32(k))
        assert a.device == "cuda:0" and a.tolist() == (2 * X + k).tolist() and b.item() == 2 * k
    g = wf.compile(w * 3, [w])
    assert g(X + 1).tolist() == (3 * X + 3).tolist()


def test_updates_are_in_place_where_the_default_is_a_gpu(gpu: FarDriver) -> None:
    traced_step.alone.cache_clear()
    with wf.options.override(device="cuda"):
        p = wf.tensor(X).realize()
        f = wf.jit(lambda: (p.assign(p + 1), None)[1])
        f()
        address = p._stored().address
        f()
        assert p._stored().address == address and p.tolist() == (X + 2).tolist()
    traced_step.alone.cache_clear()


@pytest.mark.parametrize("collate", [None, lambda items: wf.tensor([float(i) for i in items]) * 1])
def test_batches_are_put_on_the_device(gpu: FarDriver, collate: Any) -> None:
    loader = nn.data.DataLoader([1.0, 2.0, 3.0], 2, device="cuda", collate_fn=collate)
    found = [*loader]
    assert [b.device for b in found] == ["cuda:0", "cuda:0"] and [b.tolist() for b in found] == [
        [1, 2],
        [3],
    ]
    assert all(b._stored().device == "cuda:0" for b in found)
    with wf.options.override(device="cuda"):
        assert {b.device for b in nn.data.DataLoader([1.0, 2.0, 3.0])} == {"cuda:0"}
    assert {b.device for b in nn.data.DataLoader([1.0, 2.0, 3.0])} == {"cpu"}


def test_what_reads_values_for_python_reads_them_from_a_gpu(gpu: FarDriver) -> None:
    w = wf.tensor(W).cuda()
    wf.check_grad(lambda x: (x @ w.double()).tanh(), wf.tensor(X).cuda())
    assert nn.data.default_collate([w, w])[1].tolist() == W.tolist()
    with wf.options.override(device="cuda"):
        p = nn.init.orthogonal_(nn.Parameter(wf.zeros(3, 3)))
        np.testing.assert_allclose((p @ p.T).tolist(), np.eye(3), atol=1e-5)
        assert p.device == "cuda:0"


def test_memory_of_the_cpu_is_free_when_its_value_has_moved(gpu: FarDriver) -> None:
    x = wf.tensor(X)
    moved, gone = x.cuda(), weakref.ref(x._stored())
    del x
    assert gone() is None and moved.tolist() == X.tolist()


def test_a_part_is_all_that_leaves_a_gpu(gpu: FarDriver) -> None:
    x = wf.tensor(np.arange(10000.0).reshape(100, 100)).cuda()
    before = gpu.count["bytes"]
    y = x[:, 3].cpu()
    assert y.tolist() == [100.0 * k + 3 for k in range(100)]
    interpreted = 10000 * 8 + 100 * 8  # of the program that makes the part dense
    assert gpu.count["bytes"] - before <= interpreted + 100 * 8


def test_what_waits_for_another_device_is_computed_with_what_is_wanted_there(
    gpus: list[FarDriver],
) -> None:
    x = wf.tensor(X).to("cuda:0") + 1
    y = (x * 2).to("cuda:1") + 1
    z = x * 2 + 3
    before = programs()
    wf.realize(y, z)
    assert programs() == before + 2
    assert y.tolist() == (2 * X + 3).tolist() and z.tolist() == (2 * X + 5).tolist()
    a = wf.tensor(X) * 3
    chain = ((a.sum().to("cuda:0") + 1).to("cuda:1") + 1).cpu() + a.mean()
    assert chain.item() == pytest.approx(3 * 15 + 2 + 7.5)


def test_a_failure_gives_back_what_was_to_be_computed(gpu: FarDriver) -> None:
    x, i = wf.tensor(X).cuda(), wf.tensor([7]).cuda()
    y = (x + np.ones(3, np.float32))[[0, 1]] * wf.tensor(2.0)
    y[i] = 0.0
    with pytest.raises(E.IndexError, match="index 7"):
        y.realize()
    gc.collect()
    assert y.device == "cuda:0"
    with pytest.raises(E.IndexError, match="index 7"):
        (y + 1).realize()


def test_indices_in_lists_may_be_tensors(gpu: FarDriver) -> None:
    x = wf.tensor(X).cuda()
    for one in (wf.tensor(1), wf.tensor(1).cuda()):
        assert x[[one, 0]].tolist() == X[[1, 0]].tolist()


def test_messages_between_processes_are_of_the_cpu(gpu: FarDriver) -> None:
    with pytest.raises(E.DeviceError, match=r"on cuda:0: pass x.cpu\(\)"):
        flat.layout(wf.tensor(X).cuda())
    assert flat.layout(wf.tensor(X)) == (wf.float32, (2, 3))


def test_a_model_that_was_not_moved_is_refused(gpu: FarDriver) -> None:
    model = nn.Linear(3, 2)
    x = wf.tensor(X).cuda()
    with pytest.raises(E.DeviceError, match="meets"):
        model(x)
    assert model.to(x.device)(x).device == "cuda:0" and model.cpu().weight.device == "cpu"


def test_a_tensor_stands_for_its_device_and_dtype(gpu: FarDriver) -> None:
    like = wf.zeros(2, dtype=wf.float64, device="cuda").realize()
    x = wf.tensor([1, 2]).to(like, non_blocking=True)
    assert x.device == "cuda:0" and x.dtype is wf.float64 and x.tolist() == [1.0, 2.0]
    model = wf.nn.Linear(2, 1).to(like)
    assert {(p.device, p.dtype) for p in model.parameters()} == {("cuda:0", wf.float64)}


@pytest.mark.parametrize("wrong", ["cuda:0", 1.5, True, [0]])
def test_cuda_takes_the_number_of_a_gpu(wrong: object) -> None:
    with pytest.raises(E.DTypeError, match="cuda: device must be an int"):
        wf.tensor(X).cuda(wrong)
    with pytest.raises(E.OverflowError):
        wf.tensor(X).cuda(10**5000)
