; Thread pool. In: function, context, number of chunks. Out: function(context, chunk, thread) has
; been called for each chunk.
;
; One job at a time. Each thread owns a range of the chunks and takes them one by one from its own
; counter, then helps with the other ranges. Which thread runs a chunk never changes a result.
;
;     caller    take `busy`; fill in the job; open = 1; seq += 1; wake sleepers; work; open = 0;
;               wait until active == 0
;     worker    spin on seq, then sleep on it (futex); active += 1; if open: work; active -= 1
;
; The caller waits only for workers that have joined the job: one that the kernel has not scheduled
; costs nothing, and after a fork, where there are none, nothing hangs. `open` and `active` are
; sequentially consistent: either the worker sees the job closed, or the caller sees the worker. If
; `busy` is taken (another Python thread, or a call from inside a chunk) the caller runs all chunks
; itself. A worker that finds itself on the caller's processor moves to another: the kernel may
; leave both there for seconds.

%range = type { i64, i64, [6 x i64] }  ; a cache line: next chunk, end

@seq = internal global i32 0, align 64        ; generation, the word that workers wait for
@sleepers = internal global i32 0, align 64   ; workers in the futex
@open = internal global i32 0, align 64       ; 1 while workers may join the job
@active = internal global i32 0, align 64     ; workers that have joined
@busy = internal global i32 0, align 64       ; 1 while a caller owns the pool
@threads = internal global i64 1, align 64    ; the caller and its workers
@ready = internal global i64 0, align 64      ; workers that have begun to wait
@stop = internal global i32 0, align 64
@job_function = internal global ptr null, align 64
@job_context = internal global ptr null
@caller_cpu = internal global i32 -1, align 4
@spread = internal global i32 0, align 4      ; 1 if there is a processor for each thread
@migrations = internal global i64 0, align 64
; processors of this process, a bit each
@allowed = internal global [16 x i64] zeroinitializer, align 64
@ranges = internal global [$max_threads x %range] zeroinitializer, align 64
@handles = internal global [$max_threads x i64] zeroinitializer, align 64

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @sched_yield()
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
declare i64 @syscall(i64, ...)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.ctpop.i64(i64)
$x86_64 declare void @llvm.x86.sse2.pause()
$aarch64 declare void @llvm.aarch64.isb(i32)

; Every thread of a job runs this: its own range first, then the others in turn.
define internal void @work(i64 %me) {
entry:
  %function = load ptr, ptr @job_function
  %context = load ptr, ptr @job_context
  %threads = load i64, ptr @threads
  br label %victim
victim:
  %step = phi i64 [0, %entry], [%step.next, %next]
  %sum = add i64 %me, %step
  %over = icmp uge i64 %sum, %threads
  %wrapped = sub i64 %sum, %threads
  %owner = select i1 %over, i64 %wrapped, i64 %sum
  %counter = getelementptr %range, ptr @ranges, i64 %owner, i32 0
  %limit = getelementptr %range, ptr @ranges, i64 %owner, i32 1
  %end = load i64, ptr %limit
  br label %look
look:
  %seen = load atomic i64, ptr %counter monotonic, align 8
  %some = icmp slt i64 %seen, %end
  br i1 %some, label %take, label %next
take:
  %chunk = atomicrmw add ptr %counter, i64 1 monotonic
  %mine = icmp slt i64 %chunk, %end
  br i1 %mine, label %run, label %next
run:
  call void %function(ptr %context, i64 %chunk, i64 %me)
  br label %look
next:
  %step.next = add i64 %step, 1
  %more = icmp ult i64 %step.next, %threads
  br i1 %more, label %victim, label %out
out:
  ret void
}

; Moves this thread to any allowed processor but `cpu`, for good. Without another one the system
; call fails: nothing moves.
define internal void @leave_cpu(i32 %cpu) {
  %mask = alloca [16 x i64], align 64
  call void @llvm.memcpy.p0.p0.i64(ptr %mask, ptr @allowed, i64 128, i1 false)
  %word.number = lshr i32 %cpu, 6
  %bit.number = and i32 %cpu, 63
  %shift = zext i32 %bit.number to i64
  %bit = shl i64 1, %shift
  %others = xor i64 %bit, -1
  %word = getelementptr i64, ptr %mask, i32 %word.number
  %old = load i64, ptr %word
  %new = and i64 %old, %others
  store i64 %new, ptr %word
  %failed = call i32 @sched_setaffinity(i32 0, i64 128, ptr %mask)
  %one = atomicrmw add ptr @migrations, i64 1 monotonic
  ret void
}

define internal void @avoid_caller() {
entry:
  %spread = load atomic i32, ptr @spread monotonic, align 4
  %room = icmp ne i32 %spread, 0
  br i1 %room, label %compare, label %out
compare:
  %caller = load atomic i32, ptr @caller_cpu monotonic, align 4
  %mine = call i32 @sched_getcpu()
  %same = icmp eq i32 %caller, %mine
  %known = icmp ult i32 %mine, 1024
  %move = and i1 %same, %known
  br i1 %move, label %migrate, label %out
migrate:
  call void @leave_cpu(i32 %mine)
  br label %out
out:
  ret void
}

