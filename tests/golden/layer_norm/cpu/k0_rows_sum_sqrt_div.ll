declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare float @llvm.sqrt.f32(float)
declare i64 @llvm.smin.i64(i64, i64)

define void @k0_rows_sum_sqrt_div_p0(ptr %ctx, i64 %chunk, i64 %tid) #0 {
start:
  %sum0 = alloca [65 x float], align 64
  %sum0.parts = alloca [32 x float], align 64
  %sum1 = alloca [65 x float], align 64
  %sum1.parts = alloca [32 x float], align 64
  %sum2 = alloca [65 x float], align 64
  %sum2.parts = alloca [32 x float], align 64
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
  %sum2.39 = getelementptr float, ptr %sum2.parts, i64 8
  %sum2.40 = getelementptr float, ptr %sum2.parts, i64 16
  %sum2.41 = getelementptr float, ptr %sum2.parts, i64 24
  %out0.166 = getelementptr float, ptr %out0, i64 %t15
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
  store <8 x float> splat (float 0x8000000000000000), ptr %sum2.parts, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum2.39, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum2.40, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum2.41, align 4
  store float 0x0000000000000000, ptr %sum2, align 4
  %sum0.42 = load <8 x float>, ptr %sum0.parts, align 4
  %sum0.43 = load <8 x float>, ptr %sum0.12, align 4
  %sum0.44 = load <8 x float>, ptr %sum0.13, align 4
  %sum0.45 = load <8 x float>, ptr %sum0.14, align 4
  %t46 = fadd <8 x float> %sum0.42, %sum0.43
  %t47 = fadd <8 x float> %sum0.44, %sum0.45
  %t48 = fadd <8 x float> %t46, %t47
  %t49 = shufflevector <8 x float> %t48, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t50 = shufflevector <8 x float> %t48, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t51 = fadd <4 x float> %t49, %t50
  %t52 = shufflevector <4 x float> %t51, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t53 = shufflevector <4 x float> %t51, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t54 = fadd <2 x float> %t52, %t53
  %t55 = extractelement <2 x float> %t54, i64 0
  %t56 = extractelement <2 x float> %t54, i64 1
  %t57 = fadd float %t55, %t56
  %sum0.58 = load float, ptr %sum0, align 4
  %t59 = fadd float %sum0.58, %t57
  store float %t59, ptr %sum0, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum0.parts, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum0.12, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum0.13, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum0.14, align 4
  %sum0.62 = load float, ptr %sum0, align 4
  %t63 = fmul float %sum0.62, 0x3F70000000000000
  %t64 = insertelement <8 x float> poison, float %t63, i64 0
  %t65 = shufflevector <8 x float> %t64, <8 x float> poison, <8 x i32> splat (i32 0)
  br label %c.enter.1
c.enter.1:
  br label %c.loop.1
