"""Short names of operations. In: a Node. Out: `matmul 64x784x128`, `sum axis=1`, `x * 2`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from ...ir.graph.graph import Node
from ...ir.graph.op import VIEWS, Op
from ...ir.graph.rewrite import constant_of
from ...ir.graph.views import steady_axes
from ...ir.ops.bits import BITWISE
from ...ir.ops.record import said
from ...ir.ops.table import RECORDS

SIGNS = {r.op: r.infix[0] for r in RECORDS.values() if r.infix and r not in BITWISE}
SUMS = {"add": "sum", "max": "max", "mul": "prod"}


def label(n: Node) -> str:
    """A few words, shapes of 784x128 and axes included; of an INPUT, its dtype and shape."""
    template = LABELS.get(n.op)
    return template(n) if template else _of_constant(n) or n.op.value


def times(extents: Sequence[int]) -> str:
    """Extents as people write them: 64x128, and "scalar" for none."""
    return "x".join(map(str, extents)) or "scalar"


def number(value: object) -> str:
    """A constant in few digits."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _axes(axes: Sequence[int], ndim: int) -> str:
    return (
        ""
        if len(axes) == ndim
        else f" axis={axes[0]}"
        if len(axes) == 1
        else f" axes={','.join(map(str, axes))}"
    )


def _of_constant(n: Node) -> str | None:
    """Of a map of two operands of which one is a constant."""
    sign = SIGNS.get(n.op)
    left, right = map(constant_of, n.src) if len(n.src) == 2 else (None, None)
    if sign is None or (left is None) == (right is None):
        return None
    return f"{number(left)} {sign} x" if left is not None else f"x {sign} {number(right)}"


def _reduce(n: Node) -> str:
    kind, axes = n.arg
    x = n.src[0]
    if kind == "add" and x.op is Op.MUL and (product := contraction(n)):
        return product
    return SUMS[kind] + _axes(axes, x.ndim)


def contraction(total: Node) -> str | None:
    """Of a sum of products where each factor lacks an axis of the result: rows x steps x columns;
    of windows, their extents."""
    product, axes = total.src[0], total.arg[1]
    a, b = product.src
    kept = [i for i in range(product.ndim) if i not in axes and product.shape[i] > 1]
    along_rows, along_columns = steady_axes(b), steady_axes(a)
    rows = [i for i in kept if i in along_rows - along_columns]
    columns = [i for i in kept if i in along_columns - along_rows]
    if not rows and not columns:
        return None
    if _has_windows(a) or _has_windows(b):
        places = [product.shape[i] for i in kept]
        window = [product.shape[i] for i in axes if product.shape[i] > 1]
        return f"conv {times(places)} over {times(window)}"
    extent = [prod(product.shape[i] for i in some) for some in (rows, axes, columns)]
    batch = prod(product.shape[i] for i in kept if i not in rows and i not in columns)
    return "matmul " + (f"{batch} of " if batch > 1 else "") + times(extent)


def _has_windows(n: Node) -> bool:
    while n.op in VIEWS or n.op in (Op.DETACH, Op.CAST, Op.KEEP):
        if n.op in (Op.SKEW, Op.UNSKEW):
            return True
        n = n.src[0]
    return False


def _slice(n: Node) -> str:
    cut = [
        f"{lo}:{hi}" + (f":{step}" if step > 1 else "") if (lo, hi, step) != (0, extent, 1) else ":"
        for (lo, hi, step), extent in zip(n.arg, n.src[0].shape, strict=True)
    ]
    return f"slice [{', '.join(cut)}]"


def sliced(n: Node) -> str:
    """What a slice takes, as Python writes it: `[1:, ::2]`."""
    cuts = zip(n.arg, n.src[0].shape, strict=True)
    parts = (
        f"{a or ''}:{'' if b >= d else b}" + (f":{c}" if c != 1 else "") for (a, b, c), d in cuts
    )
    return f"[{', '.join(parts)}]"


def _expand(n: Node) -> str:
    value = constant_of(n)
    return f"repeat to {times(n.shape)}" if value is None else number(value)


def called(n: Node) -> str:
    """An elementwise op as its formula calls it, if that is a function: exp2, -cos, maximum."""
    head = said(RECORDS[n.op].text, n).partition("(")[0]
    return head if head.strip("-").isidentifier() else n.op.value


LABELS: Mapping[Op, Callable[[Node], str]] = {
    Op.INPUT: lambda n: f"{n.dtype.name} {times(n.shape)}",
    Op.CONST: lambda n: number(n.arg),
    Op.IOTA: lambda n: f"0 .. {n.arg - 1}",
    **dict.fromkeys((Op.EXP, Op.LOG, Op.SIN), called),
    Op.CAST: lambda n: f"to {n.arg.name}",
    Op.BITCAST: lambda n: f"bits as {n.arg.name}",
    Op.REDUCE: _reduce,
    Op.SCAN: lambda n: f"cumsum axis={n.arg}",
    Op.SCANMUL: lambda n: f"cumprod axis={n.arg}",
    Op.ARGSORT: lambda n: f"argsort axis={n.arg[0]}",
    Op.SOLVE: lambda n: f"solve {times(n.shape)}",
    Op.CHOLESKY: lambda n: f"cholesky {times(n.shape)}",
    Op.FFT: lambda n: f"{'fft' if n.arg[1] else 'ifft'} axis={n.arg[0]}",
    Op.LOOP: lambda n: f"loop, {n.arg[0]}",
    Op.BRANCH: lambda n: str(n.arg[0]),
    Op.ROUTINE: lambda n: str(n.arg[0]),
    Op.HOST: lambda n: str(n.arg[0]),
    Op.CUSTOM_VJP: lambda n: str(n.arg[0]),
    Op.RESHAPE: lambda n: f"reshape {times(n.shape)}",
    Op.PERMUTE: lambda n: f"permute {','.join(map(str, n.arg))}",
    Op.FLIP: lambda n: f"flip{_axes(n.arg, n.ndim)}",
    Op.SLICE: _slice,
    Op.PAD: lambda n: f"pad to {times(n.shape)}",
    Op.EXPAND: _expand,
    Op.SKEW: lambda n: f"windows of {n.shape[n.arg[1]]}",
    Op.UNSKEW: lambda n: f"sum windows of {n.shape[n.arg[1]]}",
    Op.GATHER: lambda n: f"take{_axes(n.arg, n.src[0].ndim + 1)}",
    Op.SCATTER: lambda n: (
        f"scatter {n.arg[2] if n.arg[2:] else 'add'}{_axes(n.arg[0], len(n.arg[1]) + 1)}"
    ),
}


def owner_name(n: Node) -> str | None:
    """What the Tensor is called whose gradients are collected here."""
    owner = (
        n.arg.owner() if n.op is Op.INPUT and getattr(n.arg, "owner", None) is not None else None
    )
    return None if owner is None else owner.name  # type: ignore[no-any-return]
