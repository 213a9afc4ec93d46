"""What is compiled and run as CUDA C: rows of the op table, with their gradients, and seeds of
random graphs."""

from __future__ import annotations

import re

from optable import ROWS, Row

WHOLE = (
    "float32",
    "float64",
    "int32",
    "bfloat16",
)  # dtypes whose every row runs; of the others, each op once
SMOKE = 7  # of the rows of other dtypes, every seventh


def _is_whole(row: Row) -> bool:
    return any(re.search(rf"(^|-){d}(-|$)", row.name) for d in WHOLE)


_OTHERS = [r for r in ROWS if not _is_whole(r)]
TABLE = [r for r in ROWS if _is_whole(r)] + _OTHERS[::SMOKE]
DIFFERENTIABLE = [r for r in ROWS if r.differentiable and r.name.endswith("float32")]
SEEDS = list(range(7000, 7060))
