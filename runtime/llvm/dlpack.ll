; Capsules of DLPack. In: capsules, and what consumers call when they let go, from any thread. Out:
; references dropped.
;
; Each deleter drops the reference that the context holds; after the end of Python it leaves
; everything as it is. A capsule that nobody consumed calls its deleter when it dies; an exception
; that is on its way then stays as it is.

declare i32 @Py_IsInitialized()
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare void @Py_DecRef(ptr)
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_Restore(ptr, ptr, ptr)
declare ptr @PyCapsule_New(ptr, ptr, ptr)
declare i32 @PyCapsule_IsValid(ptr, ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)
declare i32 @PyCapsule_SetName(ptr, ptr)

@name.0 = internal constant [9 x i8] c"dltensor\00"
@name.1 = internal constant [19 x i8] c"dltensor_versioned\00"
@used.0 = internal constant [14 x i8] c"used_dltensor\00"
@used.1 = internal constant [24 x i8] c"used_dltensor_versioned\00"

define internal void @release(ptr %context) {
  %up = call i32 @Py_IsInitialized()
  %alive = icmp ne i32 %up, 0
  br i1 %alive, label %drop, label %out
drop:
  %lock = call i32 @PyGILState_Ensure()
  call void @Py_DecRef(ptr %context)
  call void @PyGILState_Release(i32 %lock)
  br label %out
out:
  ret void
}

define internal void @destroy(ptr %capsule, ptr %name, i64 %context.offset) {
  %valid = call i32 @PyCapsule_IsValid(ptr %capsule, ptr %name)
  %unused = icmp ne i32 %valid, 0
  br i1 %unused, label %drop, label %out
drop:
  %type = alloca ptr
  %value = alloca ptr
  %trace = alloca ptr
  call void @PyErr_Fetch(ptr %type, ptr %value, ptr %trace)
  %managed = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr %name)
  %context.p = getelementptr i8, ptr %managed, i64 %context.offset
  %context = load ptr, ptr %context.p
  call void @Py_DecRef(ptr %context)
  %t = load ptr, ptr %type
  %v = load ptr, ptr %value
  %b = load ptr, ptr %trace
  call void @PyErr_Restore(ptr %t, ptr %v, ptr %b)
  br label %out
out:
  ret void
}
