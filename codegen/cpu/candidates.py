"""Every way to run a kernel. In: a Kernel, Settings. Out: a Lowered for each way that some schedule
has for it, the chosen one first.

`wf.audit` and benchmarks/schedules.py time them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...ir.kernels.kernel import Kernel
from ..kernels.lower_program import Strides
from ..kernels.lowered import Lowered
from ..llvm.target import Target
from .lowering import lower_kernel
from .settings import Settings


@dataclass(frozen=True)
class Candidate:
    """A way of a schedule, numbered from the best by its estimate, and the kernel lowered so."""

    schedule: str
    number: int
    lowered: Lowered

    @property
    def name(self) -> str:
        """The schedule, and the number of all but its best way."""
        return f"{self.schedule} {self.number}" if self.number else self.schedule


def candidates(kernel: Kernel, strides: Strides, settings: Settings) -> list[Candidate]:
    """Those of a kernel whose schedule is one choice; the chosen one alone where its parts have
    schedules of their own."""
    chosen = lower_kernel(kernel, strides, settings)
    if len(chosen.choices) != 1:
        return [Candidate(chosen.choices[0].schedule, 0, chosen)]
    (choice,) = chosen.choices
    names = [choice.schedule, *(name for name in choice.ways if name != choice.schedule)]
    ways = [(name, number) for name in names for number in range(choice.ways[name])]
    return [c for way in ways for c in _in_sizes(kernel, strides, settings, way)]


def _in_sizes(
    kernel: Kernel, strides: Strides, settings: Settings, way: tuple[str, int]
) -> Iterator[Candidate]:
    """A way of a schedule, in each of the sizes that tuning would try."""
    tried: list[Lowered] = []

    def collect(sizes: Sequence[Lowered], target: Target) -> Lowered:
        tried.extend(sizes)
        return sizes[0]

    first = lower_kernel(kernel, strides, settings, collect, way)
    name, number = way
    if not tried:
        yield Candidate(name, number, first)
    for size, own in enumerate(tried):
        said = name + own.schedule
        lowered = replace(first, loops=own.loops, params=own.params, work=own.work, schedule=said)
        yield Candidate(name, number + size, lowered)
