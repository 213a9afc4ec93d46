"""A back end that is one registration (toy_backend.py), by the public API: the op table, transfers,
reports, errors."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import weft as wf
from optable import ROWS, Row, assert_matches, values
from toy_backend import FAR, ToyKind, registered
from weft import errors as E
from weft import nn, options
from weft.compiler.backends.kinds import KINDS
from weft.frontend.lazy import program_table
from weft.frontend.lazy.new_tensor import wrap
from weft.ir.graph import graph

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(autouse=True, scope="module")
def toy() -> Iterator[ToyKind]:
    with registered() as kind:
        yield kind


def on_toy(row: Row, arrays: list[np.ndarray]) -> wf.Tensor:
    """The row of Tensors on the device."""
    return wrap(
        row.build(
            *(
                wf.tensor(a, spec.dtype, device="toy").node
                for a, spec in zip(arrays, row.inputs, strict=True)
            )
        )
    )


OF_FLOATS = {row.name.removesuffix("-float32") for row in ROWS if row.name.endswith("-float32")}


def is_quick(row: Row) -> bool:
    """Of float32, or of what has no floats; an element at a time, long lines take seconds to
    sort."""
    name, _, dtype = row.name.rpartition("-")
    if row.name.startswith(("cast", "argsort-2", "argsort-5")):
        return False
    return dtype == "float32" or (dtype in ("int64", "bool") and name not in OF_FLOATS)


@pytest.mark.thinned(to=15)
@pytest.mark.parametrize(
    "row", [pytest.param(r, marks=[] if is_quick(r) else pytest.mark.slow, id=r.name) for r in ROWS]
)
def test_row_equals_numpy(row: Row) -> None:
    arrays = values(row, np.random.default_rng(zlib.crc32(row.name.encode())))
    out = on_toy(row, arrays)
    assert not arrays or out.device == "toy:0"
    with np.errstate(all="ignore"):
        assert_matches(
            out.cpu().numpy(), np.asarray(row.reference(*arrays)), row.ulp, row.magnitude
        )


def test_gradients() -> None:
    def loss(device: str) -> list[np.ndarray]:
        x, w = (
            wf.tensor(np.linspace(-1, 1, 6, dtype=np.float32).reshape(s), device=device)
            for s in ((2, 3), (3, 2))
        )
        return [g.cpu().numpy() for g in wf.grad(((x @ w).tanh() ** 2).sum(), (x, w))]

    for got, want in zip(loss("toy"), loss("cpu"), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_a_network_learns_on_it_as_on_the_cpu() -> None:
    def trained(device: str) -> list[float]:
        wf.manual_seed(0)
        net = nn.Linear(3, 2).to(device)
        opt = nn.optim.SGD(net.parameters(), lr=0.01)
        x, out = wf.tensor(X, device=device), []

        @wf.jit
        def step(x: wf.Tensor) -> wf.Tensor:
            opt.zero_grad()
            loss = (net(x) ** 2).mean()
            loss.backward()
            opt.step()
            return loss

        for _ in range(3):
            out.append(step(x).item())
        return out

    losses = trained("toy")
    assert losses[2] < losses[0]
    np.testing.assert_allclose(losses, trained("cpu"), rtol=1e-5)


# ---------------------------------------------------------------- memory


def test_it_is_a_device_like_others(toy: ToyKind) -> None:
    assert {"cpu", "toy:0", "toy:1"} <= {*wf.devices()}
    x = wf.zeros(2, 3, device="toy")
    assert x.device == "toy:0" and not x.is_cuda and x.realize()._stored().address >= FAR
    with options.override(device="toy:1"):
        assert (wf.ones(3) + 1).realize().device == "toy:1"


def test_values_go_there_and_back_and_between_two() -> None:
    x = wf.tensor(X).to("toy")
    assert (
        (x.T[1:] * 2).cpu().tolist() == (X.T[1:] * 2).tolist() == (x.to("toy:1").T[1:] * 2).tolist()
    )
    assert x.to("toy:1").device == "toy:1" and x.T.to("toy:1").cpu().tolist() == X.T.tolist()
    assert (x + wf.tensor(X).sum()).tolist() == (
        X + 15
    ).tolist()  # a 0-d value of the CPU goes along


def test_memory_is_given_back(toy: ToyKind) -> None:
    before = len(toy.device(0).pieces)
    x = wf.tensor(X, device="toy").realize()
    y = (x + 1).realize()
    assert len(toy.device(0).pieces) == before + 2
    del x, y
    assert len(toy.device(0).pieces) == before


# ---------------------------------------------------------------- what is said of it


def test_explain() -> None:
    report = wf.explain((wf.tensor(X, device="toy") @ wf.tensor(X.T, device="toy")).exp())
    assert (
        report.device == "toy:0"
        and "1 kernel on toy:0" in str(report)
        and "predicted" not in str(report)
    )


def test_a_dump_has_what_it_makes(tmp_path: Path) -> None:
    wf.dump(wf.tensor(X, device="toy") + 1, tmp_path)
    text = (tmp_path / "README.txt").read_text()
    assert "1 kernel for toy:0" in text and "kernels/*.loops" in text


def test_its_limits_are_not_known() -> None:
    with pytest.raises(E.DeviceError, match="nothing measures the limits of toy:0"):
        wf.profile(wf.tensor(X, device="toy") + 1)


def test_nothing_is_kept_on_disk() -> None:
    built = program_table.statistics["built"]
    x = wf.tensor(X, device="toy")
    assert (x * 3.5).tolist() == (x * 3.5).tolist() and program_table.statistics[
        "built"
    ] <= built + 1


def test_an_index_out_of_range_is_an_error() -> None:
    x = wf.tensor(X, device="toy")
    with pytest.raises(E.IndexError, match="index 7 is out of range for axis 0 of extent 2"):
        x[wf.tensor([0, 7], device="toy")].realize()


def test_a_nan_is_blamed_on_its_operation() -> None:
    with wf.debug_nans(), pytest.raises(E.FloatingPointError, match="log"):
        (wf.tensor(X, device="toy") - 3).log().realize()


def test_wrong_uses_are_told() -> None:
    x, y = wf.tensor(X, device="toy"), wf.tensor(X)
    with pytest.raises(
        E.DeviceError,
        match=r"float32\[2, 3\] on toy:0 meets one float32\[2, 3\] on cpu: .*x.to\('toy:0'\)",
    ):
        x + y
    with pytest.raises(E.DeviceError, match=r"x.cpu\(\).numpy\(\)"):
        x.numpy()
    with pytest.raises(E.DeviceError, match="'toy:2' does not exist"):
        wf.zeros(2, device="toy:2")
    with pytest.raises(E.BufferError, match=r"write x.cpu\(\)"):
        x.__dlpack__()
    with pytest.raises(E.DeviceError, match="'toy' is not a GPU"):
        wf.cuda.synchronize("toy")


def test_the_interpreter_of_graphs_agrees() -> None:
    with options.override(interpret=True):
        x = wf.tensor(X, device="toy")
        assert (x * 2 - 1).tolist() == (X * 2 - 1).tolist()


def test_it_is_gone_where_it_is_not_registered(
    monkeypatch: pytest.MonkeyPatch, toy: ToyKind
) -> None:
    monkeypatch.delitem(KINDS, "toy")
    monkeypatch.setattr("weft.runtime.memory.devices.used", graph.used - {"toy:0", "toy:1"})
    with pytest.raises(E.DeviceError, match="device 'toy': there is cpu"):
        wf.zeros(2, device="toy")
