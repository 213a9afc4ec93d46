; Ticks of the processor's counter. In: nothing. Out: a tick. Those of phases (weft_ticks) wait
; until what came before is done: processors run ahead. Those of chunks, which may be short, do not.

$x86_64 declare void @llvm.x86.sse2.lfence()
$x86_64 declare i64 @llvm.readcyclecounter()
$aarch64 declare void @llvm.aarch64.isb(i32)
$aarch64 declare i64 @llvm.read_volatile_register.i64(metadata)
$aarch64 !0 = !{!"cntvct_el0"}

define internal i64 @tick() {
  $x86_64 %tick = call i64 @llvm.readcyclecounter()
  $aarch64 %tick = call i64 @llvm.read_volatile_register.i64(metadata !0)
  ret i64 %tick
}

define i64 @weft_ticks() {
  $x86_64 call void @llvm.x86.sse2.lfence()
  $aarch64 call void @llvm.aarch64.isb(i32 15)
  %tick = call i64 @tick()
  ret i64 %tick
}
