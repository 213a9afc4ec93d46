declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare float @llvm.sqrt.f32(float)
declare i64 @llvm.smin.i64(i64, i64)

define void @k0_rows_sum_sqrt_div_p0(ptr %ctx, i64 %chunk, i64 %tid) #0 {
start:
  %sum0 = alloca [65 x float], align 64
  %sum0.parts = alloca [32 x float], align 64
  %sum1 = alloca [65 x float], align 64
  %sum1.parts = alloca [32 x float], align 64
  %in0 = load ptr, ptr %ctx, align 8
  %t1 = getelementptr i64, ptr %ctx, i64 1
  %in1 = load ptr, ptr %t1, align 8
  %t2 = getelementptr i64, ptr %ctx, i64 2
  %in2 = load ptr, ptr %t2, align 8
  %t3 = getelementptr i64, ptr %ctx, i64 3
  %out0 = load ptr, ptr %t3, align 8
  %t4 = getelementptr i64, ptr %ctx, i64 4
  %chunks = load i64, ptr %t4, align 8
  %t5 = getelementptr i64, ptr %ctx, i64 5
  %rows = load i64, ptr %t5, align 8
  %t6 = mul i64 %chunk, 2
  %t7 = sub i64 %rows, %t6
  %t8 = call i64 @llvm.smin.i64(i64 2, i64 %t7)
  %t9 = icmp sgt i64 %t8, 0
  br i1 %t9, label %then10, label %done11
then10:
  %sum0.12 = getelementptr float, ptr %sum0.parts, i64 8
  %sum0.13 = getelementptr float, ptr %sum0.parts, i64 16
  %sum0.14 = getelementptr float, ptr %sum0.parts, i64 24
  %t15 = mul i64 %chunk, 512
  %in0.17 = getelementptr float, ptr %in0, i64 %t15
  %sum1.36 = getelementptr float, ptr %sum1.parts, i64 8
  %sum1.37 = getelementptr float, ptr %sum1.parts, i64 16
  %sum1.38 = getelementptr float, ptr %sum1.parts, i64 24
  %out0.127 = getelementptr float, ptr %out0, i64 %t15
  br label %row.enter
row.enter:
  br label %row.loop
row.loop:  ; loop 1
  %row = phi i64 [0, %row.enter], [%row.next, %row.again]
  store <8 x float> splat (float 0x8000000000000000), ptr %sum0.parts, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum0.12, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum0.13, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum0.14, align 4
  store float 0x0000000000000000, ptr %sum0, align 4
  %t16 = mul i64 %row, 256
  %in0.18 = getelementptr float, ptr %in0.17, i64 %t16
  br label %c.enter
c.enter:
  br label %c.loop
c.loop:  ; inner loop 2: sum0 += in0
  %c = phi i64 [0, %c.enter], [%c.next, %c.again]
  %in0.19 = getelementptr float, ptr %in0.18, i64 %c
  %in0.20 = load <8 x float>, ptr %in0.19, align 4
  %in0.21 = getelementptr float, ptr %in0.19, i64 8
  %in0.22 = load <8 x float>, ptr %in0.21, align 4
  %in0.23 = getelementptr float, ptr %in0.19, i64 16
  %in0.24 = load <8 x float>, ptr %in0.23, align 4
  %in0.25 = getelementptr float, ptr %in0.19, i64 24
  %in0.26 = load <8 x float>, ptr %in0.25, align 4
  %sum0.27 = load <8 x float>, ptr %sum0.parts, align 4
  %t28 = fadd <8 x float> %sum0.27, %in0.20
  store <8 x float> %t28, ptr %sum0.parts, align 4
  %sum0.29 = load <8 x float>, ptr %sum0.12, align 4
  %t30 = fadd <8 x float> %sum0.29, %in0.22
  store <8 x float> %t30, ptr %sum0.12, align 4
  %sum0.31 = load <8 x float>, ptr %sum0.13, align 4
  %t32 = fadd <8 x float> %sum0.31, %in0.24
  store <8 x float> %t32, ptr %sum0.13, align 4
  %sum0.33 = load <8 x float>, ptr %sum0.14, align 4
  %t34 = fadd <8 x float> %sum0.33, %in0.26
  store <8 x float> %t34, ptr %sum0.14, align 4
  br label %c.again
