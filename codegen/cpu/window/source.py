"""Sources of factors with windows, and copies of them. In: a factor of a contraction. Out: its
Source; a Footprint in scratch or memory.

    x[n, c, y + ky - 1, x + kx - 1] if 0 <= y + ky - 1 < H ...        the factor
    copy[c, row, column]                                              what one unit of work reads of
                                                                      it, zeros around

Every element of the source that a unit needs is evaluated once, with its prologue and its mask;
after that a tile reads the copy at plain affine places. The copy is as large as the footprint, not
as the windows: nothing is repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ....ir.graph.graph import Node, node
from ....ir.graph.index import Index, Range, Var, mask_of, var
from ....ir.graph.op import Op
from ....ir.kernels.box import Box, box_of
from ....ir.loops.loop import LANES, SCRATCH, SERIAL, Buf, Stmt, Store
from ....ir.symbolic.questions import has_several, is_unknown
from ...kernels.contraction import Problem
from ...kernels.evaluate import Evaluator, load
from ...kernels.loop_axes import nested

ALIASED = 1024  # bytes: lines a multiple of it apart fall into few cache sets


class Source(Box):
    """A factor that is read where it lies, or through a copy."""

    def substitute(self, by: dict[Var, Index]) -> tuple[Index, ...]:
        return tuple(e.substitute(by) for e in self.at)

    def value(self, p: Problem, at: Sequence[Index], sure: Sequence[bool]) -> Node:
        """An element of the factor, given by its place in the base; along some axes it is sure to
        be within the bounds."""
        places = zip(at, self.bounds, sure, strict=True)
        inside = mask_of(Range(e, lo, hi) for e, (lo, hi), certain in places if not certain)
        value = Evaluator(p.inputs).value(self.base, at, inside)
        return reduce(lambda v, c: node(Op.CAST, (v,), c.arg), reversed(self.casts), value)

    def sure(self, beyond: Var | None) -> list[bool]:
        """Along which axes every place is within the bounds, even if a variable goes beyond its
        extent."""
        places = zip(self.at, self.bounds, strict=True)
        return [Range(e, lo, hi).always and beyond not in e.vars() for e, (lo, hi) in places]


def source_of(p: Problem, factor: Node, by: dict[Var, Index]) -> Source | None:
    """The Source of a factor, its places in the variables of `by`; None where they or its mask are
    not affine."""
    box = box_of(factor, p.coordinates(by))
    return None if box is None else Source(box.base, box.casts, box.at, box.bounds)


class Footprint:
    """A copy in scratch of what a unit of work reads of a source: a dense box, one extent for each
    axis of the base."""

    def __init__(
        self,
        p: Problem,
        source: Source,
        at: Sequence[Index],
        inside: set[Var],
        sure: Sequence[bool],
    ) -> None:
        """`at`: places read, in loop variables, of which those `inside` vary within a unit."""
        self.p, self.source, self.sure = p, source, sure
        moving = [Index({t: c for t, c in e.terms if t in inside}) for e in at]
        self.first = [e - m + m.bounds[0] for e, m in zip(at, moving, strict=True)]
        self.extents = [m.bounds[1] - m.bounds[0] + 1 for m in moving]
        dtype = source.casts[0].dtype if source.casts else source.base.dtype
        self.strides = self._strides(dtype.itemsize, p.width)
        self.size = self.strides[0] * self.extents[0]
        self.buf, self.origin = Buf("copy", dtype, self.size, SCRATCH), Index()

    def keep(self, buf: Buf, number: Index) -> None:
        """Among the copies of all units, in memory."""
        self.buf, self.origin = buf, number * self.size

    def _strides(self, itemsize: int, width: int) -> list[int]:
        strides = [1]
        for d in reversed(self.extents[1:]):
            step = strides[-1] * d
            is_aliased = not is_unknown(step) and step * itemsize % ALIASED == 0
            strides.append(step + width if is_aliased else step)
        return strides[::-1]

    def load(self, at: Sequence[Index]) -> Node:
        """The element read at a place of the base."""
        places = ((e - f) * s for e, f, s in zip(at, self.first, self.strides, strict=True))
        return load(self.buf, sum(places, self.origin))

    def fill(self) -> list[Stmt]:
        """Loops over the box, lanes along its last axis that has an extent."""
        axes = [Var(f"c{a}", d) for a, d in enumerate(self.extents)]
        at = [
            f + var(v) if has_several(v.extent) else f
            for f, v in zip(self.first, axes, strict=True)
        ]
        used = [v for v in axes if has_several(v.extent)] or axes[-1:]
        return nested(
            used,
            [Store(self.buf, self.load(at).arg[1], self.source.value(self.p, at, self.sure))],
            SERIAL,
            LANES,
        )
