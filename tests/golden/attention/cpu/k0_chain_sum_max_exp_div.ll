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
  store <8 x float> splat (float 0x0000000000000000), ptr %row_sum, align 4
  %row_sum.216 = getelementptr float, ptr %row_sum, i64 8
  store <8 x float> splat (float 0x0000000000000000), ptr %row_sum.216, align 4
  %row_sum.217 = getelementptr float, ptr %row_sum, i64 16
  store <8 x float> splat (float 0x0000000000000000), ptr %row_sum.217, align 4
  %row_sum.218 = getelementptr float, ptr %row_sum, i64 24
  store <8 x float> splat (float 0x0000000000000000), ptr %row_sum.218, align 4
  br label %column_1.enter
column_1.enter:
  br label %column_1.loop
column_1.loop:  ; inner loop 17: row_sum += exp(space0 * 0.17677669 - max0); space0 = exp(space0 * 0.17677669 - max0)
  %column_1 = phi i64 [0, %column_1.enter], [%column_1.next, %column_1.again]
  ; loop 18, straight
  %t219 = mul i64 %column_1, 32
  %space0.220 = getelementptr float, ptr %space0, i64 %t219
  %space0.221 = load <8 x float>, ptr %space0.220, align 4
  %t222 = fmul <8 x float> %space0.221, splat (float 0x3FC6A09E60000000)
  %max0.223 = load <8 x float>, ptr %max0, align 4
  %t224 = fsub <8 x float> %t222, %max0.223
  %t225 = fcmp olt <8 x float> splat (float 0x4056400000000000), %t224
  %t226 = select <8 x i1> %t225, <8 x float> splat (float 0x4056400000000000), <8 x float> %t224
  %t227 = fcmp olt <8 x float> %t226, splat (float 0xC05A000000000000)
  %t228 = select <8 x i1> %t227, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t226
  %t229 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t228, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t230 = fsub <8 x float> %t229, splat (float 0x4168000000000000)
  %t231 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t230, <8 x float> splat (float 0xBFE62E4000000000), <8 x float> %t228)
  %t232 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t230, <8 x float> splat (float 0xBEB7F7D1C0000000), <8 x float> %t231)
  %t233 = fmul <8 x float> %t232, %t232
  %t234 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t232, <8 x float> splat (float 0x3F2A0D2CE0000000), <8 x float> splat (float 0x3F56E879C0000000))
  %t235 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t234, <8 x float> %t232, <8 x float> splat (float 0x3F81112100000000))
  %t236 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t235, <8 x float> %t232, <8 x float> splat (float 0x3FA5553820000000))
  %t237 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t236, <8 x float> %t232, <8 x float> splat (float 0x3FC5555540000000))
  %t238 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t237, <8 x float> %t232, <8 x float> splat (float 0x3FE0000000000000))
  %t239 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t233, <8 x float> %t238, <8 x float> %t232)
  %t240 = fadd <8 x float> %t239, splat (float 0x3FF0000000000000)
  %t241 = bitcast <8 x float> %t229 to <8 x i32>
  %t242 = sub <8 x i32> %t241, splat (i32 1262485504)
  %t243 = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %t242, <8 x i32> splat (i32 -252))
  %t244 = call <8 x i32> @llvm.smin.v8i32(<8 x i32> %t243, <8 x i32> splat (i32 254))
  %t245 = ashr <8 x i32> %t244, splat (i32 1)
  %t246 = sub <8 x i32> %t244, %t245
  %t247 = add <8 x i32> %t245, splat (i32 127)
  %t248 = shl <8 x i32> %t247, splat (i32 23)
  %t249 = bitcast <8 x i32> %t248 to <8 x float>
  %t250 = fmul <8 x float> %t240, %t249
  %t251 = add <8 x i32> %t246, splat (i32 127)
  %t252 = shl <8 x i32> %t251, splat (i32 23)
  %t253 = bitcast <8 x i32> %t252 to <8 x float>
  %t254 = fmul <8 x float> %t250, %t253
  %space0.255 = getelementptr float, ptr %space0.220, i64 8
  %space0.256 = load <8 x float>, ptr %space0.255, align 4
  %t257 = fmul <8 x float> %space0.256, splat (float 0x3FC6A09E60000000)
  %max0.258 = load <8 x float>, ptr %max0.213, align 4
  %t259 = fsub <8 x float> %t257, %max0.258
  %t260 = fcmp olt <8 x float> splat (float 0x4056400000000000), %t259
  %t261 = select <8 x i1> %t260, <8 x float> splat (float 0x4056400000000000), <8 x float> %t259
  %t262 = fcmp olt <8 x float> %t261, splat (float 0xC05A000000000000)
  %t263 = select <8 x i1> %t262, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t261
  %t264 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t263, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t265 = fsub <8 x float> %t264, splat (float 0x4168000000000000)
  %t266 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t265, <8 x float> splat (float 0xBFE62E4000000000), <8 x float> %t263)
  %t267 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t265, <8 x float> splat (float 0xBEB7F7D1C0000000), <8 x float> %t266)
  %t268 = fmul <8 x float> %t267, %t267
  %t269 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t267, <8 x float> splat (float 0x3F2A0D2CE0000000), <8 x float> splat (float 0x3F56E879C0000000))
  %t270 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t269, <8 x float> %t267, <8 x float> splat (float 0x3F81112100000000))
  %t271 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t270, <8 x float> %t267, <8 x float> splat (float 0x3FA5553820000000))
  %t272 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t271, <8 x float> %t267, <8 x float> splat (float 0x3FC5555540000000))
  %t273 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t272, <8 x float> %t267, <8 x float> splat (float 0x3FE0000000000000))
  %t274 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t268, <8 x float> %t273, <8 x float> %t267)
  %t275 = fadd <8 x float> %t274, splat (float 0x3FF0000000000000)
  %t276 = bitcast <8 x float> %t264 to <8 x i32>
  %t277 = sub <8 x i32> %t276, splat (i32 1262485504)
  %t278 = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %t277, <8 x i32> splat (i32 -252))
  %t279 = call <8 x i32> @llvm.smin.v8i32(<8 x i32> %t278, <8 x i32> splat (i32 254))
  %t280 = ashr <8 x i32> %t279, splat (i32 1)
  %t281 = sub <8 x i32> %t279, %t280
  %t282 = add <8 x i32> %t280, splat (i32 127)
  %t283 = shl <8 x i32> %t282, splat (i32 23)
  %t284 = bitcast <8 x i32> %t283 to <8 x float>
  %t285 = fmul <8 x float> %t275, %t284
  %t286 = add <8 x i32> %t281, splat (i32 127)
  %t287 = shl <8 x i32> %t286, splat (i32 23)
  %t288 = bitcast <8 x i32> %t287 to <8 x float>
  %t289 = fmul <8 x float> %t285, %t288
  %space0.290 = getelementptr float, ptr %space0.220, i64 16
  %space0.291 = load <8 x float>, ptr %space0.290, align 4
  %t292 = fmul <8 x float> %space0.291, splat (float 0x3FC6A09E60000000)
  %max0.293 = load <8 x float>, ptr %max0.214, align 4
  %t294 = fsub <8 x float> %t292, %max0.293
  %t295 = fcmp olt <8 x float> splat (float 0x4056400000000000), %t294
  %t296 = select <8 x i1> %t295, <8 x float> splat (float 0x4056400000000000), <8 x float> %t294
  %t297 = fcmp olt <8 x float> %t296, splat (float 0xC05A000000000000)
  %t298 = select <8 x i1> %t297, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t296
  %t299 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t298, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t300 = fsub <8 x float> %t299, splat (float 0x4168000000000000)
  %t301 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t300, <8 x float> splat (float 0xBFE62E4000000000), <8 x float> %t298)
  %t302 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t300, <8 x float> splat (float 0xBEB7F7D1C0000000), <8 x float> %t301)
  %t303 = fmul <8 x float> %t302, %t302
  %t304 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t302, <8 x float> splat (float 0x3F2A0D2CE0000000), <8 x float> splat (float 0x3F56E879C0000000))
  %t305 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t304, <8 x float> %t302, <8 x float> splat (float 0x3F81112100000000))
  %t306 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t305, <8 x float> %t302, <8 x float> splat (float 0x3FA5553820000000))
  %t307 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t306, <8 x float> %t302, <8 x float> splat (float 0x3FC5555540000000))
  %t308 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t307, <8 x float> %t302, <8 x float> splat (float 0x3FE0000000000000))
  %t309 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t303, <8 x float> %t308, <8 x float> %t302)
  %t310 = fadd <8 x float> %t309, splat (float 0x3FF0000000000000)
  %t311 = bitcast <8 x float> %t299 to <8 x i32>
  %t312 = sub <8 x i32> %t311, splat (i32 1262485504)
  %t313 = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %t312, <8 x i32> splat (i32 -252))
  %t314 = call <8 x i32> @llvm.smin.v8i32(<8 x i32> %t313, <8 x i32> splat (i32 254))
  %t315 = ashr <8 x i32> %t314, splat (i32 1)
  %t316 = sub <8 x i32> %t314, %t315
  %t317 = add <8 x i32> %t315, splat (i32 127)
  %t318 = shl <8 x i32> %t317, splat (i32 23)
  %t319 = bitcast <8 x i32> %t318 to <8 x float>
  %t320 = fmul <8 x float> %t310, %t319
  %t321 = add <8 x i32> %t316, splat (i32 127)
  %t322 = shl <8 x i32> %t321, splat (i32 23)
  %t323 = bitcast <8 x i32> %t322 to <8 x float>
  %t324 = fmul <8 x float> %t320, %t323
  %space0.325 = getelementptr float, ptr %space0.220, i64 24
  %space0.326 = load <8 x float>, ptr %space0.325, align 4
  %t327 = fmul <8 x float> %space0.326, splat (float 0x3FC6A09E60000000)
  %max0.328 = load <8 x float>, ptr %max0.215, align 4
  %t329 = fsub <8 x float> %t327, %max0.328
  %t330 = fcmp olt <8 x float> splat (float 0x4056400000000000), %t329
  %t331 = select <8 x i1> %t330, <8 x float> splat (float 0x4056400000000000), <8 x float> %t329
  %t332 = fcmp olt <8 x float> %t331, splat (float 0xC05A000000000000)
  %t333 = select <8 x i1> %t332, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t331
  %t334 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t333, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t335 = fsub <8 x float> %t334, splat (float 0x4168000000000000)
  %t336 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t335, <8 x float> splat (float 0xBFE62E4000000000), <8 x float> %t333)
  %t337 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t335, <8 x float> splat (float 0xBEB7F7D1C0000000), <8 x float> %t336)
  %t338 = fmul <8 x float> %t337, %t337
  %t339 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t337, <8 x float> splat (float 0x3F2A0D2CE0000000), <8 x float> splat (float 0x3F56E879C0000000))
  %t340 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t339, <8 x float> %t337, <8 x float> splat (float 0x3F81112100000000))
  %t341 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t340, <8 x float> %t337, <8 x float> splat (float 0x3FA5553820000000))
  %t342 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t341, <8 x float> %t337, <8 x float> splat (float 0x3FC5555540000000))
  %t343 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t342, <8 x float> %t337, <8 x float> splat (float 0x3FE0000000000000))
  %t344 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t338, <8 x float> %t343, <8 x float> %t337)
  %t345 = fadd <8 x float> %t344, splat (float 0x3FF0000000000000)
  %t346 = bitcast <8 x float> %t334 to <8 x i32>
  %t347 = sub <8 x i32> %t346, splat (i32 1262485504)
  %t348 = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %t347, <8 x i32> splat (i32 -252))
  %t349 = call <8 x i32> @llvm.smin.v8i32(<8 x i32> %t348, <8 x i32> splat (i32 254))
  %t350 = ashr <8 x i32> %t349, splat (i32 1)
  %t351 = sub <8 x i32> %t349, %t350
  %t352 = add <8 x i32> %t350, splat (i32 127)
  %t353 = shl <8 x i32> %t352, splat (i32 23)
  %t354 = bitcast <8 x i32> %t353 to <8 x float>
  %t355 = fmul <8 x float> %t345, %t354
  %t356 = add <8 x i32> %t351, splat (i32 127)
  %t357 = shl <8 x i32> %t356, splat (i32 23)
  %t358 = bitcast <8 x i32> %t357 to <8 x float>
  %t359 = fmul <8 x float> %t355, %t358
  %row_sum.360 = load <8 x float>, ptr %row_sum, align 4
  %t361 = fadd <8 x float> %row_sum.360, %t254
  store <8 x float> %t361, ptr %row_sum, align 4
  %row_sum.362 = load <8 x float>, ptr %row_sum.216, align 4
  %t363 = fadd <8 x float> %row_sum.362, %t289
  store <8 x float> %t363, ptr %row_sum.216, align 4
  %row_sum.364 = load <8 x float>, ptr %row_sum.217, align 4
  %t365 = fadd <8 x float> %row_sum.364, %t324
  store <8 x float> %t365, ptr %row_sum.217, align 4
  %row_sum.366 = load <8 x float>, ptr %row_sum.218, align 4
  %t367 = fadd <8 x float> %row_sum.366, %t359
  store <8 x float> %t367, ptr %row_sum.218, align 4
  store <8 x float> %t254, ptr %space0.220, align 4
  store <8 x float> %t289, ptr %space0.255, align 4
  store <8 x float> %t324, ptr %space0.290, align 4
  store <8 x float> %t359, ptr %space0.325, align 4
  br label %column_1.again
