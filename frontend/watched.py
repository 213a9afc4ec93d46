"""A program that checks what it computes. In: a Program, what counts. Out: runs that raise where an operation went wrong.

Its kernels are those of the Program, with Checks (codegen/finite.py). It writes nothing in place, so that after a failure all is
as before. Where a Check fails but no operation is to blame (infinities were given, and a sum took them), the Program itself runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from ..runtime.failures import CheckFailed, WrongValue
from . import programs
from .culprit import Search
from .settings import current_settings
from .structure import Structure


class Watched:
    """Runs in place of a Program's executable. `nans`: "inf", or "nan" where infinities are no fault."""

    def __init__(self, executable: Any, structure: Structure, nans: str) -> None:
        self._plain, self._structure, self._nans = executable, structure, nans

    @cached_property
    def _checked(self) -> Any:
        return programs.checked(self._structure, self._nans)

    @cached_property
    def _search(self) -> Search:
        settings = current_settings(self._structure.device)
        return Search(self._structure.unfolded(), settings, self._structure.device, self._nans == "inf")

    def run(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Runs on the addresses of inputs and outputs, which do not overlap. Raises WrongValue, CheckFailed."""
        try:
            self._checked.run(inputs, outputs)
            return
        except CheckFailed as failure:
            kernel = failure.site.kernel
            if kernel is None:
                raise
        found = self._search.find(kernel, inputs)
        if found is not None:
            raise WrongValue(found)
        self._plain.run(inputs, outputs)
