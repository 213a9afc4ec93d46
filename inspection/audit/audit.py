"""`wf.audit`. In: what `wf.profile` takes. Out: an Audit: the kernels by the time they lose, and
what the other schedules of each would have taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ...wording import duration, plural
from ..explain.explain import Subject
from ..tables import Column, Table

if TYPE_CHECKING:
    from ...codegen.kernels.lower_program import LoweredKernel
    from ...codegen.kernels.lowered import Lowered
    from ...compiler.compile import Compiled
    from ..explain.kernel import KernelReport

LEAST = 0.01  # of the time of the program: kernels that take less are not looked into
MOST = 20  # kernels that are looked into
EQUAL = 1.02  # times as long: no difference


@dataclass(frozen=True)
class Way:
    """A way to run a kernel. Attributes: `name`, its schedule, numbered from the best by its
    estimate; `seconds` as a program of its own; `why`, the estimate or the rule that spoke against
    it, "" for the chosen one."""

    name: str
    seconds: float
    why: str


@dataclass(frozen=True)
class Audited:
    """A kernel. Attributes: `report`, that of `wf.explain` with its measured seconds; `lost`,
    seconds beyond its roofline; `ways`, the chosen one first, empty where nothing else was tried.
    """

    report: KernelReport
    lost: float
    ways: tuple[Way, ...] = ()

    @property
    def gain(self) -> float:
        """How many times as fast the fastest way is."""
        return self.ways[0].seconds / min(w.seconds for w in self.ways) if self.ways else 1.0


@dataclass(frozen=True)
class Audit:
    """Kernels by the time they lose, those that lose most first; `seconds` of all together."""

    kernels: tuple[Audited, ...]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        kernels = [
            k.report.to_dict() | {"lost": k.lost, "ways": [asdict(w) for w in k.ways]}
            for k in self.kernels
        ]
        return {"seconds": self.seconds, "kernels": kernels}

    def __str__(self) -> str:
        return "\n".join([*_heading(self), "", *_table(self).lines(), *_better(self)])

    __repr__ = __str__


def audit(x: Subject, /, *args: Any, repeat: int | None = None, **kwargs: Any) -> Audit:
    """Where the time of a program goes beyond what its roofline allows, and whether another
    schedule would have saved some.

    Takes what `wf.profile` takes, measures it in the same way, and changes nothing that you hold.
    On the CPU, each kernel that takes more than a hundredth of the time is then run as a program of
    its own on zeros: as it was compiled, and in every other way that some schedule has for it,
    those that estimates or rules spoke against and other sizes of tiles among them.

    >>> report = wf.audit((wf.rand(64, 64) @ wf.rand(64, 64)).softmax(axis=1))
    >>> len(report.kernels), report.kernels[0].lost >= 0
    (2, True)

    Raises what `wf.profile` raises.
    """
    from ..profile.measure import measure

    compiled, measured = measure("audit", x, args, kwargs, repeat)
    return audited(compiled, measured.kernels)


def audited(compiled: Compiled, reports: Sequence[KernelReport]) -> Audit:
    """The Audit of a program whose kernels were measured, in the order they run."""
    total = sum(k.measured or 0.0 for k in reports)
    pairs = sorted(zip(reports, compiled.in_order(), strict=True), key=lambda pair: -_lost(pair[0]))
    asked = {id(k) for r, k in pairs if (r.measured or 0.0) >= LEAST * total}
    tried = {id(k) for _, k in pairs[:MOST]} & asked
    kernels = [Audited(r, _lost(r), _ways(compiled, k) if id(k) in tried else ()) for r, k in pairs]
    return Audit(tuple(kernels), total)


def _lost(k: KernelReport) -> float:
    return max(0.0, (k.measured or 0.0) - (k.predicted or 0.0))


def _ways(compiled: Compiled, k: LoweredKernel) -> tuple[Way, ...]:
    """The ways of a kernel of the CPU, timed; none where there is one alone."""
    from ...codegen.cpu.candidates import candidates
    from ...compiler.backends.cpu import CpuBackend
    from .alone import seconds_of

    backend = compiled.backend
    if not isinstance(backend, CpuBackend) or k.kernel is None or k.is_routine:
        return ()
    found = candidates(k.kernel, compiled.strides, backend.lowering.settings)
    if len(found) == 1:
        return ()
    (choice,) = k.lowered.choices
    whys = [choice.others.get(c.schedule, _sizes(c.lowered.schedule)) for c in found]
    stored = [_streamed(c.lowered, k.lowered) for c in found]
    times = seconds_of(k.kernel, stored, compiled.strides, backend)
    return tuple(
        Way(c.name, seconds, why if i else "")
        for i, (c, seconds, why) in enumerate(zip(found, times, whys, strict=True))
    )


def _streamed(lowered: Lowered, compiled: Lowered) -> Lowered:
    """With the stores past the caches that the kernel of the program has, whose first buffers are
    the same values."""
    buffers = zip(lowered.loops.buffers, compiled.loops.buffers, strict=False)
    past = tuple(own for own, other in buffers if other in compiled.loops.streamed)
    return replace(lowered, loops=replace(lowered.loops, streamed=past))


def _sizes(schedule: str) -> str:
    """What is said of a schedule after its name."""
    return schedule.partition(" ")[2]


# ---------------------------------------------------------------- words

COLUMNS = (
    Column("lost", True),
    Column("time", True),
    Column("roofline", True),
    Column("reached", True),
    Column("kernel"),
    Column("schedule"),
    Column("alone", True),
    Column("fastest other way"),
    Column("lines"),
)


def _heading(a: Audit) -> list[str]:
    lost = sum(k.lost for k in a.kernels)
    took = f"{plural(len(a.kernels), 'kernel')} took {duration(a.seconds)}"
    share = f", {lost / a.seconds:.0%} of it" if a.seconds else ""
    return [f"{took}; beyond the roofline {duration(lost)}{share}"]


def _table(a: Audit) -> Table:
    return Table(COLUMNS, [_row(k) for k in a.kernels])


def _row(k: Audited) -> tuple[str, ...]:
    r, seconds = k.report, k.report.measured or 0.0
    others = sorted(k.ways[1:], key=lambda w: w.seconds)
    other = f"{others[0].name}: {duration(others[0].seconds)}" if others else ""
    return (
        duration(k.lost),
        duration(seconds),
        duration(r.predicted),
        f"{(r.predicted or 0.0) / seconds:.0%}" if seconds else "",
        r.name,
        r.choices[0].schedule if r.choices else "",
        duration(k.ways[0].seconds) if k.ways else "",
        other,
        "; ".join(dict.fromkeys(s.place for s in r.sources[:2])),
    )


def _better(a: Audit) -> Iterator[str]:
    """The ways that are faster than the chosen one, and why they were not chosen."""
    for k in a.kernels:
        if k.gain > EQUAL:
            yield f"\n{k.report.name}: {k.ways[0].name} took {duration(k.ways[0].seconds)}"
            for w in sorted(k.ways[1:], key=lambda w: w.seconds):
                if w.seconds * EQUAL < k.ways[0].seconds:
                    yield f"    {w.name} {duration(w.seconds)}: {w.why}"
