"""Values too large for memory or for any address: refused with a clear error, where they are built
or where they are computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import weft as wf
from weft import system
from weft.runtime.buffer import LARGE, Allocator

E = wf.errors
WIDE = wf.ones((1 << 40, 1))

BUILT: dict[str, Callable[[], Any]] = {
    "add": lambda: WIDE + wf.ones(1 << 40),
    "where": lambda: wf.where(WIDE > 0, 1.0, wf.ones(1 << 40)),
    "matmul": lambda: WIDE @ wf.ones((1, 1 << 40)),
    "einsum": lambda: wf.einsum("ij,kj->ik", WIDE, WIDE),
    "outer": lambda: wf.outer(WIDE, WIDE),
    "broadcast_to": lambda: WIDE.broadcast_to((1 << 40, 1 << 40)),
    "broadcast_arrays": lambda: wf.broadcast_arrays(WIDE, WIDE.T),
    "meshgrid": lambda: wf.meshgrid(WIDE.flatten(), WIDE.flatten()),
    "pad": lambda: wf.pad(WIDE, 1 << 30),
    "concat": lambda: wf.concat([wf.zeros((1 << 59,), dtype="int8")] * 2),
    "tile": lambda: wf.tile(WIDE, (1, 1 << 40)),
    "gather": lambda: WIDE.reshape(1, -1)[wf.zeros(1 << 30, dtype="int64")],
}


@pytest.mark.parametrize("name", BUILT)
def test_what_no_address_reaches_is_refused_when_it_is_built(name: str) -> None:
    with pytest.raises(E.ShapeError, match=rf"{name}: shape .* has too many elements"):
        BUILT[name]()


@pytest.mark.parametrize(
    "make",
    [
        lambda: wf.zeros(1 << 50),
        lambda: wf.ones(1 << 45) * 2,
        lambda: wf.ones((1 << 20, 1 << 20)).cumsum(0),
    ],
)
def test_what_no_memory_holds_is_refused_when_it_is_computed(make: Callable[[], wf.Tensor]) -> None:
    t = make()
    with pytest.raises(MemoryError, match="of memory are needed") as caught:
        t.realize()
    assert isinstance(caught.value, E.WeftError)
    assert t[..., :2].shape[-1] == 2 and (wf.ones(3) + 1).tolist() == [2, 2, 2]  # all goes on


def test_the_error_names_shape_and_dtype() -> None:
    with pytest.raises(
        E.MemoryError, match=r"a value of shape \(1125899906842624,\) and dtype float32: 4.0 PiB"
    ):
        wf.zeros(1 << 50).numpy()


def test_memory_that_is_not_there_is_never_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "left", lambda: LARGE)
    with pytest.raises(E.MemoryError, match=r"512.0 MiB of memory are needed, 256.0 MiB are left"):
        Allocator().take(2 * LARGE)


def test_the_system_tells_how_much_is_left() -> None:
    left = system.left()
    assert left is None or left >= 0
    assert system.total() > 0 and [system.bytes_text(n) for n in (1 << 20, 3 << 29, 5 << 40)] == [
        "1.0 MiB",
        "1.5 GiB",
        "5.0 TiB",
    ]
