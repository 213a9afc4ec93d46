"""`wf.profile`. In: Tensors that are not computed yet, a jitted function or a Module. Out: a Profile: where the time goes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import errors
from ..frontend.operands.arguments import shown
from .explain import Subject
from .reports.kernel_report import KernelReport, Report

if TYPE_CHECKING:
    from ..runtime.timed import Chunk
    from .measured.roofline import Machine

DISTURBED = 1.15  # times a run: kernels that take longer together were not measured on an idle machine


def is_disturbed(kernels: float, run: float) -> bool:
    """Do the kernels of a run take much longer together than the run did, measured apart."""
    return kernels > DISTURBED * run


@dataclass(frozen=True)
class Span:
    """A phase of a run: of which kernel, and from when to when, in seconds from the start."""

    kernel: int
    begin: float
    end: float


@dataclass(frozen=True)
class Rates:
    """What a kernel reached.

    Attributes: bytes and operations a second; `of_bandwidth` and `of_flops`, their fractions of what its threads can do at most,
    where the bytes lie; `of_roofline`, the time that the roofline predicts as a fraction of the measured one.
    """

    bandwidth: float
    flops: float
    of_bandwidth: float
    of_flops: float
    of_roofline: float


@dataclass(frozen=True)
class Profile:
    """How long a program takes, as a whole and kernel by kernel.

    Attributes: `report`, that of `wf.explain`, its kernels with `measured` seconds: the median of the faster half of `runs` warm
    runs; `seconds` of such a run as a whole, measured apart without instruments; `cold`, of the first, when the caches were empty
    and the memory of results was new, and `cold_kernels`, of each kernel then; `machine`, the limits of the device; `passes`,
    (name, seconds) of each pass of the compiler. Of the fastest run: `spans`, phase by phase, `chunks`, the parts of phases that
    threads shared, and `threads`, seconds that each thread worked (of a GPU nothing).
    """

    report: Report
    machine: Machine
    runs: int
    seconds: float
    cold: float
    cold_kernels: tuple[float, ...] = ()
    threads: tuple[float, ...] = ()
    passes: tuple[tuple[str, float], ...] = ()
    spans: tuple[Span, ...] = ()
    chunks: tuple[Chunk, ...] = ()

    @property
    def kernels(self) -> list[KernelReport]:
        """In the order they run."""
        return self.report.kernels

    @property
    def measured(self) -> float:
        """Seconds of all kernels together."""
        return self.report.measured or 0.0

    @property
    def disturbed(self) -> bool:
        """Were the kernels measured while others used the machine: they take much longer together than the run."""
        return is_disturbed(self.measured, self.seconds)

    def rates(self, k: KernelReport) -> Rates:
        """What one of the kernels reached."""
        if not (seconds := k.measured or 0.0):
            return Rates(0.0, 0.0, 0.0, 0.0, 0.0)
        least = self.machine.times(k.demand, self.machine.fits(self.report.memory.peak_bytes))
        of_roofline = (k.predicted or 0.0) / seconds
        of_bandwidth, of_flops = (of_roofline if k.bound == b else least[b] / seconds for b in ("memory", "compute"))
        return Rates(k.bytes / seconds, k.flops / seconds, of_bandwidth, of_flops, of_roofline)

    def chrome(self, path: str | Path) -> Path:
        """Writes one run, and the passes of the compiler, for chrome://tracing and ui.perfetto.dev; returns the path."""
        from .measured.chrome import write

        return write(self, Path(path))

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        found = self.report.to_dict()
        for kernel, k, cold in zip(found["kernels"], self.kernels, self.cold_kernels, strict=True):
            kernel |= {"cold": cold, "rates": asdict(self.rates(k))}
        return found | {
            "machine": self.machine.to_dict(),
            "runs": self.runs,
            "seconds": self.seconds,
            "disturbed": self.disturbed,
            "cold": self.cold,
            "threads": [*self.threads],
            "passes": [{"name": name, "seconds": seconds} for name, seconds in self.passes],
            "spans": [asdict(s) for s in self.spans],
            "chunks": [c._asdict() for c in self.chunks],
        }

    def show(self) -> None:
        """Prints it, as a table in colours if the package rich is there."""
        from .measured.profile_text import show

        show(self)

    def __str__(self) -> str:
        from .measured.profile_text import text

        return text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from .measured.profile_text import html

        return html(self)


def profile(x: Subject, /, *args: Any, repeat: int | None = None, **kwargs: Any) -> Profile:
    """Runs what computing x, or a call of x, would run, and measures it, kernel by kernel. Nothing that you hold changes.

    x and the arguments of a call are those of `explain`: Tensors that are not computed yet, a jitted function with the arguments
    of a call, a Module with example inputs. The program runs on memory of its own: Tensors stay lazy, parameters, optimisers and
    the random state stay as they are. The first run is cold; then `repeat` runs are measured with instruments, and as many
    without, or as many as half a second allows. `print(profile)` shows a table, `profile.chrome(path)` writes a trace for
    chrome://tracing or ui.perfetto.dev, `profile.to_dict()` is all of it.

    Raises ArgumentError for a function that is not jitted, or without its arguments, where nothing is to be computed, and
    for a repeat that is no positive number; JitError inside a jitted function; IndexError as the run itself would.
    """
    from .measured.measure import measure

    if repeat is not None and (not isinstance(repeat, int) or isinstance(repeat, bool) or repeat < 1):
        raise errors.ArgumentError(f"profile: repeat is a number of runs, 1 or more, not {shown(repeat)}")
    return measure(x, args, kwargs, repeat)
