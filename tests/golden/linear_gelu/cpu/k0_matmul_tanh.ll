declare <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float>)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)

define void @k0_matmul_tanh_p0(ptr %ctx, i64 %chunk, i64 %tid) #0 {
start:
  %sums = alloca [448 x float], align 64
  %panel = alloca [4160 x float], align 64
  %acc = alloca [160 x float], align 64
  %in0 = load ptr, ptr %ctx, align 8
  %t1 = getelementptr i64, ptr %ctx, i64 1
  %in1 = load ptr, ptr %t1, align 8
  %t2 = getelementptr i64, ptr %ctx, i64 2
  %in2 = load ptr, ptr %t2, align 8
  %t3 = getelementptr i64, ptr %ctx, i64 3
  %out0 = load ptr, ptr %t3, align 8
  %t4 = getelementptr i64, ptr %ctx, i64 4
  %chunks = load i64, ptr %t4, align 8
  br label %lanes.enter
lanes.enter:
  br label %lanes.loop
lanes.loop:  ; loop 1
  %lanes = phi i64 [0, %lanes.enter], [%lanes.next, %lanes.again]
  %t5 = mul i64 %lanes, 512
  %in1.7 = getelementptr float, ptr %in1, i64 %t5
  %t72 = mul i64 %lanes, 8
  %panel.74 = getelementptr float, ptr %panel, i64 %t72
  br label %square.enter
square.enter:
  br label %square.loop
