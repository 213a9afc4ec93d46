"""Values on a GPU: where they are, how they cross over, gradients, compiled steps. The GPU is FarDriver (far_driver.py)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import weft as wf
from far_driver import FarDriver, far_devices
from weft import errors as E
from weft import nn
from weft.frontend import realize

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


def programs() -> int:
    return realize.statistics["runs"]


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
    with pytest.raises(E.DeviceError, match=r"float32\[2, 3\] on cpu meets one float32\[2, 3\] on cuda:0: .*x.to\('cuda:0'\)"):
        x + y
    assert (x.cuda() + y).tolist() == (2 * X).tolist()


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


def test_an_index_out_of_range_is_found(gpu: FarDriver) -> None:
    x, i = wf.tensor(X).cuda(), wf.tensor([5]).cuda()
    y = x[i]
    with pytest.raises(E.IndexError, match=r"index 5 is out of range for axis 0 of extent 2, in .*test_devices"):
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
        self.first, self.norm, self.last = nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Linear(8, 2)

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
    losses = [call(wf.tensor(x, device="cpu"), wf.tensor(y, device="cpu")).item() for x, y in batches()]
    assert all(p.device == ("cuda:0" if device == "cuda" else "cpu") for p in model.parameters())
    return [losses, *(v.tolist() for v in model.state_dict().values())]


OPTIMIZERS = {
    "sgd": lambda p: nn.optim.SGD(p, lr=0.1, momentum=0.9),
    "adamw": lambda p: nn.optim.AdamW(p, lr=0.01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("jitted", [False, True])
def test_training_on_the_device_is_training_on_the_cpu(gpu: FarDriver, name: str, jitted: bool) -> None:
    assert trained("cuda", OPTIMIZERS[name], jitted) == trained("cpu", OPTIMIZERS[name], jitted)


def test_the_state_of_an_optimiser_follows_its_parameters(gpu: FarDriver) -> None:
    assert trained("cuda", OPTIMIZERS["adamw"], False, moved_late=True) == trained("cpu", OPTIMIZERS["adamw"], False)


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
    assert wf.cuda.is_available() and wf.cuda.device_count() == 2 and wf.devices() == ["cpu", "cuda:0", "cuda:1"]
    assert wf.cuda.get_device_name(1) == "far away"
    before = wf.cuda.memory_allocated()
    x = wf.zeros(1 << 16, device="cuda").realize()
    assert wf.cuda.memory_allocated("cuda:0") >= before + 4 * x.size and wf.cuda.memory_allocated(1) == 0
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
    with pytest.raises(E.DeviceError, match="'cpu' is no GPU"):
        wf.cuda.synchronize("cpu")


# ---------------------------------------------------------------- other libraries


class OnGpu:
    """An array of another library over the memory of a Tensor on a GPU; `streams`: which it was asked to be ready for."""

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
    assert (y == x).all() and wf.from_dlpack(array, copy=True)._stored().address != x._stored().address
    assert wf.from_dlpack(array, device="cpu").device == "cpu"


def test_what_is_exported_has_been_computed(gpu: FarDriver) -> None:
    x = wf.tensor(X).cuda().realize()
    for stream, waits in ((1, 1), (-1, 0), (None, 1)):
        before = gpu.count["synchronize"]
        x.__dlpack__(stream=stream)
        assert gpu.count["synchronize"] == before + waits


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
    assert found["shape"] == (3, 2) and found["strides"] == (4, 12) and found["typestr"] == "<f4" and found["version"] == 3
    shared = wf.asarray(Described(x), copy=False)
    assert shared.tolist() == X.T.tolist() and shared._stored().address == found["data"][0]
    assert wf.asarray(Described(x))._stored().address != found["data"][0]
    assert wf.asarray(OnGpu(x), dtype="float64").tolist() == X.T.tolist()
    dense = Described(wf.tensor(X).cuda(), strides=None)
    assert wf.asarray(dense).tolist() == X.tolist() and wf.asarray(dense, device="cpu").device == "cpu"
    with pytest.raises(E.BufferError, match="negative"):
        wf.asarray(Described(x, strides=(-4, 12)))


def test_only_what_is_on_a_gpu_has_the_interface(gpu: FarDriver) -> None:
    assert not hasattr(wf.tensor(X), "__cuda_array_interface__") and wf.tensor(X).__dlpack_device__() == (1, 0)
    assert not hasattr(wf.tensor(X, "bfloat16", device="cuda"), "__cuda_array_interface__")
