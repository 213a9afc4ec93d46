"""One run as a trace. In: a Profile. Out: JSON for chrome://tracing and ui.perfetto.dev, in the Trace Event Format.

Events are those of kind "X", complete: name, category, begin and duration in microseconds, process, thread, args; "M" names the
processes and threads. The step is one process, with a row for the kernels and one for each thread; the compiler's passes are
another. Source of the format: "Trace Event Format", Google, www.chromium.org/developers/how-tos/trace-event-profiling-tool.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..profile import Profile

STEP, COMPILER = 1, 2  # processes
KERNELS = 0  # the row of the step in which kernels stand; behind it the threads

Event = dict[str, Any]


def write(p: Profile, path: Path) -> Path:
    """Writes the trace."""
    path.write_text(json.dumps(trace(p)))
    return path


def trace(p: Profile) -> dict[str, Any]:
    """The JSON object."""
    events = [*_names(p), *_kernels(p), *_threads(p), *_passes(p)]
    other = {"device": p.report.device, "machine": p.machine.name, "runs": p.runs, "seconds": p.seconds}
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": other}


def _names(p: Profile) -> Iterator[Event]:
    yield _named("process_name", STEP, KERNELS, f"one run on {p.report.device}")
    yield _named("process_name", COMPILER, 0, "compiler")
    yield _named("thread_name", STEP, KERNELS, "kernels")
    yield _named("thread_name", COMPILER, 0, "passes")
    for number in range(len(p.threads)):
        yield _named("thread_name", STEP, number + 1, f"thread {number}")


def _named(what: str, process: int, row: int, name: str) -> Event:
    return {"name": what, "ph": "M", "pid": process, "tid": row, "args": {"name": name}}


def _event(name: str, kind: str, process: int, row: int, begin: float, seconds: float, args: Event) -> Event:
    times = {"ts": begin * 1e6, "dur": max(0.0, seconds) * 1e6}
    return {"name": name, "cat": kind, "ph": "X", **times, "pid": process, "tid": row, "args": args}


def _kernels(p: Profile) -> Iterator[Event]:
    """A bar for each kernel, from its first phase to its last."""
    for number, k in enumerate(p.kernels):
        own = [s for s in p.spans if s.kernel == number]
        if own:
            begin, end = own[0].begin, own[-1].end
            yield _event(k.name, "kernel", STEP, KERNELS, begin, end - begin, _about(p, number))


def _about(p: Profile, number: int) -> Event:
    k = p.kernels[number]
    rates = p.rates(k)
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


def _threads(p: Profile) -> Iterator[Event]:
    """What each thread works on: its chunks of shared phases; the first one runs all other phases alone."""
    shared = {c.phase for c in p.chunks}
    for c in p.chunks:
        name = p.kernels[p.spans[c.phase].kernel].name
        yield _event(name, "chunk", STEP, c.thread + 1, c.begin, c.end - c.begin, {"chunk": c.chunk, "phase": c.phase})
    if p.threads:
        for number, s in enumerate(p.spans):
            if number not in shared:
                name = p.kernels[s.kernel].name
                yield _event(name, "phase", STEP, 1, s.begin, s.end - s.begin, {"phase": number})


def _passes(p: Profile) -> Iterator[Event]:
    begin = 0.0
    for name, seconds in p.passes:
        yield _event(name, "pass", COMPILER, 0, begin, seconds, {})
        begin += seconds
