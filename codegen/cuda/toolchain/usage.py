"""Usage of registers and memory by kernels. In: the log of ptxas -v, from nvcc or NVRTC. Out: the
Usage of each kernel, by symbol.
"""

from __future__ import annotations

import re

from .built import Usage

_KERNEL = re.compile(r"Compiling entry function '([^']+)'")
_FUNCTION = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


def report(log: str) -> dict[str, Usage]:
    """The kernels of a log. The stack and the spills of functions that a kernel calls count as its own."""
    _, *pieces = _KERNEL.split(log)
    return {name: _usage(text) for name, text in zip(pieces[::2], pieces[1::2], strict=True)}


def _usage(text: str) -> Usage:
    functions = [[int(figure) for figure in found.groups()] for found in _FUNCTION.finditer(text)]
    local, stores, loads = (sum(column) for column in zip(*functions, strict=True)) if functions else (0, 0, 0)
    return Usage(_first(_REGISTERS, text), _first(_SHARED, text), stores, loads, local)


def _first(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return int(found[1]) if found else 0
