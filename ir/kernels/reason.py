"""Reasons that kept two kernels apart. In: the rule that a merge would break, its case. Out: a
Reason, at a Boundary."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Rule(Enum):
    """What every kernel keeps to; a value says it in one sentence, and `str` gives its name in
    words."""

    ONE_CONTRACTION = (
        "A kernel computes at most one matrix product or convolution, unless they form a chain as"
        " in attention."
    )
    OWN_LOOPS = "A scan, scatter or sort has loops of its own; those of a routine are in a library."
    PROLOGUE = (
        "Only maps that nothing else needs are computed while a contraction loads its operands."
    )
    COSTLY_PROLOGUE = (
        "What a contraction would compute again for every block that it loads costs few operations."
    )
    CHAIN = "What a chain of contractions reads is computed before it, in another kernel."
    CHAIN_COST = (
        "A chain of contractions costs less than its parts and what they would store for each"
        " other."
    )
    COLUMN_SUMS = (
        "Sums over all rows of a kernel are wide enough for vectors, fit a cache, and are followed"
        " by maps alone."
    )
    MISALIGNED = (
        "Every value is read at the place, along the shared outer axes, at which it is computed."
    )
    EPILOGUE = (
        "After a contraction come maps of its results, and pools whose windows lie within a few of"
        " its lines."
    )
    ORDER = "Lanes add up the terms of all sums of a kernel, or of none."
    PARALLELISM = "The shared outer axes leave enough iterations for all threads."
    RECOMPUTE = "No costly value is computed several times for each element."
    JOINED = "A join of many values has a kernel of its own, each line of which is copied from one."
    BUDGET = "A kernel has a limited number of arguments."
    PARTS = "Equal layers of a network are compiled once, so what passes between them is in memory."
    CYCLE = "No other kernel has to run between the parts of one."

    def __str__(self) -> str:
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True)
class Reason:
    """Why two kernels did not become one."""

    rule: Rule
    detail: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.detail}"


@dataclass(frozen=True)
class Boundary:
    """Two kernels that exchange or share data and stayed apart."""

    producer: str
    consumer: str
    reason: Reason
