"""A Report: kernels of a program, its memory. In: KernelReports. Out: text, tables, a dict."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ...ir.program.memory_report import SHOWN, Memory, MemoryBuffer
from ...wording import amount, duration, plural
from ..tables import Column, Table
from .kernel import KernelReport
from .loop import LoopReport


@dataclass(frozen=True)
class Report:
    """The kernels of a program, in the order they run, and the memory it needs.

    Attributes: `kernels`, a KernelReport each; `arena_bytes`, memory for intermediates; `in_place`,
    how many outputs may be written over inputs; `memory`, a Memory: every buffer with its place and
    lifetime, and what is needed in the worst step; `device`, which runs it; `strict`, whether in
    strict mode (WEFT_STRICT); `loops`, a LoopReport each: what passes from iteration to iteration
    and what is kept for a gradient; `note`, what was computed again to fit a limit of memory, and
    which sizes the program serves besides its own.
    """

    kernels: list[KernelReport] = field(default_factory=list)
    arena_bytes: int = 0
    in_place: int = 0
    memory: Memory = field(default_factory=Memory)
    device: str = "cpu"
    strict: bool = False
    loops: list[LoopReport] = field(default_factory=list)
    note: str = ""

    @property
    def bytes(self) -> int:
        """That all kernels read and write at least."""
        return sum(k.bytes for k in self.kernels)

    @property
    def flops(self) -> int:
        """Arithmetic of all kernels."""
        return sum(k.flops for k in self.kernels)

    @property
    def predicted(self) -> float | None:
        """Seconds of all kernels by the roofline; None where there are no figures of the
        machine."""
        return _total(k.predicted for k in self.kernels)

    @property
    def measured(self) -> float | None:
        """Seconds of all kernels; None unless all were measured."""
        return _total(k.measured for k in self.kernels)

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "device": self.device,
            "strict": self.strict,
            "kernels": [k.to_dict() for k in self.kernels],
            "bytes": self.bytes,
            "flops": self.flops,
            "predicted": self.predicted,
            "measured": self.measured,
            "arena_bytes": self.arena_bytes,
            "in_place": self.in_place,
            "memory": _memory(self.memory),
            "note": self.note,
            "loops": [loop.to_dict() for loop in self.loops],
        }

    def show(self) -> None:
        """Prints it: as tables on a terminal, if the package rich is there, and else as plain
        text."""
        from .on_terminal import show

        show(self)

    def __str__(self) -> str:
        table = ["\n".join(overview(self).lines("-"))] if len(self.kernels) > 1 else []
        memory = [str(self.memory)] if self.kernels else []
        return "\n\n".join(
            [headline(self), *table, *map(str, [*self.kernels, *self.loops]), *memory]
        )

    __repr__ = __str__

    def __rich__(self) -> Any:
        from .on_terminal import Tables

        return Tables(*_parts(self))

    def _repr_html_(self) -> str:
        from .notebook import html

        return html(*_parts(self))


def _total(seconds: Iterable[float | None]) -> float | None:
    each = [*seconds]
    return None if None in each else sum(s for s in each if s is not None)


def _memory(m: Memory) -> dict[str, Any]:
    return {
        **vars(m),
        "buffers": [*map(_buffer, m.buffers)],
        "alive_at_peak": [b.name for b in m.at_peak],
    }


def _buffer(b: MemoryBuffer) -> dict[str, Any]:
    return {**vars(b), "shape": list(b.shape), "line": None if b.line is None else list(b.line)}


Parts = tuple[str, Table, list[KernelReport], list[LoopReport], str, Table, int]


def _parts(r: Report) -> Parts:
    """For pages: the headline, a table of kernels, these, loops, the same of the memory, buffers
    left out."""
    head, *_ = str(r.memory).split("\n")
    more = max(0, len(r.memory.at_peak) - SHOWN)
    return headline(r), overview(r), r.kernels, r.loops, head, memory_table(r.memory), more


# ---------------------------------------------------------------- words


def headline(r: Report) -> str:
    """The number of kernels, and what they take."""
    if not r.kernels:
        nothing = "nothing to compute: everything is in memory already, or empty"
        return f"0 kernels on {r.device}: {nothing}"
    cells = totals(r)
    parts = [f"{cells['kernel']} on {r.device}{' in strict mode' if r.strict else ''}"]
    parts += [f"{cells['moved']} moved", f"{amount(r.flops)}flop"]
    parts += [f"{cells[title]} {title}" for title in ("predicted", "measured") if cells[title]]
    parts += [f"{amount(r.arena_bytes)}B of scratch", f"{plural(r.in_place, 'output')} in place"]
    return ", ".join(parts) + (f"\n{r.note}" if r.note else "")


def totals(r: Report) -> dict[str, str]:
    """By the title of a column."""
    return {
        "kernel": plural(len(r.kernels), "kernel"),
        "moved": f"{amount(r.bytes)}B",
        "flop": amount(r.flops).rstrip(),
        "flop/B": f"{r.flops / r.bytes:.3g}" if r.bytes else "",
        "predicted": duration(r.predicted),
        "measured": duration(r.measured),
    }


def overview(r: Report) -> Table:
    """A row for each kernel, without the columns that would be empty, and the totals of several."""
    shown = [(c, text) for c, text in COLUMNS if any(map(text, r.kernels))]
    last = totals(r)
    seconds = [k.measured or k.predicted or 0.0 for k in r.kernels]
    return Table(
        columns=[c for c, _ in shown],
        rows=[[text(k) for _, text in shown] for k in r.kernels],
        footer=[last.get(c.title, "") for c, _ in shown] if len(r.kernels) > 1 else [],
        shares=[s / max(seconds) for s in seconds] if any(seconds) else [],
        tones=[k.bound or "" for k in r.kernels],
    )


def place(k: KernelReport) -> str:
    """The first line that it comes from, and how many more."""
    if not k.sources:
        return ""
    more = len(k.lines) - 1
    return k.sources[0].where + (f" +{more}" if more else "")


def workers(k: KernelReport) -> str:
    """Threads of the CPU, or blocks and threads of the widest phase on a GPU."""
    if k.launches:
        widest = max(k.launches, key=lambda launch: launch.blocks * launch.threads)
        return f"{widest.blocks} x {widest.threads}"
    return str(k.threads)


LEAST = 12  # characters of a name that is cut
COLUMNS: tuple[tuple[Column, Callable[[KernelReport], str]], ...] = (
    (Column("kernel", cut=LEAST, style="bold"), lambda k: k.name),
    (Column("line", cut=LEAST, style="dim"), place),
    (Column("moved", True, style="dim"), lambda k: f"{amount(k.bytes)}B"),
    (Column("flop", True, since=72, style="dim"), lambda k: amount(k.flops).rstrip()),
    (Column("flop/B", True, since=88, style="dim"), lambda k: f"{k.intensity:.3g}"),
    (Column("threads", True, since=88, style="dim"), workers),
    (Column("predicted", True), lambda k: duration(k.predicted)),
    (Column("bound by", toned=True), lambda k: k.bound or ""),
    (Column("measured", True), lambda k: duration(k.measured)),
)


BUFFERS = (
    Column("buffer", folds=True),
    *(Column(title, folds=True, style="dim") for title in ("holds", "lies in", "steps")),
    Column("bytes", True, folds=True, style="dim"),
)


def memory_table(m: Memory) -> Table:
    """The largest of the buffers that are needed in the worst step."""
    alive = m.at_peak[:SHOWN]
    return Table(
        columns=BUFFERS,
        rows=[
            (
                b.name,
                f"{b.dtype}{[*b.shape]}",
                b.place,
                f"{b.first}-{b.last}",
                f"{amount(b.bytes)}B",
            )
            for b in alive
        ],
        shares=[b.bytes / max(1, alive[0].bytes) for b in alive],
        tones=["held"] * len(alive),
    )
