"""Complex values as pairs on the emulated device. In: functions of complex Tensors. Out: NumPy's
values, by one kernel where it is a map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import weft as wf
from cudakit import device, needs_compiler

pytestmark = needs_compiler

RNG = np.random.default_rng(2)
Function = Callable[[Any], Any]
MAPS: dict[str, Function] = {
    "product": lambda z: z * z[::-1],
    "sums and products": lambda z: (z + 1) * z - z,
    "conjugate": lambda z: z.conj(),
    "magnitude": abs,
    "turned": lambda z: z.T * (1j + z.T),
    "sums of products": lambda z: (z * z).sum(-1),
}


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shape", [(64, 48), (5, 1001)], ids=str)
@pytest.mark.parametrize("name", MAPS)
def test_a_map_of_complex_values_is_one_kernel(
    name: str, shape: tuple[int, ...], dtype: str
) -> None:
    device()
    a = (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)
    call, z = MAPS[name], wf.tensor(a, device="cuda")
    assert len(wf.explain(call(z)).kernels) == 1
    np.testing.assert_allclose(call(z).cpu().numpy(), call(a), rtol=2e3 * np.finfo(dtype).eps)


def test_a_product_of_complex_matrices() -> None:
    device()
    a, b = (RNG.normal(size=(33, 33)) + 1j * RNG.normal(size=(33, 33)) for _ in range(2))
    got = wf.tensor(a, device="cuda") @ wf.tensor(b, device="cuda")
    np.testing.assert_allclose(got.cpu().numpy(), a @ b, rtol=1e-12)
