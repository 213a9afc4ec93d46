"""Parts of a kernel as its phases. In: a Lowered for each part. Out: one Lowered.

Parts of equally many chunks share a phase: a chunk does its share of each, one after the other, in
the same scratch memory. What one part leaves in the cache, such as lines that both read or write,
the next one finds there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ...ir.graph.dtype import DType
from ...ir.graph.index import Var, var
from ...ir.loops.loop import SCRATCH, SERIAL, Alloc, Buf, Extent, For, If, Param, Stmt
from ...ir.loops.walk import Substitution, statements
from .lowered import Choice, Lowered


def in_phases(parts: Sequence[Lowered]) -> Lowered:
    """All parts in one kernel; they write different elements, so that their order does not
    matter."""
    if len(parts) == 1:
        return parts[0]
    groups: dict[object, list[Lowered]] = {}
    for i, part in enumerate(parts):
        alike = (
            (part.params, part.loops.phases[0].var.extent, part.loops.threads)
            if len(part.loops.phases) == 1
            else i
        )
        groups.setdefault(alike, []).append(part)
    joined = in_turn([_one_phase(group) for group in groups.values()])
    texts = "; ".join(f"({i}) {part.schedule}" for i, part in enumerate(parts))
    count = len(joined.loops.phases)
    text = (
        f"{len(parts)} residue classes of strided axes, without the products that are 0, in {count}"
        f" phases: {texts}"
    )
    return replace(joined, schedule=text, choices=_choices(parts))


def in_turn(parts: Sequence[Lowered]) -> Lowered:
    """All parts in one kernel, each in phases of its own, one after the other."""
    phases: list[For] = []
    params: list[Param] = []
    for i, part in enumerate(parts):
        names = {q: Param(f"{q.name}_{i}") for q in part.loops.params}
        phases += [_renamed(phase, names) for phase in part.loops.phases]
        params += names.values()
    threads = tuple(t for part in parts for t in part.loops.threads)
    # the arguments, then what each adds
    buffers = tuple(dict.fromkeys(b for part in parts for b in part.loops.buffers))
    loops = replace(
        parts[0].loops, buffers=buffers, params=tuple(params), phases=phases, threads=threads
    )
    values = tuple(value for part in parts for value in part.params)
    text = "; then ".join(part.schedule for part in parts)
    return Lowered(loops, values, [w for part in parts for w in part.work], text, _choices(parts))


def _choices(parts: Iterable[Lowered]) -> tuple[Choice, ...]:
    return tuple(choice for part in parts for choice in part.choices)


def _one_phase(parts: list[Lowered]) -> Lowered:
    """Parts of one phase each, of equally many chunks, as one of them."""
    first, *others = parts
    if not others:
        return first
    shared = _shared_scratch([part.loops.phases[0] for part in parts])
    body: list[Stmt] = []
    for part, buffers in zip(parts, shared, strict=True):
        (phase,) = part.loops.phases
        names = dict(zip(part.loops.params, first.loops.params, strict=True))
        own = Substitution({phase.var: var(first.loops.phases[0].var)}, buffers).body(
            _renamed(phase, names).body
        )
        body.append(For(Var("once", 1), 1, SERIAL, own))  # each allocates its scratch
    phases = [replace(first.loops.phases[0], body=body)]
    return replace(
        first, loops=replace(first.loops, phases=phases), work=[sum(part.work[0] for part in parts)]
    )


def _shared_scratch(phases: list[For]) -> list[dict[Buf, Buf]]:
    """For each phase, its scratch buffers as those that all phases use in turn: of each dtype as
    many and as large as needed."""
    own = [
        _by_dtype(
            s.buf for s in statements(p.body) if isinstance(s, Alloc) and s.buf.space == SCRATCH
        )
        for p in phases
    ]
    sizes: dict[DType, list[int]] = {}
    for of_phase in own:
        for dtype, buffers in of_phase.items():
            known = sizes.setdefault(dtype, [])
            known += [0] * (len(buffers) - len(known))
            sizes[dtype] = [max(b.size, s) for b, s in zip(buffers, known, strict=False)] + known[
                len(buffers) :
            ]
    pool = {
        dtype: [Buf(f"scratch{i}", dtype, s, SCRATCH) for i, s in enumerate(extents)]
        for dtype, extents in sizes.items()
    }
    return [
        {b: new for d, old in of_phase.items() for b, new in zip(old, pool[d], strict=False)}
        for of_phase in own
    ]


def _by_dtype(buffers: Iterable[Buf]) -> dict[DType, list[Buf]]:
    """Buffers of each dtype, the largest first."""
    by_dtype: dict[DType, list[Buf]] = {}
    for b in sorted(dict.fromkeys(buffers), key=lambda b: -b.size):
        by_dtype.setdefault(b.dtype, []).append(b)
    return by_dtype


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