square.loop:  ; inner loop 2: panel = in1
  %square = phi i64 [0, %square.enter], [%square.next, %square.again]
  %t6 = mul i64 %square, 8
  %in1.8 = getelementptr float, ptr %in1.7, i64 %t6
  %in1.9 = load <8 x float>, ptr %in1.8, align 4
  %in1.10 = getelementptr float, ptr %in1.8, i64 64
  %in1.11 = load <8 x float>, ptr %in1.10, align 4
  %in1.12 = getelementptr float, ptr %in1.8, i64 128
  %in1.13 = load <8 x float>, ptr %in1.12, align 4
  %in1.14 = getelementptr float, ptr %in1.8, i64 192
  %in1.15 = load <8 x float>, ptr %in1.14, align 4
  %in1.16 = getelementptr float, ptr %in1.8, i64 256
  %in1.17 = load <8 x float>, ptr %in1.16, align 4
  %in1.18 = getelementptr float, ptr %in1.8, i64 320
  %in1.19 = load <8 x float>, ptr %in1.18, align 4
  %in1.20 = getelementptr float, ptr %in1.8, i64 384
  %in1.21 = load <8 x float>, ptr %in1.20, align 4
  %in1.22 = getelementptr float, ptr %in1.8, i64 448
  %in1.23 = load <8 x float>, ptr %in1.22, align 4
  %t24 = shufflevector <8 x float> %in1.9, <8 x float> %in1.17, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %t25 = shufflevector <8 x float> %in1.11, <8 x float> %in1.19, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %t26 = shufflevector <8 x float> %in1.13, <8 x float> %in1.21, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %t27 = shufflevector <8 x float> %in1.15, <8 x float> %in1.23, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %t28 = shufflevector <8 x float> %in1.9, <8 x float> %in1.17, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %t29 = shufflevector <8 x float> %in1.11, <8 x float> %in1.19, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %t30 = shufflevector <8 x float> %in1.13, <8 x float> %in1.21, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %t31 = shufflevector <8 x float> %in1.15, <8 x float> %in1.23, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %t32 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t24)
  %t33 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t25)
  %t34 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t26)
  %t35 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t27)
  %t36 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t28)
  %t37 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t29)
  %t38 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t30)
  %t39 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t31)
  %t40 = shufflevector <8 x float> %t32, <8 x float> %t34, <8 x i32> <i32 0, i32 1, i32 8, i32 9, i32 4, i32 5, i32 12, i32 13>
  %t41 = shufflevector <8 x float> %t33, <8 x float> %t35, <8 x i32> <i32 0, i32 1, i32 8, i32 9, i32 4, i32 5, i32 12, i32 13>
  %t42 = shufflevector <8 x float> %t32, <8 x float> %t34, <8 x i32> <i32 2, i32 3, i32 10, i32 11, i32 6, i32 7, i32 14, i32 15>
  %t43 = shufflevector <8 x float> %t33, <8 x float> %t35, <8 x i32> <i32 2, i32 3, i32 10, i32 11, i32 6, i32 7, i32 14, i32 15>
  %t44 = shufflevector <8 x float> %t36, <8 x float> %t38, <8 x i32> <i32 0, i32 1, i32 8, i32 9, i32 4, i32 5, i32 12, i32 13>
  %t45 = shufflevector <8 x float> %t37, <8 x float> %t39, <8 x i32> <i32 0, i32 1, i32 8, i32 9, i32 4, i32 5, i32 12, i32 13>
  %t46 = shufflevector <8 x float> %t36, <8 x float> %t38, <8 x i32> <i32 2, i32 3, i32 10, i32 11, i32 6, i32 7, i32 14, i32 15>
  %t47 = shufflevector <8 x float> %t37, <8 x float> %t39, <8 x i32> <i32 2, i32 3, i32 10, i32 11, i32 6, i32 7, i32 14, i32 15>
  %t48 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t40)
  %t49 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t41)
  %t50 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t42)
  %t51 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t43)
  %t52 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t44)
  %t53 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t45)
  %t54 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t46)
  %t55 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t47)
  %t56 = shufflevector <8 x float> %t48, <8 x float> %t49, <8 x i32> <i32 0, i32 8, i32 2, i32 10, i32 4, i32 12, i32 6, i32 14>
  %t57 = shufflevector <8 x float> %t48, <8 x float> %t49, <8 x i32> <i32 1, i32 9, i32 3, i32 11, i32 5, i32 13, i32 7, i32 15>
  %t58 = shufflevector <8 x float> %t50, <8 x float> %t51, <8 x i32> <i32 0, i32 8, i32 2, i32 10, i32 4, i32 12, i32 6, i32 14>
  %t59 = shufflevector <8 x float> %t50, <8 x float> %t51, <8 x i32> <i32 1, i32 9, i32 3, i32 11, i32 5, i32 13, i32 7, i32 15>
  %t60 = shufflevector <8 x float> %t52, <8 x float> %t53, <8 x i32> <i32 0, i32 8, i32 2, i32 10, i32 4, i32 12, i32 6, i32 14>
  %t61 = shufflevector <8 x float> %t52, <8 x float> %t53, <8 x i32> <i32 1, i32 9, i32 3, i32 11, i32 5, i32 13, i32 7, i32 15>
  %t62 = shufflevector <8 x float> %t54, <8 x float> %t55, <8 x i32> <i32 0, i32 8, i32 2, i32 10, i32 4, i32 12, i32 6, i32 14>
  %t63 = shufflevector <8 x float> %t54, <8 x float> %t55, <8 x i32> <i32 1, i32 9, i32 3, i32 11, i32 5, i32 13, i32 7, i32 15>
  %t64 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t56)
  %t65 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t57)
  %t66 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t58)
  %t67 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t59)
  %t68 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t60)
  %t69 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t61)
  %t70 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t62)
  %t71 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t63)
  %t73 = mul i64 %square, 512
  %panel.75 = getelementptr float, ptr %panel.74, i64 %t73
  store <8 x float> %t64, ptr %panel.75, align 4
  %panel.76 = getelementptr float, ptr %panel.75, i64 64
  store <8 x float> %t65, ptr %panel.76, align 4
  %panel.77 = getelementptr float, ptr %panel.75, i64 128
  store <8 x float> %t66, ptr %panel.77, align 4
  %panel.78 = getelementptr float, ptr %panel.75, i64 192
  store <8 x float> %t67, ptr %panel.78, align 4
  %panel.79 = getelementptr float, ptr %panel.75, i64 256
  store <8 x float> %t68, ptr %panel.79, align 4
  %panel.80 = getelementptr float, ptr %panel.75, i64 320
  store <8 x float> %t69, ptr %panel.80, align 4
  %panel.81 = getelementptr float, ptr %panel.75, i64 384
  store <8 x float> %t70, ptr %panel.81, align 4
  %panel.82 = getelementptr float, ptr %panel.75, i64 448
  store <8 x float> %t71, ptr %panel.82, align 4
  br label %square.again
