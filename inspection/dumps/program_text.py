"""The Program as text. In: a Compiled program. Out: calls, buffers, phases, memory by step."""

from __future__ import annotations

from ...compiler.compile import Compiled
from ...ir.graph.index import row_major_strides
from ...ir.loops.loop import Buf
from ...ir.loops.walk import reads, writes
from ...ir.program.memory_report import Memory, MemoryBuffer
from ...ir.program.program import Call, ValueLayout
from ...ir.program.ref import Ref
from ...runtime.image import chunk_count
from ...wording import amount, plural

WIDEST = 64  # steps that a timeline shows one by one


def program_text(c: Compiled) -> str:
    """Inputs and outputs, then each call: where its buffers are, its phases and their chunks."""
    p, names, memory = c.program, [k.name for k in c.in_order()], c.memory()
    out = ["inputs", *(f"    input {i}   {_value(v)}" for i, v in enumerate(p.inputs))]
    out += [
        "outputs",
        *(
            f"    output {i}  {_value(v)}{_donated(p.donations.get(i))}"
            for i, v in enumerate(p.outputs)
        ),
    ]
    out += [f"arena of {plural(p.arena_bytes, 'byte')}", ""]
    for step, (name, call) in enumerate(zip(names, p.calls, strict=True)):
        note = "  (checks: nothing runs after it if one fails)" if call.is_check else ""
        if call.routined is not None:
            note = "  (of a library: nothing runs after it if it refuses a matrix)"
        out.append(f"step {step}  {name}{note}")
        out += [f"    {line}" for line in arguments(call, memory, step)]
        if call.routined is not None:
            out.append(f"    {plural(call.routined.parts, 'part')} of the batch")
        out += [
            f"    phase {i}: {_phase(call, i, c.backend.device)}"
            for i in range(len(call.loops.phases))
        ]
    return "\n".join(out) + "\n"


def _value(v: ValueLayout) -> str:
    strides = "" if v.strides == row_major_strides(v.shape) else f"  strides {list(v.strides)}"
    return (
        f"{v.dtype.name}{list(v.shape)}{strides}{'  in the memory of the CPU' if v.is_host else ''}"
    )


def _donated(place: int | None) -> str:
    return "" if place is None else f"  may be written into input {place}"


def _phase(call: Call, number: int, device: str) -> str:
    phase, loops = call.loops.phases[number], call.loops
    chunks = chunk_count(call, phase)
    if loops.threads:
        return f"{plural(chunks, 'block')} of {loops.threads[number]} threads"
    where = "shared by threads" if call.parallel[number] else "on one thread"
    return f"{plural(chunks, 'chunk')}, {where}"


def arguments(call: Call, memory: Memory, step: int) -> list[str]:
    """`in0  reads  input 0  float32[64, 1000]`, a line for each buffer of a call; what each param
    is."""
    lines = [
        f"{buf.name:6} {_use(call, buf):6}  {held(memory, ref, step)}"
        for buf, ref in zip(call.loops.buffers, call.refs, strict=True)
    ]
    params = [f"{q.name} = {v}" for q, v in zip(call.loops.params, call.params, strict=True)]
    return lines + ([", ".join(params)] if params else [])


def _use(call: Call, buf: Buf) -> str:
    loops = call.loops
    if call.routined is not None:
        sources = loops.buffers[: len(call.routined.sources)]
        return "reads" if buf in sources else "writes"
    return (
        "writes" if buf in writes(loops.phases) else "reads" if buf in reads(loops.phases) else ""
    )


def held(memory: Memory, ref: Ref, step: int) -> str:
    """What lies in a place during a step: its name, type and where that is."""
    alive = [b for b in memory.buffers if _is_at(b, ref) and b.first <= step <= b.last]
    where = f"arena + {ref.number}" if ref.space == "arena" else f"{ref.space} {ref.number}"
    if not alive:
        return where
    buffer = alive[-1]
    name = "" if buffer.name == where else f"  {buffer.name}"
    return f"{where:10} {buffer.dtype}{list(buffer.shape)}{name}"


def _is_at(b: MemoryBuffer, ref: Ref) -> bool:
    if ref.space == "arena":
        return b.number is None and b.offset == ref.number
    return b.number == ref.number and (
        b.space == ref.space or (b.space, ref.space) == ("donated", "output")
    )


# ---------------------------------------------------------------- memory


def memory_text(m: Memory) -> str:
    """What is needed in the worst step, then every buffer, then when each is needed."""
    out = [str(m), "", "buffers", *(f"    {b}" for b in m.buffers)]
    return "\n".join([*out, "", *timeline(m)]) + "\n"


def timeline(m: Memory) -> list[str]:
    """A row for each buffer, a column for each step (of several, where there are many): # while it
    is needed."""
    if not m.steps:
        return []
    per = -(-m.steps // WIDEST)
    columns = -(-m.steps // per)
    width = max((len(b.name) for b in m.buffers), default=0)
    peak = m.peak_step // per
    steps = "a step" if per == 1 else f"{per} steps"
    worst = f"v marks the worst one, {m.peak_kernel}"
    head = f"when each is needed: a column is {steps}, of {m.steps}; {worst}"
    marks = f"    {'':{width}}  {' ' * peak}v"
    return [
        head,
        marks,
        *(f"    {b.name:{width}}  {_row(b, per, columns)}  {amount(b.bytes)}B" for b in m.buffers),
    ]


def _row(b: MemoryBuffer, per: int, columns: int) -> str:
    return "".join("#" if b.first // per <= i <= b.last // per else "." for i in range(columns))
