"""Exceptions of a run. In: the status that a program left. Out: an exception that names the failed
check; or none if the program ran to its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import WeftError
from ..ir.passes.bounds_checks import CheckSite

POSITION_BITS = 40
NO_CHECK_FAILED = -1  # in the status block


class CheckFailed(WeftError):
    """A Check of the program failed: where it stands, at which element, with which value."""

    def __init__(self, site: CheckSite, position: int, value: int) -> None:
        where = f"{site.what}: value {value} at position {position}"
        super().__init__(f"{where} is outside of axis {site.axis} with extent {site.extent}")
        self.site, self.position, self.value = site, position, value


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


def failure(checks: Sequence[CheckSite], key: int, value: int) -> CheckFailed:
    """That of a status block (key, value)."""
    return CheckFailed(checks[key >> POSITION_BITS], key & ((1 << POSITION_BITS) - 1), value)
