; Runs in a row, without anything between them. In: a program, how many. Out: ticks; 1 if a check
; failed.

; A program without any instrument: the two ticks are before and after all runs.
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

; A timed one: `all` gets the ticks of each run.
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
