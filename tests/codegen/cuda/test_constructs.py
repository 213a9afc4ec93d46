"""Every construct of the loop language as CUDA C: the emulated device does what the interpreter
does, in any order of threads."""

from functools import cache

import numpy as np
import pytest
from cuda_constructs import CASES, cases
from cuda_loops import check, emitted, launched
from cudakit import ORDERS, device, in_order, needs_compiler
from loopkit import interpreted

pytestmark = needs_compiler


@cache
def compiled():
    """Every case, all of them compiled in one go."""
    device().build_many([emitted(c.loops) for c in cases().values()])
    return cases()


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", [make.__name__ for make in CASES])
def test_on_the_emulated_device(name, order):
    c = compiled()[name]
    with in_order(order):
        if c.in_place:
            wanted, _ = interpreted(c.loops, c.arrays, c.params)
            found, _ = launched(device(), c.loops, c.arrays, c.params, c.in_place)
            inputs = {i for _, i in c.in_place}
            for at, (got, want) in enumerate(zip(found, wanted, strict=True)):
                if at not in inputs:
                    np.testing.assert_array_equal(got, want)
        else:
            check(device(), c.loops, c.arrays, c.params, c.rtol, c.shift)
