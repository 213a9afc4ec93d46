"""Windows of images as columns, and back. In: images (N, C, H, W), or (N, C * KH * KW, L). Out: the other."""

from __future__ import annotations

from math import prod

from ... import errors
from ...ir.graph.brief import shown
from ...ir.graph.graph import Node, permute, reshape
from ..functions.movement import part
from .padding import pad
from .windows import Pair, Rank, of_rank, overlaid, windows


def unfold(rank: Rank, x: Node, kernel_size: Pair, dilation: Pair = 1, padding: Pair = 0, stride: Pair = 1) -> Node:
    """(N, C, H, W) -> (N, C * KH * KW, L): the windows of a convolution, each a column; with or without N.

    Raises ArgumentError, and ShapeError for a window that does not fit.
    """
    kernel, pads = rank.sizes("kernel_size", kernel_size, 1), rank.sizes("padding", padding)
    strides, dilations = rank.sizes("stride", stride, 1), rank.sizes("dilation", dilation, 1)
    win = windows(rank, pad(x, ((0, 0), (0, 0), *((p, p) for p in pads)), 0), kernel, strides, dilations)
    n, c, *pairs = win.shape
    return reshape(permute(win, (0, 1, 3, 5, 2, 4)), (n, c * prod(pairs[1::2]), prod(pairs[::2])))


def fold(
    rank: Rank, x: Node, output_size: Pair, kernel_size: Pair, dilation: Pair = 1, padding: Pair = 0, stride: Pair = 1
) -> Node:
    """(N, C * KH * KW, L) -> (N, C, *output_size): columns added up where unfold took them from, its gradient; with or without N.

    Raises ArgumentError, and ShapeError for columns that are not those of such an image.
    """
    rank = Rank(rank.name, 2)
    extents, kernel = rank.sizes("output_size", output_size, 1), rank.sizes("kernel_size", kernel_size, 1)
    strides, dilations = rank.sizes("stride", stride, 1), rank.sizes("dilation", dilation, 1)
    pads = rank.sizes("padding", padding)
    full = tuple(e + 2 * p for e, p in zip(extents, pads, strict=True))
    counts = tuple((f - (k - 1) * d - 1) // s + 1 for f, k, s, d in zip(full, kernel, strides, dilations, strict=True))
    n, rows, columns = x.shape
    if min(counts) < 1 or columns != prod(counts) or rows % prod(kernel):
        wanted = f"(N, C * {prod(kernel)}, {prod(counts)})" if min(counts) > 0 else "that no image has"
        raise errors.ShapeError(f"fold: an image of {shown(extents)} has columns of shape {wanted}, but x has shape {x.shape}")
    win = permute(reshape(x, (n, rows // prod(kernel), *kernel, *counts)), (0, 1, 4, 2, 5, 3))
    out = overlaid(win, full, strides, dilations)
    for axis, (p, e) in enumerate(zip(pads, extents, strict=True), 2):
        out = part(out, axis, p, p + e)
    return out


unfold2d = of_rank(unfold, 2, ">>> F.unfold(wf.rand(2, 3, 8, 8), 3, padding=1).shape\n    (2, 27, 64)", "unfold")
fold2d = of_rank(fold, 1, ">>> F.fold(wf.ones(1, 4, 4), (3, 3), 2).tolist()[0][0][1]\n    [2.0, 4.0, 2.0]", "fold")