square.again:
  %square.next = add nuw nsw i64 %square, 1
  %t83 = icmp slt i64 %square.next, 8
  br i1 %t83, label %square.loop, label %square.end
square.end:
  br label %lanes.again
lanes.again:
  %lanes.next = add nuw nsw i64 %lanes, 1
  %t84 = icmp slt i64 %lanes.next, 8
  br i1 %t84, label %lanes.loop, label %lanes.end
lanes.end:
  %acc.85 = getelementptr float, ptr %acc, i64 8
  %acc.86 = getelementptr float, ptr %acc, i64 16
  %acc.87 = getelementptr float, ptr %acc, i64 24
  %acc.88 = getelementptr float, ptr %acc, i64 32
  %acc.89 = getelementptr float, ptr %acc, i64 40
  %acc.90 = getelementptr float, ptr %acc, i64 48
  %acc.91 = getelementptr float, ptr %acc, i64 56
  %acc.92 = getelementptr float, ptr %acc, i64 64
  %acc.93 = getelementptr float, ptr %acc, i64 72
  %acc.94 = getelementptr float, ptr %acc, i64 80
  %acc.95 = getelementptr float, ptr %acc, i64 88
  br label %tile.enter
tile.enter:
  br label %tile.loop
tile.loop:  ; loop 6
  %tile = phi i64 [0, %tile.enter], [%tile.next, %tile.again]
  %t96 = mul i64 %tile, 384
  %in0.97 = getelementptr float, ptr %in0, i64 %t96
  br label %lanes_1.enter
lanes_1.enter:
  br label %lanes_1.loop
lanes_1.loop:  ; loop 7
  %lanes_1 = phi i64 [0, %lanes_1.enter], [%lanes_1.next, %lanes_1.again]
  store <8 x float> splat (float 0x0000000000000000), ptr %acc, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.85, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.86, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.87, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.88, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.89, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.90, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.91, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.92, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.93, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.94, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.95, align 4
  %t100 = mul i64 %lanes_1, 16
  %panel.102 = getelementptr float, ptr %panel, i64 %t100
  br label %k_1.enter
k_1.enter:
  br label %k_1.loop
