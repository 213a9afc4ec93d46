"""Runs of a program for `wf.profile`. In: Tensors, or a function, arguments. Out: a Profile.

One cold run; then rounds of a few plain runs and a few timed ones, so that both see the same
machine. Runs in a row are native loops of about BATCH seconds, with one run before them that is not
counted: what Python does between rounds has pushed things out of the nearest caches, and lets
threads fall asleep. Kernels that take longer together than the run were disturbed: then there are
more rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from statistics import fmean, median
from typing import Any

from ... import errors
from ...compiler.compile import Compiled
from ...frontend.lazy import realize
from ...frontend.lazy.cached_program import CachedProgram
from ...frontend.lazy.run import explained
from ...frontend.lazy.trace import tracing
from ...ir.graph.brief import brief
from ...runtime import processor
from ...runtime.failures import CheckFailed
from ...runtime.image import chunk_count
from ...runtime.memory.devices import CPU
from ...runtime.timed import Chunk
from ..explain.build import report
from ..machine.cpu_rounds import beyond_caches
from ..machine.judged import judged, timed
from ..machine.machine import machine
from ..machine.streams import memory_of
from ..names.naming import input_names
from .data import Profile
from .figures import Span, is_disturbed
from .workload import Session, session, workload

BATCH = 2e-4  # seconds of runs in a row
MOST_IN_A_ROW = 32
BUDGET = 0.3  # seconds of plain runs where no number is asked for, and of timed ones
FEWEST, MOST = 5, 60  # rounds
NOTHING = "there is nothing to run: all is in memory already or empty"
LONG = 5e-3  # seconds of a run that needs no warming up
TRIES = 3  # times as many rounds, at most, where they contradict each other


def measure(
    what: str, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any], repeat: int | None
) -> tuple[Compiled, Profile]:
    """The program of a Subject, and its Profile; `what` is the function that asks. Raises
    ArgumentError where there is nothing to run or repeat is no positive number, and what the run
    would raise."""
    if repeat is not None and (
        not isinstance(repeat, int) or isinstance(repeat, bool) or repeat < 1
    ):
        raise errors.ArgumentError(
            f"{what}: repeat must be a number of runs, 1 or more, not {brief(repeat)}"
        )
    tracing().refuse(f"wf.{what}")
    with realize.lock:
        work = workload(what, x, args, kwargs)
        if not work.structure.key[1]:
            raise errors.ArgumentError(f"{what}: {NOTHING}")
        machine(work.structure.device)  # which takes memory and the caches, before the run does
        run = session(work)
        if not run.compiled.program.calls:
            raise errors.ArgumentError(f"{what}: {NOTHING}")
        try:
            rounds = _rounds(run, repeat)
        except CheckFailed as failure:
            program = CachedProgram(None, work.structure, work.structure.checked)
            raise explained(failure, program, {}) from None
    return run.compiled, _profile(run, rounds)


@dataclass
class Rounds:
    """`plain`: seconds of a run without instruments in each round; `timed`, of each phase;
    `in_a_row`: runs of a round."""

    in_a_row: int
    plain: list[float] = field(default_factory=list)
    timed: list[list[float]] = field(default_factory=list)
    # Of the runs at the end of a round, phase by phase.
    fastest: list[float] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)  # of that run

    @property
    def seconds(self) -> float:
        """Of a run."""
        return median(_undisturbed(self.plain))

    @property
    def phases(self) -> list[float]:
        """Seconds of each phase."""
        return [median(column) for column in zip(*_undisturbed(self.timed, sum), strict=True)]


def _rounds(s: Session, repeat: int | None) -> Rounds:
    """Measures. The cold run is s.timings.first."""
    if s.device == CPU:
        flush()
    s.first()
    s.restore()
    once = min(s.plain(1), s.plain(1))
    in_a_row = max(1, min(MOST_IN_A_ROW, int(BATCH / max(once, 1e-9)), repeat or MOST_IN_A_ROW))
    warming = int(once < LONG)
    allowed = int(BUDGET / max(once * (warming + in_a_row), 1e-9))
    count = -(-repeat // in_a_row) if repeat else max(FEWEST, min(MOST, allowed))
    rounds = Rounds(in_a_row)
    for _ in range(1 if repeat else TRIES):
        for _ in range(count):
            _round(s, rounds, warming)
        if not is_disturbed(sum(rounds.phases), rounds.seconds):
            break
    return rounds


def _round(s: Session, rounds: Rounds, warming: int) -> None:
    s.restore()
    rounds.plain.append(s.plain(rounds.in_a_row, warming))
    s.restore()
    s.timings.restart()
    s.timed(rounds.in_a_row, warming)
    rounds.timed.append([fmean(phase) for phase in zip(*s.timings.history, strict=True)])
    if not rounds.fastest or sum(s.timings.last) < sum(rounds.fastest):
        rounds.fastest, rounds.chunks = s.timings.last, s.timings.chunks


def flush() -> None:
    """Pushes everything out of the caches."""
    memory_of(beyond_caches(processor.host()))


# ---------------------------------------------------------------- what was found


def _profile(s: Session, rounds: Rounds) -> Profile:
    compiled, timings = s.compiled, s.timings
    warm, cold = (
        timings.by_call(compiled.program, seconds) for seconds in (rounds.phases, timings.first)
    )
    explained = report(compiled, names=input_names(s.work.structure))
    timed_report, figures = judged(timed(explained, warm), rounds.seconds)
    spans, chunks = _spans(compiled, rounds.fastest, timings.skips_empty), tuple(rounds.chunks)
    return Profile(
        report=timed_report,
        machine=figures,
        runs=rounds.in_a_row * len(rounds.plain),
        seconds=rounds.seconds,
        cold=sum(cold),
        cold_kernels=tuple(cold),
        threads=_busy(spans, chunks, figures.threads) if s.device == CPU else (),
        passes=tuple((p.name, p.seconds) for p in compiled.passes[1:]),
        spans=spans,
        chunks=chunks,
    )


def _undisturbed(rounds: Sequence[Any], seconds: Callable[[Any], float] | None = None) -> list[Any]:
    """The faster half: in the others, other work may have had one of the processors."""
    return sorted(rounds, key=seconds)[: -(-len(rounds) // 2)]


def _spans(c: Compiled, seconds: Sequence[float], skips_empty: bool) -> tuple[Span, ...]:
    """One run, phase by phase."""
    calls = [
        number
        for number, call in enumerate(c.program.calls)
        for phase in tuple(call.loops.phases) or (None,)
        if not skips_empty or phase is None or chunk_count(call, phase)
    ]
    ends = [*accumulate(seconds)]
    return tuple(
        Span(k, end - took, end) for k, took, end in zip(calls, seconds, ends, strict=True)
    )


def _busy(spans: Sequence[Span], chunks: Sequence[Chunk], threads: int) -> tuple[float, ...]:
    """Seconds that each thread worked: in its chunks, and the first one in all phases that were not
    shared."""
    seconds, shared = [0.0] * threads, {c.phase for c in chunks}
    for c in chunks:
        seconds[c.thread] += c.end - c.begin
    seconds[0] += sum(s.end - s.begin for number, s in enumerate(spans) if number not in shared)
    return tuple(seconds)
