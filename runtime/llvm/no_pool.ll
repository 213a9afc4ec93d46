; Functions of pool.ll where there is no pool. In: the same. Out: the same, on one thread.

define internal void @wake() { ret void }
define i64 @weft_pool_start(i64 %wanted) { ret i64 1 }
define void @weft_pool_forget() { ret void }
define i64 @weft_pool_migrations() { ret i64 0 }
define void @weft_parallel_for(ptr %function, ptr %context, i64 %chunks) {
  call void @serial_for(ptr %function, ptr %context, i64 %chunks)
  ret void
}
