declare <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float>)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare <8 x i32> @llvm.smax.v8i32(<8 x i32>, <8 x i32>)
declare <8 x i32> @llvm.smin.v8i32(<8 x i32>, <8 x i32>)

define void @k0_chain_sum_max_exp_div_p0(ptr %ctx, i64 %chunk, i64 %tid) #0 {
start:
  %max0 = alloca [96 x float], align 64
  %sum1 = alloca [96 x float], align 64
  %queries0 = alloca [1088 x float], align 64
  %space0 = alloca [2112 x float], align 64
  %keys0 = alloca [2112 x float], align 64
  %safe = alloca [96 x float], align 64
  %sums0 = alloca [1088 x float], align 64
  %values0 = alloca [2112 x float], align 64
  %acc = alloca [128 x float], align 64
  %row_max = alloca [96 x float], align 64
  %row_sum = alloca [96 x float], align 64
  %acc_1 = alloca [128 x float], align 64
  %in0 = load ptr, ptr %ctx, align 8
  %t1 = getelementptr i64, ptr %ctx, i64 1
  %in1 = load ptr, ptr %t1, align 8
  %t2 = getelementptr i64, ptr %ctx, i64 2
  %in2 = load ptr, ptr %t2, align 8
  %t3 = getelementptr i64, ptr %ctx, i64 3
  %out0 = load ptr, ptr %t3, align 8
  %t4 = getelementptr i64, ptr %ctx, i64 4
  %chunks = load i64, ptr %t4, align 8
  %t5 = mul i64 %chunk, 1024
  %in0.8 = getelementptr float, ptr %in0, i64 %t5
  br label %lanes.enter
lanes.enter:
  br label %lanes.loop
lanes.loop:  ; loop 1
  %lanes = phi i64 [0, %lanes.enter], [%lanes.next, %lanes.again]
  %t6 = mul i64 %lanes, 256
  %in0.9 = getelementptr float, ptr %in0.8, i64 %t6
  %t74 = mul i64 %lanes, 8
  %queries0.76 = getelementptr float, ptr %queries0, i64 %t74
  br label %square.enter
square.enter:
  br label %square.loop
square.loop:  ; inner loop 2: queries0 = in0
  %square = phi i64 [0, %square.enter], [%square.next, %square.again]
  %t7 = mul i64 %square, 8
  %in0.10 = getelementptr float, ptr %in0.9, i64 %t7
  %in0.11 = load <8 x float>, ptr %in0.10, align 4
  %in0.12 = getelementptr float, ptr %in0.10, i64 32
  %in0.13 = load <8 x float>, ptr %in0.12, align 4
  %in0.14 = getelementptr float, ptr %in0.10, i64 64
  %in0.15 = load <8 x float>, ptr %in0.14, align 4
  %in0.16 = getelementptr float, ptr %in0.10, i64 96
  %in0.17 = load <8 x float>, ptr %in0.16, align 4
  %in0.18 = getelementptr float, ptr %in0.10, i64 128
  %in0.19 = load <8 x float>, ptr %in0.18, align 4
  %in0.20 = getelementptr float, ptr %in0.10, i64 160
  %in0.21 = load <8 x float>, ptr %in0.20, align 4
  %in0.22 = getelementptr float, ptr %in0.10, i64 192
  %in0.23 = load <8 x float>, ptr %in0.22, align 4
  %in0.24 = getelementptr float, ptr %in0.10, i64 224
  %in0.25 = load <8 x float>, ptr %in0.24, align 4
  %t26 = shufflevector <8 x float> %in0.11, <8 x float> %in0.19, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %t27 = shufflevector <8 x float> %in0.13, <8 x float> %in0.21, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %t28 = shufflevector <8 x float> %in0.15, <8 x float> %in0.23, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %t29 = shufflevector <8 x float> %in0.17, <8 x float> %in0.25, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 8, i32 9, i32 10, i32 11>
  %t30 = shufflevector <8 x float> %in0.11, <8 x float> %in0.19, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %t31 = shufflevector <8 x float> %in0.13, <8 x float> %in0.21, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %t32 = shufflevector <8 x float> %in0.15, <8 x float> %in0.23, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %t33 = shufflevector <8 x float> %in0.17, <8 x float> %in0.25, <8 x i32> <i32 4, i32 5, i32 6, i32 7, i32 12, i32 13, i32 14, i32 15>
  %t34 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t26)
  %t35 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t27)
  %t36 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t28)
  %t37 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t29)
  %t38 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t30)
  %t39 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t31)
  %t40 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t32)
  %t41 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t33)
  %t42 = shufflevector <8 x float> %t34, <8 x float> %t36, <8 x i32> <i32 0, i32 1, i32 8, i32 9, i32 4, i32 5, i32 12, i32 13>
  %t43 = shufflevector <8 x float> %t35, <8 x float> %t37, <8 x i32> <i32 0, i32 1, i32 8, i32 9, i32 4, i32 5, i32 12, i32 13>
  %t44 = shufflevector <8 x float> %t34, <8 x float> %t36, <8 x i32> <i32 2, i32 3, i32 10, i32 11, i32 6, i32 7, i32 14, i32 15>
  %t45 = shufflevector <8 x float> %t35, <8 x float> %t37, <8 x i32> <i32 2, i32 3, i32 10, i32 11, i32 6, i32 7, i32 14, i32 15>
  %t46 = shufflevector <8 x float> %t38, <8 x float> %t40, <8 x i32> <i32 0, i32 1, i32 8, i32 9, i32 4, i32 5, i32 12, i32 13>
  %t47 = shufflevector <8 x float> %t39, <8 x float> %t41, <8 x i32> <i32 0, i32 1, i32 8, i32 9, i32 4, i32 5, i32 12, i32 13>
  %t48 = shufflevector <8 x float> %t38, <8 x float> %t40, <8 x i32> <i32 2, i32 3, i32 10, i32 11, i32 6, i32 7, i32 14, i32 15>
  %t49 = shufflevector <8 x float> %t39, <8 x float> %t41, <8 x i32> <i32 2, i32 3, i32 10, i32 11, i32 6, i32 7, i32 14, i32 15>
  %t50 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t42)
  %t51 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t43)
  %t52 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t44)
  %t53 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t45)
  %t54 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t46)
  %t55 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t47)
  %t56 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t48)
  %t57 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t49)
  %t58 = shufflevector <8 x float> %t50, <8 x float> %t51, <8 x i32> <i32 0, i32 8, i32 2, i32 10, i32 4, i32 12, i32 6, i32 14>
  %t59 = shufflevector <8 x float> %t50, <8 x float> %t51, <8 x i32> <i32 1, i32 9, i32 3, i32 11, i32 5, i32 13, i32 7, i32 15>
  %t60 = shufflevector <8 x float> %t52, <8 x float> %t53, <8 x i32> <i32 0, i32 8, i32 2, i32 10, i32 4, i32 12, i32 6, i32 14>
  %t61 = shufflevector <8 x float> %t52, <8 x float> %t53, <8 x i32> <i32 1, i32 9, i32 3, i32 11, i32 5, i32 13, i32 7, i32 15>
  %t62 = shufflevector <8 x float> %t54, <8 x float> %t55, <8 x i32> <i32 0, i32 8, i32 2, i32 10, i32 4, i32 12, i32 6, i32 14>
  %t63 = shufflevector <8 x float> %t54, <8 x float> %t55, <8 x i32> <i32 1, i32 9, i32 3, i32 11, i32 5, i32 13, i32 7, i32 15>
  %t64 = shufflevector <8 x float> %t56, <8 x float> %t57, <8 x i32> <i32 0, i32 8, i32 2, i32 10, i32 4, i32 12, i32 6, i32 14>
  %t65 = shufflevector <8 x float> %t56, <8 x float> %t57, <8 x i32> <i32 1, i32 9, i32 3, i32 11, i32 5, i32 13, i32 7, i32 15>
  %t66 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t58)
  %t67 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t59)
  %t68 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t60)
  %t69 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t61)
  %t70 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t62)
  %t71 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t63)
  %t72 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t64)
  %t73 = call <8 x float> @llvm.arithmetic.fence.v8f32(<8 x float> %t65)
  %t75 = mul i64 %square, 256
  %queries0.77 = getelementptr float, ptr %queries0.76, i64 %t75
  store <8 x float> %t66, ptr %queries0.77, align 4
  %queries0.78 = getelementptr float, ptr %queries0.77, i64 32
  store <8 x float> %t67, ptr %queries0.78, align 4
  %queries0.79 = getelementptr float, ptr %queries0.77, i64 64
  store <8 x float> %t68, ptr %queries0.79, align 4
  %queries0.80 = getelementptr float, ptr %queries0.77, i64 96
  store <8 x float> %t69, ptr %queries0.80, align 4
  %queries0.81 = getelementptr float, ptr %queries0.77, i64 128
  store <8 x float> %t70, ptr %queries0.81, align 4
  %queries0.82 = getelementptr float, ptr %queries0.77, i64 160
  store <8 x float> %t71, ptr %queries0.82, align 4
  %queries0.83 = getelementptr float, ptr %queries0.77, i64 192
  store <8 x float> %t72, ptr %queries0.83, align 4
  %queries0.84 = getelementptr float, ptr %queries0.77, i64 224
  store <8 x float> %t73, ptr %queries0.84, align 4
  br label %square.again
