declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)
declare <8 x float> @llvm.sqrt.v8f32(<8 x float>)
declare i64 @llvm.smin.i64(i64, i64)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)

define void @k0_map_sqrt_div_p0(ptr %ctx, i64 %chunk, i64 %tid) #0 {
start:
  %in0 = load ptr, ptr %ctx, align 8
  %t1 = getelementptr i64, ptr %ctx, i64 1
  %in1 = load ptr, ptr %t1, align 8
  %t2 = getelementptr i64, ptr %ctx, i64 2
  %in2 = load ptr, ptr %t2, align 8
  %t3 = getelementptr i64, ptr %ctx, i64 3
  %in3 = load ptr, ptr %t3, align 8
  %t4 = getelementptr i64, ptr %ctx, i64 4
  %in4 = load ptr, ptr %t4, align 8
  %t5 = getelementptr i64, ptr %ctx, i64 5
  %in5 = load ptr, ptr %t5, align 8
  %t6 = getelementptr i64, ptr %ctx, i64 6
  %in6 = load ptr, ptr %t6, align 8
  %t7 = getelementptr i64, ptr %ctx, i64 7
  %in7 = load ptr, ptr %t7, align 8
  %t8 = getelementptr i64, ptr %ctx, i64 8
  %out0 = load ptr, ptr %t8, align 8
  %t9 = getelementptr i64, ptr %ctx, i64 9
  %out1 = load ptr, ptr %t9, align 8
  %t10 = getelementptr i64, ptr %ctx, i64 10
  %out2 = load ptr, ptr %t10, align 8
  %t11 = getelementptr i64, ptr %ctx, i64 11
  %chunks = load i64, ptr %t11, align 8
  %t12 = getelementptr i64, ptr %ctx, i64 12
  %rows = load i64, ptr %t12, align 8
  %t13 = mul i64 %chunk, 512
  %t14 = sub i64 %rows, %t13
  %t15 = call i64 @llvm.smin.i64(i64 512, i64 %t14)
  %t16 = srem i64 %t15, 16
  %t17 = sub i64 %t15, %t16
  %t18 = srem i64 %t15, 8
  %t19 = sub i64 %t15, %t18
  %t20 = icmp slt i64 0, %t17
  br i1 %t20, label %then21, label %done22
then21:
  %in7.23 = getelementptr float, ptr %in7, i64 %t13
  %in3.26 = load float, ptr %in3, align 4
  %in1.27 = getelementptr float, ptr %in1, i64 %t13
  %in2.30 = load float, ptr %in2, align 4
  %in0.31 = getelementptr float, ptr %in0, i64 %t13
  %t35 = insertelement <8 x float> poison, float %in2.30, i64 0
  %t36 = shufflevector <8 x float> %t35, <8 x float> poison, <8 x i32> splat (i32 0)
  %t39 = insertelement <8 x float> poison, float %in3.26, i64 0
  %t40 = shufflevector <8 x float> %t39, <8 x float> poison, <8 x i32> splat (i32 0)
  %in4.42 = getelementptr float, ptr %in4, i64 %t13
  %in5.45 = load float, ptr %in5, align 4
  %t48 = insertelement <8 x float> poison, float %in5.45, i64 0
  %t49 = shufflevector <8 x float> %t48, <8 x float> poison, <8 x i32> splat (i32 0)
  %in6.53 = load float, ptr %in6, align 4
  %t54 = insertelement <8 x float> poison, float %in6.53, i64 0
  %t55 = shufflevector <8 x float> %t54, <8 x float> poison, <8 x i32> splat (i32 0)
  %out0.79 = getelementptr float, ptr %out0, i64 %t13
  %out1.82 = getelementptr float, ptr %out1, i64 %t13
  %out2.85 = getelementptr float, ptr %out2, i64 %t13
  br label %l.enter
l.enter:
  br label %l.loop
