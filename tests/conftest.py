"""What a file of tests leaves behind. In: a file that may install a device. Out: a process that has none, for other files."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from weft.ir.graph import graph
from weft.runtime.cuda import devices


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden texts of tests/golden anew")


@pytest.fixture(autouse=True, scope="module")
def no_device_is_left() -> Iterator[None]:
    """Devices that were there before the first test of a file are there after its last, and no other."""
    units, used = {**devices._gpus}, {*graph.used}
    yield
    devices._gpus.clear()
    devices._gpus.update(units)
    graph.used.clear()
    graph.used.update(used)


@pytest.fixture
def young_objects() -> Iterator[None]:
    """gc.collect() looks at what a test makes alone; what others have left takes it long."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
