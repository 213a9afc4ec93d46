"""Out: the LLVM IR text of `weft_run_timed`: the driver of driver_ir, which notes when each phase and each shared chunk ran.

It takes one argument more, i64 each:

    weft_parallel_for, which is compiled apart; ticks; areas; how many threads have an area; words of one; records it has room for

ticks[0] is when the first phase begins, ticks[i + 1] when phase i ends, which is when the next one begins. The area of a thread:
how many chunks it has run, then from the next cache line on a record of each: phase, chunk, begin, end. Only phases that several
threads share have records. The pool runs their chunks through a function that notes the times around the phase's own: neither the
pool nor any kernel is compiled anew.
"""

from __future__ import annotations

from string import Template

from .driver_ir import RUN, SERIAL_FOR

NAMES = ("weft_run_timed", "weft_ticks", "weft_runs", "weft_runs_timed")
LINE = 8  # words of a cache line
RECORD = 4  # words

# The ticks of phases wait until what came before is done: processors run ahead. Those of chunks, which may be short, do not.
TICKS = Template("""
$declare
define internal i64 @tick() {
  %tick = call i64 $count
  ret i64 %tick
}
define i64 @weft_ticks() {
  call void $wait
  %tick = call i64 @tick()
  ret i64 %tick
}
""")
CYCLES = {
    "x86_64": TICKS.substitute(
        declare="declare void @llvm.x86.sse2.lfence()\ndeclare i64 @llvm.readcyclecounter()",
        wait="@llvm.x86.sse2.lfence()",
        count="@llvm.readcyclecounter()",
    ),
    "aarch64": TICKS.substitute(
        declare="declare void @llvm.aarch64.isb(i32)\ndeclare i64 @llvm.read_volatile_register.i64(metadata)\n"
        '!0 = !{!"cntvct_el0"}',
        wait="@llvm.aarch64.isb(i32 15)",
        count="@llvm.read_volatile_register.i64(metadata !0)",
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
define internal i64 @tick() {
  %tick = call i64 @weft_ticks()
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
  %begin = call i64 @tick()
  call void %function(ptr %context, i64 %chunk, i64 %thread)
  %end = call i64 @tick()
  %phase.p = getelementptr i64, ptr %wrapped, i64 2
  %phase = load i64, ptr %phase.p
  %timing.p = getelementptr i64, ptr %wrapped, i64 3
  %timing = load ptr, ptr %timing.p
  %areas.p = getelementptr i64, ptr %timing, i64 2
  %areas = load ptr, ptr %areas.p
  %threads.p = getelementptr i64, ptr %timing, i64 3
  %threads = load i64, ptr %threads.p
  %size.p = getelementptr i64, ptr %timing, i64 4
  %size = load i64, ptr %size.p
  %room.p = getelementptr i64, ptr %timing, i64 5
  %room = load i64, ptr %room.p
  %known = icmp ult i64 %thread, %threads
  br i1 %known, label %look, label %out
look:
  %first = mul i64 %thread, %size
  %area = getelementptr i64, ptr %areas, i64 %first
  %number = load i64, ptr %area
  %fits = icmp slt i64 %number, %room
  br i1 %fits, label %note, label %out
note:
  %more = add i64 %number, 1
  store i64 %more, ptr %area
  %at = shl i64 %number, 2
  %behind = add i64 %at, 8
  %r0 = getelementptr i64, ptr %area, i64 %behind
  store i64 %phase, ptr %r0
  %r1 = getelementptr i64, ptr %r0, i64 1
  store i64 %chunk, ptr %r1
  %r2 = getelementptr i64, ptr %r0, i64 2
  store i64 %begin, ptr %r2
  %r3 = getelementptr i64, ptr %r0, i64 3
  store i64 %end, ptr %r3
  br label %out
out:
  ret void
}

define internal void @timed_for(ptr %function, ptr %context, i64 %chunks, i64 %phase, ptr %timing) {
entry:
  %threads.p = getelementptr i64, ptr %timing, i64 3
  %threads = load i64, ptr %threads.p
  %several = icmp ugt i64 %threads, 1
  br i1 %several, label %shared, label %alone
shared:
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
alone:
  call void @serial_for(ptr %function, ptr %context, i64 %chunks)
  ret void
}

define internal void @forget(ptr %timing) {
entry:
  %areas.p = getelementptr i64, ptr %timing, i64 2
  %areas = load ptr, ptr %areas.p
  %threads.p = getelementptr i64, ptr %timing, i64 3
  %threads = load i64, ptr %threads.p
  %size.p = getelementptr i64, ptr %timing, i64 4
  %size = load i64, ptr %size.p
  br label %clear
clear:
  %thread = phi i64 [0, %entry], [%next, %clear]
  %first = mul i64 %thread, %size
  %area = getelementptr i64, ptr %areas, i64 %first
  store i64 0, ptr %area
  %next = add i64 %thread, 1
  %more = icmp ult i64 %next, %threads
  br i1 %more, label %clear, label %out
out:
  ret void
}
"""

# Runs in a row, without anything between them. 1 if a check failed. The first function runs a program without any instrument:
# its two ticks are before and after all runs. The second fills `all` with the ticks of each timed run.
RUNS = """
define i64 @weft_runs(ptr %run, ptr %table, ptr %args, ptr %ticks, i64 %count) {
entry:
  %first = call i64 @weft_ticks()
  store i64 %first, ptr %ticks
  br label %check
check:
  %i = phi i64 [0, %entry], [%next, %loop]
  %any = phi i64 [0, %entry], [%any.next, %loop]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %loop, label %out
loop:
  %failed = call i64 %run(ptr %table, ptr %args)
  %any.next = or i64 %any, %failed
  %next = add i64 %i, 1
  br label %check
out:
  %last.p = getelementptr i64, ptr %ticks, i64 1
  %last = call i64 @weft_ticks()
  store i64 %last, ptr %last.p
  ret i64 %any
}

define i64 @weft_runs_timed(ptr %table, ptr %args, ptr %timing, ptr %all, i64 %count) {
entry:
  %phases = load i64, ptr %table
  %size = add i64 %phases, 1
  %ticks.p = getelementptr i64, ptr %timing, i64 1
  %ticks = load ptr, ptr %ticks.p
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%i.next, %copied]
  %any = phi i64 [0, %entry], [%any.next, %copied]
  call void @forget(ptr %timing)
  %failed = call i64 @weft_run_timed(ptr %table, ptr %args, ptr %timing)
  %any.next = or i64 %any, %failed
  %first = mul i64 %i, %size
  br label %copy
copy:
  %k = phi i64 [0, %loop], [%k.next, %copy]
  %from = getelementptr i64, ptr %ticks, i64 %k
  %tick = load i64, ptr %from
  %at = add i64 %first, %k
  %to = getelementptr i64, ptr %all, i64 %at
  store i64 %tick, ptr %to
  %k.next = add i64 %k, 1
  %left = icmp ult i64 %k.next, %size
  br i1 %left, label %copy, label %copied
copied:
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %count
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