l.loop:  ; inner loop 1: out0 = in7 - in3 * (in1 + ..) / (sqrt(..) + in6); out1 = in1 + in2 * (in0 - in1); out2 = in4 + in ..
  %l = phi i64 [0, %l.enter], [%l.next, %l.again]
  %in7.24 = getelementptr float, ptr %in7.23, i64 %l
  %in7.25 = load <8 x float>, ptr %in7.24, align 4
  %in1.28 = getelementptr float, ptr %in1.27, i64 %l
  %in1.29 = load <8 x float>, ptr %in1.28, align 4
  %in0.32 = getelementptr float, ptr %in0.31, i64 %l
  %in0.33 = load <8 x float>, ptr %in0.32, align 4
  %t34 = fsub <8 x float> %in0.33, %in1.29
  %t37 = fmul <8 x float> %t36, %t34
  %t38 = fadd <8 x float> %in1.29, %t37
  %t41 = fmul <8 x float> %t40, %t38
  %in4.43 = getelementptr float, ptr %in4.42, i64 %l
  %in4.44 = load <8 x float>, ptr %in4.43, align 4
  %t46 = fmul <8 x float> %in0.33, %in0.33
  %t47 = fsub <8 x float> %t46, %in4.44
  %t50 = fmul <8 x float> %t49, %t47
  %t51 = fadd <8 x float> %in4.44, %t50
  %t52 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %t51)
  %t56 = fadd <8 x float> %t52, %t55
  %t57 = fdiv <8 x float> %t41, %t56
  %t58 = fsub <8 x float> %in7.25, %t57
  %in7.59 = getelementptr float, ptr %in7.24, i64 8
  %in7.60 = load <8 x float>, ptr %in7.59, align 4
  %in1.61 = getelementptr float, ptr %in1.28, i64 8
  %in1.62 = load <8 x float>, ptr %in1.61, align 4
  %in0.63 = getelementptr float, ptr %in0.32, i64 8
  %in0.64 = load <8 x float>, ptr %in0.63, align 4
  %t65 = fsub <8 x float> %in0.64, %in1.62
  %t66 = fmul <8 x float> %t36, %t65
  %t67 = fadd <8 x float> %in1.62, %t66
  %t68 = fmul <8 x float> %t40, %t67
  %in4.69 = getelementptr float, ptr %in4.43, i64 8
  %in4.70 = load <8 x float>, ptr %in4.69, align 4
  %t71 = fmul <8 x float> %in0.64, %in0.64
  %t72 = fsub <8 x float> %t71, %in4.70
  %t73 = fmul <8 x float> %t49, %t72
  %t74 = fadd <8 x float> %in4.70, %t73
  %t75 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %t74)
  %t76 = fadd <8 x float> %t75, %t55
  %t77 = fdiv <8 x float> %t68, %t76
  %t78 = fsub <8 x float> %in7.60, %t77
  %out0.80 = getelementptr float, ptr %out0.79, i64 %l
  store <8 x float> %t58, ptr %out0.80, align 4
  %out0.81 = getelementptr float, ptr %out0.80, i64 8
  store <8 x float> %t78, ptr %out0.81, align 4
  %out1.83 = getelementptr float, ptr %out1.82, i64 %l
  store <8 x float> %t38, ptr %out1.83, align 4
  %out1.84 = getelementptr float, ptr %out1.83, i64 8
  store <8 x float> %t67, ptr %out1.84, align 4
  %out2.86 = getelementptr float, ptr %out2.85, i64 %l
  store <8 x float> %t51, ptr %out2.86, align 4
  %out2.87 = getelementptr float, ptr %out2.86, i64 8
  store <8 x float> %t74, ptr %out2.87, align 4
  br label %l.again
l.again:
  %l.next = add nuw nsw i64 %l, 16
  %t88 = icmp slt i64 %l.next, %t17
  br i1 %t88, label %l.loop, label %l.end
l.end:
  br label %done22
done22:
  %t89 = icmp slt i64 %t17, %t19
  br i1 %t89, label %then90, label %done91
