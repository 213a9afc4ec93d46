
; The functions of one of the two layouts, whose number is $k: its context is at byte $context.

define void @weft_dlpack_delete_$k(ptr %managed) {
  %context.p = getelementptr i8, ptr %managed, i64 $context
  %context = load ptr, ptr %context.p
  call void @release(ptr %context)
  ret void
}

define internal void @destroy_$k(ptr %capsule) {
  call void @destroy(ptr %capsule, ptr @name.$k, i64 $context)
  ret void
}

define ptr @weft_dlpack_capsule_$k(ptr %managed) {
  %capsule = call ptr @PyCapsule_New(ptr %managed, ptr @name.$k, ptr @destroy_$k)
  ret ptr %capsule
}

define i32 @weft_dlpack_use_$k(ptr %capsule) {
  %failed = call i32 @PyCapsule_SetName(ptr %capsule, ptr @used.$k)
  ret i32 %failed
}
