"""The Backend protocol: one kind of device. In: Settings. Out: a Backend: a fusion policy, a
lowering, code, executables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ... import options
from ...codegen.kernels.lower_program import LoweredKernel, Lowering
from ...ir.kernels.groups import Policy
from ...ir.loops.loop import Loops
from ...ir.loops.verify import verify
from ...ir.program.program import Call, Program
from ...runtime.image import PlaceOf
from ...runtime.runnable import Runnable
from ...wording import plural


@dataclass(frozen=True)
class Launch:
    """How one phase of a kernel runs on a GPU.

    Attributes: `blocks` of `threads`; `shared`, bytes of shared memory of a block; `registers` of a
    thread and bytes `spilled` from them, None where no compiler has told.
    """

    blocks: int
    threads: int
    shared: int
    registers: int | None = None
    spilled: int | None = None

    def __str__(self) -> str:
        told = (
            ""
            if self.registers is None
            else f", {self.registers} registers, {self.spilled} B spilled"
        )
        return (
            f"{plural(self.blocks, 'block')} of {self.threads} threads, {self.shared} B"
            f" shared{told}"
        )


class KernelBuilder(Protocol):
    """The code of a program's kernels; complete at the end of the context."""

    def begin(self, loops: Loops, same: Loops | None) -> None:
        """Takes the loops of one kernel; their code is that of the loops `same`, which it took
        before, if there are any."""

    def key_of(self, loops: Loops) -> str:
        """What names their code."""

    def __enter__(self) -> Any: ...
    def __exit__(self, *exception: Any) -> None: ...


class Backend(Protocol):
    """One kind of device."""

    @property
    def device(self) -> str:
        """Which one: "cpu", or "cuda:0"."""

    @property
    def strict(self) -> bool:
        """Whether its bits are those of the reference interpreter (ir/ops/strict.py)."""

    @property
    def policy(self) -> Policy:
        """What its kernels may hold."""

    @property
    def lowering(self) -> Lowering:
        """How it runs kernels."""

    @property
    def last_cache(self) -> int:
        """Bytes of intermediates that are no reason to change the order of kernels."""

    def builder(self) -> KernelBuilder:
        """For one program."""

    def link(self, program: Program, keys: Sequence[str], code: Any) -> Runnable:
        """An executable of the program; `code` is what `builder` gave."""

    def texts(self, k: LoweredKernel) -> dict[str, str]:
        """A kernel's loops and every text on the way to machine code, by file ending."""

    def missing(self) -> dict[str, str]:
        """The texts that `texts` cannot give on this machine, by file ending: what would make
        them."""

    def launches(self, call: Call, key: str) -> tuple[Launch, ...]:
        """How a kernel call runs on a GPU, phase by phase; nothing for a CPU. `key` names its
        code."""

    def packed(self, program: Program, keys: Sequence[str], place_of: PlaceOf) -> bytes | None:
        """The program for the disk, which Kind.load takes; `place_of` names the user's lines. None:
        it is built each time."""


def verified(loops: Loops) -> Loops:
    """Verifies the loops, if the options ask for it."""
    if options.current().verify:
        verify(loops)
    return loops
