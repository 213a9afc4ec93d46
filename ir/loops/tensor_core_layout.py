"""Layout of the sums that tensor cores leave: the row and lane of each element of the registers of
a block. In: sizes. Out: indices.

A warp has part[0] x part[1] of the sums, warps lie in rows; a part is 16 x 8 squares, of which each
thread has 4 sums:

    rows l // 4 and l // 4 + 8, lanes 2 * (l % 4) and the next one      l: the thread in its warp

Register ((i * (part[1] / 8) + j) * 4 + q) of a thread is q of square (i, j).
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
WARP = 32
SQUARE = (16, 8)


def places(shape: tuple[int, int], part: tuple[int, int]) -> tuple[Array, Array]:
    """(rows, lanes) of every element, those of a thread together."""
    across = shape[1] // part[1]
    sizes = (shape[0] // part[0] * across, WARP, part[0] // SQUARE[0], part[1] // SQUARE[1], 2, 2)
    warp, thread, i, j, low, next_ = np.indices(sizes).reshape(6, -1)
    row = warp // across * part[0] + i * SQUARE[0] + thread // 4 + 8 * low
    return row, warp % across * part[1] + j * SQUARE[1] + thread % 4 * 2 + next_
