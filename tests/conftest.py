"""What every test finds: a cache of this run alone, an effort, and after each file the devices that
there were before it."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import tempfile
from collections.abc import Generator, Iterator

import pytest

# One folder for all processes of a run: it begins empty, and what users keep in theirs is neither
# read nor filled.
if "WEFT_TESTS_CACHE" not in os.environ:
    os.environ["WEFT_TESTS_CACHE"] = tempfile.mkdtemp(prefix="weft-tests-")
    atexit.register(shutil.rmtree, os.environ["WEFT_TESTS_CACHE"], ignore_errors=True)
os.environ["WEFT_CACHE_DIR"] = os.environ["WEFT_TESTS_CACHE"]
# SciPy reads it when it is first imported: its functions take Tensors then, and scikit-learn's.
os.environ["SCIPY_ARRAY_API"] = "1"
# Where no bytecode may stand beside the text, the processes of a run keep theirs together, lest
# each compiles all of it again.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    os.environ["PYTHONPYCACHEPREFIX"] = tempfile.mkdtemp(prefix="weft-tests-")
    atexit.register(shutil.rmtree, os.environ["PYTHONPYCACHEPREFIX"], ignore_errors=True)

import effort
from weft.frontend.lazy import program_table
from weft.ir.graph import graph
from weft.runtime.cuda import devices

WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden texts of tests/golden anew"
    )


def pytest_configure(config: pytest.Config) -> None:
    effort.choose(thorough=config.option.markexpr == "slow")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Every other process of a run goes through the files from the last one, so that each finds the
    bytecode of half of them."""
    report = yield
    if WORKER % 2 and isinstance(collector, pytest.Directory):
        report.result.reverse()
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What the default run leaves out is slow, and leaves before other plugins look at it; and `-m
    slow` tries every property of Hypothesis again, with more examples. All processes have the tests
    in one order."""
    items.sort(key=lambda item: item.path)
    for item in effort.superfluous(items):
        item.add_marker("slow")
    for item in filter(effort.is_property, items if config.option.markexpr == "slow" else ()):
        item.add_marker("slow")
    if config.option.markexpr.startswith("not slow and "):
        slow = {item for item in items if item.get_closest_marker("slow")}
        config.hook.pytest_deselected(items=[*slow])
        items[:] = [item for item in items if item not in slow]


def pytest_collectstart() -> None:
    """Nothing of what a collection of tests makes is garbage."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()


def pytest_runtest_setup() -> None:
    """Only sizes that one test asks for share a program: it takes several times as long to compile
    as one of a single size."""
    program_table._programs.families.clear()


def _forget_what_is_there() -> None:
    """No garbage collection looks at the million objects that the run holds: it would take half a
    second."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def no_device_is_left() -> Iterator[None]:
    """Devices that were there before the first test of a file are there after its last, and no
    other."""
    units, used = {**devices._gpus}, {*graph.used}
    yield
    devices._gpus.clear()
    devices._gpus.update(units)
    graph.used.clear()
    graph.used.update(used)
    _forget_what_is_there()


@pytest.fixture
def young_objects() -> None:
    """gc.collect() looks at what a test makes alone; what others have left takes it long."""
    _forget_what_is_there()
