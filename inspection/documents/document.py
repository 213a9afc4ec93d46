"""The document of a page: programs as one JSON object. In: Entries. Out: dicts, lists and texts.

    {"weft": version, "title", "command": text | null, "device",
     "machine": {name, threads, bandwidth, flops, ...} | null,
     "sources": {file: {"name", "before_line", "lines": [text]}},  files and cells of the user
     "programs": [{"name", "device", "runs", "seconds", "cold", "kernel_seconds", "detailed",
                   "passes", "nodes", "outputs", "inputs", "kernels", "boundaries", "memory",
                   "report", "graph", "gradient", "program"}],
     "modules": [tree], "tensors": [views of storage]}

A program that is only listed has "detailed": false, and its lists are empty. "seconds" is what a
warm run takes, "kernel_seconds" the sum of its kernels, both null where nothing was measured.
`nodes` are the Graph that fusion saw, sources first; "kernel" is the place of a kernel in
`kernels`, null for what stands in memory or is part of several. Views and constants, which vanish,
belong to the kernel that alone reads them. A kernel whose machine code is that of an earlier one
has no texts: "same_code_as" is its place. "layer" is [place in `modules`, dotted name] of the layer
that a kernel computes for, or null (see layers.py). Long texts are bounded: see MOST_TEXT,
ALL_TEXTS and changes.py.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...compiler.compile import Compiled
from ...errors import WeftError
from ...ir.graph.graph import Node, show_arg, toposort
from ...ir.graph.op import Op
from ...ir.graph.rewrite import constant_of
from ...ir.graph.site import before_line, file_name, is_gradient
from ...version import __version__
from ..dumps.graph_text import gradient_text, graph_text
from ..dumps.program_text import program_text
from ..explain.build import report
from ..explain.report import Report
from ..machine import machine as machines
from ..machine.judged import judged, timed
from ..names.labels import label
from ..names.naming import InputNames, name_of
from .changes import changes, place_of
from .layers import add_layers

MOST_TEXT = 200_000  # characters of one text of a kernel; what is longer is cut
# Characters, about, of all texts of kernels in a document: to make them is to compile once more.
ALL_TEXTS = 8_000_000
LEFT_OUT = {"loops": "left out, as other kernels take longer: see wf.dump\n"}
LEAST_TEXT = 1000  # characters of a text that are shown, if any
MOST_LINES = 20_000  # of a source file

Json = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """A program to be shown.

    Attributes: `name`; `device`; `compiled`, None for one that is only listed; `names` of its
    inputs, by number; `runs`; `seconds` of a warm run; `cold`, of the first; `kernels`, seconds of
    each in the order they run. None: not measured.
    """

    name: str
    device: str
    compiled: Compiled | None = None
    names: InputNames = field(default_factory=dict)
    runs: int | None = None
    seconds: float | None = None
    cold: float | None = None
    kernels: Sequence[float] | None = None

    def measured(self, unmeasured: Report) -> Report:
        """The Report of the program with the times of its kernels, where they are known."""
        if self.kernels is None:
            return unmeasured
        with_times = timed(unmeasured, self.kernels)
        try:
            return judged(with_times)[0]
        except WeftError:
            return with_times


def document(
    entries: Sequence[Entry],
    title: str,
    command: str | None = None,
    modules: Sequence[Json] = (),
    tensors: Sequence[Json] = (),
) -> Json:
    """The document of some programs, in this order."""
    device = entries[0].device if entries else "cpu"
    programs = _programs(entries, device)
    _add_texts(programs, entries)
    add_layers(programs, modules)
    return {
        "weft": __version__,
        "title": title,
        "command": command,
        "device": device,
        "machine": machine(device),
        "sources": sources(programs),
        "programs": programs,
        "modules": [*modules],
        "tensors": [*tensors],
    }


def _programs(entries: Sequence[Entry], device: str) -> list[Json]:
    """Beside the same limits of the machine: once more, if some kernel has shown that they are
    higher."""
    while True:
        before, programs = machine(device), [program(e) for e in entries]
        if machine(device) == before:
            return programs


def program(e: Entry) -> Json:
    """One program."""
    total = None if e.kernels is None else sum(e.kernels)
    out: Json = {
        "name": e.name,
        "device": e.device,
        "runs": e.runs,
        "seconds": e.seconds,
        "cold": e.cold,
    }
    out |= {"kernel_seconds": total, "detailed": e.compiled is not None}
    return out | (NOTHING if e.compiled is None else _details(e.compiled, e))


NOTHING: Json = {
    **dict.fromkeys(("passes", "nodes", "outputs", "inputs", "kernels", "boundaries"), ()),
    **dict.fromkeys(("report", "graph", "gradient", "program"), ""),
    "memory": None,
}


def _details(c: Compiled, e: Entry) -> Json:
    roots = c.fused_graph
    order = toposort(roots)
    ids = {n: i for i, n in enumerate(order)}
    where = kernels_of(order, c)
    kernels_report = e.measured(report(c, names=e.names))
    fields = kernels_report.to_dict()
    return {
        "passes": changes(c.passes),
        "nodes": [_node(n, ids, where[n], e.names) for n in order],
        "outputs": [ids[r] for r in roots],
        "inputs": [{"id": ids[n], "name": name_of(n, e.names)} for n in order if n.op is Op.INPUT],
        "kernels": _kernels(c, fields["kernels"], ids, where),
        "boundaries": _boundaries(c),
        "memory": fields["memory"],
        "report": str(kernels_report),
        "graph": graph_text(c.graph),
        "gradient": gradient_text(c.graph),
        "program": program_text(c),
    }


# ---------------------------------------------------------------- nodes


def kernels_of(order: Sequence[Node], c: Compiled) -> dict[Node, int | None]:
    """The kernel that computes each Node; of what vanishes into its readers, theirs if that is
    one."""
    own: dict[Node, int] = {}
    for i, k in enumerate(c.in_order()):
        for u in k.kernel.units if k.kernel is not None else ():
            own.setdefault(u.node, i)
    readers: dict[Node, set[int | None]] = {n: set() for n in order}
    out: dict[Node, int | None] = {}
    for n in reversed(order):
        of_readers = next(iter(readers[n])) if len(readers[n]) == 1 else None
        out[n] = own.get(n, None if n.op is Op.INPUT else of_readers)
        for s in n.src:
            readers[s].add(out[n])
    return out


def _node(n: Node, ids: Mapping[Node, int], kernel: int | None, names: InputNames) -> Json:
    # All lines share constants.
    site = None if n.op is Op.IOTA or constant_of(n) is not None else n.site
    return {
        "id": ids[n],
        "op": n.op.value,
        "arg": None if n.arg is None or n.op is Op.INPUT else show_arg(n),
        "dtype": n.dtype.name,
        "shape": [*n.shape],
        "src": [ids[s] for s in n.src],
        "line": place_of(site),
        "gradient": is_gradient(site),
        "kernel": kernel,
        "label": name_of(n, names) or label(n),
    }


# ---------------------------------------------------------------- kernels


def _kernels(
    c: Compiled, fields: Sequence[Json], ids: Mapping[Node, int], where: Mapping[Node, int | None]
) -> list[Json]:
    members: dict[int | None, list[int]] = {}
    for n, kernel in where.items():
        members.setdefault(kernel, []).append(ids[n])
    same: dict[str, int] = {}  # by the key of a kernel's code: the first that has it
    out = []
    for i, (of_report, key) in enumerate(zip(fields, c.kernel_keys, strict=True)):
        first = same.setdefault(key or f"routine {i}", i)
        same_code = None if first == i else first
        out.append(
            of_report
            | {
                "index": i,
                "node_ids": sorted(members.get(i, ())),
                "texts": {},
                "same_code_as": same_code,
            }
        )
    return out


def _boundaries(c: Compiled) -> list[Json]:
    place = {k.name: i for i, k in enumerate(c.in_order())}
    return [
        {
            "producer": place[b.producer],
            "consumer": place[b.consumer],
            "rule": str(b.reason.rule),
            "detail": b.reason.detail,
        }
        for b in c.fused.boundaries
        if b.producer in place and b.consumer in place
    ]


def _add_texts(programs: Sequence[Json], entries: Sequence[Entry]) -> None:
    """Of each kernel of its own code; of those that take longest, as far as the limits go."""
    shown = [
        (e.compiled, p) for e, p in zip(entries, programs, strict=True) if e.compiled is not None
    ]
    kernels = [
        (c, k, lowered)
        for c, p in shown
        for k, lowered in zip(p["kernels"], c.in_order(), strict=True)
    ]
    left = ALL_TEXTS
    for c, k, lowered in sorted(
        kernels, key=lambda each: -(each[1]["measured"] or each[1]["predicted"] or 0)
    ):
        if k["same_code_as"] is not None:
            continue
        for ending, text in (c.texts(lowered) if left > 0 else LEFT_OUT).items():
            k["texts"][ending] = _cut(text, min(MOST_TEXT, max(left, LEAST_TEXT)))
            left -= len(k["texts"][ending])


def _cut(text: str, most: int) -> str:
    """At the end of a line, with a note."""
    if len(text) <= most:
        return text
    kept = text[: text.rfind("\n", 0, most) + 1]
    return f"{kept}... {len(text) - len(kept):,} characters more: see wf.dump\n"


# ---------------------------------------------------------------- around


def machine(device: str) -> Json | None:
    """What is known of the machine, None where nothing is."""
    try:
        return machines.machine(device).to_dict()
    except WeftError:
        return None


def sources(programs: Sequence[Json]) -> Json:
    """The files that lines of the programs point into, as far as they can be read."""
    files = [
        line[0]
        for p in programs
        for item in (*p["nodes"], *_rewritten(p))
        if (line := item["line"])
    ]
    files += [file for p in programs for k in p["kernels"] for file, _ in k["lines"]]
    lines_of = {file: linecache.getlines(file) for file in dict.fromkeys(files)}
    return {file: source(file, lines) for file, lines in lines_of.items() if lines}


def source(file: str, lines: Sequence[str]) -> Json:
    """A file, or a cell of a notebook."""
    shown = [line.rstrip("\r\n") for line in lines[:MOST_LINES]]
    return {"name": file_name(file), "before_line": before_line(file), "lines": shown}


def _rewritten(p: Json) -> Iterable[Json]:
    return (r for each in p["passes"] for r in each["rewrites"])
