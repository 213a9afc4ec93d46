; A loop that copies, reads or writes, by its name. In: memory, steps. Out: its part of them done.

define internal void @$name(ptr %from, ptr %to, i64 %steps, i64 %chunk) #0 {
entry:
  $sums
  %part = mul i64 %steps, $run
  %mine = mul i64 %part, $streams
  %first = mul i64 %mine, %chunk
  %any = icmp ne i64 %steps, 0
  br i1 %any, label %loop, label %out
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %at = mul i64 %i, $run
  %row.0 = add i64 %first, %at
  $rows
  $vectors
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %steps
  br i1 %more, label %loop, label %out
out:
  $used
  ret void
}
