"""Parts of a kernel as its phases. In: a Lowered for each part. Out: one Lowered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..ir.loop import Extent, For, If, Loops, Param, Stmt
from .lower import Lowered


def in_phases(parts: Sequence[Lowered]) -> Lowered:
    """All phases of the parts in one kernel; they write different elements, so that their order does not matter."""
    if len(parts) == 1:
        return parts[0]
    phases: list[For] = []
    params: list[Param] = []
    for i, part in enumerate(parts):
        names = {q: Param(f"{q.name}_{i}") for q in part.loops.params}
        phases += [_renamed(phase, names) for phase in part.loops.phases]
        params += names.values()
    first = parts[0].loops
    loops = Loops(first.name, first.buffers, tuple(params), phases)
    texts = "; ".join(f"({i}) {part.schedule}" for i, part in enumerate(parts))
    values = tuple(value for part in parts for value in part.params)
    work = [w for part in parts for w in part.work]
    return Lowered(loops, values, work, f"{len(parts)} residue classes of strided axes, without the products that are 0: {texts}")


def _renamed(loop: For, names: Mapping[Param, Param]) -> For:
    """A loop with other parameters."""

    def new(e: Extent) -> Extent:
        return names[e] if isinstance(e, Param) else e

    def inside(s: Stmt) -> Stmt:
        if isinstance(s, If):
            return replace(s, body=[inside(t) for t in s.body])
        return _renamed(s, names) if isinstance(s, For) else s

    total = None if loop.total is None else new(loop.total)
    return replace(loop, extent=new(loop.extent), total=total, body=[inside(s) for s in loop.body])
