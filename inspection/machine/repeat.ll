; Native loops around a program, and around the chunks of a function. In: how often. Out: nothing.

define void @repeat(ptr %run, ptr %table, ptr %args, i64 %count) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %failed = call i64 %run(ptr %table, ptr %args)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %out
out:
  ret void
}
define void @repeat_for(ptr %parallel, ptr %function, ptr %context, i64 %chunks, i64 %count) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  call void %parallel(ptr %function, ptr %context, i64 %chunks)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %out
out:
  ret void
}