k_1.loop:  ; inner loop 8: acc += in0 * panel
  %k_1 = phi i64 [0, %k_1.enter], [%k_1.next, %k_1.again]
  ; loop 9, i = 0
  ; loop 10, straight
  %in0.98 = getelementptr float, ptr %in0.97, i64 %k_1
  %in0.99 = load float, ptr %in0.98, align 4
  %t101 = mul i64 %k_1, 64
  %panel.103 = getelementptr float, ptr %panel.102, i64 %t101
  %panel.104 = load <8 x float>, ptr %panel.103, align 4
  %panel.105 = getelementptr float, ptr %panel.103, i64 8
  %panel.106 = load <8 x float>, ptr %panel.105, align 4
  %acc.107 = load <8 x float>, ptr %acc, align 4
  %t108 = insertelement <8 x float> poison, float %in0.99, i64 0
  %t109 = shufflevector <8 x float> %t108, <8 x float> poison, <8 x i32> splat (i32 0)
  %t110 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t109, <8 x float> %panel.104, <8 x float> %acc.107)
  store <8 x float> %t110, ptr %acc, align 4
  %acc.111 = load <8 x float>, ptr %acc.85, align 4
  %t112 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t109, <8 x float> %panel.106, <8 x float> %acc.111)
  store <8 x float> %t112, ptr %acc.85, align 4
  ; loop 9, i = 1
  %in0.113 = getelementptr float, ptr %in0.98, i64 64
  %in0.114 = load float, ptr %in0.113, align 4
  %acc.115 = load <8 x float>, ptr %acc.86, align 4
  %t116 = insertelement <8 x float> poison, float %in0.114, i64 0
  %t117 = shufflevector <8 x float> %t116, <8 x float> poison, <8 x i32> splat (i32 0)
  %t118 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t117, <8 x float> %panel.104, <8 x float> %acc.115)
  store <8 x float> %t118, ptr %acc.86, align 4
  %acc.119 = load <8 x float>, ptr %acc.87, align 4
  %t120 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t117, <8 x float> %panel.106, <8 x float> %acc.119)
  store <8 x float> %t120, ptr %acc.87, align 4
  ; loop 9, i = 2
  %in0.121 = getelementptr float, ptr %in0.98, i64 128
  %in0.122 = load float, ptr %in0.121, align 4
  %acc.123 = load <8 x float>, ptr %acc.88, align 4
  %t124 = insertelement <8 x float> poison, float %in0.122, i64 0
  %t125 = shufflevector <8 x float> %t124, <8 x float> poison, <8 x i32> splat (i32 0)
  %t126 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t125, <8 x float> %panel.104, <8 x float> %acc.123)
  store <8 x float> %t126, ptr %acc.88, align 4
  %acc.127 = load <8 x float>, ptr %acc.89, align 4
  %t128 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t125, <8 x float> %panel.106, <8 x float> %acc.127)
  store <8 x float> %t128, ptr %acc.89, align 4
  ; loop 9, i = 3
  %in0.129 = getelementptr float, ptr %in0.98, i64 192
  %in0.130 = load float, ptr %in0.129, align 4
  %acc.131 = load <8 x float>, ptr %acc.90, align 4
  %t132 = insertelement <8 x float> poison, float %in0.130, i64 0
  %t133 = shufflevector <8 x float> %t132, <8 x float> poison, <8 x i32> splat (i32 0)
  %t134 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t133, <8 x float> %panel.104, <8 x float> %acc.131)
  store <8 x float> %t134, ptr %acc.90, align 4
  %acc.135 = load <8 x float>, ptr %acc.91, align 4
  %t136 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t133, <8 x float> %panel.106, <8 x float> %acc.135)
  store <8 x float> %t136, ptr %acc.91, align 4
  ; loop 9, i = 4
  %in0.137 = getelementptr float, ptr %in0.98, i64 256
  %in0.138 = load float, ptr %in0.137, align 4
  %acc.139 = load <8 x float>, ptr %acc.92, align 4
  %t140 = insertelement <8 x float> poison, float %in0.138, i64 0
  %t141 = shufflevector <8 x float> %t140, <8 x float> poison, <8 x i32> splat (i32 0)
  %t142 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t141, <8 x float> %panel.104, <8 x float> %acc.139)
  store <8 x float> %t142, ptr %acc.92, align 4
  %acc.143 = load <8 x float>, ptr %acc.93, align 4
  %t144 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t141, <8 x float> %panel.106, <8 x float> %acc.143)
  store <8 x float> %t144, ptr %acc.93, align 4
  ; loop 9, i = 5
  %in0.145 = getelementptr float, ptr %in0.98, i64 320
  %in0.146 = load float, ptr %in0.145, align 4
  %acc.147 = load <8 x float>, ptr %acc.94, align 4
  %t148 = insertelement <8 x float> poison, float %in0.146, i64 0
  %t149 = shufflevector <8 x float> %t148, <8 x float> poison, <8 x i32> splat (i32 0)
  %t150 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t149, <8 x float> %panel.104, <8 x float> %acc.147)
  store <8 x float> %t150, ptr %acc.94, align 4
  %acc.151 = load <8 x float>, ptr %acc.95, align 4
  %t152 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t149, <8 x float> %panel.106, <8 x float> %acc.151)
  store <8 x float> %t152, ptr %acc.95, align 4
  br label %k_1.again
k_1.again:
  %k_1.next = add nuw nsw i64 %k_1, 1
  %t153 = icmp slt i64 %k_1.next, 64
  br i1 %t153, label %k_1.loop, label %k_1.end
