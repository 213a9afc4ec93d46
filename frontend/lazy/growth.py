"""Graphs that grow. In: the Nodes that are alive, or that a program computes again. Out: a warning,
once per line.

A metric that is summed up and never read, `total += loss`, makes a chain of one op from one line,
and the chain keeps all that it is to be computed from. Layers of a network and steps of a sequence
are built from one line too, but the sums among them are few, and no program runs in between.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from ... import errors
from ...ir.graph import graph
from ...ir.graph.graph import Node
from ...ir.graph.op import ELEMENTWISE, LEAVES, VIEWS, Op
from ...ir.ops.table import RECORDS
from . import state

# of one line and op, each the source of the next, that no graph built at once is expected to have
LINKS = 4096
MOST_ALIVE = 4096  # Nodes, before anybody looks
PERIOD = 64  # programs between two looks
REPEATING = (
    3  # programs in a row that contain the one before, and times that they have computed a value
)
LOOKS = 4  # in a row that found more Nodes each time, at least one for each program

_ACCUMULATING = frozenset(r.op for r in RECORDS.values() if r.sources > 1)
_warned: set[tuple[str, int]] = set()  # lines


class Seen:
    """How many Nodes start the next look; how many were alive at the last look after programs, and
    how often that rose; how many Nodes the last program to repeat work computed again, and how
    often that rose."""

    limit = MOST_ALIVE
    after_programs = 0
    rises = 0
    repeated = 0
    repeating = 0


def look() -> None:
    """Warns of a long chain; called when there are more Nodes alive than `Seen.limit`."""
    Seen.limit = 2 * len(graph.interned)
    if not (state.traces and state.trace() is not None):  # a traced function cannot read anyway
        _warn_of(LINKS)


def after_programs() -> None:
    """Warns of a chain that programs did not end; called at every program of which the number is
    divided by PERIOD."""
    alive = len(graph.interned)
    Seen.limit = min(Seen.limit, max(MOST_ALIVE, 4 * alive))
    Seen.rises = Seen.rises + 1 if alive >= Seen.after_programs + PERIOD else 0
    Seen.after_programs = alive
    if Seen.rises >= LOOKS:
        Seen.rises = 0
        _warn_of(PERIOD * (LOOKS - 1))


def _warn_of(links: int) -> None:
    """Warns of every line with a chain of so many links."""
    for line, (length, end) in _longest_chains().items():
        if length >= links:
            _warn_once(
                line,
                f"the pending graph of a {end.dtype.name}{list(end.shape)} grows with every"
                f" iteration: this line has added {length} times to a value that is never computed,"
                " and all that it was made of is kept. Read it now and then (.item(), .numpy()) or"
                " compute it with wf.realize(); if it requires a gradient that nobody asks for,"
                " add to its detach()",
            )


def after_repeating(again: Sequence[Node]) -> None:
    """Warns of programs of which each repeats more than the one before; called for one that
    computes these Nodes again.

    What waits for values is kept, so it takes thousands of Tensors, or values that other threads
    wait for, to get here.
    """
    Seen.repeating = Seen.repeating + 1 if len(again) > Seen.repeated else 0
    Seen.repeated = len(again)
    if Seen.repeating >= REPEATING:
        for n in again:
            if (
                n.site is not None
                and n.computed >= REPEATING
                and n.op not in ELEMENTWISE | VIEWS | LEAVES
            ):
                _warn_once(
                    n.site[:2],
                    "each read computes what the reads before it have computed, and more: a"
                    f" {n.dtype.name}{list(n.shape)} of this line {n.computed + 1} times by now."
                    " Compute what a loop carries along in each turn: wf.realize(x)",
                )
                return


def _warn_once(line: tuple[str, int], text: str) -> None:
    if line not in _warned:
        _warned.add(line)
        warnings.warn_explicit(text, errors.GrowthWarning, *line)


def _longest_chains() -> dict[tuple[str, int], tuple[int, Node]]:
    """By line: (how many Nodes of its longest chain have another one as a source, the last of
    them), among the Nodes alive."""
    lengths: dict[Node, int] = {}
    longest: dict[tuple[str, int], tuple[int, Node]] = {}
    for entry in list(
        graph.interned.values()
    ):  # in the order in which they were made: sources first
        n = entry()
        if n is None or n.op not in _ACCUMULATING or n.site is None:
            continue
        before = [s.src[0] if s.op is Op.CAST else s for s in n.src]
        length = max(
            (lengths[s] + 1 for s in before if s in lengths and s.op is n.op and s.site == n.site),
            default=0,
        )
        lengths[n] = length
        line = n.site[:2]
        if line not in longest or longest[line][0] < length:
            longest[line] = length, n
    return longest
