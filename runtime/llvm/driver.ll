; Driver. In: the table and the arguments of a program. Out: its phases have run; did a check fail.
;
; The table, i64 each: phases; 1 if some phase is parallel; slots of the widest context; words of the
; table; how often a loop goes back until the clock is looked at, or 0; then for each phase
;     function, chunks, flags (PARALLEL | CHECK), slots,
;     and (argument, offset) per slot: context[k] = args[argument] + offset
; A phase with no slots gets the context of the phase before it. args[0] is 0, for immediate values;
; args[1] is the address of the status block {key, value}, key all ones while no check has failed.
;
; Between phases there are commands, which make loops and branches of them:
;     operation, phase, flags (COMMAND), entries,
;     and (word, argument, offset) per entry, in which value = args[argument] + offset
; 0 set        args[word] = value
; 1 add        args[word] += value
; 2 turn       args[word] ^= value
; 3 copy       word bytes from the second entry's value to the first one's, if these differ
; 4 load byte  args[word] = the byte at value
; 5 load word  args[word] = the i64 at value
; 6 jump       to the command or phase at `word` in the table if value is 0; `phase` counts the
;              phases before it
; 7 jump       if it is not 0
; 8 jump       if it is greater than 0
; 9 jump       as 7, but not if the run is to be stopped: then it is left, and 3 is returned
;
; After the status block there are, i64 each: 1 if the run may be left when it goes back in a loop,
; so that Python can look for signals: then 2 is returned, and the next call goes on; 1 if it is to
; be stopped; where to go on, or 0; the phases before that.
;
; The timed driver is the same text with ticks between phases, and notes when each phase and each
; shared chunk ran. It takes one argument more, i64 each:
;     weft_parallel_for, which is compiled apart; ticks; areas; how many threads have an area;
;     words of one; records it has room for
; ticks[0] is when the first phase begins, ticks[i + 1] how long phase i took, from the end of the
; one before; all its runs together, where it is in a loop. The area of a thread (chunks.ll): how many chunks it has run, then from the next cache
; line on a record of each: phase, chunk, begin, end. Only phases that several threads share have
; records.

declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @time(ptr)
$timed declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

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

; One command. Returns 1 if it jumps.
define internal i64 @command(ptr %record, ptr %args) {
entry:
  %operation = load i64, ptr %record
  %entries.p = getelementptr i64, ptr %record, i64 3
  %entries = load i64, ptr %entries.p
  %first = getelementptr i64, ptr %record, i64 4
  br label %check
check:
  %k = phi i64 [0, %entry], [%k.next, %next]
  %more = icmp ult i64 %k, %entries
  br i1 %more, label %act, label %stay
act:
  %at = mul i64 %k, 3
  %word.p = getelementptr i64, ptr %first, i64 %at
  %word = load i64, ptr %word.p
  %argument.p = getelementptr i64, ptr %word.p, i64 1
  %argument = load i64, ptr %argument.p
  %offset.p = getelementptr i64, ptr %word.p, i64 2
  %offset = load i64, ptr %offset.p
  %base.p = getelementptr i64, ptr %args, i64 %argument
  %base = load i64, ptr %base.p
  %value = add i64 %base, %offset
  %target = getelementptr i64, ptr %args, i64 %word
  %k.next = add i64 %k, 1
  switch i64 %operation, label %stay [
    i64 0, label %set
    i64 1, label %add
    i64 2, label %turn
    i64 3, label %copy
    i64 4, label %byte
    i64 5, label %long
    i64 6, label %if.zero
    i64 7, label %if.not.zero
    i64 8, label %if.greater
    i64 9, label %if.not.zero
  ]
set:
  store i64 %value, ptr %target
  br label %next
add:
  %added.to = load i64, ptr %target
  %sum = add i64 %added.to, %value
  store i64 %sum, ptr %target
  br label %next
turn:
  %turned = load i64, ptr %target
  %other = xor i64 %turned, %value
  store i64 %other, ptr %target
  br label %next
byte:
  %byte.p = inttoptr i64 %value to ptr
  %loaded.byte = load i8, ptr %byte.p
  %wide = zext i8 %loaded.byte to i64
  store i64 %wide, ptr %target
  br label %next
long:
  %long.p = inttoptr i64 %value to ptr
  %loaded = load i64, ptr %long.p, align 1
  store i64 %loaded, ptr %target
  br label %next
next:
  br label %check
copy:
  %from.argument.p = getelementptr i64, ptr %word.p, i64 4
  %from.argument = load i64, ptr %from.argument.p
  %from.offset.p = getelementptr i64, ptr %word.p, i64 5
  %from.offset = load i64, ptr %from.offset.p
  %from.base.p = getelementptr i64, ptr %args, i64 %from.argument
  %from.base = load i64, ptr %from.base.p
  %from = add i64 %from.base, %from.offset
  %there = icmp eq i64 %from, %value
  br i1 %there, label %stay, label %move
move:
  %from.p = inttoptr i64 %from to ptr
  %to.p = inttoptr i64 %value to ptr
  call void @llvm.memmove.p0.p0.i64(ptr %to.p, ptr %from.p, i64 %word, i1 false)
  br label %stay
if.zero:
  %is.zero = icmp eq i64 %value, 0
  %jumps.zero = zext i1 %is.zero to i64
  ret i64 %jumps.zero
if.not.zero:
  %is.not.zero = icmp ne i64 %value, 0
  %jumps.not.zero = zext i1 %is.not.zero to i64
  ret i64 %jumps.not.zero
if.greater:
  %is.greater = icmp sgt i64 %value, 0
  %jumps.greater = zext i1 %is.greater to i64
  ret i64 %jumps.greater
stay:
  ret i64 0
}