square.again:
  %square.next = add nuw nsw i64 %square, 1
  %t85 = icmp slt i64 %square.next, 4
  br i1 %t85, label %square.loop, label %square.end
square.end:
  br label %lanes.again
lanes.again:
  %lanes.next = add nuw nsw i64 %lanes, 1
  %t86 = icmp slt i64 %lanes.next, 4
  br i1 %t86, label %lanes.loop, label %lanes.end
lanes.end:
  %t88 = udiv i64 %chunk, 2
  %t89 = mul i64 %t88, 2048
  %in1.90 = getelementptr float, ptr %in1, i64 %t89
  br label %j_1.enter
j_1.enter:
  br label %j_1.loop
j_1.loop:  ; inner loop 5: keys0 = in1
  %j_1 = phi i64 [0, %j_1.enter], [%j_1.next, %j_1.again]
  ; loop 6, straight
  %t87 = mul i64 %j_1, 32
  %in1.91 = getelementptr float, ptr %in1.90, i64 %t87
  %in1.92 = load <8 x float>, ptr %in1.91, align 4
  %in1.93 = getelementptr float, ptr %in1.91, i64 8
  %in1.94 = load <8 x float>, ptr %in1.93, align 4
  %in1.95 = getelementptr float, ptr %in1.91, i64 16
  %in1.96 = load <8 x float>, ptr %in1.95, align 4
  %in1.97 = getelementptr float, ptr %in1.91, i64 24
  %in1.98 = load <8 x float>, ptr %in1.97, align 4
  %keys0.99 = getelementptr float, ptr %keys0, i64 %t87
  store <8 x float> %in1.92, ptr %keys0.99, align 4
  %keys0.100 = getelementptr float, ptr %keys0.99, i64 8
  store <8 x float> %in1.94, ptr %keys0.100, align 4
  %keys0.101 = getelementptr float, ptr %keys0.99, i64 16
  store <8 x float> %in1.96, ptr %keys0.101, align 4
  %keys0.102 = getelementptr float, ptr %keys0.99, i64 24
  store <8 x float> %in1.98, ptr %keys0.102, align 4
  br label %j_1.again
j_1.again:
  %j_1.next = add nuw nsw i64 %j_1, 1
  %t103 = icmp slt i64 %j_1.next, 64
  br i1 %t103, label %j_1.loop, label %j_1.end
j_1.end:
  %acc.104 = getelementptr float, ptr %acc, i64 8
  %acc.105 = getelementptr float, ptr %acc, i64 16
  %acc.106 = getelementptr float, ptr %acc, i64 24
  %acc.107 = getelementptr float, ptr %acc, i64 32
  %acc.108 = getelementptr float, ptr %acc, i64 40
  %acc.109 = getelementptr float, ptr %acc, i64 48
  %acc.110 = getelementptr float, ptr %acc, i64 56
  br label %tile.enter
tile.enter:
  br label %tile.loop
tile.loop:  ; loop 7
  %tile = phi i64 [0, %tile.enter], [%tile.next, %tile.again]
  %t111 = mul i64 %tile, 128
  %keys0.112 = getelementptr float, ptr %keys0, i64 %t111
  %space0.155 = getelementptr float, ptr %space0, i64 %t111
  br label %lanes_1.enter
lanes_1.enter:
  br label %lanes_1.loop
lanes_1.loop:  ; loop 8
  %lanes_1 = phi i64 [0, %lanes_1.enter], [%lanes_1.next, %lanes_1.again]
  store <8 x float> splat (float 0x0000000000000000), ptr %acc, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.104, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.105, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.106, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.107, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.108, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.109, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.110, align 4
  %t115 = mul i64 %lanes_1, 16
  %queries0.117 = getelementptr float, ptr %queries0, i64 %t115
  br label %k_1.enter
k_1.enter:
  br label %k_1.loop
