"""Padding in torch's order of axes. In: a Tensor. Out: one with more (or fewer) elements around."""

from __future__ import annotations

from collections.abc import Sequence

from ... import errors
from ...frontend import ops
from ...frontend.operands.arguments import as_choice, as_ints
from ...frontend.tensor.binding import of_tensors
from ...frontend.tensor.tensor import Tensor
from ...ir.graph.brief import brief

# torch's names, wf.pad's
MODES = {
    "constant": "constant",
    "reflect": "reflect",
    "replicate": "edge",
    "circular": "wrap",
}

__all__ = ["pad"]


@of_tensors
def pad(
    x: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """x with elements around: `pad` is (before, after) of the last axis, then of the last but one,
    ...; negative ones crop.

    mode: "constant" for `value` (0 unless given), "reflect" for x mirrored without its edge,
    "replicate" for the edge, "circular" for x again. wf.pad takes NumPy's order. Raises
    ArgumentError, and ShapeError for what does not fit.

    >>> F.pad(wf.tensor([1, 2, 3]), (2, 1), mode="reflect").tolist()
    [3, 2, 1, 2, 3, 2]
    """
    widths = as_ints("pad", "pad", pad)
    if not hasattr(pad, "__iter__") or len(widths) % 2 or len(widths) > 2 * x.ndim:
        raise errors.ArgumentError(
            f"pad: pad must be one pair of ints for each of the last axes of {x.shape}, not"
            f" {brief(pad)}"
        )
    mode = MODES[as_choice("pad", "mode", mode, list(MODES))]
    if value is not None and mode != "constant":
        raise errors.ArgumentError(
            f'pad: a value is for mode "constant", not {brief(value)} for mode {mode!r}'
        )
    pairs = [(0, 0)] * (x.ndim - len(widths) // 2) + list(
        zip(widths[-2::-2], widths[::-2], strict=True)
    )
    out: Tensor = ops.pad(
        x, [(max(0, lo), max(0, hi)) for lo, hi in pairs], 0 if value is None else value, mode
    )
    if min(widths, default=0) >= 0:
        return out
    if any(lo + d + hi < 0 for d, (lo, hi) in zip(x.shape, pairs, strict=True)):
        raise errors.ShapeError(f"pad: {brief(pad)} crops more than shape {x.shape} has")
    return out[
        tuple(
            slice(max(0, -lo), d - max(0, -hi))
            for d, (lo, hi) in zip(out.shape, pairs, strict=True)
        )
    ]