c.again:
  %c.next = add nuw nsw i64 %c, 32
  %t35 = icmp slt i64 %c.next, 256
  br i1 %t35, label %c.loop, label %c.end
c.end:
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.parts, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.36, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.37, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.38, align 4
  store float 0x0000000000000000, ptr %sum1, align 4
  %sum0.39 = load <8 x float>, ptr %sum0.parts, align 4
  %sum0.40 = load <8 x float>, ptr %sum0.12, align 4
  %sum0.41 = load <8 x float>, ptr %sum0.13, align 4
  %sum0.42 = load <8 x float>, ptr %sum0.14, align 4
  %t43 = fadd <8 x float> %sum0.39, %sum0.41
  %t44 = fadd <8 x float> %sum0.40, %sum0.42
  %t45 = fadd <8 x float> %t43, %t44
  %t46 = shufflevector <8 x float> %t45, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t47 = shufflevector <8 x float> %t45, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t48 = fadd <4 x float> %t46, %t47
  %t49 = shufflevector <4 x float> %t48, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t50 = shufflevector <4 x float> %t48, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t51 = fadd <2 x float> %t49, %t50
  %t52 = extractelement <2 x float> %t51, i64 0
  %t53 = extractelement <2 x float> %t51, i64 1
  %t54 = fadd float %t52, %t53
  %sum0.55 = load float, ptr %sum0, align 4
  %t56 = fadd float %sum0.55, %t54
  store float %t56, ptr %sum0, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum0.parts, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum0.12, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum0.13, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum0.14, align 4
  %sum0.59 = load float, ptr %sum0, align 4
  %t60 = fmul float %sum0.59, 0x3F70000000000000
  %t61 = insertelement <8 x float> poison, float %t60, i64 0
  %t62 = shufflevector <8 x float> %t61, <8 x float> poison, <8 x i32> splat (i32 0)
  br label %c.enter.1
c.enter.1:
  br label %c.loop.1
c.loop.1:  ; inner loop 3: sum1 += (in0 - sum0 * 0.00390625) * (in0 - sum0 * 0.00390625)
  %c.1 = phi i64 [0, %c.enter.1], [%c.next.1, %c.again.1]
  %in0.57 = getelementptr float, ptr %in0.18, i64 %c.1
  %in0.58 = load <8 x float>, ptr %in0.57, align 4
  %t63 = fsub <8 x float> %in0.58, %t62
  %in0.64 = getelementptr float, ptr %in0.57, i64 8
  %in0.65 = load <8 x float>, ptr %in0.64, align 4
  %t66 = fsub <8 x float> %in0.65, %t62
  %in0.67 = getelementptr float, ptr %in0.57, i64 16
  %in0.68 = load <8 x float>, ptr %in0.67, align 4
  %t69 = fsub <8 x float> %in0.68, %t62
  %in0.70 = getelementptr float, ptr %in0.57, i64 24
  %in0.71 = load <8 x float>, ptr %in0.70, align 4
  %t72 = fsub <8 x float> %in0.71, %t62
  %sum1.73 = load <8 x float>, ptr %sum1.parts, align 4
  %t74 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t63, <8 x float> %t63, <8 x float> %sum1.73)
  store <8 x float> %t74, ptr %sum1.parts, align 4
  %sum1.75 = load <8 x float>, ptr %sum1.36, align 4
  %t76 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t66, <8 x float> %t66, <8 x float> %sum1.75)
  store <8 x float> %t76, ptr %sum1.36, align 4
  %sum1.77 = load <8 x float>, ptr %sum1.37, align 4
  %t78 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t69, <8 x float> %t69, <8 x float> %sum1.77)
  store <8 x float> %t78, ptr %sum1.37, align 4
  %sum1.79 = load <8 x float>, ptr %sum1.38, align 4
  %t80 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t72, <8 x float> %t72, <8 x float> %sum1.79)
  store <8 x float> %t80, ptr %sum1.38, align 4
  br label %c.again.1
c.again.1:
  %c.next.1 = add nuw nsw i64 %c.1, 32
  %t81 = icmp slt i64 %c.next.1, 256
  br i1 %t81, label %c.loop.1, label %c.end.1