define internal ptr @worker(ptr %number) {
entry:
  %me = ptrtoint ptr %number to i64
  call void @avoid_caller()
  %first = load atomic i32, ptr @seq acquire, align 4
  %rank = atomicrmw add ptr @ready, i64 1 seq_cst
  br label %wait
wait:  ; for a generation other than the last one
  %last = phi i32 [%first, %entry], [%now, %leave], [%last, %sleep]
  br label %spin
spin:
  %tries = phi i32 [0, %wait], [%tries.next, %pause]
  %now = load atomic i32, ptr @seq acquire, align 4
  %changed = icmp ne i32 %now, %last
  br i1 %changed, label %called, label %patience
patience:  ; pauses of about 150-300 us: longer than Python needs between two small programs
  %tries.next = add i32 %tries, 1
  %enough = icmp ugt i32 %tries.next, 12000
  br i1 %enough, label %sleep, label %pause
pause:
  $x86_64 call void @llvm.x86.sse2.pause()
  $aarch64 call void @llvm.aarch64.isb(i32 15)
  br label %spin
sleep:  ; returns at once if seq has changed; when woken without a job, spins again
  %up = atomicrmw add ptr @sleepers, i32 1 seq_cst
  %woken = call i64 (i64, ...) @syscall(
    i64 $futex, ptr @seq, i32 128, i32 %last, ptr null, ptr null, i32 0)  ; FUTEX_WAIT, private
  %down = atomicrmw sub ptr @sleepers, i32 1 seq_cst
  br label %wait
called:
  %stop = load atomic i32, ptr @stop acquire, align 4
  %ends = icmp ne i32 %stop, 0
  br i1 %ends, label %exit, label %join
join:
  call void @avoid_caller()
  %joined = atomicrmw add ptr @active, i32 1 seq_cst
  %open = load atomic i32, ptr @open seq_cst, align 4
  %allowed = icmp ne i32 %open, 0
  br i1 %allowed, label %do, label %leave
do:
  call void @work(i64 %me)
  br label %leave
leave:
  %left = atomicrmw sub ptr @active, i32 1 seq_cst
  br label %wait
exit:
  ret ptr null
}

define internal void @wake() {
entry:
  %sleepers = load atomic i32, ptr @sleepers seq_cst, align 4
  %any = icmp sgt i32 %sleepers, 0
  br i1 %any, label %call, label %out
call:
  %woken = call i64 (i64, ...) @syscall(
    i64 $futex, ptr @seq, i32 129, i32 2147483647, ptr null, ptr null, i32 0)  ; FUTEX_WAKE, private
  br label %out
out:
  ret void
}

define internal void @acquire() {
entry:
  br label %try
try:
  %pair = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %got = extractvalue { i32, i1 } %pair, 1
  br i1 %got, label %out, label %yield
yield:
  %yielded = call i32 @sched_yield()
  br label %try
out:
  ret void
}

; Ends all workers. The caller owns the pool.
define internal void @end_workers() {
entry:
  %threads = load i64, ptr @threads
  store atomic i32 1, ptr @stop seq_cst, align 4
  %generation = atomicrmw add ptr @seq, i32 1 seq_cst
  call void @wake()
  br label %check
check:
  %i = phi i64 [1, %entry], [%i.next, %join]
  %more = icmp ult i64 %i, %threads
  br i1 %more, label %join, label %out
join:
  %handle.p = getelementptr i64, ptr @handles, i64 %i
  %handle = load i64, ptr %handle.p
  %joined = call i32 @pthread_join(i64 %handle, ptr null)
  %i.next = add i64 %i, 1
  br label %check
out:
  store atomic i32 0, ptr @stop seq_cst, align 4
  store i64 1, ptr @threads
  ret void
}

; Notes which processors there are and whether they are enough for `threads`.
define internal void @survey(i64 %threads) {
entry:
  %cpu = call i32 @sched_getcpu()
  store atomic i32 %cpu, ptr @caller_cpu monotonic, align 4
  %failed = call i32 @sched_getaffinity(i32 0, i64 128, ptr @allowed)
  br label %count
count:
  %i = phi i64 [0, %entry], [%i.next, %count]
  %sum = phi i64 [0, %entry], [%sum.next, %count]
  %word.p = getelementptr i64, ptr @allowed, i64 %i
  %word = load i64, ptr %word.p
  %bits = call i64 @llvm.ctpop.i64(i64 %word)
  %sum.next = add i64 %sum, %bits
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, 16
  br i1 %more, label %count, label %done
done:
  %enough = icmp uge i64 %sum.next, %threads
  %spread = zext i1 %enough to i32
  store atomic i32 %spread, ptr @spread monotonic, align 4
  ret void
}