column_1.again:
  %column_1.next = add nuw nsw i64 %column_1, 1
  %t368 = icmp slt i64 %column_1.next, 64
  br i1 %t368, label %column_1.loop, label %column_1.end
column_1.end:
  ; loop 19, straight
  %row_sum.369 = load <8 x float>, ptr %row_sum, align 4
  %row_sum.370 = load <8 x float>, ptr %row_sum.216, align 4
  %row_sum.371 = load <8 x float>, ptr %row_sum.217, align 4
  %row_sum.372 = load <8 x float>, ptr %row_sum.218, align 4
  store <8 x float> %row_sum.369, ptr %sum1, align 4
  %sum1.373 = getelementptr float, ptr %sum1, i64 8
  store <8 x float> %row_sum.370, ptr %sum1.373, align 4
  %sum1.374 = getelementptr float, ptr %sum1, i64 16
  store <8 x float> %row_sum.371, ptr %sum1.374, align 4
  %sum1.375 = getelementptr float, ptr %sum1, i64 24
  store <8 x float> %row_sum.372, ptr %sum1.375, align 4
  %in2.377 = getelementptr float, ptr %in2, i64 %t89
  br label %j_3.enter
j_3.enter:
  br label %j_3.loop
j_3.loop:  ; inner loop 20: values0 = in2
  %j_3 = phi i64 [0, %j_3.enter], [%j_3.next, %j_3.again]
  ; loop 21, straight
  %t376 = mul i64 %j_3, 32
  %in2.378 = getelementptr float, ptr %in2.377, i64 %t376
  %in2.379 = load <8 x float>, ptr %in2.378, align 4
  %in2.380 = getelementptr float, ptr %in2.378, i64 8
  %in2.381 = load <8 x float>, ptr %in2.380, align 4
  %in2.382 = getelementptr float, ptr %in2.378, i64 16
  %in2.383 = load <8 x float>, ptr %in2.382, align 4
  %in2.384 = getelementptr float, ptr %in2.378, i64 24
  %in2.385 = load <8 x float>, ptr %in2.384, align 4
  %values0.386 = getelementptr float, ptr %values0, i64 %t376
  store <8 x float> %in2.379, ptr %values0.386, align 4
  %values0.387 = getelementptr float, ptr %values0.386, i64 8
  store <8 x float> %in2.381, ptr %values0.387, align 4
  %values0.388 = getelementptr float, ptr %values0.386, i64 16
  store <8 x float> %in2.383, ptr %values0.388, align 4
  %values0.389 = getelementptr float, ptr %values0.386, i64 24
  store <8 x float> %in2.385, ptr %values0.389, align 4
  br label %j_3.again