c.end.1:
  %sum1.82 = load <8 x float>, ptr %sum1.parts, align 4
  %sum1.83 = load <8 x float>, ptr %sum1.36, align 4
  %sum1.84 = load <8 x float>, ptr %sum1.37, align 4
  %sum1.85 = load <8 x float>, ptr %sum1.38, align 4
  %t86 = fadd <8 x float> %sum1.82, %sum1.84
  %t87 = fadd <8 x float> %sum1.83, %sum1.85
  %t88 = fadd <8 x float> %t86, %t87
  %t89 = shufflevector <8 x float> %t88, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t90 = shufflevector <8 x float> %t88, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t91 = fadd <4 x float> %t89, %t90
  %t92 = shufflevector <4 x float> %t91, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t93 = shufflevector <4 x float> %t91, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t94 = fadd <2 x float> %t92, %t93
  %t95 = extractelement <2 x float> %t94, i64 0
  %t96 = extractelement <2 x float> %t94, i64 1
  %t97 = fadd float %t95, %t96
  %sum1.98 = load float, ptr %sum1, align 4
  %t99 = fadd float %sum1.98, %t97
  store float %t99, ptr %sum1, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.parts, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.36, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.37, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.38, align 4
  %sum1.103 = load float, ptr %sum1, align 4
  %t104 = fmul float %sum1.103, 0x3F70000000000000
  %t105 = fadd float %t104, 0x3EE4F8B580000000
  %t106 = call float @llvm.sqrt.f32(float %t105)
  %t107 = fdiv float 0x3FF0000000000000, %t106
  %t108 = insertelement <8 x float> poison, float %t107, i64 0
  %t109 = shufflevector <8 x float> %t108, <8 x float> poison, <8 x i32> splat (i32 0)
  %out0.128 = getelementptr float, ptr %out0.127, i64 %t16
  br label %c.enter.2
c.enter.2:
  br label %c.loop.2
c.loop.2:  ; inner loop 4: out0 = (in0 - ..) * (1.0 / ..) * in1 + in2
  %c.2 = phi i64 [0, %c.enter.2], [%c.next.2, %c.again.2]
  %in0.100 = getelementptr float, ptr %in0.18, i64 %c.2
  %in0.101 = load <8 x float>, ptr %in0.100, align 4
  %t102 = fsub <8 x float> %in0.101, %t62
  %t110 = fmul <8 x float> %t102, %t109
  %in1.111 = getelementptr float, ptr %in1, i64 %c.2
  %in1.112 = load <8 x float>, ptr %in1.111, align 4
  %t113 = fmul <8 x float> %t110, %in1.112
  %in2.114 = getelementptr float, ptr %in2, i64 %c.2
  %in2.115 = load <8 x float>, ptr %in2.114, align 4
  %t116 = fadd <8 x float> %t113, %in2.115
  %in0.117 = getelementptr float, ptr %in0.100, i64 8
  %in0.118 = load <8 x float>, ptr %in0.117, align 4
  %t119 = fsub <8 x float> %in0.118, %t62
  %t120 = fmul <8 x float> %t119, %t109
  %in1.121 = getelementptr float, ptr %in1.111, i64 8
  %in1.122 = load <8 x float>, ptr %in1.121, align 4
  %t123 = fmul <8 x float> %t120, %in1.122
  %in2.124 = getelementptr float, ptr %in2.114, i64 8
  %in2.125 = load <8 x float>, ptr %in2.124, align 4
  %t126 = fadd <8 x float> %t123, %in2.125
  %out0.129 = getelementptr float, ptr %out0.128, i64 %c.2
  store <8 x float> %t116, ptr %out0.129, align 4
  %out0.130 = getelementptr float, ptr %out0.129, i64 8
  store <8 x float> %t126, ptr %out0.130, align 4
  br label %c.again.2
c.again.2:
  %c.next.2 = add nuw nsw i64 %c.2, 16
  %t131 = icmp slt i64 %c.next.2, 256
  br i1 %t131, label %c.loop.2, label %c.end.2
c.end.2:
  br label %row.again
row.again:
  %row.next = add nuw nsw i64 %row, 1
  %t132 = icmp slt i64 %row.next, %t8
  br i1 %t132, label %row.loop, label %row.end
row.end:
  br label %done11
done11:
  ret void
}

attributes #0 = { nounwind "target-cpu"="x86-64-v3" "no-trapping-math"="true" "frame-pointer"="none" }

!0 = !{!"branch_weights", i32 1, i32 4000}
!1 = !{i32 1}