k_1.loop:  ; inner loop 9: acc += keys0 * queries0
  %k_1 = phi i64 [0, %k_1.enter], [%k_1.next, %k_1.again]
  ; loop 10, i = 0
  ; loop 11, straight
  %keys0.113 = getelementptr float, ptr %keys0.112, i64 %k_1
  %keys0.114 = load float, ptr %keys0.113, align 4
  %t116 = mul i64 %k_1, 32
  %queries0.118 = getelementptr float, ptr %queries0.117, i64 %t116
  %queries0.119 = load <8 x float>, ptr %queries0.118, align 4
  %queries0.120 = getelementptr float, ptr %queries0.118, i64 8
  %queries0.121 = load <8 x float>, ptr %queries0.120, align 4
  %acc.122 = load <8 x float>, ptr %acc, align 4
  %t123 = insertelement <8 x float> poison, float %keys0.114, i64 0
  %t124 = shufflevector <8 x float> %t123, <8 x float> poison, <8 x i32> splat (i32 0)
  %t125 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t124, <8 x float> %queries0.119, <8 x float> %acc.122)
  store <8 x float> %t125, ptr %acc, align 4
  %acc.126 = load <8 x float>, ptr %acc.104, align 4
  %t127 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t124, <8 x float> %queries0.121, <8 x float> %acc.126)
  store <8 x float> %t127, ptr %acc.104, align 4
  ; loop 10, i = 1
  %keys0.128 = getelementptr float, ptr %keys0.113, i64 32
  %keys0.129 = load float, ptr %keys0.128, align 4
  %acc.130 = load <8 x float>, ptr %acc.105, align 4
  %t131 = insertelement <8 x float> poison, float %keys0.129, i64 0
  %t132 = shufflevector <8 x float> %t131, <8 x float> poison, <8 x i32> splat (i32 0)
  %t133 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t132, <8 x float> %queries0.119, <8 x float> %acc.130)
  store <8 x float> %t133, ptr %acc.105, align 4
  %acc.134 = load <8 x float>, ptr %acc.106, align 4
  %t135 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t132, <8 x float> %queries0.121, <8 x float> %acc.134)
  store <8 x float> %t135, ptr %acc.106, align 4
  ; loop 10, i = 2
  %keys0.136 = getelementptr float, ptr %keys0.113, i64 64
  %keys0.137 = load float, ptr %keys0.136, align 4
  %acc.138 = load <8 x float>, ptr %acc.107, align 4
  %t139 = insertelement <8 x float> poison, float %keys0.137, i64 0
  %t140 = shufflevector <8 x float> %t139, <8 x float> poison, <8 x i32> splat (i32 0)
  %t141 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t140, <8 x float> %queries0.119, <8 x float> %acc.138)
  store <8 x float> %t141, ptr %acc.107, align 4
  %acc.142 = load <8 x float>, ptr %acc.108, align 4
  %t143 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t140, <8 x float> %queries0.121, <8 x float> %acc.142)
  store <8 x float> %t143, ptr %acc.108, align 4
  ; loop 10, i = 3
  %keys0.144 = getelementptr float, ptr %keys0.113, i64 96
  %keys0.145 = load float, ptr %keys0.144, align 4
  %acc.146 = load <8 x float>, ptr %acc.109, align 4
  %t147 = insertelement <8 x float> poison, float %keys0.145, i64 0
  %t148 = shufflevector <8 x float> %t147, <8 x float> poison, <8 x i32> splat (i32 0)
  %t149 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t148, <8 x float> %queries0.119, <8 x float> %acc.146)
  store <8 x float> %t149, ptr %acc.109, align 4
  %acc.150 = load <8 x float>, ptr %acc.110, align 4
  %t151 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t148, <8 x float> %queries0.121, <8 x float> %acc.150)
  store <8 x float> %t151, ptr %acc.110, align 4
  br label %k_1.again
k_1.again:
  %k_1.next = add nuw nsw i64 %k_1, 1
  %t152 = icmp slt i64 %k_1.next, 32
  br i1 %t152, label %k_1.loop, label %k_1.end
k_1.end:
  ; loop 12, i = 0
  ; loop 13, straight
  %acc.153 = load <8 x float>, ptr %acc, align 4
  %acc.154 = load <8 x float>, ptr %acc.104, align 4
  %space0.156 = getelementptr float, ptr %space0.155, i64 %t115
  store <8 x float> %acc.153, ptr %space0.156, align 4
  %space0.157 = getelementptr float, ptr %space0.156, i64 8
  store <8 x float> %acc.154, ptr %space0.157, align 4
  ; loop 12, i = 1
  %acc.158 = load <8 x float>, ptr %acc.105, align 4
  %acc.159 = load <8 x float>, ptr %acc.106, align 4
  %space0.160 = getelementptr float, ptr %space0.156, i64 32
  store <8 x float> %acc.158, ptr %space0.160, align 4
  %space0.161 = getelementptr float, ptr %space0.156, i64 40
  store <8 x float> %acc.159, ptr %space0.161, align 4
  ; loop 12, i = 2
  %acc.162 = load <8 x float>, ptr %acc.107, align 4
  %acc.163 = load <8 x float>, ptr %acc.108, align 4
  %space0.164 = getelementptr float, ptr %space0.156, i64 64
  store <8 x float> %acc.162, ptr %space0.164, align 4
  %space0.165 = getelementptr float, ptr %space0.156, i64 72
  store <8 x float> %acc.163, ptr %space0.165, align 4
  ; loop 12, i = 3
  %acc.166 = load <8 x float>, ptr %acc.109, align 4
  %acc.167 = load <8 x float>, ptr %acc.110, align 4
  %space0.168 = getelementptr float, ptr %space0.156, i64 96
  store <8 x float> %acc.166, ptr %space0.168, align 4
  %space0.169 = getelementptr float, ptr %space0.156, i64 104
  store <8 x float> %acc.167, ptr %space0.169, align 4
  br label %lanes_1.again
lanes_1.again:
  %lanes_1.next = add nuw nsw i64 %lanes_1, 1
  %t170 = icmp slt i64 %lanes_1.next, 2
  br i1 %t170, label %lanes_1.loop, label %lanes_1.end
lanes_1.end:
  br label %tile.again
tile.again:
  %tile.next = add nuw nsw i64 %tile, 1
  %t171 = icmp slt i64 %tile.next, 16
  br i1 %t171, label %tile.loop, label %tile.end
tile.end:
  store <8 x float> splat (float 0xFFF0000000000000), ptr %row_max, align 4
  %row_max.172 = getelementptr float, ptr %row_max, i64 8
  store <8 x float> splat (float 0xFFF0000000000000), ptr %row_max.172, align 4
  %row_max.173 = getelementptr float, ptr %row_max, i64 16
  store <8 x float> splat (float 0xFFF0000000000000), ptr %row_max.173, align 4
  %row_max.174 = getelementptr float, ptr %row_max, i64 24
  store <8 x float> splat (float 0xFFF0000000000000), ptr %row_max.174, align 4
  br label %column.enter
column.enter:
  br label %column.loop
