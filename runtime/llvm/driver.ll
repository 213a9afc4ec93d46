; Driver. In: the table and the arguments of a program. Out: its phases have run; did a check fail.
;
; The table, i64 each: phases; 1 if some phase is parallel; slots of the widest context; then for
; each phase
;     function, chunks, flags (PARALLEL | CHECK), slots,
;     and (argument, offset) per slot: context[k] = args[argument] + offset
; A phase with no slots gets the context of the phase before it. args[0] is 0, for immediate values;
; args[1] is the address of the status block {key, value}, key all ones while no check has failed.
;
; The timed driver is the same text with ticks between phases, and notes when each phase and each
; shared chunk ran. It takes one argument more, i64 each:
;     weft_parallel_for, which is compiled apart; ticks; areas; how many threads have an area;
;     words of one; records it has room for
; ticks[0] is when the first phase begins, ticks[i + 1] when phase i ends, which is when the next
; one begins. The area of a thread (chunks.ll): how many chunks it has run, then from the next cache
; line on a record of each: phase, chunk, begin, end. Only phases that several threads share have
; records.

; The chunks one after the other, on this thread.
define internal void @serial_for(ptr %function, ptr %context, i64 %chunks) {
entry:
  br label %check
check:
  %chunk = phi i64 [0, %entry], [%next, %run]
  %more = icmp slt i64 %chunk, %chunks
  br i1 %more, label %run, label %out
run:
  call void %function(ptr %context, i64 %chunk, i64 0)
  %next = add i64 %chunk, 1
  br label %check
out:
  ret void
}

; Runs a program's phases in order. Returns 1 if a check has failed, at once if it is one that
; guards the rest.
$plain define i64 @weft_run(ptr %table, ptr %args) {
$timed define i64 @weft_run_timed(ptr %table, ptr %args, ptr %timing) {
entry:
  %phases = load i64, ptr %table
  %any.parallel.p = getelementptr i64, ptr %table, i64 1
  %any.parallel = load i64, ptr %any.parallel.p
  %width.p = getelementptr i64, ptr %table, i64 2
  %width = load i64, ptr %width.p
  %first = getelementptr i64, ptr %table, i64 3
  %context = alloca i64, i64 %width, align 16
  %status.p = getelementptr i64, ptr %args, i64 1
  %status = load ptr, ptr %status.p
  store i64 -1, ptr %status
  $timed %ticks.p = getelementptr i64, ptr %timing, i64 1
  $timed %ticks = load ptr, ptr %ticks.p
  $timed %tick.begin = call i64 @weft_ticks()
  $timed store i64 %tick.begin, ptr %ticks
  %wakes = icmp ne i64 %any.parallel, 0
  br i1 %wakes, label %wake, label %loop
wake:  ; early, so that the workers are up when the first parallel phase comes
  call void @wake()
  br label %loop
loop:
  %i = phi i64 [0, %entry], [0, %wake], [%i.next, %next]
  %phase = phi ptr [%first, %entry], [%first, %wake], [%end, %next]
  %more = icmp ult i64 %i, %phases
  br i1 %more, label %phase.begin, label %out
phase.begin:
  %function = load ptr, ptr %phase
  %chunks.p = getelementptr i64, ptr %phase, i64 1
  %chunks = load i64, ptr %chunks.p
  %flags.p = getelementptr i64, ptr %phase, i64 2
  %flags = load i64, ptr %flags.p
  %slots.p = getelementptr i64, ptr %phase, i64 3
  %slots = load i64, ptr %slots.p
  %slot.first = getelementptr i64, ptr %phase, i64 4
  %i.next = add i64 %i, 1
  br label %fill
fill:
  %k = phi i64 [0, %phase.begin], [%k.next, %slot]
  %end = phi ptr [%slot.first, %phase.begin], [%end.next, %slot]
  %unfilled = icmp ult i64 %k, %slots
  br i1 %unfilled, label %slot, label %call
slot:
  %number = load i64, ptr %end
  %offset.p = getelementptr i64, ptr %end, i64 1
  %offset = load i64, ptr %offset.p
  %arg.p = getelementptr i64, ptr %args, i64 %number
  %arg = load i64, ptr %arg.p
  %value = add i64 %arg, %offset
  %context.p = getelementptr i64, ptr %context, i64 %k
  store i64 %value, ptr %context.p
  %k.next = add i64 %k, 1
  %end.next = getelementptr i64, ptr %end, i64 2
  br label %fill
call:
  %parallel.bit = and i64 %flags, 1  ; PARALLEL
  %parallel = icmp ne i64 %parallel.bit, 0
  br i1 %parallel, label %shared, label %serial
shared:
  $plain call void @weft_parallel_for(ptr %function, ptr %context, i64 %chunks)
  $timed call void @timed_for(ptr %function, ptr %context, i64 %chunks, i64 %i, ptr %timing)
  br label %called
serial:
  call void @serial_for(ptr %function, ptr %context, i64 %chunks)
  br label %called
called:
  $timed %tick.p = getelementptr i64, ptr %ticks, i64 %i.next
  $timed %tick.end = call i64 @weft_ticks()
  $timed store i64 %tick.end, ptr %tick.p
  %check.bit = and i64 %flags, 2  ; CHECK
  %guards = icmp ne i64 %check.bit, 0
  br i1 %guards, label %test, label %next
test:
  %key = load i64, ptr %status
  %bad = icmp ne i64 %key, -1
  br i1 %bad, label %failed, label %next
next:
  br label %loop
failed:
  ret i64 1
out:
  %last.key = load i64, ptr %status
  %last.bad = icmp ne i64 %last.key, -1
  %result = zext i1 %last.bad to i64
  ret i64 %result
}