; Runs the pool with `wanted` threads, the caller's included. Returns how many there are: fewer if
; the system refuses.
define i64 @weft_pool_start(i64 %wanted) {
entry:
  call void @acquire()
  call void @end_workers()
  call void @survey(i64 %wanted)
  store i64 0, ptr @ready
  %attributes = alloca [128 x i8], align 16
  %r0 = call i32 @pthread_attr_init(ptr %attributes)
  ; 8 MB, as of a main thread: kernels keep their scratch there
  %r1 = call i32 @pthread_attr_setstacksize(ptr %attributes, i64 8388608)
  br label %check
check:
  %i = phi i64 [1, %entry], [%i.next, %created]
  %more = icmp ult i64 %i, %wanted
  br i1 %more, label %create, label %wait
create:
  %handle.p = getelementptr i64, ptr @handles, i64 %i
  %number = inttoptr i64 %i to ptr
  %error = call i32 @pthread_create(ptr %handle.p, ptr %attributes, ptr @worker, ptr %number)
  %ok = icmp eq i32 %error, 0
  br i1 %ok, label %created, label %wait
created:
  %i.next = add i64 %i, 1
  br label %check
wait:  ; until each has read the generation that it starts from
  %ready = load atomic i64, ptr @ready seq_cst, align 8
  %running = add i64 %ready, 1
  %all = icmp uge i64 %running, %i
  br i1 %all, label %out, label %yield
yield:
  %yielded = call i32 @sched_yield()
  br label %wait
out:
  %r2 = call i32 @pthread_attr_destroy(ptr %attributes)
  store i64 %i, ptr @threads
  store atomic i32 0, ptr @busy release, align 4
  ret i64 %i
}

; In a forked child, which has no workers: from here on all chunks run serially.
define void @weft_pool_forget() {
  store i64 1, ptr @threads
  store i32 0, ptr @busy
  store i32 0, ptr @active
  store i32 0, ptr @open
  store i32 0, ptr @sleepers
  ret void
}

; How often a worker has left the caller's processor.
define i64 @weft_pool_migrations() {
  %n = load atomic i64, ptr @migrations monotonic, align 8
  ret i64 %n
}

define internal void @share(ptr %function, ptr %context, i64 %chunks, i64 %threads) {
entry:
  store ptr %function, ptr @job_function
  store ptr %context, ptr @job_context
  %cpu = call i32 @sched_getcpu()
  store atomic i32 %cpu, ptr @caller_cpu monotonic, align 4
  br label %split
split:  ; thread p owns chunks [p * chunks / threads, (p + 1) * chunks / threads)
  %p = phi i64 [0, %entry], [%p.next, %split]
  %low = phi i64 [0, %entry], [%high, %split]
  %p.next = add i64 %p, 1
  %product = mul i64 %p.next, %chunks
  %high = udiv i64 %product, %threads
  %counter = getelementptr %range, ptr @ranges, i64 %p, i32 0
  %limit = getelementptr %range, ptr @ranges, i64 %p, i32 1
  store atomic i64 %low, ptr %counter monotonic, align 8
  store i64 %high, ptr %limit
  %more = icmp ult i64 %p.next, %threads
  br i1 %more, label %split, label %go
go:
  store atomic i32 1, ptr @open seq_cst, align 4
  %generation = atomicrmw add ptr @seq, i32 1 seq_cst
  call void @wake()
  call void @work(i64 0)
  store atomic i32 0, ptr @open seq_cst, align 4
  br label %wait
wait:
  %tries = phi i32 [0, %go], [%tries.next, %again]
  %active = load atomic i32, ptr @active seq_cst, align 4
  %done = icmp eq i32 %active, 0
  br i1 %done, label %out, label %hold
hold:  ; so many pauses before the caller yields its processor
  %tries.next = add i32 %tries, 1
  %long = icmp ugt i32 %tries.next, 2000
  br i1 %long, label %yield, label %pause
yield:
  %yielded = call i32 @sched_yield()
  br label %again
pause:
  $x86_64 call void @llvm.x86.sse2.pause()
  $aarch64 call void @llvm.aarch64.isb(i32 15)
  br label %again
again:
  br label %wait
out:
  ret void
}

; Returns when all chunks have run.
define void @weft_parallel_for(ptr %function, ptr %context, i64 %chunks) {
entry:
  %many = icmp sgt i64 %chunks, 1
  br i1 %many, label %lock, label %serial
lock:
  %pair = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %got = extractvalue { i32, i1 } %pair, 1
  br i1 %got, label %owned, label %serial
owned:
  %threads = load i64, ptr @threads
  %workers = icmp ugt i64 %threads, 1
  br i1 %workers, label %parallel, label %alone
parallel:
  call void @share(ptr %function, ptr %context, i64 %chunks, i64 %threads)
  store atomic i32 0, ptr @busy release, align 4
  ret void
alone:
  store atomic i32 0, ptr @busy release, align 4
  br label %serial
serial:
  call void @serial_for(ptr %function, ptr %context, i64 %chunks)
  ret void
}