j_3.again:
  %j_3.next = add nuw nsw i64 %j_3, 1
  %t390 = icmp slt i64 %j_3.next, 64
  br i1 %t390, label %j_3.loop, label %j_3.end
j_3.end:
  %acc_1.391 = getelementptr float, ptr %acc_1, i64 8
  %acc_1.392 = getelementptr float, ptr %acc_1, i64 16
  %acc_1.393 = getelementptr float, ptr %acc_1, i64 24
  %acc_1.394 = getelementptr float, ptr %acc_1, i64 32
  %acc_1.395 = getelementptr float, ptr %acc_1, i64 40
  %acc_1.396 = getelementptr float, ptr %acc_1, i64 48
  %acc_1.397 = getelementptr float, ptr %acc_1, i64 56
  br label %tile_1.enter
tile_1.enter:
  br label %tile_1.loop
tile_1.loop:  ; loop 22
  %tile_1 = phi i64 [0, %tile_1.enter], [%tile_1.next, %tile_1.again]
  %t398 = mul i64 %tile_1, 4
  %space0.400 = getelementptr float, ptr %space0, i64 %t398
  %t442 = mul i64 %tile_1, 128
  %sums0.443 = getelementptr float, ptr %sums0, i64 %t442
  br label %lanes_2.enter
