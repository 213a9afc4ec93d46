; Program as a built-in function of Python, a fifth of the time of a call by ctypes. In: addresses.
; Out: 1 if a check has failed, else 0.
;
; Such a function is C: (self, objects, count), behind a PyMethodDef with METH_FASTCALL. The objects
; are the addresses that differ from call to call; `self` is a bytes object, i64 each:
;     the driver's table, its arguments, 1 if other Python threads wait meanwhile,
;     then for each object its place in the arguments
; The function puts the addresses into their places and runs the program. All that it needs of
; Python is part of the stable ABI.

declare ptr @PyBytes_AsString(ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromLong(i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)

define ptr @weft_call(ptr %self, ptr %objects, i64 %count) {
entry:
  %block = call ptr @PyBytes_AsString(ptr %self)
  %table = load ptr, ptr %block, align 1
  %args.p = getelementptr i64, ptr %block, i64 1
  %args = load ptr, ptr %args.p, align 1
  %brief.p = getelementptr i64, ptr %block, i64 2
  %brief = load i64, ptr %brief.p, align 1
  %places = getelementptr i64, ptr %block, i64 3
  br label %fill
fill:
  %i = phi i64 [0, %entry], [%i.next, %store]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %store, label %filled
store:
  %object.p = getelementptr ptr, ptr %objects, i64 %i
  %object = load ptr, ptr %object.p
  %address = call i64 @PyLong_AsLongLong(ptr %object)
  %place.p = getelementptr i64, ptr %places, i64 %i
  %place = load i64, ptr %place.p, align 1
  %word = getelementptr i64, ptr %args, i64 %place
  store i64 %address, ptr %word
  %i.next = add i64 %i, 1
  br label %fill
filled:
  %waits = icmp ne i64 %brief, 0
  br i1 %waits, label %short, label %long
short:
  %failed.short = call i64 @weft_run(ptr %table, ptr %args)
  br label %out
long:
  %thread = call ptr @PyEval_SaveThread()
  %failed.long = call i64 @weft_run(ptr %table, ptr %args)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %out
out:
  %failed = phi i64 [%failed.short, %short], [%failed.long, %long]
  %result = call ptr @PyLong_FromLong(i64 %failed)
  ret ptr %result
}
