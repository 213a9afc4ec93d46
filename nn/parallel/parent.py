"""Processes that do not outlive the one that started them. In: a signal. Out: it comes when the parent ends, in whatever way."""

from __future__ import annotations

import ctypes
from contextlib import suppress

PR_SET_PDEATHSIG = 1  # of linux/prctl.h


def end_with_parent(signal: int) -> None:
    """On Linux; elsewhere nothing. It lasts through exec, not through fork."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal)