lanes_2.enter:
  br label %lanes_2.loop
lanes_2.loop:  ; loop 23
  %lanes_2 = phi i64 [0, %lanes_2.enter], [%lanes_2.next, %lanes_2.again]
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.391, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.392, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.393, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.394, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.395, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.396, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.397, align 4
  %t403 = mul i64 %lanes_2, 16
  %values0.404 = getelementptr float, ptr %values0, i64 %t403
  br label %k_2.enter
k_2.enter:
  br label %k_2.loop
k_2.loop:  ; inner loop 24: acc += space0 * values0
  %k_2 = phi i64 [0, %k_2.enter], [%k_2.next, %k_2.again]
  ; loop 25, i_1 = 0
  ; loop 26, straight
  %t399 = mul i64 %k_2, 32
  %space0.401 = getelementptr float, ptr %space0.400, i64 %t399
  %space0.402 = load float, ptr %space0.401, align 4
  %values0.405 = getelementptr float, ptr %values0.404, i64 %t399
  %values0.406 = load <8 x float>, ptr %values0.405, align 4
  %values0.407 = getelementptr float, ptr %values0.405, i64 8
  %values0.408 = load <8 x float>, ptr %values0.407, align 4
  %acc_1.409 = load <8 x float>, ptr %acc_1, align 4
  %t410 = insertelement <8 x float> poison, float %space0.402, i64 0
  %t411 = shufflevector <8 x float> %t410, <8 x float> poison, <8 x i32> splat (i32 0)
  %t412 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t411, <8 x float> %values0.406, <8 x float> %acc_1.409)
  store <8 x float> %t412, ptr %acc_1, align 4
  %acc_1.413 = load <8 x float>, ptr %acc_1.391, align 4
  %t414 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t411, <8 x float> %values0.408, <8 x float> %acc_1.413)
  store <8 x float> %t414, ptr %acc_1.391, align 4
  ; loop 25, i_1 = 1
  %space0.415 = getelementptr float, ptr %space0.401, i64 1
  %space0.416 = load float, ptr %space0.415, align 4
  %acc_1.417 = load <8 x float>, ptr %acc_1.392, align 4
  %t418 = insertelement <8 x float> poison, float %space0.416, i64 0
  %t419 = shufflevector <8 x float> %t418, <8 x float> poison, <8 x i32> splat (i32 0)
  %t420 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t419, <8 x float> %values0.406, <8 x float> %acc_1.417)
  store <8 x float> %t420, ptr %acc_1.392, align 4
  %acc_1.421 = load <8 x float>, ptr %acc_1.393, align 4
  %t422 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t419, <8 x float> %values0.408, <8 x float> %acc_1.421)
  store <8 x float> %t422, ptr %acc_1.393, align 4
  ; loop 25, i_1 = 2
  %space0.423 = getelementptr float, ptr %space0.401, i64 2
  %space0.424 = load float, ptr %space0.423, align 4
  %acc_1.425 = load <8 x float>, ptr %acc_1.394, align 4
  %t426 = insertelement <8 x float> poison, float %space0.424, i64 0
  %t427 = shufflevector <8 x float> %t426, <8 x float> poison, <8 x i32> splat (i32 0)
  %t428 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t427, <8 x float> %values0.406, <8 x float> %acc_1.425)
  store <8 x float> %t428, ptr %acc_1.394, align 4
  %acc_1.429 = load <8 x float>, ptr %acc_1.395, align 4
  %t430 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t427, <8 x float> %values0.408, <8 x float> %acc_1.429)
  store <8 x float> %t430, ptr %acc_1.395, align 4
  ; loop 25, i_1 = 3
  %space0.431 = getelementptr float, ptr %space0.401, i64 3
  %space0.432 = load float, ptr %space0.431, align 4
  %acc_1.433 = load <8 x float>, ptr %acc_1.396, align 4
  %t434 = insertelement <8 x float> poison, float %space0.432, i64 0
  %t435 = shufflevector <8 x float> %t434, <8 x float> poison, <8 x i32> splat (i32 0)
  %t436 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t435, <8 x float> %values0.406, <8 x float> %acc_1.433)
  store <8 x float> %t436, ptr %acc_1.396, align 4
  %acc_1.437 = load <8 x float>, ptr %acc_1.397, align 4
  %t438 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t435, <8 x float> %values0.408, <8 x float> %acc_1.437)
  store <8 x float> %t438, ptr %acc_1.397, align 4
  br label %k_2.again