column.loop:  ; inner loop 14: row_max max= space0 * 0.17677669
  %column = phi i64 [0, %column.enter], [%column.next, %column.again]
  ; loop 15, straight
  %t175 = mul i64 %column, 32
  %space0.176 = getelementptr float, ptr %space0, i64 %t175
  %space0.177 = load <8 x float>, ptr %space0.176, align 4
  %t178 = fmul <8 x float> %space0.177, splat (float 0x3FC6A09E60000000)
  %space0.179 = getelementptr float, ptr %space0.176, i64 8
  %space0.180 = load <8 x float>, ptr %space0.179, align 4
  %t181 = fmul <8 x float> %space0.180, splat (float 0x3FC6A09E60000000)
  %space0.182 = getelementptr float, ptr %space0.176, i64 16
  %space0.183 = load <8 x float>, ptr %space0.182, align 4
  %t184 = fmul <8 x float> %space0.183, splat (float 0x3FC6A09E60000000)
  %space0.185 = getelementptr float, ptr %space0.176, i64 24
  %space0.186 = load <8 x float>, ptr %space0.185, align 4
  %t187 = fmul <8 x float> %space0.186, splat (float 0x3FC6A09E60000000)
  %row_max.188 = load <8 x float>, ptr %row_max, align 4
  %t189 = fcmp ogt <8 x float> %t178, %row_max.188
  %t190 = select <8 x i1> %t189, <8 x float> %t178, <8 x float> %row_max.188
  %t191 = fcmp uno <8 x float> %t178, %t178
  %t192 = select <8 x i1> %t191, <8 x float> %t178, <8 x float> %t190
  store <8 x float> %t192, ptr %row_max, align 4
  %row_max.193 = load <8 x float>, ptr %row_max.172, align 4
  %t194 = fcmp ogt <8 x float> %t181, %row_max.193
  %t195 = select <8 x i1> %t194, <8 x float> %t181, <8 x float> %row_max.193
  %t196 = fcmp uno <8 x float> %t181, %t181
  %t197 = select <8 x i1> %t196, <8 x float> %t181, <8 x float> %t195
  store <8 x float> %t197, ptr %row_max.172, align 4
  %row_max.198 = load <8 x float>, ptr %row_max.173, align 4
  %t199 = fcmp ogt <8 x float> %t184, %row_max.198
  %t200 = select <8 x i1> %t199, <8 x float> %t184, <8 x float> %row_max.198
  %t201 = fcmp uno <8 x float> %t184, %t184
  %t202 = select <8 x i1> %t201, <8 x float> %t184, <8 x float> %t200
  store <8 x float> %t202, ptr %row_max.173, align 4
  %row_max.203 = load <8 x float>, ptr %row_max.174, align 4
  %t204 = fcmp ogt <8 x float> %t187, %row_max.203
  %t205 = select <8 x i1> %t204, <8 x float> %t187, <8 x float> %row_max.203
  %t206 = fcmp uno <8 x float> %t187, %t187
  %t207 = select <8 x i1> %t206, <8 x float> %t187, <8 x float> %t205
  store <8 x float> %t207, ptr %row_max.174, align 4
  br label %column.again
column.again:
  %column.next = add nuw nsw i64 %column, 1
  %t208 = icmp slt i64 %column.next, 64
  br i1 %t208, label %column.loop, label %column.end
column.end:
  ; loop 16, straight
  %row_max.209 = load <8 x float>, ptr %row_max, align 4
  %row_max.210 = load <8 x float>, ptr %row_max.172, align 4
  %row_max.211 = load <8 x float>, ptr %row_max.173, align 4
  %row_max.212 = load <8 x float>, ptr %row_max.174, align 4
  store <8 x float> %row_max.209, ptr %max0, align 4
  %max0.213 = getelementptr float, ptr %max0, i64 8
  store <8 x float> %row_max.210, ptr %max0.213, align 4
  %max0.214 = getelementptr float, ptr %max0, i64 16
  store <8 x float> %row_max.211, ptr %max0.214, align 4
  %max0.215 = getelementptr float, ptr %max0, i64 24
  store <8 x float> %row_max.212, ptr %max0.215, align 4
  %t216 = fcmp oeq <8 x float> %row_max.209, splat (float 0xFFF0000000000000)
  %t217 = select <8 x i1> %t216, <8 x float> splat (float 0x0000000000000000), <8 x float> %row_max.209
  %t218 = fcmp oeq <8 x float> %row_max.210, splat (float 0xFFF0000000000000)
  %t219 = select <8 x i1> %t218, <8 x float> splat (float 0x0000000000000000), <8 x float> %row_max.210
  %t220 = fcmp oeq <8 x float> %row_max.211, splat (float 0xFFF0000000000000)
  %t221 = select <8 x i1> %t220, <8 x float> splat (float 0x0000000000000000), <8 x float> %row_max.211
  %t222 = fcmp oeq <8 x float> %row_max.212, splat (float 0xFFF0000000000000)
  %t223 = select <8 x i1> %t222, <8 x float> splat (float 0x0000000000000000), <8 x float> %row_max.212
  store <8 x float> %t217, ptr %safe, align 4
  %safe.224 = getelementptr float, ptr %safe, i64 8
  store <8 x float> %t219, ptr %safe.224, align 4
  %safe.225 = getelementptr float, ptr %safe, i64 16
  store <8 x float> %t221, ptr %safe.225, align 4
  %safe.226 = getelementptr float, ptr %safe, i64 24
  store <8 x float> %t223, ptr %safe.226, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %row_sum, align 4
  %row_sum.227 = getelementptr float, ptr %row_sum, i64 8
  store <8 x float> splat (float 0x0000000000000000), ptr %row_sum.227, align 4
  %row_sum.228 = getelementptr float, ptr %row_sum, i64 16
  store <8 x float> splat (float 0x0000000000000000), ptr %row_sum.228, align 4
  %row_sum.229 = getelementptr float, ptr %row_sum, i64 24
  store <8 x float> splat (float 0x0000000000000000), ptr %row_sum.229, align 4
  br label %column_1.enter
column_1.enter:
  br label %column_1.loop
