"""Kernels of rows with sums over the rows, taken apart. In: a Kernel. Out: its part by rows, kernels of its last phases."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...ir.graph.graph import Node, leaf, node, rebuild, reduce, reshape
from ...ir.graph.index import row_major_strides
from ...ir.graph.op import Op
from ...ir.kernels.kernel import Kernel, Unit
from ...ir.kernels.units import Units, refine
from ...ir.loops.loop import Buf
from .evaluate import Place
from .framing import Places


def row_part(kernel: Kernel) -> Kernel:
    """The kernel without the maps of column sums."""
    units = [u for u in kernel.units if u in kernel.outer]
    members = {u.node for u in units if u not in kernel.columns}
    return replace(kernel, units=units, outputs=[n for n in kernel.outputs if n in members])


def last_phases(kernel: Kernel, parts: dict[Node, Buf], places: Places) -> list[tuple[Kernel, Places]]:
    """Kernels that sum the parts and map the sums, one for each shape, with their places."""
    inputs, outputs, buffers = places
    held = {n: leaf(("parts", i), n.dtype, (buf.size // n.size, *n.shape)) for i, (n, buf) in enumerate(parts.items())}
    known = {n: n for n in kernel.inputs} | {n: _total(n, p) for n, p in held.items()}
    behind = [u.node for u in kernel.units if u in kernel.columns]
    now = _with(behind, known)
    stored = {now[n]: outputs[n] for n in kernel.outputs if n in set(behind)}
    of_parts = {p: Place(parts[n], row_major_strides(p.shape)) for n, p in held.items()}
    made = [Unit(now[n], i) for i, n in enumerate(behind)]
    refine(Units(made, {u.node: u for u in made}, set(), set(stored)))
    out = []
    for extents in dict.fromkeys(tuple(v.extent for v in u.kept_vars()) for u in made):
        units = [u for u in made if tuple(v.extent for v in u.kept_vars()) == extents]
        members = {u.node for u in units}
        own = {n: p for n, p in stored.items() if n in members}
        outer = {u: u.kept_vars() for u in units}
        k = Kernel(kernel.name, "rows", units, outer, extents, list(own), [*of_parts, *inputs])
        out.append((k, (inputs | of_parts, own, buffers)))
    return out


def _total(n: Node, parts: Node) -> Node:
    """The column sums out of their parts."""
    return reduce(n.arg[0], parts, (0,)) if parts.shape[0] > 1 else node(Op.KEEP, (reshape(parts, n.shape),))


def _with(roots: Iterable[Node], known: dict[Node, Node]) -> dict[Node, Node]:
    """Nodes over others in place of known ones."""
    out, stack = dict(known), list(roots)
    while stack:
        n = stack[-1]
        missing = [s for s in n.src if s not in out] if n not in out else []
        if missing:
            stack += missing
            continue
        stack.pop()
        if n not in out:
            out[n] = rebuild(n, tuple(out[s] for s in n.src)) if n.src else n
    return out
