; Records of chunks, for the timed driver of driver.ll. In: a shared phase. Out: it has run on the
; pool, and the area of each thread tells which chunks it ran and when.
;
; The pool runs the chunks through a function that notes the times around the phase's own: neither
; the pool nor any kernel is compiled anew.

define internal void @wake() { ret void }  ; the pool wakes its workers itself when they are needed

; Runs a chunk and notes when. %wrapped: the phase's function and context, its number, %timing
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
  %at = shl i64 %number, 2  ; 4 words a record
  %behind = add i64 %at, 8  ; a cache line
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

; weft_parallel_for for a phase whose chunks are noted.
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

; Empties the areas.
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
