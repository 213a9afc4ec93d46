"""One kernel of a Report. In: its figures and texts. Out: labelled lines, text, a dict for JSON."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ...ir.graph.site import site_text
from ...wording import amount, duration
from ..machine.roofline import Demand
from ..tables import labelled

if TYPE_CHECKING:
    from ...codegen.kernels.lowered import Choice
    from ...compiler.backends.backend import Launch


@dataclass(frozen=True)
class Source:
    """A line of the user's that a kernel computes, or the gradient of.

    Attributes: `file` and `line`; `gradient`, whether it is the gradient of that line that is
    computed; `text` of the line, "" where the file cannot be read.
    """

    file: str
    line: int
    gradient: bool = False
    text: str = ""

    @property
    def place(self) -> str:
        """The file without its folder, and the line."""
        return site_text((self.file, self.line))

    @property
    def where(self) -> str:
        """The same, and whether it is the gradient of it."""
        return f"gradient of {self.place}" if self.gradient else self.place

    def __str__(self) -> str:
        return f"{self.where}  {self.text}".rstrip()


@dataclass(frozen=True)
class Apart:
    """Why a kernel is not one with a neighbour that runs before it: the `other` kernel, the `rule`
    of fusion, the `detail`."""

    other: str
    rule: str
    detail: str

    def __str__(self) -> str:
        return f"from {self.other}: {self.rule}: {self.detail}"


@dataclass(frozen=True)
class KernelReport:
    """One kernel of a program.

    Attributes: `name`; `kind` (map, rows, contraction, chain, scan, scatter, put, sort, check, or
    routine, of a library); `nodes`, the operations it computes; `outer`, the extents of its
    parallel axes; `reads`, the names of what it reads, `conv1.weight`, of inputs that have one;
    `outputs`, text of each stored value;
    `bytes` it reads and writes, every element once, and `written`, those that it writes; `flops`,
    its arithmetic as `inspection/explain/flops.py` counts it, and `floats`, the dtype whose speed
    that has; `sure_bytes` and `sure_flops`, those of them that no schedule does without, as far as
    known; `schedule`, how it runs and why; `choices`, of each of its parts the schedule and why it
    is none of the `others`, a dict by their names; `parallel`, whether threads share it, and how
    many `threads` do (on a GPU, those of its widest phase); `sources`, the user's lines;
    `gradient`, whether it computes gradients; `boundaries`, why it did not merge with its
    neighbours; `launches`, on a GPU the blocks, threads, shared memory, registers and spills of
    each phase; `predicted`, seconds by the roofline of this machine, and what they are `bound` by:
    "memory", "compute" or "launch"; None without figures of the machine; `measured`, seconds, None
    unless `wf.profile` has run it; `times`, how often it runs, in a loop with so many iterations:
    bytes, arithmetic and seconds are those of all.
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
    choices: tuple[Choice, ...] = ()
    launches: tuple[Launch, ...] = ()
    predicted: float | None = None
    bound: str | None = None
    measured: float | None = None
    written: int = 0
    floats: str = "float32"
    sure_bytes: int = 0
    sure_flops: int = 0
    times: int = 1

    def repeated(self, times: int) -> KernelReport:
        """The same so many times."""
        return replace(
            self,
            bytes=self.bytes * times,
            written=self.written * times,
            flops=self.flops * times,
            sure_bytes=self.sure_bytes * times,
            sure_flops=self.sure_flops * times,
            times=times,
        )

    @property
    def demand(self) -> Demand:
        """What it has to do, for a roofline."""
        workers = max((launch.blocks for launch in self.launches), default=self.threads)
        return Demand(self.bytes - self.written, self.written, self.flops, self.floats, workers)

    @property
    def sure(self) -> Demand:
        """The part of that which it cannot do without."""
        written = min(self.written, self.sure_bytes)
        return replace(
            self.demand, read=self.sure_bytes - written, written=written, flops=self.sure_flops
        )

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
        fields = {**vars(self), "intensity": self.intensity, "gradient": self.gradient}
        fields |= {name: list(fields[name]) for name in ("nodes", "outer", "reads", "outputs")}
        fields |= {
            name: [*map(asdict, fields[name])]
            for name in ("sources", "boundaries", "launches", "choices")
        }
        return fields | {"lines": [*map(list, self.lines)]}

    def __str__(self) -> str:
        return kernel_text(self)


# ---------------------------------------------------------------- words

WIDTH, INDENT, LABEL = 110, 4, 10  # columns of a text, wherever it is printed
MOST_READS = 12  # names of what a kernel reads
EXTENTS = re.compile(r"(?<=\d), (?=\d)")  # the gap between two extents, where no line breaks


def kernel_text(k: KernelReport) -> str:
    """A line that names the kernel, and its facts below."""
    workers = "GPU" if k.launches else "one thread" if k.threads < 2 else f"{k.threads} threads"
    rows = [
        ("" if label == "from" and i else label, EXTENTS.sub(",\u00a0", line))
        for label, lines in facts(k).items()
        for i, line in enumerate(lines)
    ]
    text = [f"{k.name}  outer {list(k.outer)}  {workers}", *labelled(rows, WIDTH, INDENT, LABEL)]
    return "\n".join(text).replace("\u00a0", " ")


def cost(k: KernelReport) -> str:
    """What it moves and computes, and how long that takes."""
    text = f"in {k.times} iterations " if k.times > 1 else ""
    text += f"{amount(k.bytes)}B moved, {amount(k.flops)}flop, {k.intensity:.3g} flop/B"
    if k.predicted is not None:
        text += f": {duration(k.predicted)} predicted, bound by {k.bound}"
    return text if k.measured is None else f"{text}; {duration(k.measured)} measured"


def facts(k: KernelReport) -> dict[str, list[str]]:
    """Lines by label, without the labels that have none."""
    lines = {
        "from": [*map(str, k.sources)],
        "computes": [counted(k.nodes)],
        "reads": [inputs_read(k)],
        "writes": [", ".join(k.outputs) or "the status only"],
        "cost": [cost(k)],
        "schedule": [k.schedule],
        "not": not_chosen(k.choices),
        "launch": [*map(str, k.launches)],
        "apart": [*map(str, k.boundaries)],
    }
    return {label: texts for label, texts in lines.items() if any(texts)}


def not_chosen(choices: Iterable[Choice]) -> list[str]:
    """The schedules that were not taken and why, a line for each choice that differs from
    others."""
    lines = dict.fromkeys((c.schedule, _refusals(c)) for c in choices if c.others)
    return [f"(part in {name}) {text}" if len(lines) > 1 else text for name, text in lines]


def _refusals(c: Choice) -> str:
    """Those of one reason together."""
    names: dict[str, list[str]] = {}
    for name, why in c.others.items():
        names.setdefault(why, []).append(name)
    return "; ".join(f"{', '.join(of_one)}: {why}" for why, of_one in names.items())


def inputs_read(k: KernelReport) -> str:
    """The inputs that have names, the first of many."""
    more = len(k.reads) - MOST_READS
    return ", ".join([*k.reads[:MOST_READS], *([f"{more} more"] if more > 0 else [])])


def counted(words: Iterable[str]) -> str:
    """Each word once, with how often it stands there."""
    return " ".join(
        word if count == 1 else f"{word}*{count}" for word, count in Counter(words).items()
    )
