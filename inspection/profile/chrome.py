"""One run as a trace for chrome://tracing and Perfetto. In: kernels, phases, chunks. Out: JSON.

The format is the Trace Event Format, Google,
www.chromium.org/developers/how-tos/trace-event-profiling-tool. Events are those of kind "X",
complete: name, category, begin and duration in microseconds, process, thread, args; "M" names the
processes and threads. The step is one process, with a row for the kernels and one for each thread;
the compiler's passes are another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..explain.kernel import KernelReport
from .figures import Rates, Span

if TYPE_CHECKING:
    from ...runtime.timed import Chunk

STEP, COMPILER = 1, 2  # processes
KERNELS = 0  # the row of the step in which kernels stand; the threads come after it

Event = dict[str, Any]


def trace(
    other: Event,
    kernels: Sequence[tuple[str, Event]],
    spans: Sequence[Span],
    chunks: Sequence[Chunk],
    threads: int,
    passes: Iterable[tuple[str, float]],
) -> dict[str, Any]:
    """The JSON object. `other`: what holds for all of it; `kernels`: names, and what is `about`
    them."""
    names = [name for name, _ in kernels]
    events = [
        *_names(other["device"], threads),
        *_kernels(kernels, spans),
        *_threads(names, spans, chunks, threads),
        *_passes(passes),
    ]
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": other}


def _names(device: str, threads: int) -> Iterator[Event]:
    yield _named("process_name", STEP, KERNELS, f"one run on {device}")
    yield _named("process_name", COMPILER, 0, "compiler")
    yield _named("thread_name", STEP, KERNELS, "kernels")
    yield _named("thread_name", COMPILER, 0, "passes")
    for number in range(threads):
        yield _named("thread_name", STEP, number + 1, f"thread {number}")


def _named(what: str, process: int, row: int, name: str) -> Event:
    return {"name": what, "ph": "M", "pid": process, "tid": row, "args": {"name": name}}


def _event(
    name: str, kind: str, process: int, row: int, begin: float, seconds: float, args: Event
) -> Event:
    times = {"ts": begin * 1e6, "dur": max(0.0, seconds) * 1e6}
    return {"name": name, "cat": kind, "ph": "X", **times, "pid": process, "tid": row, "args": args}


def _kernels(kernels: Sequence[tuple[str, Event]], spans: Sequence[Span]) -> Iterator[Event]:
    """A bar for each kernel, from its first phase to its last."""
    for number, (name, about_it) in enumerate(kernels):
        own = [s for s in spans if s.kernel == number]
        if own:
            begin, end = own[0].begin, own[-1].end
            yield _event(name, "kernel", STEP, KERNELS, begin, end - begin, about_it)


def about(k: KernelReport, rates: Rates) -> Event:
    """The figures that a page shows of a kernel."""
    return {
        "kind": k.kind,
        "computes": " ".join(k.nodes),
        "lines": [f"{s.place}  {s.text}".rstrip() for s in k.sources],
        "gradient": k.gradient,
        "bytes": k.bytes,
        "flops": k.flops,
        "GB/s": rates.bandwidth / 1e9,
        "GF/s": rates.flops / 1e9,
        "median seconds": k.measured,
        "roofline seconds": k.predicted,
        "bound": k.bound,
        "schedule": k.schedule,
    }


def _threads(
    names: Sequence[str], spans: Sequence[Span], chunks: Sequence[Chunk], threads: int
) -> Iterator[Event]:
    """The work of each thread: its chunks of shared phases; the first one runs all other phases
    alone."""
    shared = {c.phase for c in chunks}
    for c in chunks:
        name, seconds = names[spans[c.phase].kernel], c.end - c.begin
        args = {"chunk": c.chunk, "phase": c.phase}
        yield _event(name, "chunk", STEP, c.thread + 1, c.begin, seconds, args)
    for number, s in enumerate(spans if threads else ()):
        if number not in shared:
            seconds = s.end - s.begin
            yield _event(names[s.kernel], "phase", STEP, 1, s.begin, seconds, {"phase": number})


def _passes(passes: Iterable[tuple[str, float]]) -> Iterator[Event]:
    begin = 0.0
    for name, seconds in passes:
        yield _event(name, "pass", COMPILER, 0, begin, seconds, {})
        begin += seconds
