"""Every artefact of a compiled program as text. In: a Compiled program and a folder. Out: the files of `wf.dump`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..frontend.compile import Compiled
from ..ir.graph import print_graph
from ..ir.memory import Memory
from ..ir.program import Program
from .report import report


def write(c: Compiled, folder: str | Path) -> Path:
    """Writes every artefact of a program below `folder`; returns the folder."""
    folder = Path(folder)
    kernels = folder / "kernels"
    kernels.mkdir(parents=True, exist_ok=True)
    texts: dict[str, Callable[[], str]] = {
        "graph.txt": lambda: print_graph(c.graph),
        "simplified.txt": lambda: print_graph(c.roots_behind("simplify"), "simplified"),
        "kernels.txt": lambda: f"{report(c)}\n",
        "memory.txt": lambda: show_memory(c.memory()),
        "program.txt": lambda: show_program(c.program, [k.name for k in c.in_order()]),
    }
    for name, text in texts.items():
        (folder / name).write_text(text())
    for k in c.in_order():
        for ending, text_of in c.texts(k).items():
            (kernels / f"{k.name}.{ending}").write_text(text_of)
    return folder


def show_memory(m: Memory) -> str:
    """What is needed in the worst step, then every buffer."""
    return "\n".join([str(m), "", "buffers", *(f"    {b}" for b in m.buffers)]) + "\n"


def show_program(p: Program, names: list[str]) -> str:
    """One line a kernel call: its name and where each buffer lives."""
    lines = [f"program: {len(p.inputs)} inputs, {len(p.outputs)} outputs, arena of {p.arena_bytes} bytes"]
    for name, call in zip(names, p.calls, strict=True):
        refs = ", ".join(f"{buf.name}={ref.space}[{ref.number}]" for buf, ref in zip(call.loops.buffers, call.refs, strict=True))
        params = ", ".join(f"{q.name}={v}" for q, v in zip(call.loops.params, call.params, strict=True))
        lines.append(f"  {name}({refs}{'; ' if params else ''}{params})  {'parallel' if any(call.parallel) else 'serial'}")
    lines += [f"  output[{o}] may be written into input[{i}]" for o, i in p.donations.items()]
    return "\n".join(lines) + "\n"
