"""Out: the LLVM IR text of `weft_run_timed`: the driver of driver_ir, which notes when each phase and each shared chunk ran.

It takes one argument more, i64 each:

    weft_parallel_for, which is compiled apart; ticks; records; how many records there is room for; how many there were

ticks[0] is when the first phase begins, ticks[i + 1] when phase i ends, which is when the next one begins. A record, five words:
phase, chunk, thread, begin, end; only chunks of phases that are shared among threads have one. The pool runs these chunks through
a function that notes the times around the phase's own: neither the pool nor any kernel is compiled anew.
"""

from __future__ import annotations

from string import Template

from .driver_ir import RUN, SERIAL_FOR

NAMES = ("weft_run_timed", "weft_ticks", "weft_runs")
RECORD = 5  # words

# Every tick waits until what came before is done: processors run ahead.
TICKS = Template("""
$declare
define i64 @weft_ticks() {
$body
  ret i64 %tick
}
""")
CYCLES = {
    "x86_64": TICKS.substitute(
        declare="declare void @llvm.x86.sse2.lfence()\ndeclare i64 @llvm.readcyclecounter()",
        body="  call void @llvm.x86.sse2.lfence()\n  %tick = call i64 @llvm.readcyclecounter()",
    ),
    "aarch64": TICKS.substitute(
        declare='!0 = !{!"cntvct_el0"}\n'
        "declare void @llvm.aarch64.isb(i32)\ndeclare i64 @llvm.read_volatile_register.i64(metadata)",
        body="  call void @llvm.aarch64.isb(i32 15)\n  %tick = call i64 @llvm.read_volatile_register.i64(metadata !0)",
    ),
}
MONOTONIC = {"linux": 1, "darwin": 6}  # CLOCK_MONOTONIC
CLOCK = Template("""
declare i32 @clock_gettime(i32, ptr)
define i64 @weft_ticks() {
  %time = alloca [2 x i64]
  %failed = call i32 @clock_gettime(i32 $clock, ptr %time)
  %seconds = load i64, ptr %time
  %rest.p = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.p
  %whole = mul i64 %seconds, 1000000000
  %tick = add i64 %whole, %rest
  ret i64 %tick
}
""")

TIMED = {
    "name": "weft_run_timed",
    "argument": ", ptr %timing",
    "begin": """
  %ticks.p = getelementptr i64, ptr %timing, i64 1
  %ticks = load ptr, ptr %ticks.p
  %tick.begin = call i64 @weft_ticks()
  store i64 %tick.begin, ptr %ticks""",
    "parallel": "@timed_for(ptr %function, ptr %context, i64 %chunks, i64 %i, ptr %timing)",
    "end": """
  %tick.p = getelementptr i64, ptr %ticks, i64 %i.next
  %tick.end = call i64 @weft_ticks()
  store i64 %tick.end, ptr %tick.p""",
}

CHUNKS = """
define internal void @wake() { ret void }  ; the pool wakes its workers itself when they are needed

; %wrapped: the phase's function and context, its number, %timing
define internal void @timed_chunk(ptr %wrapped, i64 %chunk, i64 %thread) {
entry:
  %function = load ptr, ptr %wrapped
  %context.p = getelementptr i64, ptr %wrapped, i64 1
  %context = load ptr, ptr %context.p
  %begin = call i64 @weft_ticks()
  call void %function(ptr %context, i64 %chunk, i64 %thread)
  %end = call i64 @weft_ticks()
  %phase.p = getelementptr i64, ptr %wrapped, i64 2
  %phase = load i64, ptr %phase.p
  %timing.p = getelementptr i64, ptr %wrapped, i64 3
  %timing = load ptr, ptr %timing.p
  %next.p = getelementptr i64, ptr %timing, i64 4
  %number = atomicrmw add ptr %next.p, i64 1 monotonic
  %room.p = getelementptr i64, ptr %timing, i64 3
  %room = load i64, ptr %room.p
  %fits = icmp slt i64 %number, %room
  br i1 %fits, label %note, label %out
note:
  %records.p = getelementptr i64, ptr %timing, i64 2
  %records = load ptr, ptr %records.p
  %at = mul i64 %number, 5
  %r0 = getelementptr i64, ptr %records, i64 %at
  store i64 %phase, ptr %r0
  %r1 = getelementptr i64, ptr %r0, i64 1
  store i64 %chunk, ptr %r1
  %r2 = getelementptr i64, ptr %r0, i64 2
  store i64 %thread, ptr %r2
  %r3 = getelementptr i64, ptr %r0, i64 3
  store i64 %begin, ptr %r3
  %r4 = getelementptr i64, ptr %r0, i64 4
  store i64 %end, ptr %r4
  br label %out
out:
  ret void
}

define internal void @timed_for(ptr %function, ptr %context, i64 %chunks, i64 %phase, ptr %timing) {
  %wrapped = alloca [4 x i64], align 16
  store ptr %function, ptr %wrapped
  %context.p = getelementptr i64, ptr %wrapped, i64 1
  store ptr %context, ptr %context.p
  %phase.p = getelementptr i64, ptr %wrapped, i64 2
  store i64 %phase, ptr %phase.p
  %timing.p = getelementptr i64, ptr %wrapped, i64 3
  store ptr %timing, ptr %timing.p
  %parallel = load ptr, ptr %timing
  call void %parallel(ptr @timed_chunk, ptr %wrapped, i64 %chunks)
  ret void
}
"""

# The program as it runs without any of this: ticks[i] and ticks[i + 1] are before and after run i. 1 if a check failed.
RUNS = """
define i64 @weft_runs(ptr %run, ptr %table, ptr %args, ptr %ticks, i64 %count) {
entry:
  %first = call i64 @weft_ticks()
  store i64 %first, ptr %ticks
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %any = phi i64 [0, %entry], [%any.next, %loop]
  %failed = call i64 %run(ptr %table, ptr %args)
  %any.next = or i64 %any, %failed
  %next = add i64 %i, 1
  %tick.p = getelementptr i64, ptr %ticks, i64 %next
  %tick = call i64 @weft_ticks()
  store i64 %tick, ptr %tick.p
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %out
out:
  ret i64 %any.next
}
"""


def has_cycles(machine: str, flags: set[str]) -> bool:
    """Does a processor count at one rate, whatever its clock, alike in all cores: invariant-TSC processors and all of ARM's."""
    return machine == "aarch64" or (machine == "x86_64" and {"constant_tsc", "nonstop_tsc"} <= flags)


def timed_text(system: str, machine: str, flags: set[str]) -> str:
    """The timed driver for an operating system and processor, named as by sys.platform and platform.machine."""
    clock = CLOCK.substitute(clock=MONOTONIC.get(system, 1))
    ticks = CYCLES[machine] if has_cycles(machine, flags) else clock
    return ticks + CHUNKS + SERIAL_FOR + RUN.substitute(TIMED) + RUNS
