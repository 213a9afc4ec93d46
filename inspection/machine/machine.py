"""The limits of a device, measured and kept. In: its name. Out: a Machine.

Measured once for a machine, in about a second, and kept in the disk cache. A CPU is measured by
native loops in all threads (`cpu_rounds.py`), a GPU by kernels of its own (`gpu_rounds.py`) through
its Driver. Other work on the machine makes a round slower, never faster. So the best round counts,
there are more of them until they confirm each other, and a limit that a workload beats is raised.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from ... import errors, options
from ...runtime import cache, processor
from ...runtime.memory.devices import CPU, check_device, kind_of, number_of
from .roofline import Machine

FORMAT = "machine 2"
SOURCES = ("machine", "roofline", "limits", "streams", "cpu_rounds", "gpu_rounds")
TEXTS = ("repeat.ll", "stream.ll", "rounds.cu", "fma.cu")
# what figures depend on
FILES = tuple(f"inspection/machine/{name}" for name in (*(f"{s}.py" for s in SOURCES), *TEXTS))
FEWEST = 3  # rounds
# Seconds of rounds, at most: where it is not known, and where a user asks for it.
PATIENCE, THOROUGH = 1.0, 5.0

Rounds = AbstractContextManager[Callable[[], Machine]]  # each call measures one


def machine(device: str = CPU, again: bool = False) -> Machine:
    """The limits of a device: "cpu" with the threads of the options, or "cuda:0". Measured where
    they are not known.

    again=True forgets them and measures anew. Raises DeviceError for a device that is not there.
    """
    key, measuring = _key(device)
    limits = None if again else _found(key)
    if limits is None:
        with measuring() as measured:
            limits = _keep(key, _confirmed(measured, THOROUGH if again else PATIENCE))
    return limits


def known(device: str = CPU) -> Machine | None:
    """The same where it was measured before; nothing is measured. Raises DeviceError."""
    return _found(_key(device)[0])


@contextmanager
def refining(device: str = CPU) -> Iterator[Callable[[], Machine]]:
    """A function that measures one round more, and gives the limits by all rounds. They are kept.
    Raises DeviceError."""
    key, measuring = _key(device)
    with measuring() as measured:

        def refined() -> Machine:
            limits, before = measured(), _found(key)
            return _keep(key, limits if before is None else before.merged(limits))

        yield refined


def raise_to(device: str, better: Machine) -> Machine:
    """Keeps limits that a workload has shown, and measures again, once a process: what was too low
    may be higher still."""
    key, measuring = _key(device)
    if key not in _raised:
        _raised.add(key)
        with measuring() as measured:
            better = better.merged(_confirmed(measured, PATIENCE))
    return _keep(key, better)


def _confirmed(measured: Callable[[], Machine], patience: float) -> Machine:
    """By rounds that confirm each other, or those of so many seconds."""
    limits, count, end = measured(), 1, time.perf_counter() + patience
    while count < FEWEST or (limits.unsure and time.perf_counter() < end):
        limits, count = limits.merged(measured()), count + 1
    return limits


_known: dict[str, Machine] = {}  # in this process
_raised: set[str] = set()  # keys of those that were measured again


def _key(device: str) -> tuple[str, Callable[[], Rounds]]:
    """What the figures of a device are kept by, and what measures them."""
    name = check_device(device) or CPU
    if kind_of(name) not in MEASURING:
        raise errors.DeviceError(f"nothing measures the limits of {name}")
    of, measuring = MEASURING[kind_of(name)](number_of(name))
    return hashlib.sha256(
        repr((FORMAT, of, cache.source_fingerprint(*FILES))).encode()
    ).hexdigest(), measuring


def _found(key: str) -> Machine | None:
    if key not in _known and (stored := cache.default().get(key)) is not None:
        _known[key] = Machine.from_dict(json.loads(stored))
    return _known.get(key)


def _keep(key: str, limits: Machine) -> Machine:
    _known[key] = limits
    cache.default().put(key, json.dumps(limits.to_dict()).encode(), "machine")
    return limits


def _cpu(_: int) -> tuple[object, Callable[[], Rounds]]:
    """What the figures are of, and what measures them."""
    target, count = processor.host(), options.current().num_threads
    name = processor.model() or target.cpu

    def measuring() -> Rounds:
        from .cpu_rounds import rounds

        return rounds(name)

    return (name, count, target), measuring


def _gpu(number: int) -> tuple[object, Callable[[], Rounds]]:
    from ...runtime.cuda.devices import driver as driver_of

    driver = driver_of(number)

    def measuring() -> Rounds:
        from .gpu_rounds import rounds

        return rounds(driver)

    return (driver.name, driver.arch, driver.multiprocessors, driver.total_memory), measuring


# By kind of device. What nothing measures is explained without predictions.
MEASURING: dict[str, Callable[[int], tuple[object, Callable[[], Rounds]]]] = {
    "cpu": _cpu,
    "cuda": _gpu,
}