column_1.loop:  ; inner loop 17: row_sum += exp(space0 * 0.17677669 - safe); space0 = exp(space0 * 0.17677669 - safe)
  %column_1 = phi i64 [0, %column_1.enter], [%column_1.next, %column_1.again]
  ; loop 18, straight
  %t230 = mul i64 %column_1, 32
  %space0.231 = getelementptr float, ptr %space0, i64 %t230
  %space0.232 = load <8 x float>, ptr %space0.231, align 4
  %t233 = fmul <8 x float> %space0.232, splat (float 0x3FC6A09E60000000)
  %safe.234 = load <8 x float>, ptr %safe, align 4
  %t235 = fsub <8 x float> %t233, %safe.234
  %t236 = fcmp olt <8 x float> splat (float 0x4056400000000000), %t235
  %t237 = select <8 x i1> %t236, <8 x float> splat (float 0x4056400000000000), <8 x float> %t235
  %t238 = fcmp olt <8 x float> %t237, splat (float 0xC05A000000000000)
  %t239 = select <8 x i1> %t238, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t237
  %t240 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t239, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t241 = fsub <8 x float> %t240, splat (float 0x4168000000000000)
  %t242 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t241, <8 x float> splat (float 0xBFE62E4000000000), <8 x float> %t239)
  %t243 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t241, <8 x float> splat (float 0xBEB7F7D1C0000000), <8 x float> %t242)
  %t244 = fmul <8 x float> %t243, %t243
  %t245 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t243, <8 x float> splat (float 0x3F2A0D2CE0000000), <8 x float> splat (float 0x3F56E879C0000000))
  %t246 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t245, <8 x float> %t243, <8 x float> splat (float 0x3F81112100000000))
  %t247 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t246, <8 x float> %t243, <8 x float> splat (float 0x3FA5553820000000))
  %t248 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t247, <8 x float> %t243, <8 x float> splat (float 0x3FC5555540000000))
  %t249 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t248, <8 x float> %t243, <8 x float> splat (float 0x3FE0000000000000))
  %t250 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t244, <8 x float> %t249, <8 x float> %t243)
  %t251 = fadd <8 x float> %t250, splat (float 0x3FF0000000000000)
  %t252 = bitcast <8 x float> %t240 to <8 x i32>
  %t253 = sub <8 x i32> %t252, splat (i32 1262485504)
  %t254 = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %t253, <8 x i32> splat (i32 -252))
  %t255 = call <8 x i32> @llvm.smin.v8i32(<8 x i32> %t254, <8 x i32> splat (i32 254))
  %t256 = ashr <8 x i32> %t255, splat (i32 1)
  %t257 = sub <8 x i32> %t255, %t256
  %t258 = add <8 x i32> %t256, splat (i32 127)
  %t259 = shl <8 x i32> %t258, splat (i32 23)
  %t260 = bitcast <8 x i32> %t259 to <8 x float>
  %t261 = fmul <8 x float> %t251, %t260
  %t262 = add <8 x i32> %t257, splat (i32 127)
  %t263 = shl <8 x i32> %t262, splat (i32 23)
  %t264 = bitcast <8 x i32> %t263 to <8 x float>
  %t265 = fmul <8 x float> %t261, %t264
  %space0.266 = getelementptr float, ptr %space0.231, i64 8
  %space0.267 = load <8 x float>, ptr %space0.266, align 4
  %t268 = fmul <8 x float> %space0.267, splat (float 0x3FC6A09E60000000)
  %safe.269 = load <8 x float>, ptr %safe.224, align 4
  %t270 = fsub <8 x float> %t268, %safe.269
  %t271 = fcmp olt <8 x float> splat (float 0x4056400000000000), %t270
  %t272 = select <8 x i1> %t271, <8 x float> splat (float 0x4056400000000000), <8 x float> %t270
  %t273 = fcmp olt <8 x float> %t272, splat (float 0xC05A000000000000)
  %t274 = select <8 x i1> %t273, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t272
  %t275 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t274, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t276 = fsub <8 x float> %t275, splat (float 0x4168000000000000)
  %t277 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t276, <8 x float> splat (float 0xBFE62E4000000000), <8 x float> %t274)
  %t278 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t276, <8 x float> splat (float 0xBEB7F7D1C0000000), <8 x float> %t277)
  %t279 = fmul <8 x float> %t278, %t278
  %t280 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t278, <8 x float> splat (float 0x3F2A0D2CE0000000), <8 x float> splat (float 0x3F56E879C0000000))
  %t281 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t280, <8 x float> %t278, <8 x float> splat (float 0x3F81112100000000))
  %t282 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t281, <8 x float> %t278, <8 x float> splat (float 0x3FA5553820000000))
  %t283 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t282, <8 x float> %t278, <8 x float> splat (float 0x3FC5555540000000))
  %t284 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t283, <8 x float> %t278, <8 x float> splat (float 0x3FE0000000000000))
  %t285 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t279, <8 x float> %t284, <8 x float> %t278)
  %t286 = fadd <8 x float> %t285, splat (float 0x3FF0000000000000)
  %t287 = bitcast <8 x float> %t275 to <8 x i32>
  %t288 = sub <8 x i32> %t287, splat (i32 1262485504)
  %t289 = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %t288, <8 x i32> splat (i32 -252))
  %t290 = call <8 x i32> @llvm.smin.v8i32(<8 x i32> %t289, <8 x i32> splat (i32 254))
  %t291 = ashr <8 x i32> %t290, splat (i32 1)
  %t292 = sub <8 x i32> %t290, %t291
  %t293 = add <8 x i32> %t291, splat (i32 127)
  %t294 = shl <8 x i32> %t293, splat (i32 23)
  %t295 = bitcast <8 x i32> %t294 to <8 x float>
  %t296 = fmul <8 x float> %t286, %t295
  %t297 = add <8 x i32> %t292, splat (i32 127)
  %t298 = shl <8 x i32> %t297, splat (i32 23)
  %t299 = bitcast <8 x i32> %t298 to <8 x float>
  %t300 = fmul <8 x float> %t296, %t299
  %space0.301 = getelementptr float, ptr %space0.231, i64 16
  %space0.302 = load <8 x float>, ptr %space0.301, align 4
  %t303 = fmul <8 x float> %space0.302, splat (float 0x3FC6A09E60000000)
  %safe.304 = load <8 x float>, ptr %safe.225, align 4
  %t305 = fsub <8 x float> %t303, %safe.304
  %t306 = fcmp olt <8 x float> splat (float 0x4056400000000000), %t305
  %t307 = select <8 x i1> %t306, <8 x float> splat (float 0x4056400000000000), <8 x float> %t305
  %t308 = fcmp olt <8 x float> %t307, splat (float 0xC05A000000000000)
  %t309 = select <8 x i1> %t308, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t307
  %t310 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t309, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t311 = fsub <8 x float> %t310, splat (float 0x4168000000000000)
  %t312 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t311, <8 x float> splat (float 0xBFE62E4000000000), <8 x float> %t309)
  %t313 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t311, <8 x float> splat (float 0xBEB7F7D1C0000000), <8 x float> %t312)
  %t314 = fmul <8 x float> %t313, %t313
  %t315 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t313, <8 x float> splat (float 0x3F2A0D2CE0000000), <8 x float> splat (float 0x3F56E879C0000000))
  %t316 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t315, <8 x float> %t313, <8 x float> splat (float 0x3F81112100000000))
  %t317 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t316, <8 x float> %t313, <8 x float> splat (float 0x3FA5553820000000))
  %t318 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t317, <8 x float> %t313, <8 x float> splat (float 0x3FC5555540000000))
  %t319 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t318, <8 x float> %t313, <8 x float> splat (float 0x3FE0000000000000))
  %t320 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t314, <8 x float> %t319, <8 x float> %t313)
  %t321 = fadd <8 x float> %t320, splat (float 0x3FF0000000000000)
  %t322 = bitcast <8 x float> %t310 to <8 x i32>
  %t323 = sub <8 x i32> %t322, splat (i32 1262485504)
  %t324 = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %t323, <8 x i32> splat (i32 -252))
  %t325 = call <8 x i32> @llvm.smin.v8i32(<8 x i32> %t324, <8 x i32> splat (i32 254))
  %t326 = ashr <8 x i32> %t325, splat (i32 1)
  %t327 = sub <8 x i32> %t325, %t326
  %t328 = add <8 x i32> %t326, splat (i32 127)
  %t329 = shl <8 x i32> %t328, splat (i32 23)
  %t330 = bitcast <8 x i32> %t329 to <8 x float>
  %t331 = fmul <8 x float> %t321, %t330
  %t332 = add <8 x i32> %t327, splat (i32 127)
  %t333 = shl <8 x i32> %t332, splat (i32 23)
  %t334 = bitcast <8 x i32> %t333 to <8 x float>
  %t335 = fmul <8 x float> %t331, %t334
  %space0.336 = getelementptr float, ptr %space0.231, i64 24
  %space0.337 = load <8 x float>, ptr %space0.336, align 4
  %t338 = fmul <8 x float> %space0.337, splat (float 0x3FC6A09E60000000)
  %safe.339 = load <8 x float>, ptr %safe.226, align 4
  %t340 = fsub <8 x float> %t338, %safe.339
  %t341 = fcmp olt <8 x float> splat (float 0x4056400000000000), %t340
  %t342 = select <8 x i1> %t341, <8 x float> splat (float 0x4056400000000000), <8 x float> %t340
  %t343 = fcmp olt <8 x float> %t342, splat (float 0xC05A000000000000)
  %t344 = select <8 x i1> %t343, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t342
  %t345 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t344, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t346 = fsub <8 x float> %t345, splat (float 0x4168000000000000)
  %t347 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t346, <8 x float> splat (float 0xBFE62E4000000000), <8 x float> %t344)
  %t348 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t346, <8 x float> splat (float 0xBEB7F7D1C0000000), <8 x float> %t347)
  %t349 = fmul <8 x float> %t348, %t348
  %t350 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t348, <8 x float> splat (float 0x3F2A0D2CE0000000), <8 x float> splat (float 0x3F56E879C0000000))
  %t351 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t350, <8 x float> %t348, <8 x float> splat (float 0x3F81112100000000))
  %t352 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t351, <8 x float> %t348, <8 x float> splat (float 0x3FA5553820000000))
  %t353 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t352, <8 x float> %t348, <8 x float> splat (float 0x3FC5555540000000))
  %t354 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t353, <8 x float> %t348, <8 x float> splat (float 0x3FE0000000000000))
  %t355 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t349, <8 x float> %t354, <8 x float> %t348)
  %t356 = fadd <8 x float> %t355, splat (float 0x3FF0000000000000)
  %t357 = bitcast <8 x float> %t345 to <8 x i32>
  %t358 = sub <8 x i32> %t357, splat (i32 1262485504)
  %t359 = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %t358, <8 x i32> splat (i32 -252))
  %t360 = call <8 x i32> @llvm.smin.v8i32(<8 x i32> %t359, <8 x i32> splat (i32 254))
  %t361 = ashr <8 x i32> %t360, splat (i32 1)
  %t362 = sub <8 x i32> %t360, %t361
  %t363 = add <8 x i32> %t361, splat (i32 127)
  %t364 = shl <8 x i32> %t363, splat (i32 23)
  %t365 = bitcast <8 x i32> %t364 to <8 x float>
  %t366 = fmul <8 x float> %t356, %t365
  %t367 = add <8 x i32> %t362, splat (i32 127)
  %t368 = shl <8 x i32> %t367, splat (i32 23)
  %t369 = bitcast <8 x i32> %t368 to <8 x float>
  %t370 = fmul <8 x float> %t366, %t369
  %row_sum.371 = load <8 x float>, ptr %row_sum, align 4
  %t372 = fadd <8 x float> %row_sum.371, %t265
  store <8 x float> %t372, ptr %row_sum, align 4
  %row_sum.373 = load <8 x float>, ptr %row_sum.227, align 4
  %t374 = fadd <8 x float> %row_sum.373, %t300
  store <8 x float> %t374, ptr %row_sum.227, align 4
  %row_sum.375 = load <8 x float>, ptr %row_sum.228, align 4
  %t376 = fadd <8 x float> %row_sum.375, %t335
  store <8 x float> %t376, ptr %row_sum.228, align 4
  %row_sum.377 = load <8 x float>, ptr %row_sum.229, align 4
  %t378 = fadd <8 x float> %row_sum.377, %t370
  store <8 x float> %t378, ptr %row_sum.229, align 4
  store <8 x float> %t265, ptr %space0.231, align 4
  store <8 x float> %t300, ptr %space0.266, align 4
  store <8 x float> %t335, ptr %space0.301, align 4
  store <8 x float> %t370, ptr %space0.336, align 4
  br label %column_1.again