k_1.end:
  ; loop 11, i = 0
  ; loop 12, straight
  %acc.154 = load <8 x float>, ptr %acc, align 4
  %acc.155 = load <8 x float>, ptr %acc.85, align 4
  %sums.156 = getelementptr float, ptr %sums, i64 %t100
  store <8 x float> %acc.154, ptr %sums.156, align 4
  %sums.157 = getelementptr float, ptr %sums.156, i64 8
  store <8 x float> %acc.155, ptr %sums.157, align 4
  ; loop 11, i = 1
  %acc.158 = load <8 x float>, ptr %acc.86, align 4
  %acc.159 = load <8 x float>, ptr %acc.87, align 4
  %sums.160 = getelementptr float, ptr %sums.156, i64 64
  store <8 x float> %acc.158, ptr %sums.160, align 4
  %sums.161 = getelementptr float, ptr %sums.156, i64 72
  store <8 x float> %acc.159, ptr %sums.161, align 4
  ; loop 11, i = 2
  %acc.162 = load <8 x float>, ptr %acc.88, align 4
  %acc.163 = load <8 x float>, ptr %acc.89, align 4
  %sums.164 = getelementptr float, ptr %sums.156, i64 128
  store <8 x float> %acc.162, ptr %sums.164, align 4
  %sums.165 = getelementptr float, ptr %sums.156, i64 136
  store <8 x float> %acc.163, ptr %sums.165, align 4
  ; loop 11, i = 3
  %acc.166 = load <8 x float>, ptr %acc.90, align 4
  %acc.167 = load <8 x float>, ptr %acc.91, align 4
  %sums.168 = getelementptr float, ptr %sums.156, i64 192
  store <8 x float> %acc.166, ptr %sums.168, align 4
  %sums.169 = getelementptr float, ptr %sums.156, i64 200
  store <8 x float> %acc.167, ptr %sums.169, align 4
  ; loop 11, i = 4
  %acc.170 = load <8 x float>, ptr %acc.92, align 4
  %acc.171 = load <8 x float>, ptr %acc.93, align 4
  %sums.172 = getelementptr float, ptr %sums.156, i64 256
  store <8 x float> %acc.170, ptr %sums.172, align 4
  %sums.173 = getelementptr float, ptr %sums.156, i64 264
  store <8 x float> %acc.171, ptr %sums.173, align 4
  ; loop 11, i = 5
  %acc.174 = load <8 x float>, ptr %acc.94, align 4
  %acc.175 = load <8 x float>, ptr %acc.95, align 4
  %sums.176 = getelementptr float, ptr %sums.156, i64 320
  store <8 x float> %acc.174, ptr %sums.176, align 4
  %sums.177 = getelementptr float, ptr %sums.156, i64 328
  store <8 x float> %acc.175, ptr %sums.177, align 4
  br label %lanes_1.again
lanes_1.again:
  %lanes_1.next = add nuw nsw i64 %lanes_1, 1
  %t178 = icmp slt i64 %lanes_1.next, 4
  br i1 %t178, label %lanes_1.loop, label %lanes_1.end
lanes_1.end:
  %out0.232 = getelementptr float, ptr %out0, i64 %t96
  br label %row.enter
row.enter:
  br label %row.loop
row.loop:  ; loop 13
  %row = phi i64 [0, %row.enter], [%row.next, %row.again]
  %t179 = mul i64 %row, 64
  %sums.180 = getelementptr float, ptr %sums, i64 %t179
  %out0.233 = getelementptr float, ptr %out0.232, i64 %t179
  br label %l.enter
l.enter:
  br label %l.loop