c.loop.1:  ; inner loop 3: sum1 += (in0 - sum0 * 0.00390625) * (in0 - sum0 * 0.00390625); sum2 += in0 - sum0 * 0.00390625
  %c.1 = phi i64 [0, %c.enter.1], [%c.next.1, %c.again.1]
  %in0.60 = getelementptr float, ptr %in0.18, i64 %c.1
  %in0.61 = load <8 x float>, ptr %in0.60, align 4
  %t66 = fsub <8 x float> %in0.61, %t65
  %in0.67 = getelementptr float, ptr %in0.60, i64 8
  %in0.68 = load <8 x float>, ptr %in0.67, align 4
  %t69 = fsub <8 x float> %in0.68, %t65
  %in0.70 = getelementptr float, ptr %in0.60, i64 16
  %in0.71 = load <8 x float>, ptr %in0.70, align 4
  %t72 = fsub <8 x float> %in0.71, %t65
  %in0.73 = getelementptr float, ptr %in0.60, i64 24
  %in0.74 = load <8 x float>, ptr %in0.73, align 4
  %t75 = fsub <8 x float> %in0.74, %t65
  %sum1.76 = load <8 x float>, ptr %sum1.parts, align 4
  %t77 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t66, <8 x float> %t66, <8 x float> %sum1.76)
  store <8 x float> %t77, ptr %sum1.parts, align 4
  %sum1.78 = load <8 x float>, ptr %sum1.36, align 4
  %t79 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t69, <8 x float> %t69, <8 x float> %sum1.78)
  store <8 x float> %t79, ptr %sum1.36, align 4
  %sum1.80 = load <8 x float>, ptr %sum1.37, align 4
  %t81 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t72, <8 x float> %t72, <8 x float> %sum1.80)
  store <8 x float> %t81, ptr %sum1.37, align 4
  %sum1.82 = load <8 x float>, ptr %sum1.38, align 4
  %t83 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t75, <8 x float> %t75, <8 x float> %sum1.82)
  store <8 x float> %t83, ptr %sum1.38, align 4
  %sum2.84 = load <8 x float>, ptr %sum2.parts, align 4
  %t85 = fadd <8 x float> %sum2.84, %t66
  store <8 x float> %t85, ptr %sum2.parts, align 4
  %sum2.86 = load <8 x float>, ptr %sum2.39, align 4
  %t87 = fadd <8 x float> %sum2.86, %t69
  store <8 x float> %t87, ptr %sum2.39, align 4
  %sum2.88 = load <8 x float>, ptr %sum2.40, align 4
  %t89 = fadd <8 x float> %sum2.88, %t72
  store <8 x float> %t89, ptr %sum2.40, align 4
  %sum2.90 = load <8 x float>, ptr %sum2.41, align 4
  %t91 = fadd <8 x float> %sum2.90, %t75
  store <8 x float> %t91, ptr %sum2.41, align 4
  br label %c.again.1
c.again.1:
  %c.next.1 = add nuw nsw i64 %c.1, 32
  %t92 = icmp slt i64 %c.next.1, 256
  br i1 %t92, label %c.loop.1, label %c.end.1
c.end.1:
  %sum1.93 = load <8 x float>, ptr %sum1.parts, align 4
  %sum1.94 = load <8 x float>, ptr %sum1.36, align 4
  %sum1.95 = load <8 x float>, ptr %sum1.37, align 4
  %sum1.96 = load <8 x float>, ptr %sum1.38, align 4
  %t97 = fadd <8 x float> %sum1.93, %sum1.94
  %t98 = fadd <8 x float> %sum1.95, %sum1.96
  %t99 = fadd <8 x float> %t97, %t98
  %t100 = shufflevector <8 x float> %t99, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t101 = shufflevector <8 x float> %t99, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t102 = fadd <4 x float> %t100, %t101
  %t103 = shufflevector <4 x float> %t102, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t104 = shufflevector <4 x float> %t102, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t105 = fadd <2 x float> %t103, %t104
  %t106 = extractelement <2 x float> %t105, i64 0
  %t107 = extractelement <2 x float> %t105, i64 1
  %t108 = fadd float %t106, %t107
  %sum1.109 = load float, ptr %sum1, align 4
  %t110 = fadd float %sum1.109, %t108
  store float %t110, ptr %sum1, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.parts, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.36, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.37, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.38, align 4
  %sum2.111 = load <8 x float>, ptr %sum2.parts, align 4
  %sum2.112 = load <8 x float>, ptr %sum2.39, align 4
  %sum2.113 = load <8 x float>, ptr %sum2.40, align 4
  %sum2.114 = load <8 x float>, ptr %sum2.41, align 4
  %t115 = fadd <8 x float> %sum2.111, %sum2.112
  %t116 = fadd <8 x float> %sum2.113, %sum2.114
  %t117 = fadd <8 x float> %t115, %t116
  %t118 = shufflevector <8 x float> %t117, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t119 = shufflevector <8 x float> %t117, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t120 = fadd <4 x float> %t118, %t119
  %t121 = shufflevector <4 x float> %t120, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t122 = shufflevector <4 x float> %t120, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t123 = fadd <2 x float> %t121, %t122
  %t124 = extractelement <2 x float> %t123, i64 0
  %t125 = extractelement <2 x float> %t123, i64 1
  %t126 = fadd float %t124, %t125
  %sum2.127 = load float, ptr %sum2, align 4
  %t128 = fadd float %sum2.127, %t126
  store float %t128, ptr %sum2, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum2.parts, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum2.39, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum2.40, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum2.41, align 4
  %sum1.132 = load float, ptr %sum1, align 4
  %sum2.133 = load float, ptr %sum2, align 4
  %t134 = fmul float %sum2.133, %sum2.133
  %t135 = fmul float %t134, 0x3F70000000000000
  %t136 = fneg float %t135
  %t137 = fneg float %sum1.132
  %t138 = fcmp ogt float %t137, %t136
  %t139 = select i1 %t138, float %t137, float %t136
  %t140 = fcmp uno float %t137, %t137
  %t141 = select i1 %t140, float %t137, float %t139
  %t142 = fadd float %sum1.132, %t141
  %t143 = fmul float %t142, 0x3F70000000000000
  %t144 = fadd float %t143, 0x3EE4F8B580000000
  %t145 = call float @llvm.sqrt.f32(float %t144)
  %t146 = fdiv float 0x3FF0000000000000, %t145
  %t147 = insertelement <8 x float> poison, float %t146, i64 0
  %t148 = shufflevector <8 x float> %t147, <8 x float> poison, <8 x i32> splat (i32 0)
  %out0.167 = getelementptr float, ptr %out0.166, i64 %t16
  br label %c.enter.2
