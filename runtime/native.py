"""Object code loaded by LLVM's engine. In: object code. Out: the addresses of its functions. The
one engine of the process lives here and never dies.

LLVM is loaded at first use: a process whose code is all on disk never needs it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from string import Template
from typing import Any

from .. import locks, options
from ..codegen.llvm.build import binding, runs_anywhere
from ..errors import CompileError

lock = locks.new("compiler")

_numbers = count()  # the engine wants a new name for each library
_loaded: set[Library] = set()  # keeps code mapped until it is released


class Library(dict[str, int]):
    """Loaded code: the address of each function that was asked for. Stays in memory until
    `release()`."""

    def __init__(self, addresses: dict[str, int], tracker: Any) -> None:
        super().__init__(addresses)
        self._tracker = tracker
        _loaded.add(self)

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other

    def release(self) -> None:
        """Frees the code. Nothing may call it, or be running in it, from here on."""
        with lock:
            _loaded.discard(self)
            self._tracker.close()


@functools.cache
def _engine() -> Any:
    llvm = binding()
    target = llvm.Target.from_default_triple()
    return llvm.create_lljit_compiler(
        target.create_target_machine(jit=True, codemodel="jitdefault")
    )


def load_object(data: bytes, names: Iterable[str]) -> Library:
    """Links object code into the process and looks up the functions `names`."""
    with lock:
        builder = binding().JITLibraryBuilder().add_object_img(data).add_current_process()
        wanted = list(names)
        for name in wanted:
            builder.export_symbol(name)
        try:
            tracker = builder.link(_engine(), f"weft{next(_numbers)}")
        except RuntimeError as error:
            raise CompileError(f"object code cannot be loaded: {error}") from error
        return Library({name: tracker[name] for name in wanted}, tracker)


def compile_portable(text: str) -> bytes:
    """Object code of LLVM IR for any processor of this machine's architecture: for the runtime's
    own few functions."""
    with lock:
        llvm = binding()
        near = (
            {"reloc": "pic", "codemodel": "small"}
            if runs_anywhere()
            else {"codemodel": "jitdefault"}
        )
        machine = llvm.Target.from_default_triple().create_target_machine(opt=2, jit=True, **near)
        module = llvm.parse_assembly(text)
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        module.verify()
        return bytes(machine.emit_object(module))


# ---------------------------------------------------------------- LLVM IR of the runtime's own
# functions

# The text is that of the files in llvm/. In these a line that begins with $name holds only where
# the text is for `name`; elsewhere it is a comment. Systems and processors are named as by
# sys.platform and platform.machine.


FOLDER = Path(__file__).with_name("llvm")
PARALLEL, CHECK, COMMAND = 1, 2, 4  # flags of a phase in the driver's table: driver.ll
LINE, RECORD = 8, 4  # words of a cache line, of a chunk's record: chunks.ll
FUTEX = {"x86_64": 202, "aarch64": 98}  # system call numbers
MONOTONIC = {"linux": 1, "darwin": 6}  # CLOCK_MONOTONIC

DRIVERS, PROCESSORS = ("plain", "timed"), ("x86_64", "aarch64")
NAMES = (
    "weft_run",
    "weft_parallel_for",
    "weft_pool_start",
    "weft_pool_forget",
    "weft_pool_migrations",
    "weft_call",
)
TIMED_NAMES = ("weft_run_timed", "weft_ticks", "weft_runs", "weft_runs_timed")


def has_pool(system: str, machine: str) -> bool:
    """Linux on x86-64 and aarch64: elsewhere there is one thread."""
    return system == "linux" and machine in PROCESSORS


def has_cycles(machine: str, flags: set[str]) -> bool:
    """Does a processor count at one rate, whatever its clock, alike in all cores.

    Those with an invariant TSC do, and all of ARM's.
    """
    has_invariant_tsc = machine == "x86_64" and {"constant_tsc", "nonstop_tsc"} <= flags
    return machine == "aarch64" or has_invariant_tsc


def native_text(system: str, machine: str) -> str:
    """The functions NAMES: the driver, the pool and the function of Python."""
    return filled("driver", **_only("plain", DRIVERS)) + _pool(system, machine) + filled("call")


def timed_text(system: str, machine: str, flags: set[str]) -> str:
    """The functions TIMED_NAMES: the timed driver. `flags`: what the processor says of itself."""
    if has_cycles(machine, flags):
        ticks = filled("counter", **_only(machine, PROCESSORS))
    else:
        ticks = filled("clock", clock=MONOTONIC.get(system, 1))
    driver = filled("driver", **_only("timed", DRIVERS))
    return ticks + filled("chunks") + driver + filled("runs")


def _pool(system: str, machine: str) -> str:
    if not has_pool(system, machine):
        return filled("no_pool")
    lines = _only(machine, PROCESSORS)
    return filled("pool", max_threads=options.MAX_THREADS, futex=FUTEX[machine], **lines)


def _only(chosen: str, names: tuple[str, ...]) -> dict[str, str]:
    """What lines begin with: those of the chosen name with nothing, others as comments."""
    return {name: "" if name == chosen else ";" for name in names}


def filled(name: str, folder: Path = FOLDER, /, **values: object) -> str:
    """The text of a file with these values in the places of their $names."""
    file = name if "." in name else f"{name}.ll"
    return Template((folder / file).read_text()).substitute(values)
