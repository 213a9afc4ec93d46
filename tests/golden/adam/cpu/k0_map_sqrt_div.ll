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
  %t18 = icmp sgt i64 %t17, 0
  br i1 %t18, label %then19, label %done20
then19:
  %in7.21 = getelementptr float, ptr %in7, i64 %t13
  %in3.24 = load float, ptr %in3, align 4
  %in1.25 = getelementptr float, ptr %in1, i64 %t13
  %in2.28 = load float, ptr %in2, align 4
  %in0.29 = getelementptr float, ptr %in0, i64 %t13
  %t33 = insertelement <8 x float> poison, float %in2.28, i64 0
  %t34 = shufflevector <8 x float> %t33, <8 x float> poison, <8 x i32> splat (i32 0)
  %t37 = insertelement <8 x float> poison, float %in3.24, i64 0
  %t38 = shufflevector <8 x float> %t37, <8 x float> poison, <8 x i32> splat (i32 0)
  %in4.40 = getelementptr float, ptr %in4, i64 %t13
  %in5.43 = load float, ptr %in5, align 4
  %t46 = insertelement <8 x float> poison, float %in5.43, i64 0
  %t47 = shufflevector <8 x float> %t46, <8 x float> poison, <8 x i32> splat (i32 0)
  %in6.51 = load float, ptr %in6, align 4
  %t52 = insertelement <8 x float> poison, float %in6.51, i64 0
  %t53 = shufflevector <8 x float> %t52, <8 x float> poison, <8 x i32> splat (i32 0)
  %out0.77 = getelementptr float, ptr %out0, i64 %t13
  %out1.80 = getelementptr float, ptr %out1, i64 %t13
  %out2.83 = getelementptr float, ptr %out2, i64 %t13
  br label %l.enter
l.enter:
  br label %l.loop
l.loop:  ; inner loop 1: out0 = in7 - in3 * (in1 + ..) / (sqrt(..) + in6); out1 = in1 + in2 * (in0 - in1); out2 = in4 + in ..
  %l = phi i64 [0, %l.enter], [%l.next, %l.again]
  %in7.22 = getelementptr float, ptr %in7.21, i64 %l
  %in7.23 = load <8 x float>, ptr %in7.22, align 4
  %in1.26 = getelementptr float, ptr %in1.25, i64 %l
  %in1.27 = load <8 x float>, ptr %in1.26, align 4
  %in0.30 = getelementptr float, ptr %in0.29, i64 %l
  %in0.31 = load <8 x float>, ptr %in0.30, align 4
  %t32 = fsub <8 x float> %in0.31, %in1.27
  %t35 = fmul <8 x float> %t34, %t32
  %t36 = fadd <8 x float> %in1.27, %t35
  %t39 = fmul <8 x float> %t38, %t36
  %in4.41 = getelementptr float, ptr %in4.40, i64 %l
  %in4.42 = load <8 x float>, ptr %in4.41, align 4
  %t44 = fmul <8 x float> %in0.31, %in0.31
  %t45 = fsub <8 x float> %t44, %in4.42
  %t48 = fmul <8 x float> %t47, %t45
  %t49 = fadd <8 x float> %in4.42, %t48
  %t50 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %t49)
  %t54 = fadd <8 x float> %t50, %t53
  %t55 = fdiv <8 x float> %t39, %t54
  %t56 = fsub <8 x float> %in7.23, %t55
  %in7.57 = getelementptr float, ptr %in7.22, i64 8
  %in7.58 = load <8 x float>, ptr %in7.57, align 4
  %in1.59 = getelementptr float, ptr %in1.26, i64 8
  %in1.60 = load <8 x float>, ptr %in1.59, align 4
  %in0.61 = getelementptr float, ptr %in0.30, i64 8
  %in0.62 = load <8 x float>, ptr %in0.61, align 4
  %t63 = fsub <8 x float> %in0.62, %in1.60
  %t64 = fmul <8 x float> %t34, %t63
  %t65 = fadd <8 x float> %in1.60, %t64
  %t66 = fmul <8 x float> %t38, %t65
  %in4.67 = getelementptr float, ptr %in4.41, i64 8
  %in4.68 = load <8 x float>, ptr %in4.67, align 4
  %t69 = fmul <8 x float> %in0.62, %in0.62
  %t70 = fsub <8 x float> %t69, %in4.68
  %t71 = fmul <8 x float> %t47, %t70
  %t72 = fadd <8 x float> %in4.68, %t71
  %t73 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %t72)
  %t74 = fadd <8 x float> %t73, %t53
  %t75 = fdiv <8 x float> %t66, %t74
  %t76 = fsub <8 x float> %in7.58, %t75
  %out0.78 = getelementptr float, ptr %out0.77, i64 %l
  store <8 x float> %t56, ptr %out0.78, align 4
  %out0.79 = getelementptr float, ptr %out0.78, i64 8
  store <8 x float> %t76, ptr %out0.79, align 4
  %out1.81 = getelementptr float, ptr %out1.80, i64 %l
  store <8 x float> %t36, ptr %out1.81, align 4
  %out1.82 = getelementptr float, ptr %out1.81, i64 8
  store <8 x float> %t65, ptr %out1.82, align 4
  %out2.84 = getelementptr float, ptr %out2.83, i64 %l
  store <8 x float> %t49, ptr %out2.84, align 4
  %out2.85 = getelementptr float, ptr %out2.84, i64 8
  store <8 x float> %t72, ptr %out2.85, align 4
  br label %l.again