column_1.again:
  %column_1.next = add nuw nsw i64 %column_1, 1
  %t379 = icmp slt i64 %column_1.next, 64
  br i1 %t379, label %column_1.loop, label %column_1.end
column_1.end:
  ; loop 19, straight
  %row_sum.380 = load <8 x float>, ptr %row_sum, align 4
  %row_sum.381 = load <8 x float>, ptr %row_sum.227, align 4
  %row_sum.382 = load <8 x float>, ptr %row_sum.228, align 4
  %row_sum.383 = load <8 x float>, ptr %row_sum.229, align 4
  store <8 x float> %row_sum.380, ptr %sum1, align 4
  %sum1.384 = getelementptr float, ptr %sum1, i64 8
  store <8 x float> %row_sum.381, ptr %sum1.384, align 4
  %sum1.385 = getelementptr float, ptr %sum1, i64 16
  store <8 x float> %row_sum.382, ptr %sum1.385, align 4
  %sum1.386 = getelementptr float, ptr %sum1, i64 24
  store <8 x float> %row_sum.383, ptr %sum1.386, align 4
  %in2.388 = getelementptr float, ptr %in2, i64 %t89
  br label %j_3.enter
j_3.enter:
  br label %j_3.loop
j_3.loop:  ; inner loop 20: values0 = in2
  %j_3 = phi i64 [0, %j_3.enter], [%j_3.next, %j_3.again]
  ; loop 21, straight
  %t387 = mul i64 %j_3, 32
  %in2.389 = getelementptr float, ptr %in2.388, i64 %t387
  %in2.390 = load <8 x float>, ptr %in2.389, align 4
  %in2.391 = getelementptr float, ptr %in2.389, i64 8
  %in2.392 = load <8 x float>, ptr %in2.391, align 4
  %in2.393 = getelementptr float, ptr %in2.389, i64 16
  %in2.394 = load <8 x float>, ptr %in2.393, align 4
  %in2.395 = getelementptr float, ptr %in2.389, i64 24
  %in2.396 = load <8 x float>, ptr %in2.395, align 4
  %values0.397 = getelementptr float, ptr %values0, i64 %t387
  store <8 x float> %in2.390, ptr %values0.397, align 4
  %values0.398 = getelementptr float, ptr %values0.397, i64 8
  store <8 x float> %in2.392, ptr %values0.398, align 4
  %values0.399 = getelementptr float, ptr %values0.397, i64 16
  store <8 x float> %in2.394, ptr %values0.399, align 4
  %values0.400 = getelementptr float, ptr %values0.397, i64 24
  store <8 x float> %in2.396, ptr %values0.400, align 4
  br label %j_3.again
