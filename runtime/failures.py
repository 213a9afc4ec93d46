"""Exceptions of a run. In: the status that a program left. Out: an exception that names the failed
check; or none if the program ran to its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import WeftError
from ..ir.ops.routines import refusal
from ..ir.passes.bounds_checks import CheckSite

POSITION_BITS = 40
NO_CHECK_FAILED = -1  # in the status block


class CheckFailed(WeftError):
    """A Check of the program failed: where it stands, at which element, with which value."""

    def __init__(
        self, site: CheckSite, position: int, value: int, iterations: Sequence[int] = ()
    ) -> None:
        super().__init__(_said(site, position, value))
        self.site, self.position, self.value = site, position, value
        self.iterations = tuple(iterations)  # of the loops that it stands in, outermost first


def _said(site: CheckSite, position: int, value: int) -> str:
    if site.batch is not None:
        return refusal(site.what, site.batch, position)
    where = f"{site.what}: value {value} at position {position}"
    return f"{where} is outside of axis {site.axis} with extent {site.extent}"


class WrongValue(WeftError):
    """A Check of values failed; `found` (of compiler/programs/nan_culprit.py) says which operation
    is to blame."""

    def __init__(self, found: Any) -> None:
        super().__init__(str(found))
        self.found = found


class Interrupted(BaseException):
    """What a signal handler raised (KeyboardInterrupt) while the program ran, which it did to its
    end: all outputs are written.

    The caller keeps the results, then raises `reason`: updates in place cannot be taken back.
    """

    def __init__(self, reason: BaseException) -> None:
        super().__init__(reason)
        self.reason = reason


def site_of(key: int) -> int:
    """The number of the check that failed, of a status block (key, value)."""
    return key >> POSITION_BITS


def failure(
    checks: Sequence[CheckSite], key: int, value: int, iterations: Sequence[int] = ()
) -> CheckFailed:
    """That of a status block (key, value), in these iterations."""
    position = key & ((1 << POSITION_BITS) - 1)
    return CheckFailed(checks[site_of(key)], position, value, iterations)
