"""Messages of mpiexec itself. In: the stderr of all processes. Out: the same without its messages,
and one line for those.

Open MPI puts each message between two lines of dashes, like

    --------------------------------------------------------------------------
    prterun noticed that process rank 1 with PID 18415 on node vm exited on
    signal 9 (Killed).
    --------------------------------------------------------------------------
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from signal import strsignal

RULE = b"-" * 74
OWN = re.compile(rb"\s*(prterun|mpirun|mpiexec|MPI_ABORT)")
PREFIX = re.compile(rb"^\[(\d+)\]<std(?:out|err)>: ?")
NODE = r"process rank (\d+) with PID \d+ on node \S+"
REASONS = {
    r"Process name: \[\S+,(\d+)\] Exit code: (\d+)": "rank {0} ended with exit status {1}",
    rf"{NODE} exited on signal (\d+)": "rank {0} was ended by signal {1} ({2})",
    rf"{NODE} exiting improperly": "rank {0} left without a word to the others, as os._exit does",
    rf"{NODE} calling .abort": "rank {0} called MPI's Abort",
}


def reason(said: Iterable[str]) -> str | None:
    """Why the processes were ended, in a line."""
    text = " ".join(" ".join(said).split())
    for pattern, line in REASONS.items():
        if match := re.search(pattern, text):
            rank, number = match[1], match[2] if match.re.groups > 1 else ""
            return line.format(rank, number, strsignal(int(number)) if "signal" in line else "")
    return None


class Sieve:
    """Lets through what comes out of the processes as it comes, but for mpiexec's messages, which
    it keeps in `said`."""

    def __init__(self, prefix: bool = False) -> None:
        self.said: list[str] = []
        self._prefix = prefix  # each line names its rank, as mpiexec writes it
        self._message: list[bytes] = []  # from its first rule on
        self._rest = (
            b""  # of the last line, as long as it may become a rule or lacks a part of its prefix
        )

    def through(self, data: bytes) -> bytes:
        """What may be written by now."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        out = b"".join(self._line(line + b"\n") for line in lines)
        if not self._message and not self._prefix and not RULE.startswith(self._rest):
            out, self._rest = out + self._rest, b""
        return out

    def end(self) -> bytes:
        """What was held back."""
        return b"".join(self._message) + self._rest

    def _line(self, line: bytes) -> bytes:
        is_rule = line.strip() == RULE
        if not self._message:
            if is_rule:
                self._message = [line]
                return b""
            return PREFIX.sub(rb"[\1] ", line) if self._prefix else line
        self._message.append(line)
        if is_rule and len(self._message) > 2:
            self.said.append(b"".join(self._message).decode(errors="replace"))
            self._message = []
        elif len(self._message) == 2 and not OWN.match(line):
            passed, self._message = b"".join(self._message), []
            return passed
        return b""
