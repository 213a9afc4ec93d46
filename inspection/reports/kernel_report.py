"""What `wf.explain` shows, as data: a Report and its parts. In: figures and texts. Out: text, and dicts for JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ...ir.graph.site import shown
from ...ir.program.memory_report import Memory, MemoryBuffer
from ..measured.roofline import Demand

if TYPE_CHECKING:
    from ...compiler.backends.backend import Launch


@dataclass(frozen=True)
class Source:
    """A line of the user's that a kernel computes, or the gradient of.

    Attributes: `file` and `line`; `gradient`, whether it is the gradient of that line that is computed; `text` of the line, ""
    where the file cannot be read.
    """

    file: str
    line: int
    gradient: bool = False
    text: str = ""

    @property
    def place(self) -> str:
        """The file without its folder, and the line."""
        return shown((self.file, self.line))

    @property
    def where(self) -> str:
        """The same, and whether it is the gradient of it."""
        return f"gradient of {self.place}" if self.gradient else self.place

    def __str__(self) -> str:
        return f"{self.where}  {self.text}".rstrip()


@dataclass(frozen=True)
class Apart:
    """Why a kernel is not one with a neighbour that runs before it: the `other` kernel, the `rule` of fusion, the `detail`."""

    other: str
    rule: str
    detail: str

    def __str__(self) -> str:
        return f"from {self.other}: {self.rule}: {self.detail}"


@dataclass(frozen=True)
class KernelReport:
    """One kernel of a program.

    Attributes: `name`; `kind` (map, rows, contraction, chain, scan, scatter, sort, check); `nodes`, the operations it computes;
    `outer`, the extents of its parallel axes; `reads`, the names of what it reads, `conv1.weight`, of inputs that have one;
    `outputs`, text of each stored value; `bytes` it reads and writes, every element once, and `written`, those that it writes;
    `flops`, its arithmetic as `inspection/reports/flops.py` counts it, and `floats`, the dtype whose speed that has; `sure_bytes`
    and `sure_flops`, those of them that no schedule does without, as far as known; `schedule`, how it runs and why; `parallel`,
    whether threads share it, and how many `threads` do (on a GPU, those of its widest phase); `sources`, the user's lines;
    `gradient`, whether it computes gradients; `boundaries`, why it did not merge with its neighbours; `launches`, on a GPU the
    blocks, threads, shared memory, registers and spills of each phase; `predicted`, seconds by the roofline of this machine, and
    what they are `bound` by: "memory", "compute" or "launch"; None without figures of the machine; `measured`, seconds, None
    unless `wf.profile` has run it.
    """

    name: str
    kind: str
    nodes: tuple[str, ...]
    outer: tuple[int, ...]
    outputs: tuple[str, ...]
    bytes: int
    flops: int
    schedule: str
    parallel: bool
    threads: int = 1
    reads: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    boundaries: tuple[Apart, ...] = ()
    launches: tuple[Launch, ...] = ()
    predicted: float | None = None
    bound: str | None = None
    measured: float | None = None
    written: int = 0
    floats: str = "float32"
    sure_bytes: int = 0
    sure_flops: int = 0

    @property
    def demand(self) -> Demand:
        """What it has to do, for a roofline."""
        workers = max((launch.blocks for launch in self.launches), default=self.threads)
        return Demand(self.bytes - self.written, self.written, self.flops, self.floats, workers)

    @property
    def sure(self) -> Demand:
        """The part of that which it cannot do without."""
        written = min(self.written, self.sure_bytes)
        return replace(self.demand, read=self.sure_bytes - written, written=written, flops=self.sure_flops)

    @property
    def intensity(self) -> float:
        """Operations a byte."""
        return self.flops / self.bytes if self.bytes else 0.0

    @property
    def gradient(self) -> bool:
        """Does it compute gradients?"""
        return any(s.gradient for s in self.sources)

    @property
    def lines(self) -> tuple[tuple[str, int], ...]:
        """(file, line) of each source, once."""
        return tuple(dict.fromkeys((s.file, s.line) for s in self.sources))

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        found = {**vars(self), "intensity": self.intensity, "gradient": self.gradient}
        found |= {name: list(found[name]) for name in ("nodes", "outer", "reads", "outputs")}
        found |= {name: [*map(asdict, found[name])] for name in ("sources", "boundaries", "launches")}
        return found | {"lines": [*map(list, self.lines)]}

    def __str__(self) -> str:
        from .plain import kernel_text

        return kernel_text(self)


@dataclass(frozen=True)
class Report:
    """The kernels of a program, in the order they run, and the memory it needs.

    Attributes: `kernels`, a KernelReport each; `arena_bytes`, memory for intermediates; `in_place`, how many outputs may be
    written over inputs; `memory`, a Memory: every buffer with its place and lifetime, and what is needed in the worst step;
    `device`, which runs it; `strict`, whether in strict mode (WEFT_STRICT).
    """

    kernels: list[KernelReport] = field(default_factory=list)
    arena_bytes: int = 0
    in_place: int = 0
    memory: Memory = field(default_factory=Memory)
    device: str = "cpu"
    strict: bool = False

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
        """Seconds of all kernels by the roofline; None where there are no figures of the machine."""
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
        }

    def show(self) -> None:
        """Prints it: as tables on a terminal, if the package rich is there, and else as plain text."""
        from .table import show

        show(self)

    def __str__(self) -> str:
        from .plain import report_text

        return report_text(self)

    __repr__ = __str__

    def __rich__(self) -> Any:
        from .table import Tables

        return Tables(self)

    def _repr_html_(self) -> str:
        from .notebook import html

        return html(self)


def _total(seconds: Iterable[float | None]) -> float | None:
    found = [*seconds]
    return None if None in found else sum(s for s in found if s is not None)


def _memory(m: Memory) -> dict[str, Any]:
    return {**vars(m), "buffers": [*map(_buffer, m.buffers)], "alive_at_peak": [b.name for b in m.at_peak]}


def _buffer(b: MemoryBuffer) -> dict[str, Any]:
    return {**vars(b), "shape": list(b.shape), "line": None if b.line is None else list(b.line)}