l.again:
  %l.next = add nuw nsw i64 %l, 16
  %t86 = icmp slt i64 %l.next, %t17
  br i1 %t86, label %l.loop, label %l.end
l.end:
  br label %done20
done20:
  %t87 = icmp sgt i64 %t16, 0
  br i1 %t87, label %then88, label %done89
then88:
  %in7.96 = getelementptr float, ptr %in7, i64 %t13
  %in3.99 = load float, ptr %in3, align 4
  %in1.100 = getelementptr float, ptr %in1, i64 %t13
  %in2.103 = load float, ptr %in2, align 4
  %in0.104 = getelementptr float, ptr %in0, i64 %t13
  %t108 = insertelement <8 x float> poison, float %in2.103, i64 0
  %t109 = shufflevector <8 x float> %t108, <8 x float> poison, <8 x i32> splat (i32 0)
  %t112 = insertelement <8 x float> poison, float %in3.99, i64 0
  %t113 = shufflevector <8 x float> %t112, <8 x float> poison, <8 x i32> splat (i32 0)
  %in4.115 = getelementptr float, ptr %in4, i64 %t13
  %in5.118 = load float, ptr %in5, align 4
  %t121 = insertelement <8 x float> poison, float %in5.118, i64 0
  %t122 = shufflevector <8 x float> %t121, <8 x float> poison, <8 x i32> splat (i32 0)
  %in6.126 = load float, ptr %in6, align 4
  %t127 = insertelement <8 x float> poison, float %in6.126, i64 0
  %t128 = shufflevector <8 x float> %t127, <8 x float> poison, <8 x i32> splat (i32 0)
  %out0.132 = getelementptr float, ptr %out0, i64 %t13
  %out1.134 = getelementptr float, ptr %out1, i64 %t13
  %out2.136 = getelementptr float, ptr %out2, i64 %t13
  br label %l.enter.1
l.enter.1:
  br label %l.loop.1
l.loop.1:  ; inner loop 1: out0 = in7 - in3 * (in1 + ..) / (sqrt(..) + in6); out1 = in1 + in2 * (in0 - in1); out2 = in4 + in ..
  %l.1 = phi i64 [%t17, %l.enter.1], [%l.next.1, %l.again.1]
  %t90 = sub i64 %t15, %l.1
  %t91 = call i64 @llvm.smin.i64(i64 %t90, i64 1073741824)
  %t92 = trunc i64 %t91 to i32
  %t93 = insertelement <8 x i32> poison, i32 %t92, i64 0
  %t94 = shufflevector <8 x i32> %t93, <8 x i32> poison, <8 x i32> splat (i32 0)
  %t95 = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %t94
  %in7.97 = getelementptr float, ptr %in7.96, i64 %l.1
  %t98 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %in7.97, i32 4, <8 x i1> %t95, <8 x float> zeroinitializer)
  %in1.101 = getelementptr float, ptr %in1.100, i64 %l.1
  %t102 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %in1.101, i32 4, <8 x i1> %t95, <8 x float> zeroinitializer)
  %in0.105 = getelementptr float, ptr %in0.104, i64 %l.1
  %t106 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %in0.105, i32 4, <8 x i1> %t95, <8 x float> zeroinitializer)
  %t107 = fsub <8 x float> %t106, %t102
  %t110 = fmul <8 x float> %t109, %t107
  %t111 = fadd <8 x float> %t102, %t110
  %t114 = fmul <8 x float> %t113, %t111
  %in4.116 = getelementptr float, ptr %in4.115, i64 %l.1
  %t117 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %in4.116, i32 4, <8 x i1> %t95, <8 x float> zeroinitializer)
  %t119 = fmul <8 x float> %t106, %t106
  %t120 = fsub <8 x float> %t119, %t117
  %t123 = fmul <8 x float> %t122, %t120
  %t124 = fadd <8 x float> %t117, %t123
  %t125 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %t124)
  %t129 = fadd <8 x float> %t125, %t128
  %t130 = fdiv <8 x float> %t114, %t129
  %t131 = fsub <8 x float> %t98, %t130
  %out0.133 = getelementptr float, ptr %out0.132, i64 %l.1
  call void @llvm.masked.store.v8f32.p0(<8 x float> %t131, ptr %out0.133, i32 4, <8 x i1> %t95)
  %out1.135 = getelementptr float, ptr %out1.134, i64 %l.1
  call void @llvm.masked.store.v8f32.p0(<8 x float> %t111, ptr %out1.135, i32 4, <8 x i1> %t95)
  %out2.137 = getelementptr float, ptr %out2.136, i64 %l.1
  call void @llvm.masked.store.v8f32.p0(<8 x float> %t124, ptr %out2.137, i32 4, <8 x i1> %t95)
  br label %l.again.1
l.again.1:
  %l.next.1 = add nuw nsw i64 %l.1, 8
  %t138 = icmp slt i64 %l.next.1, %t15
  br i1 %t138, label %l.loop.1, label %l.end.1
l.end.1:
  br label %done89
done89:
  ret void
}

attributes #0 = { nounwind "target-cpu"="x86-64-v3" "no-trapping-math"="true" "frame-pointer"="none" }

!0 = !{!"branch_weights", i32 1, i32 4000}
!1 = !{i32 1}