j_3.again:
  %j_3.next = add nuw nsw i64 %j_3, 1
  %t401 = icmp slt i64 %j_3.next, 64
  br i1 %t401, label %j_3.loop, label %j_3.end
j_3.end:
  %acc_1.402 = getelementptr float, ptr %acc_1, i64 8
  %acc_1.403 = getelementptr float, ptr %acc_1, i64 16
  %acc_1.404 = getelementptr float, ptr %acc_1, i64 24
  %acc_1.405 = getelementptr float, ptr %acc_1, i64 32
  %acc_1.406 = getelementptr float, ptr %acc_1, i64 40
  %acc_1.407 = getelementptr float, ptr %acc_1, i64 48
  %acc_1.408 = getelementptr float, ptr %acc_1, i64 56
  br label %tile_1.enter
tile_1.enter:
  br label %tile_1.loop
tile_1.loop:  ; loop 22
  %tile_1 = phi i64 [0, %tile_1.enter], [%tile_1.next, %tile_1.again]
  %t409 = mul i64 %tile_1, 4
  %space0.411 = getelementptr float, ptr %space0, i64 %t409
  %t453 = mul i64 %tile_1, 128
  %sums0.454 = getelementptr float, ptr %sums0, i64 %t453
  br label %lanes_2.enter
lanes_2.enter:
  br label %lanes_2.loop
lanes_2.loop:  ; loop 23
  %lanes_2 = phi i64 [0, %lanes_2.enter], [%lanes_2.next, %lanes_2.again]
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.402, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.403, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.404, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.405, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.406, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.407, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.408, align 4
  %t414 = mul i64 %lanes_2, 16
  %values0.415 = getelementptr float, ptr %values0, i64 %t414
  br label %k_2.enter
k_2.enter:
  br label %k_2.loop
k_2.loop:  ; inner loop 24: acc += space0 * values0
  %k_2 = phi i64 [0, %k_2.enter], [%k_2.next, %k_2.again]
  ; loop 25, i_1 = 0
  ; loop 26, straight
  %t410 = mul i64 %k_2, 32
  %space0.412 = getelementptr float, ptr %space0.411, i64 %t410
  %space0.413 = load float, ptr %space0.412, align 4
  %values0.416 = getelementptr float, ptr %values0.415, i64 %t410
  %values0.417 = load <8 x float>, ptr %values0.416, align 4
  %values0.418 = getelementptr float, ptr %values0.416, i64 8
  %values0.419 = load <8 x float>, ptr %values0.418, align 4
  %acc_1.420 = load <8 x float>, ptr %acc_1, align 4
  %t421 = insertelement <8 x float> poison, float %space0.413, i64 0
  %t422 = shufflevector <8 x float> %t421, <8 x float> poison, <8 x i32> splat (i32 0)
  %t423 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t422, <8 x float> %values0.417, <8 x float> %acc_1.420)
  store <8 x float> %t423, ptr %acc_1, align 4
  %acc_1.424 = load <8 x float>, ptr %acc_1.402, align 4
  %t425 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t422, <8 x float> %values0.419, <8 x float> %acc_1.424)
  store <8 x float> %t425, ptr %acc_1.402, align 4
  ; loop 25, i_1 = 1
  %space0.426 = getelementptr float, ptr %space0.412, i64 1
  %space0.427 = load float, ptr %space0.426, align 4
  %acc_1.428 = load <8 x float>, ptr %acc_1.403, align 4
  %t429 = insertelement <8 x float> poison, float %space0.427, i64 0
  %t430 = shufflevector <8 x float> %t429, <8 x float> poison, <8 x i32> splat (i32 0)
  %t431 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t430, <8 x float> %values0.417, <8 x float> %acc_1.428)
  store <8 x float> %t431, ptr %acc_1.403, align 4
  %acc_1.432 = load <8 x float>, ptr %acc_1.404, align 4
  %t433 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t430, <8 x float> %values0.419, <8 x float> %acc_1.432)
  store <8 x float> %t433, ptr %acc_1.404, align 4
  ; loop 25, i_1 = 2
  %space0.434 = getelementptr float, ptr %space0.412, i64 2
  %space0.435 = load float, ptr %space0.434, align 4
  %acc_1.436 = load <8 x float>, ptr %acc_1.405, align 4
  %t437 = insertelement <8 x float> poison, float %space0.435, i64 0
  %t438 = shufflevector <8 x float> %t437, <8 x float> poison, <8 x i32> splat (i32 0)
  %t439 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t438, <8 x float> %values0.417, <8 x float> %acc_1.436)
  store <8 x float> %t439, ptr %acc_1.405, align 4
  %acc_1.440 = load <8 x float>, ptr %acc_1.406, align 4
  %t441 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t438, <8 x float> %values0.419, <8 x float> %acc_1.440)
  store <8 x float> %t441, ptr %acc_1.406, align 4
  ; loop 25, i_1 = 3
  %space0.442 = getelementptr float, ptr %space0.412, i64 3
  %space0.443 = load float, ptr %space0.442, align 4
  %acc_1.444 = load <8 x float>, ptr %acc_1.407, align 4
  %t445 = insertelement <8 x float> poison, float %space0.443, i64 0
  %t446 = shufflevector <8 x float> %t445, <8 x float> poison, <8 x i32> splat (i32 0)
  %t447 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t446, <8 x float> %values0.417, <8 x float> %acc_1.444)
  store <8 x float> %t447, ptr %acc_1.407, align 4
  %acc_1.448 = load <8 x float>, ptr %acc_1.408, align 4
  %t449 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t446, <8 x float> %values0.419, <8 x float> %acc_1.448)
  store <8 x float> %t449, ptr %acc_1.408, align 4
  br label %k_2.again
k_2.again:
  %k_2.next = add nuw nsw i64 %k_2, 1
  %t450 = icmp slt i64 %k_2.next, 64
  br i1 %t450, label %k_2.loop, label %k_2.end
