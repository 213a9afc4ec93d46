"""A Profile: times of a program. In: measured figures. Out: text, tables, a dict, a trace."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...wording import amount, duration, plural
from ..explain.kernel import KernelReport
from ..explain.report import Report
from ..tables import Column, Table
from ..terminal import print_safely
from . import chrome
from .figures import Rates, Span, is_disturbed

if TYPE_CHECKING:
    from ...runtime.timed import Chunk
    from ..machine.roofline import Machine


@dataclass(frozen=True)
class Profile:
    """How long a program takes, as a whole and kernel by kernel.

    Attributes: `report`, that of `wf.explain`, its kernels with `measured` seconds: the median of
    the faster half of `runs` warm runs; `seconds` of such a run as a whole, measured apart without
    instruments; `cold`, of the first, when the caches were empty and the memory of results was new,
    and `cold_kernels`, of each kernel then; `machine`, the limits of the device; `passes`, (name,
    seconds) of each pass of the compiler. Of the fastest run: `spans`, phase by phase, `chunks`,
    the parts of phases that threads shared, and `threads`, seconds that each thread worked (of a
    GPU nothing).
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
        """Were the kernels measured while others used the machine: they take much longer together
        than the run."""
        return is_disturbed(self.measured, self.seconds)

    def rates(self, k: KernelReport) -> Rates:
        """What one of the kernels reached."""
        if not (seconds := k.measured or 0.0):
            return Rates(0.0, 0.0, 0.0, 0.0, 0.0)
        least = self.machine.times(k.demand, self.machine.fits(self.report.memory.peak_bytes))
        of_roofline = (k.predicted or 0.0) / seconds
        of_bandwidth, of_flops = (
            of_roofline if k.bound == b else least[b] / seconds for b in ("memory", "compute")
        )
        return Rates(k.bytes / seconds, k.flops / seconds, of_bandwidth, of_flops, of_roofline)

    def chrome(self, path: str | Path) -> Path:
        """Writes one run, and the passes of the compiler, for chrome://tracing and ui.perfetto.dev;
        returns the path."""
        other = {
            "device": self.report.device,
            "machine": self.machine.name,
            "runs": self.runs,
            "seconds": self.seconds,
        }
        kernels = [(k.name, chrome.about(k, self.rates(k))) for k in self.kernels]
        threads = len(self.threads)
        trace = chrome.trace(other, kernels, self.spans, self.chunks, threads, self.passes)
        path = Path(path)
        path.write_text(json.dumps(trace))
        return path

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        fields = self.report.to_dict()
        for kernel, k, cold in zip(fields["kernels"], self.kernels, self.cold_kernels, strict=True):
            kernel |= {"cold": cold, "rates": asdict(self.rates(k))}
        return fields | {
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
        try:
            from rich.console import Console
        except ImportError:
            print_safely(self)
            return
        console = Console()
        table = kernel_table(self).rich(console.width)
        console.print(*heading(self), table, *ending(self), sep="\n", markup=False)

    def __str__(self) -> str:
        return "\n".join([*heading(self), "", *kernel_table(self).lines(), "", *ending(self)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        before, after = ("<br>".join(map(escape, part(self))) for part in (heading, ending))
        return f"<div><p>{before}</p>{kernel_table(self).html()}<p>{after}</p></div>"


# ---------------------------------------------------------------- words

COLUMNS = (
    Column("time", True, toned=True),
    Column("share", True, toned=True),
    Column("kernel", folds=True, toned=True),
    Column("moves", True, since=120, toned=True),
    Column("GB/s", True, toned=True),
    Column("GF/s", True, since=120, toned=True),
    Column("of peak", toned=True),
    Column("roofline", True, since=120, toned=True),
    Column("reached", True, toned=True),
    Column("lines", folds=True, style="cyan", toned=True),
)
PASSES = 4  # those that took longest are named
WORDS = {
    "memory": "{:.0%} of bandwidth",
    "compute": "{:.0%} of flops",
    "launch": "launch",
    None: "",
}


def kernel_table(p: Profile) -> Table:
    """A row for each kernel; those that take more than a third of the time are bold."""
    shares = [(k.measured or 0) / p.measured if p.measured else 0.0 for k in p.kernels]
    tones = ["bold" if share > 1 / 3 else "" for share in shares]
    return Table(COLUMNS, [_row(p, k) for k in p.kernels], shares=shares, tones=tones)


def _row(p: Profile, k: KernelReport) -> tuple[str, ...]:
    rates, seconds = p.rates(k), k.measured or 0.0
    of_peak = rates.of_flops if k.bound == "compute" else rates.of_bandwidth
    return (
        duration(seconds),
        f"{seconds / p.measured if p.measured else 0:.0%}",
        k.name,
        f"{amount(k.bytes)}B",
        f"{rates.bandwidth / 1e9:.3g}",
        f"{rates.flops / 1e9:.3g}",
        WORDS[k.bound].format(of_peak),
        duration(k.predicted),
        f"{rates.of_roofline:.0%}",
        "; ".join(dict.fromkeys(s.place for s in k.sources[:3])),
    )


def heading(p: Profile) -> list[str]:
    """The device, and the program as a whole."""
    m = p.machine
    arithmetic = f"{amount(m.flops['float32'].rate)}flop/s in float32"
    peaks = f"{amount(m.memory.bandwidth)}B/s of memory, {arithmetic}"
    share = f", {p.measured / p.seconds:.0%} of it" if p.seconds else ""
    took = f"{plural(len(p.kernels), 'kernel')} took {duration(p.measured)}{share}"
    total = f"{duration(p.seconds)} a run, of {p.runs} warm ones; {took}"
    cold = f"{duration(p.cold)} the first run, with empty caches"
    return [
        f"{p.report.device}: {m.name}, {plural(m.threads, 'thread')}, {peaks}",
        total,
        cold,
        *doubts(p),
    ]


def doubts(p: Profile) -> list[str]:
    """What a busy machine may have spoiled."""
    out = []
    if p.disturbed:
        out.append(
            "others used the machine meanwhile: kernels took longer than in the run, "
            "so their times are upper bounds"
        )
    if p.machine.unsure:
        out.append(
            "the limits of this machine are unsure, as it was busy: "
            "python -m weft bench measures them again"
        )
    return out


def ending(p: Profile) -> list[str]:
    """Threads, and the compiler."""
    lines = []
    if len(p.threads) > 1 and p.spans and p.spans[-1].end:
        busy = ", ".join(
            f"{number}: {seconds / p.spans[-1].end:.0%}" for number, seconds in enumerate(p.threads)
        )
        lines.append(f"threads at work   {busy}")
    longest = sorted(p.passes, key=lambda timed: -timed[1])[:PASSES]
    compiled = ", ".join(f"{name} {duration(seconds)}" for name, seconds in longest)
    return [*lines, f"compiled in       {duration(sum(s for _, s in p.passes))}: {compiled}"]
