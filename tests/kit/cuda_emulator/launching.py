"""Launches kernels over NumPy arrays. In: a driver, CUDA C, arrays and integers. Out: the arrays as
the kernel leaves them.

`gpu()` is a real device where there is one: what tests say of the helpers of kernels is then asked
of it as well.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

import numpy as np
from weft.runtime.cuda.driver import Driver

from cuda_emulator import build

Array = np.ndarray[Any, Any]


@cache
def gpu() -> Driver | None:
    """The first GPU that PyCUDA finds."""
    try:
        import pycuda.driver as cuda
    except ImportError:
        return None
    from weft.runtime.cuda.pycuda_driver import PycudaDriver

    try:
        cuda.init()
        return PycudaDriver(cuda, 0) if cuda.Device.count() else None
    except cuda.Error:
        return None


def up(driver: Driver, array: Array) -> int:
    """The address of a copy on the device."""
    array = np.ascontiguousarray(array)
    address = driver.allocate(array.nbytes)
    driver.upload(address, array.ctypes.data, array.nbytes)
    return address


def down(driver: Driver, address: int, like: Array) -> Array:
    out = np.empty_like(like)
    driver.download(out.ctypes.data, address, out.nbytes)
    return out


def run(
    driver: Driver,
    text: str,
    grid: int,
    block: int,
    arguments: list[Any],
    shared: int = 0,
    name: str | None = None,
) -> list[Array]:
    """Launches a kernel with arrays, then integers, then a status; gives the arrays, and the
    status, as they are then."""
    name = name or build.symbols(text)[0]
    function = driver.load(driver.build(text).image).function(name, shared)
    arrays = [*(a for a in arguments if isinstance(a, np.ndarray)), np.array([-1, 0])]
    addresses = [up(driver, a) for a in arrays]
    words = [
        *addresses[:-1],
        *(a for a in arguments if not isinstance(a, np.ndarray)),
        addresses[-1],
    ]
    try:
        driver.launch(function, grid, block, struct.pack(f"{len(words)}q", *words), shared)
        return [down(driver, address, a) for address, a in zip(addresses, arrays, strict=True)]
    finally:
        for address in addresses:
            driver.free(address)
