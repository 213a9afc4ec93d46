; Ticks of the system's monotonic clock, nanoseconds. In: nothing. Out: a tick.

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