k_2.end:
  ; loop 27, i_1 = 0
  ; loop 28, straight
  %acc_1.451 = load <8 x float>, ptr %acc_1, align 4
  %acc_1.452 = load <8 x float>, ptr %acc_1.402, align 4
  %sums0.455 = getelementptr float, ptr %sums0.454, i64 %t414
  store <8 x float> %acc_1.451, ptr %sums0.455, align 4
  %sums0.456 = getelementptr float, ptr %sums0.455, i64 8
  store <8 x float> %acc_1.452, ptr %sums0.456, align 4
  ; loop 27, i_1 = 1
  %acc_1.457 = load <8 x float>, ptr %acc_1.403, align 4
  %acc_1.458 = load <8 x float>, ptr %acc_1.404, align 4
  %sums0.459 = getelementptr float, ptr %sums0.455, i64 32
  store <8 x float> %acc_1.457, ptr %sums0.459, align 4
  %sums0.460 = getelementptr float, ptr %sums0.455, i64 40
  store <8 x float> %acc_1.458, ptr %sums0.460, align 4
  ; loop 27, i_1 = 2
  %acc_1.461 = load <8 x float>, ptr %acc_1.405, align 4
  %acc_1.462 = load <8 x float>, ptr %acc_1.406, align 4
  %sums0.463 = getelementptr float, ptr %sums0.455, i64 64
  store <8 x float> %acc_1.461, ptr %sums0.463, align 4
  %sums0.464 = getelementptr float, ptr %sums0.455, i64 72
  store <8 x float> %acc_1.462, ptr %sums0.464, align 4
  ; loop 27, i_1 = 3
  %acc_1.465 = load <8 x float>, ptr %acc_1.407, align 4
  %acc_1.466 = load <8 x float>, ptr %acc_1.408, align 4
  %sums0.467 = getelementptr float, ptr %sums0.455, i64 96
  store <8 x float> %acc_1.465, ptr %sums0.467, align 4
  %sums0.468 = getelementptr float, ptr %sums0.455, i64 104
  store <8 x float> %acc_1.466, ptr %sums0.468, align 4
  br label %lanes_2.again
lanes_2.again:
  %lanes_2.next = add nuw nsw i64 %lanes_2, 1
  %t469 = icmp slt i64 %lanes_2.next, 2
  br i1 %t469, label %lanes_2.loop, label %lanes_2.end
lanes_2.end:
  br label %tile_1.again
tile_1.again:
  %tile_1.next = add nuw nsw i64 %tile_1, 1
  %t470 = icmp slt i64 %tile_1.next, 8
  br i1 %t470, label %tile_1.loop, label %tile_1.end
tile_1.end:
  ; loop 29, straight
  %max0.471 = load <8 x float>, ptr %max0, align 4
  %t472 = fcmp oeq <8 x float> %max0.471, splat (float 0xFFF0000000000000)
  %sum1.473 = load <8 x float>, ptr %sum1, align 4
  %t474 = select <8 x i1> %t472, <8 x float> splat (float 0x7FF8000000000000), <8 x float> %sum1.473
  %max0.475 = load <8 x float>, ptr %max0.213, align 4
  %t476 = fcmp oeq <8 x float> %max0.475, splat (float 0xFFF0000000000000)
  %sum1.477 = load <8 x float>, ptr %sum1.384, align 4
  %t478 = select <8 x i1> %t476, <8 x float> splat (float 0x7FF8000000000000), <8 x float> %sum1.477
  %max0.479 = load <8 x float>, ptr %max0.214, align 4
  %t480 = fcmp oeq <8 x float> %max0.479, splat (float 0xFFF0000000000000)
  %sum1.481 = load <8 x float>, ptr %sum1.385, align 4
  %t482 = select <8 x i1> %t480, <8 x float> splat (float 0x7FF8000000000000), <8 x float> %sum1.481
  %max0.483 = load <8 x float>, ptr %max0.215, align 4
  %t484 = fcmp oeq <8 x float> %max0.483, splat (float 0xFFF0000000000000)
  %sum1.485 = load <8 x float>, ptr %sum1.386, align 4
  %t486 = select <8 x i1> %t484, <8 x float> splat (float 0x7FF8000000000000), <8 x float> %sum1.485
  store <8 x float> %t474, ptr %sum1, align 4
  store <8 x float> %t478, ptr %sum1.384, align 4
  store <8 x float> %t482, ptr %sum1.385, align 4
  store <8 x float> %t486, ptr %sum1.386, align 4
  %out0.504 = getelementptr float, ptr %out0, i64 %t5
  br label %line.enter
line.enter:
  br label %line.loop
line.loop:  ; inner loop 30: out0 = sums0 / sum1
  %line = phi i64 [0, %line.enter], [%line.next, %line.again]
  ; loop 31, straight
  %t487 = mul i64 %line, 32
  %sums0.488 = getelementptr float, ptr %sums0, i64 %t487
  %sums0.489 = load <8 x float>, ptr %sums0.488, align 4
  %sum1.490 = getelementptr float, ptr %sum1, i64 %line
  %sum1.491 = load float, ptr %sum1.490, align 4
  %t492 = insertelement <8 x float> poison, float %sum1.491, i64 0
  %t493 = shufflevector <8 x float> %t492, <8 x float> poison, <8 x i32> splat (i32 0)
  %t494 = fdiv <8 x float> %sums0.489, %t493
  %sums0.495 = getelementptr float, ptr %sums0.488, i64 8
  %sums0.496 = load <8 x float>, ptr %sums0.495, align 4
  %t497 = fdiv <8 x float> %sums0.496, %t493
  %sums0.498 = getelementptr float, ptr %sums0.488, i64 16
  %sums0.499 = load <8 x float>, ptr %sums0.498, align 4
  %t500 = fdiv <8 x float> %sums0.499, %t493
  %sums0.501 = getelementptr float, ptr %sums0.488, i64 24
  %sums0.502 = load <8 x float>, ptr %sums0.501, align 4
  %t503 = fdiv <8 x float> %sums0.502, %t493
  %out0.505 = getelementptr float, ptr %out0.504, i64 %t487
  store <8 x float> %t494, ptr %out0.505, align 4
  %out0.506 = getelementptr float, ptr %out0.505, i64 8
  store <8 x float> %t497, ptr %out0.506, align 4
  %out0.507 = getelementptr float, ptr %out0.505, i64 16
  store <8 x float> %t500, ptr %out0.507, align 4
  %out0.508 = getelementptr float, ptr %out0.505, i64 24
  store <8 x float> %t503, ptr %out0.508, align 4
  br label %line.again
line.again:
  %line.next = add nuw nsw i64 %line, 1
  %t509 = icmp slt i64 %line.next, 32
  br i1 %t509, label %line.loop, label %line.end
line.end:
  ret void
}

attributes #0 = { nounwind "target-cpu"="x86-64-v3" "no-trapping-math"="true" "frame-pointer"="none" }

!0 = !{!"branch_weights", i32 1, i32 4000}
!1 = !{i32 1}