; Runs a program's phases in order. Returns 1 if a check has failed, at once if it is one that
; guards the rest.
$plain define i64 @weft_run(ptr %table, ptr %args) {
$timed define i64 @weft_run_timed(ptr %table, ptr %args, ptr %timing) {
entry:
  $timed %phases = load i64, ptr %table
  %any.parallel.p = getelementptr i64, ptr %table, i64 1
  %any.parallel = load i64, ptr %any.parallel.p
  %width.p = getelementptr i64, ptr %table, i64 2
  %width = load i64, ptr %width.p
  %words.p = getelementptr i64, ptr %table, i64 3
  %words = load i64, ptr %words.p
  %patience.p = getelementptr i64, ptr %table, i64 4
  %patience = load i64, ptr %patience.p
  %first = getelementptr i64, ptr %table, i64 5
  %table.end = getelementptr i64, ptr %table, i64 %words
  %context = alloca i64, i64 %width, align 16
  %status.p = getelementptr i64, ptr %args, i64 1
  %status = load ptr, ptr %status.p
  %may.leave.p = getelementptr i64, ptr %status, i64 2
  %stop.p = getelementptr i64, ptr %status, i64 3
  %go.on.p = getelementptr i64, ptr %status, i64 4
  %go.on.phases.p = getelementptr i64, ptr %status, i64 5
  %budget.p = alloca i64
  store i64 %patience, ptr %budget.p
  $timed %ticks.p = getelementptr i64, ptr %timing, i64 1
  $timed %ticks = load ptr, ptr %ticks.p
  $timed %phases.bytes = mul i64 %phases, 8
  $timed %ticks.first = getelementptr i64, ptr %ticks, i64 1
  $timed call void @llvm.memset.p0.i64(ptr %ticks.first, i8 0, i64 %phases.bytes, i1 false)
  $timed %tick.last.p = alloca i64
  $timed %tick.begin = call i64 @weft_ticks()
  $timed store i64 %tick.begin, ptr %ticks
  $timed store i64 %tick.begin, ptr %tick.last.p
  $plain %has.loops = icmp ne i64 %patience, 0
  $timed %has.loops = icmp ne i64 0, 0  ; a timed run is never left
  br i1 %has.loops, label %allowed, label %fresh
allowed:
  %may.leave = load i64, ptr %may.leave.p
  %may.be.left = icmp ne i64 %may.leave, 0
  br i1 %may.be.left, label %look.back, label %fresh
look.back:
  %go.on = load ptr, ptr %go.on.p
  %is.left = icmp ne ptr %go.on, null
  br i1 %is.left, label %resume, label %fresh
resume:
  %go.on.phases = load i64, ptr %go.on.phases.p
  store ptr null, ptr %go.on.p
  %resumed = call i64 @time(ptr null)
  br label %loop
fresh:
  %started.leaves = phi i1 [false, %entry], [false, %allowed], [true, %look.back]
  %started = call i64 @time(ptr null)
  store i64 -1, ptr %status
  %wakes = icmp ne i64 %any.parallel, 0
  br i1 %wakes, label %wake, label %loop.begin
wake:  ; early, so that the workers are up when the first parallel phase comes
  call void @wake()
  br label %loop
loop.begin:
  br label %loop
loop:
  %leaves = phi i1 [%started.leaves, %loop.begin], [%started.leaves, %wake], [%leaves, %next],
                    [%leaves, %command.next], [%leaves, %jump], [%leaves, %budgeted],
                    [true, %resume]
  %since = phi i64 [%started, %loop.begin], [%started, %wake], [%since, %next],
                   [%since, %command.next], [%since, %jump], [%since, %budgeted],
                   [%resumed, %resume]
  %i = phi i64 [0, %loop.begin], [0, %wake], [%i.next, %next], [%i, %command.next], [%i.jump, %jump],
               [%i.jump, %budgeted], [%go.on.phases, %resume]
  %phase = phi ptr [%first, %loop.begin], [%first, %wake], [%end, %next],
                   [%command.end, %command.next], [%jump.to, %jump], [%jump.to, %budgeted],
                   [%go.on, %resume]
  %more = icmp ult ptr %phase, %table.end
  br i1 %more, label %look, label %out
look:
  %kind.p = getelementptr i64, ptr %phase, i64 2
  %kind = load i64, ptr %kind.p
  %command.bit = and i64 %kind, 4  ; COMMAND
  %commands = icmp ne i64 %command.bit, 0
  br i1 %commands, label %command.begin, label %phase.begin
command.begin:
  %jumps = call i64 @command(ptr %phase, ptr %args)
  %jumping = icmp ne i64 %jumps, 0
  %operation = load i64, ptr %phase
  %stoppable = icmp eq i64 %operation, 9
  %goes.round = and i1 %jumping, %stoppable
  %ends.loop = and i1 %goes.round, %leaves
  br i1 %ends.loop, label %ask, label %jumps.or.not
ask:
  %stop = load i64, ptr %stop.p
  %stops = icmp ne i64 %stop, 0
  br i1 %stops, label %stopped, label %jumps.or.not
stopped:  ; goes on behind the loop
  %stop.entries.p = getelementptr i64, ptr %phase, i64 3
  %stop.entries = load i64, ptr %stop.entries.p
  %stop.entries.words = mul i64 %stop.entries, 3
  %stop.words = add i64 %stop.entries.words, 4
  %behind = getelementptr i64, ptr %phase, i64 %stop.words
  store ptr %behind, ptr %go.on.p
  store i64 %i, ptr %go.on.phases.p
  ret i64 3
jumps.or.not:
  br i1 %jumping, label %jump, label %command.next
command.next:
  %entries.p = getelementptr i64, ptr %phase, i64 3
  %entries = load i64, ptr %entries.p
  %entries.words = mul i64 %entries, 3
  %command.words = add i64 %entries.words, 4
  %command.end = getelementptr i64, ptr %phase, i64 %command.words
  br label %loop
jump:
  %i.jump.p = getelementptr i64, ptr %phase, i64 1
  %i.jump = load i64, ptr %i.jump.p
  %jump.word.p = getelementptr i64, ptr %phase, i64 4
  %jump.word = load i64, ptr %jump.word.p
  %jump.to = getelementptr i64, ptr %table, i64 %jump.word
  %back = icmp ult ptr %jump.to, %phase
  %counts = and i1 %back, %leaves
  br i1 %counts, label %count, label %loop
count:
  %budget = load i64, ptr %budget.p
  %left = sub i64 %budget, 1
  store i64 %left, ptr %budget.p
  %spent = icmp sle i64 %left, 0
  br i1 %spent, label %clock, label %budgeted
clock:
  store i64 %patience, ptr %budget.p
  %now = call i64 @time(ptr null)
  %long.enough = icmp ne i64 %now, %since  ; another second has begun
  br i1 %long.enough, label %leave, label %budgeted
leave:
  store ptr %jump.to, ptr %go.on.p
  store i64 %i.jump, ptr %go.on.phases.p
  ret i64 2
budgeted:
  br label %loop
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
  $timed %tick.last = load i64, ptr %tick.last.p
  $timed %tick.end = call i64 @weft_ticks()
  $timed store i64 %tick.end, ptr %tick.last.p
  $timed %took = sub i64 %tick.end, %tick.last
  $timed %took.before = load i64, ptr %tick.p
  $timed %took.all = add i64 %took.before, %took
  $timed store i64 %took.all, ptr %tick.p
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