then90:
  %in7.92 = getelementptr float, ptr %in7, i64 %t13
  %in3.95 = load float, ptr %in3, align 4
  %in1.96 = getelementptr float, ptr %in1, i64 %t13
  %in2.99 = load float, ptr %in2, align 4
  %in0.100 = getelementptr float, ptr %in0, i64 %t13
  %t104 = insertelement <8 x float> poison, float %in2.99, i64 0
  %t105 = shufflevector <8 x float> %t104, <8 x float> poison, <8 x i32> splat (i32 0)
  %t108 = insertelement <8 x float> poison, float %in3.95, i64 0
  %t109 = shufflevector <8 x float> %t108, <8 x float> poison, <8 x i32> splat (i32 0)
  %in4.111 = getelementptr float, ptr %in4, i64 %t13
  %in5.114 = load float, ptr %in5, align 4
  %t117 = insertelement <8 x float> poison, float %in5.114, i64 0
  %t118 = shufflevector <8 x float> %t117, <8 x float> poison, <8 x i32> splat (i32 0)
  %in6.122 = load float, ptr %in6, align 4
  %t123 = insertelement <8 x float> poison, float %in6.122, i64 0
  %t124 = shufflevector <8 x float> %t123, <8 x float> poison, <8 x i32> splat (i32 0)
  %out0.128 = getelementptr float, ptr %out0, i64 %t13
  %out1.130 = getelementptr float, ptr %out1, i64 %t13
  %out2.132 = getelementptr float, ptr %out2, i64 %t13
  br label %l.enter.1
l.enter.1:
  br label %l.loop.1
l.loop.1:  ; inner loop 1: out0 = in7 - in3 * (in1 + ..) / (sqrt(..) + in6); out1 = in1 + in2 * (in0 - in1); out2 = in4 + in ..
  %l.1 = phi i64 [%t17, %l.enter.1], [%l.next.1, %l.again.1]
  %in7.93 = getelementptr float, ptr %in7.92, i64 %l.1
  %in7.94 = load <8 x float>, ptr %in7.93, align 4
  %in1.97 = getelementptr float, ptr %in1.96, i64 %l.1
  %in1.98 = load <8 x float>, ptr %in1.97, align 4
  %in0.101 = getelementptr float, ptr %in0.100, i64 %l.1
  %in0.102 = load <8 x float>, ptr %in0.101, align 4
  %t103 = fsub <8 x float> %in0.102, %in1.98
  %t106 = fmul <8 x float> %t105, %t103
  %t107 = fadd <8 x float> %in1.98, %t106
  %t110 = fmul <8 x float> %t109, %t107
  %in4.112 = getelementptr float, ptr %in4.111, i64 %l.1
  %in4.113 = load <8 x float>, ptr %in4.112, align 4
  %t115 = fmul <8 x float> %in0.102, %in0.102
  %t116 = fsub <8 x float> %t115, %in4.113
  %t119 = fmul <8 x float> %t118, %t116
  %t120 = fadd <8 x float> %in4.113, %t119
  %t121 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %t120)
  %t125 = fadd <8 x float> %t121, %t124
  %t126 = fdiv <8 x float> %t110, %t125
  %t127 = fsub <8 x float> %in7.94, %t126
  %out0.129 = getelementptr float, ptr %out0.128, i64 %l.1
  store <8 x float> %t127, ptr %out0.129, align 4
  %out1.131 = getelementptr float, ptr %out1.130, i64 %l.1
  store <8 x float> %t107, ptr %out1.131, align 4
  %out2.133 = getelementptr float, ptr %out2.132, i64 %l.1
  store <8 x float> %t120, ptr %out2.133, align 4
  br label %l.again.1
l.again.1:
  %l.next.1 = add nuw nsw i64 %l.1, 8
  %t134 = icmp slt i64 %l.next.1, %t19
  br i1 %t134, label %l.loop.1, label %l.end.1