k_2.again:
  %k_2.next = add nuw nsw i64 %k_2, 1
  %t439 = icmp slt i64 %k_2.next, 64
  br i1 %t439, label %k_2.loop, label %k_2.end
k_2.end:
  ; loop 27, i_1 = 0
  ; loop 28, straight
  %acc_1.440 = load <8 x float>, ptr %acc_1, align 4
  %acc_1.441 = load <8 x float>, ptr %acc_1.391, align 4
  %sums0.444 = getelementptr float, ptr %sums0.443, i64 %t403
  store <8 x float> %acc_1.440, ptr %sums0.444, align 4
  %sums0.445 = getelementptr float, ptr %sums0.444, i64 8
  store <8 x float> %acc_1.441, ptr %sums0.445, align 4
  ; loop 27, i_1 = 1
  %acc_1.446 = load <8 x float>, ptr %acc_1.392, align 4
  %acc_1.447 = load <8 x float>, ptr %acc_1.393, align 4
  %sums0.448 = getelementptr float, ptr %sums0.444, i64 32
  store <8 x float> %acc_1.446, ptr %sums0.448, align 4
  %sums0.449 = getelementptr float, ptr %sums0.444, i64 40
  store <8 x float> %acc_1.447, ptr %sums0.449, align 4
  ; loop 27, i_1 = 2
  %acc_1.450 = load <8 x float>, ptr %acc_1.394, align 4
  %acc_1.451 = load <8 x float>, ptr %acc_1.395, align 4
  %sums0.452 = getelementptr float, ptr %sums0.444, i64 64
  store <8 x float> %acc_1.450, ptr %sums0.452, align 4
  %sums0.453 = getelementptr float, ptr %sums0.444, i64 72
  store <8 x float> %acc_1.451, ptr %sums0.453, align 4
  ; loop 27, i_1 = 3
  %acc_1.454 = load <8 x float>, ptr %acc_1.396, align 4
  %acc_1.455 = load <8 x float>, ptr %acc_1.397, align 4
  %sums0.456 = getelementptr float, ptr %sums0.444, i64 96
  store <8 x float> %acc_1.454, ptr %sums0.456, align 4
  %sums0.457 = getelementptr float, ptr %sums0.444, i64 104
  store <8 x float> %acc_1.455, ptr %sums0.457, align 4
  br label %lanes_2.again