l.loop:  ; inner loop 14: out0 = (sums + in2) * 0.5 * (1.0 + tanh(.. * 0.7978846))
  %l = phi i64 [0, %l.enter], [%l.next, %l.again]
  %sums.181 = getelementptr float, ptr %sums.180, i64 %l
  %sums.182 = load <8 x float>, ptr %sums.181, align 4
  %in2.183 = getelementptr float, ptr %in2, i64 %l
  %in2.184 = load <8 x float>, ptr %in2.183, align 4
  %t185 = fadd <8 x float> %sums.182, %in2.184
  %t186 = fmul <8 x float> %t185, splat (float 0x3FE0000000000000)
  %t187 = fmul <8 x float> %t185, %t185
  %t188 = fmul <8 x float> %t187, %t185
  %t189 = fmul <8 x float> %t188, splat (float 0x3FA6E4E260000000)
  %t190 = fadd <8 x float> %t185, %t189
  %t191 = fmul <8 x float> %t190, splat (float 0x3FE9884540000000)
  %t192 = bitcast <8 x float> %t191 to <8 x i32>
  %t193 = and <8 x i32> %t192, splat (i32 2147483647)
  %t194 = bitcast <8 x i32> %t193 to <8 x float>
  %t195 = fcmp olt <8 x float> %t194, splat (float 0x3FE4000000000000)
  %t196 = fmul <8 x float> %t194, %t194
  %t197 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t196, <8 x float> splat (float 0xBF775E1D40000000), <8 x float> splat (float 0x3F952269C0000000))
  %t198 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t197, <8 x float> %t196, <8 x float> splat (float 0xBFAB83C5A0000000))
  %t199 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t198, <8 x float> %t196, <8 x float> splat (float 0x3FC1107260000000))
  %t200 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t199, <8 x float> %t196, <8 x float> splat (float 0xBFD5555320000000))
  %t201 = fmul <8 x float> %t200, %t196
  %t202 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t201, <8 x float> %t194, <8 x float> %t194)
  %t203 = fcmp olt <8 x float> splat (float 0x4024000000000000), %t194
  %t204 = select <8 x i1> %t203, <8 x float> splat (float 0x4024000000000000), <8 x float> %t194
  %t205 = fadd <8 x float> %t204, %t204
  %t206 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t205, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t207 = fsub <8 x float> %t206, splat (float 0x4168000000000000)
  %t208 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t207, <8 x float> splat (float 0xBFE62E4000000000), <8 x float> %t205)
  %t209 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t207, <8 x float> splat (float 0xBEB7F7D1C0000000), <8 x float> %t208)
  %t210 = fmul <8 x float> %t209, %t209
  %t211 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t209, <8 x float> splat (float 0x3F2A0D2CE0000000), <8 x float> splat (float 0x3F56E879C0000000))
  %t212 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t211, <8 x float> %t209, <8 x float> splat (float 0x3F81112100000000))
  %t213 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t212, <8 x float> %t209, <8 x float> splat (float 0x3FA5553820000000))
  %t214 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t213, <8 x float> %t209, <8 x float> splat (float 0x3FC5555540000000))
  %t215 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t214, <8 x float> %t209, <8 x float> splat (float 0x3FE0000000000000))
  %t216 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t210, <8 x float> %t215, <8 x float> %t209)
  %t217 = fadd <8 x float> %t216, splat (float 0x3FF0000000000000)
  %t218 = bitcast <8 x float> %t206 to <8 x i32>
  %t219 = shl <8 x i32> %t218, splat (i32 23)
  %t220 = add <8 x i32> %t219, splat (i32 1065353216)
  %t221 = bitcast <8 x i32> %t220 to <8 x float>
  %t222 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t217, <8 x float> %t221, <8 x float> splat (float 0x3FF0000000000000))
  %t223 = fdiv <8 x float> splat (float 0x3FF0000000000000), %t222
  %t224 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t223, <8 x float> splat (float 0xC000000000000000), <8 x float> splat (float 0x3FF0000000000000))
  %t225 = select <8 x i1> %t195, <8 x float> %t202, <8 x float> %t224
  %t226 = bitcast <8 x float> %t225 to <8 x i32>
  %t227 = and <8 x i32> %t192, splat (i32 -2147483648)
  %t228 = xor <8 x i32> %t226, %t227
  %t229 = bitcast <8 x i32> %t228 to <8 x float>
  %t230 = fadd <8 x float> splat (float 0x3FF0000000000000), %t229
  %t231 = fmul <8 x float> %t186, %t230
  %out0.234 = getelementptr float, ptr %out0.233, i64 %l
  store <8 x float> %t231, ptr %out0.234, align 4
  br label %l.again
l.again:
  %l.next = add nuw nsw i64 %l, 8
  %t235 = icmp slt i64 %l.next, 64
  br i1 %t235, label %l.loop, label %l.end
l.end:
  br label %row.again
row.again:
  %row.next = add nuw nsw i64 %row, 1
  %t236 = icmp slt i64 %row.next, 6
  br i1 %t236, label %row.loop, label %row.end
row.end:
  br label %tile.again
tile.again:
  %tile.next = add nuw nsw i64 %tile, 1
  %t237 = icmp slt i64 %tile.next, 16
  br i1 %t237, label %tile.loop, label %tile.end
tile.end:
  ret void
}

attributes #0 = { nounwind "target-cpu"="x86-64-v3" "no-trapping-math"="true" "frame-pointer"="none" }

!0 = !{!"branch_weights", i32 1, i32 4000}
!1 = !{i32 1}
