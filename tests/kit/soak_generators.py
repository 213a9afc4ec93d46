"""What a soak runs. In: seeds. Out: comparisons, of which each raises where something is wrong.

A case and how it is compiled follow from its seed alone. Small ones are more frequent than big
ones, which take as long as ten of them and seldom meet what those do not.
"""

from __future__ import annotations

import random
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any
from unittest import mock

import fuzz
import fuzz_batches
import fuzz_calls
import fuzz_networks
import fuzz_turns
import guarded
from fuzz import Hits, Unsuitable
from weft.codegen.llvm import emit
from weft.compiler.backends import compile_kernels

MOVES = (3, 3, 4, 6, 6, 8, 12, 30)  # how many a graph has at most, but for two
# As users run it; else every kernel has several chunks, and none is tiny.
AS_FOR_USERS: dict[str, Any] = {"serial_threshold": None, "min_chunks": 1}


@dataclass(frozen=True)
class Generator:
    """A kind of random programs, and how a soak treats it."""

    name: str
    check: Callable[[int], bool]  # what is compared for a seed; False: nothing that could be
    share: float  # of the time of a soak
    block: int  # seeds of one process, about half a minute
    limit: float  # seconds for one seed, on a machine that is busy
    prepare: Callable[[], None] = lambda: None  # done once in a process
    compares: bool = True  # numbers with numbers; else what counts is that nothing escapes


@contextmanager
def compiled_in_either_way(choices: random.Random) -> Iterator[None]:
    """LLVM optimises all of a case or nothing: the way of most kernels, and the one that tiny
    kernels alone take otherwise."""
    if choices.random() < 0.5:
        yield
        return
    compile_text = compile_kernels.compile_text

    def unoptimised(*arguments: Any, **named: Any) -> bytes:
        return compile_text(*arguments, **(named | {"fast": True}))

    with (
        mock.patch.object(compile_kernels, "compile_text", unoptimised),
        mock.patch.object(emit, "freezes", lambda loops: True),
    ):
        yield


def graph(seed: int) -> bool:
    """A graph of Nodes: oracle, one thread and several."""
    choices, exact = random.Random(~seed), seed % 5 == 0
    try:
        case = fuzz.random_case(fuzz.seeded(seed), exact, choices.choice(MOVES))
        threads, way = (choices.choice((2, 3)),), choices.choice(({}, AS_FOR_USERS))
        with compiled_in_either_way(choices):
            fuzz.compare_case(case, Hits(), exact, threads, verify=choices.random() < 0.25, **way)
    except Unsuitable:
        return False
    return True


def batch(seed: int) -> bool:
    """A graph of Nodes in a batch, or in a batch of batches: rows, oracle, one thread and
    several."""
    choices = random.Random(~seed)
    try:
        threads, way = (choices.choice((2, 3)),), choices.choice(({}, AS_FOR_USERS))
        moves = choices.choice(MOVES[:-1])
        with compiled_in_either_way(choices):
            fuzz_batches.compare_batch(fuzz.seeded(seed), seed % 5 == 0, moves, threads, **way)
    except Unsuitable:
        return False
    return True


def guard_memory() -> None:
    fuzz.execute = guarded.execute


def network(seed: int) -> bool:
    with compiled_in_either_way(random.Random(~seed)):
        fuzz_networks.compare(seed)
    return True


def turns(seed: int) -> bool:
    """A loop that reads in every turn, then once more without."""
    choices = random.Random(~seed)
    loop = fuzz_turns.random_loop(random.Random(seed).randrange)
    with compiled_in_either_way(choices):
        fuzz_turns.check(loop)
        fuzz_turns.check_unread(loop)
    return True


@cache
def entries() -> list[fuzz_calls.Entry]:
    return fuzz_calls.functions()


def call(seed: int) -> bool:
    if (escaped := fuzz_calls.call(seed, entries())) is not None:
        raise AssertionError(escaped)
    return True


def watch_calls() -> None:
    """A warning escapes, too, and so does a call that takes too long."""
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", category=PendingDeprecationWarning)  # numpy.matrix
    signal.signal(signal.SIGPROF, fuzz_calls._too_slow)


GENERATORS = (
    Generator("graphs", graph, share=0.5, block=1500, limit=120),
    Generator("batches", batch, share=0.2, block=1000, limit=120),
    Generator("guarded", graph, share=0.1, block=1000, limit=120, prepare=guard_memory),
    Generator("networks", network, share=0.08, block=40, limit=300),
    Generator("turns", turns, share=0.08, block=250, limit=120),
    Generator(
        "calls", call, share=0.04, block=3000, limit=120, prepare=watch_calls, compares=False
    ),
)