c.enter.2:
  br label %c.loop.2
c.loop.2:  ; inner loop 4: out0 = (in0 - ..) * (1.0 / ..) * in1 + in2
  %c.2 = phi i64 [0, %c.enter.2], [%c.next.2, %c.again.2]
  %in0.129 = getelementptr float, ptr %in0.18, i64 %c.2
  %in0.130 = load <8 x float>, ptr %in0.129, align 4
  %t131 = fsub <8 x float> %in0.130, %t65
  %t149 = fmul <8 x float> %t131, %t148
  %in1.150 = getelementptr float, ptr %in1, i64 %c.2
  %in1.151 = load <8 x float>, ptr %in1.150, align 4
  %t152 = fmul <8 x float> %t149, %in1.151
  %in2.153 = getelementptr float, ptr %in2, i64 %c.2
  %in2.154 = load <8 x float>, ptr %in2.153, align 4
  %t155 = fadd <8 x float> %t152, %in2.154
  %in0.156 = getelementptr float, ptr %in0.129, i64 8
  %in0.157 = load <8 x float>, ptr %in0.156, align 4
  %t158 = fsub <8 x float> %in0.157, %t65
  %t159 = fmul <8 x float> %t158, %t148
  %in1.160 = getelementptr float, ptr %in1.150, i64 8
  %in1.161 = load <8 x float>, ptr %in1.160, align 4
  %t162 = fmul <8 x float> %t159, %in1.161
  %in2.163 = getelementptr float, ptr %in2.153, i64 8
  %in2.164 = load <8 x float>, ptr %in2.163, align 4
  %t165 = fadd <8 x float> %t162, %in2.164
  %out0.168 = getelementptr float, ptr %out0.167, i64 %c.2
  store <8 x float> %t155, ptr %out0.168, align 4
  %out0.169 = getelementptr float, ptr %out0.168, i64 8
  store <8 x float> %t165, ptr %out0.169, align 4
  br label %c.again.2
c.again.2:
  %c.next.2 = add nuw nsw i64 %c.2, 16
  %t170 = icmp slt i64 %c.next.2, 256
  br i1 %t170, label %c.loop.2, label %c.end.2
c.end.2:
  br label %row.again
row.again:
  %row.next = add nuw nsw i64 %row, 1
  %t171 = icmp slt i64 %row.next, %t8
  br i1 %t171, label %row.loop, label %row.end
row.end:
  br label %done11
done11:
  ret void
}

attributes #0 = { nounwind "target-cpu"="x86-64-v3" "no-trapping-math"="true" "frame-pointer"="none" }

!0 = !{!"branch_weights", i32 1, i32 4000}
!1 = !{i32 1}