l.end.1:
  br label %done91
done91:
  %t135 = icmp slt i64 %t19, %t15
  br i1 %t135, label %then136, label %done137
then136:
  %t138 = sub i64 %t15, %t19
  %t139 = call i64 @llvm.smin.i64(i64 %t138, i64 1073741824)
  %t140 = trunc i64 %t139 to i32
  %t141 = insertelement <8 x i32> poison, i32 %t140, i64 0
  %t142 = shufflevector <8 x i32> %t141, <8 x i32> poison, <8 x i32> splat (i32 0)
  %t143 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %t142
  %t144 = add i64 %t13, %t19
  %in7.145 = getelementptr float, ptr %in7, i64 %t144
  %t146 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %in7.145, i32 4, <8 x i1> %t143, <8 x float> zeroinitializer)
  %in3.147 = load float, ptr %in3, align 4
  %in1.148 = getelementptr float, ptr %in1, i64 %t144
  %t149 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %in1.148, i32 4, <8 x i1> %t143, <8 x float> zeroinitializer)
  %in2.150 = load float, ptr %in2, align 4
  %in0.151 = getelementptr float, ptr %in0, i64 %t144
  %t152 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %in0.151, i32 4, <8 x i1> %t143, <8 x float> zeroinitializer)
  %t153 = fsub <8 x float> %t152, %t149
  %t154 = insertelement <8 x float> poison, float %in2.150, i64 0
  %t155 = shufflevector <8 x float> %t154, <8 x float> poison, <8 x i32> splat (i32 0)
  %t156 = fmul <8 x float> %t155, %t153
  %t157 = fadd <8 x float> %t149, %t156
  %t158 = insertelement <8 x float> poison, float %in3.147, i64 0
  %t159 = shufflevector <8 x float> %t158, <8 x float> poison, <8 x i32> splat (i32 0)
  %t160 = fmul <8 x float> %t159, %t157
  %in4.161 = getelementptr float, ptr %in4, i64 %t144
  %t162 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %in4.161, i32 4, <8 x i1> %t143, <8 x float> zeroinitializer)
  %in5.163 = load float, ptr %in5, align 4
  %t164 = fmul <8 x float> %t152, %t152
  %t165 = fsub <8 x float> %t164, %t162
  %t166 = insertelement <8 x float> poison, float %in5.163, i64 0
  %t167 = shufflevector <8 x float> %t166, <8 x float> poison, <8 x i32> splat (i32 0)
  %t168 = fmul <8 x float> %t167, %t165
  %t169 = fadd <8 x float> %t162, %t168
  %t170 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %t169)
  %in6.171 = load float, ptr %in6, align 4
  %t172 = insertelement <8 x float> poison, float %in6.171, i64 0
  %t173 = shufflevector <8 x float> %t172, <8 x float> poison, <8 x i32> splat (i32 0)
  %t174 = fadd <8 x float> %t170, %t173
  %t175 = fdiv <8 x float> %t160, %t174
  %t176 = fsub <8 x float> %t146, %t175
  %out0.177 = getelementptr float, ptr %out0, i64 %t144
  call void @llvm.masked.store.v8f32.p0(<8 x float> %t176, ptr %out0.177, i32 4, <8 x i1> %t143)
  %out1.178 = getelementptr float, ptr %out1, i64 %t144
  call void @llvm.masked.store.v8f32.p0(<8 x float> %t157, ptr %out1.178, i32 4, <8 x i1> %t143)
  %out2.179 = getelementptr float, ptr %out2, i64 %t144
  call void @llvm.masked.store.v8f32.p0(<8 x float> %t169, ptr %out2.179, i32 4, <8 x i1> %t143)
  br label %done137
done137:
  ret void
}

attributes #0 = { nounwind "target-cpu"="x86-64-v3" "no-trapping-math"="true" "frame-pointer"="none" }

!0 = !{!"branch_weights", i32 1, i32 4000}
!1 = !{i32 1}
