"""A Report as plain text. In: a Report. Out: what `print` shows."""

from __future__ import annotations

from collections import Counter

from ..ir.memory import amount
from .kernel_report import KernelReport, Report


def report_text(r: Report) -> str:
    """Totals, each kernel, the memory."""
    total = f"{len(r.kernels)} kernels, {amount(r.bytes)}B moved, "
    total += f"{amount(r.arena_bytes)}B of scratch, {r.in_place} outputs in place"
    return "\n".join([total, *map(str, r.kernels), *([str(r.memory)] if r.kernels else [])])


def kernel_text(k: KernelReport) -> str:
    """What one kernel does, where it comes from, and why it stands alone."""
    where = ", ".join(map(str, k.sources[:4]))
    head = f"{k.name}  outer {list(k.outer)}  {amount(k.bytes)}B  {amount(k.flops)}op  "
    head += "GPU" if k.launches else "threads" if k.parallel else "one thread"
    computes = " ".join(word if count == 1 else f"{word}*{count}" for word, count in Counter(k.nodes).items())
    out = [head, f"    computes  {computes}", f"    writes    {', '.join(k.outputs) or 'the status only'}"]
    out += [f"    schedule  {k.schedule}"]
    out += [f"    launch    {launch}" for launch in k.launches]
    if where:
        out.append(f"    from      {where}")
    return "\n".join(out + [f"    apart     {text}" for text in k.boundaries])
