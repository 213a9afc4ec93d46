"""Precision of float32 products on a GPU. In: a precision. Out: the option in force, for the rest
of the process or a `with` block.
"""

from __future__ import annotations

from ... import options
from ...errors import OptionError
from ...ir.graph.brief import brief


class Restored:
    """Puts back at the end of a `with` block the precision that was in force before."""

    def __init__(self, before: str) -> None:
        self._before = before

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        options.update(matmul=self._before)


def matmul_precision(precision: str | None = None) -> str | Restored:
    """How a GPU computes products of float32 matrices and convolutions; without an argument, says
    how.

    "float32"   as IEEE has it: relative errors of about 1e-7 times the square root of the number of
                products in a sum
    "tf32"      on tensor cores (compute capability 8.0 and later), several times as fast: factors
                keep 10 bits of their
                fraction, errors are about 3e-4; sums are of float32

    It holds for the rest of the process and all its threads, or inside of a `with` block: `with
    wf.matmul_precision("tf32"):`. What is computed inside counts, not what is written there; a
    jitted function keeps what held when it was traced. CPUs, older GPUs and other dtypes are not
    concerned. The environment variable is WEFT_MATMUL. Raises OptionError.
    """
    before = options.current().matmul
    if precision is None:
        return before
    if not isinstance(precision, str) or precision not in options.MATMUL:
        raise OptionError(
            f"matmul_precision({brief(precision)}): allowed is one of"
            f" {', '.join(map(repr, options.MATMUL))}"
        )
    options.update(matmul=precision)
    return Restored(before)