lanes_2.again:
  %lanes_2.next = add nuw nsw i64 %lanes_2, 1
  %t458 = icmp slt i64 %lanes_2.next, 2
  br i1 %t458, label %lanes_2.loop, label %lanes_2.end
lanes_2.end:
  br label %tile_1.again
tile_1.again:
  %tile_1.next = add nuw nsw i64 %tile_1, 1
  %t459 = icmp slt i64 %tile_1.next, 8
  br i1 %t459, label %tile_1.loop, label %tile_1.end
tile_1.end:
  %out0.477 = getelementptr float, ptr %out0, i64 %t5
  br label %line.enter
line.enter:
  br label %line.loop
line.loop:  ; inner loop 29: out0 = sums0 / sum1
  %line = phi i64 [0, %line.enter], [%line.next, %line.again]
  ; loop 30, straight
  %t460 = mul i64 %line, 32
  %sums0.461 = getelementptr float, ptr %sums0, i64 %t460
  %sums0.462 = load <8 x float>, ptr %sums0.461, align 4
  %sum1.463 = getelementptr float, ptr %sum1, i64 %line
  %sum1.464 = load float, ptr %sum1.463, align 4
  %t465 = insertelement <8 x float> poison, float %sum1.464, i64 0
  %t466 = shufflevector <8 x float> %t465, <8 x float> poison, <8 x i32> splat (i32 0)
  %t467 = fdiv <8 x float> %sums0.462, %t466
  %sums0.468 = getelementptr float, ptr %sums0.461, i64 8
  %sums0.469 = load <8 x float>, ptr %sums0.468, align 4
  %t470 = fdiv <8 x float> %sums0.469, %t466
  %sums0.471 = getelementptr float, ptr %sums0.461, i64 16
  %sums0.472 = load <8 x float>, ptr %sums0.471, align 4
  %t473 = fdiv <8 x float> %sums0.472, %t466
  %sums0.474 = getelementptr float, ptr %sums0.461, i64 24
  %sums0.475 = load <8 x float>, ptr %sums0.474, align 4
  %t476 = fdiv <8 x float> %sums0.475, %t466
  %out0.478 = getelementptr float, ptr %out0.477, i64 %t460
  store <8 x float> %t467, ptr %out0.478, align 4
  %out0.479 = getelementptr float, ptr %out0.478, i64 8
  store <8 x float> %t470, ptr %out0.479, align 4
  %out0.480 = getelementptr float, ptr %out0.478, i64 16
  store <8 x float> %t473, ptr %out0.480, align 4
  %out0.481 = getelementptr float, ptr %out0.478, i64 24
  store <8 x float> %t476, ptr %out0.481, align 4
  br label %line.again
line.again:
  %line.next = add nuw nsw i64 %line, 1
  %t482 = icmp slt i64 %line.next, 32
  br i1 %t482, label %line.loop, label %line.end
line.end:
  ret void
}

attributes #0 = { nounwind "target-cpu"="x86-64-v3" "no-trapping-math"="true" "frame-pointer"="none" }

!0 = !{!"branch_weights", i32 1, i32 4000}
!1 = !{i32 1}
