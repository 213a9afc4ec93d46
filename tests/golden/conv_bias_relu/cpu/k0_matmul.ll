declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)

define void @k0_matmul_p0(ptr %ctx, i64 %chunk, i64 %tid) #0 {
start:
  %copy = alloca [928 x float], align 64
  %acc = alloca [160 x float], align 64
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
  %t5 = and i64 %chunk, 3
  %t6 = mul i64 %t5, 4
  %t10 = add <8 x i32> splat (i32 -1), <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t11 = icmp ult <8 x i32> %t10, splat (i32 16)
  %t17 = mul i64 %t5, 64
  %t18 = udiv i64 %chunk, 4
  %t19 = mul i64 %t18, 2048
  %t20 = add i64 %t17, %t19
  %in0.21 = getelementptr float, ptr %in0, i64 %t20
  %t26 = add <8 x i32> splat (i32 7), <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t27 = icmp ult <8 x i32> %t26, splat (i32 16)
  %t31 = add <8 x i32> splat (i32 15), <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t32 = icmp ult <8 x i32> %t31, splat (i32 16)
  br label %c1.enter
c1.enter:
  br label %c1.loop
c1.loop:  ; loop 2
  %c1 = phi i64 [0, %c1.enter], [%c1.next, %c1.again]
  %t15 = mul i64 %c1, 256
  %in0.22 = getelementptr float, ptr %in0.21, i64 %t15
  %t37 = mul i64 %c1, 108
  %copy.39 = getelementptr float, ptr %copy, i64 %t37
  br label %c2.enter
c2.enter:
  br label %c2.loop
c2.loop:  ; inner loop 3: copy = in0
  %c2 = phi i64 [0, %c2.enter], [%c2.next, %c2.again]
  ; loop 4, straight
  %t7 = add i64 %t6, %c2
  %t8 = add i64 %t7, -1
  %t9 = icmp ult i64 %t8, 16
  %t12 = insertelement <8 x i1> poison, i1 %t9, i64 0
  %t13 = shufflevector <8 x i1> %t12, <8 x i1> poison, <8 x i32> splat (i32 0)
  %t14 = and <8 x i1> %t13, %t11
  %t16 = mul i64 %c2, 16
  %in0.23 = getelementptr float, ptr %in0.22, i64 %t16
  %in0.24 = getelementptr float, ptr %in0.23, i64 -17
  %t25 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %in0.24, i32 4, <8 x i1> %t14, <8 x float> zeroinitializer)
  %t28 = and <8 x i1> %t13, %t27
  %in0.29 = getelementptr float, ptr %in0.23, i64 -9
  %t30 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %in0.29, i32 4, <8 x i1> %t28, <8 x float> zeroinitializer)
  %t33 = and <8 x i1> %t13, %t32
  %t34 = and <8 x i1> %t33, <i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>
  %in0.35 = getelementptr float, ptr %in0.23, i64 -1
  %t36 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %in0.35, i32 4, <8 x i1> %t34, <8 x float> zeroinitializer)
  %t38 = mul i64 %c2, 18
  %copy.40 = getelementptr float, ptr %copy.39, i64 %t38
  store <8 x float> %t25, ptr %copy.40, align 4
  %copy.41 = getelementptr float, ptr %copy.40, i64 8
  store <8 x float> %t30, ptr %copy.41, align 4
  %copy.42 = getelementptr float, ptr %copy.40, i64 16
  call void @llvm.masked.store.v8f32.p0(<8 x float> %t36, ptr %copy.42, i32 4, <8 x i1> <i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>)
  br label %c2.again
c2.again:
  %c2.next = add nuw nsw i64 %c2, 1
  %t43 = icmp slt i64 %c2.next, 6
  br i1 %t43, label %c2.loop, label %c2.end
c2.end:
  br label %c1.again
c1.again:
  %c1.next = add nuw nsw i64 %c1, 1
  %t44 = icmp slt i64 %c1.next, 8
  br i1 %t44, label %c1.loop, label %c1.end
c1.end:
  %acc.45 = getelementptr float, ptr %acc, i64 8
  %acc.46 = getelementptr float, ptr %acc, i64 16
  %acc.47 = getelementptr float, ptr %acc, i64 24
  %acc.48 = getelementptr float, ptr %acc, i64 32
  %acc.49 = getelementptr float, ptr %acc, i64 40
  %acc.50 = getelementptr float, ptr %acc, i64 48
  %acc.51 = getelementptr float, ptr %acc, i64 56
  %acc.52 = getelementptr float, ptr %acc, i64 64
  %acc.53 = getelementptr float, ptr %acc, i64 72
  %acc.54 = getelementptr float, ptr %acc, i64 80
  %acc.55 = getelementptr float, ptr %acc, i64 88
  %t144 = mul i64 %t18, 4096
  %t145 = add i64 %t17, %t144
  %out0.146 = getelementptr float, ptr %out0, i64 %t145
  %acc_1.251 = getelementptr float, ptr %acc_1, i64 8
  %acc_1.252 = getelementptr float, ptr %acc_1, i64 16
  %acc_1.253 = getelementptr float, ptr %acc_1, i64 24
  %acc_1.254 = getelementptr float, ptr %acc_1, i64 32
  %acc_1.255 = getelementptr float, ptr %acc_1, i64 40
  %acc_1.256 = getelementptr float, ptr %acc_1, i64 48
  %acc_1.257 = getelementptr float, ptr %acc_1, i64 56
  %in2.307 = getelementptr float, ptr %in2, i64 12
  %in2.308 = load float, ptr %in2.307, align 4
  %t309 = insertelement <8 x float> poison, float %in2.308, i64 0
  %t310 = shufflevector <8 x float> %t309, <8 x float> poison, <8 x i32> splat (i32 0)
  %in2.327 = getelementptr float, ptr %in2, i64 13
  %in2.328 = load float, ptr %in2.327, align 4
  %t329 = insertelement <8 x float> poison, float %in2.328, i64 0
  %t330 = shufflevector <8 x float> %t329, <8 x float> poison, <8 x i32> splat (i32 0)
  %in2.347 = getelementptr float, ptr %in2, i64 14
  %in2.348 = load float, ptr %in2.347, align 4
  %t349 = insertelement <8 x float> poison, float %in2.348, i64 0
  %t350 = shufflevector <8 x float> %t349, <8 x float> poison, <8 x i32> splat (i32 0)
  %in2.367 = getelementptr float, ptr %in2, i64 15
  %in2.368 = load float, ptr %in2.367, align 4
  %t369 = insertelement <8 x float> poison, float %in2.368, i64 0
  %t370 = shufflevector <8 x float> %t369, <8 x float> poison, <8 x i32> splat (i32 0)
  br label %tile.enter
tile.enter:
  br label %tile.loop
tile.loop:  ; loop 5
  %tile = phi i64 [0, %tile.enter], [%tile.next, %tile.again]
  %t64 = mul i64 %tile, 18
  %copy.67 = getelementptr float, ptr %copy, i64 %t64
  %t142 = mul i64 %tile, 16
  %out0.147 = getelementptr float, ptr %out0.146, i64 %t142
  br label %tile_1.enter
tile_1.enter:
  br label %tile_1.loop
tile_1.loop:  ; loop 6
  %tile_1 = phi i64 [0, %tile_1.enter], [%tile_1.next, %tile_1.again]
  store <8 x float> splat (float 0x0000000000000000), ptr %acc, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.45, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.46, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.47, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.48, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.49, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.50, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.51, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.52, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.53, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.54, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.55, align 4
  %t56 = mul i64 %tile_1, 432
  %in1.59 = getelementptr float, ptr %in1, i64 %t56
  br label %k0.enter
k0.enter:
  br label %k0.loop
k0.loop:  ; loop 8
  %k0 = phi i64 [0, %k0.enter], [%k0.next, %k0.again]
  %t57 = mul i64 %k0, 9
  %in1.60 = getelementptr float, ptr %in1.59, i64 %t57
  %t65 = mul i64 %k0, 108
  %copy.68 = getelementptr float, ptr %copy.67, i64 %t65
  br label %k1.enter
k1.enter:
  br label %k1.loop
k1.loop:  ; loop 9
  %k1 = phi i64 [0, %k1.enter], [%k1.next, %k1.again]
  %t58 = mul i64 %k1, 3
  %in1.61 = getelementptr float, ptr %in1.60, i64 %t58
  %t66 = mul i64 %k1, 18
  %copy.69 = getelementptr float, ptr %copy.68, i64 %t66
  br label %k2.enter
k2.enter:
  br label %k2.loop
k2.loop:  ; inner loop 10: acc += in1 * copy
  %k2 = phi i64 [0, %k2.enter], [%k2.next, %k2.again]
  ; loop 11, o = 0
  ; loop 12, r = 0
  ; loop 13, straight
  %in1.62 = getelementptr float, ptr %in1.61, i64 %k2
  %in1.63 = load float, ptr %in1.62, align 4
  %copy.70 = getelementptr float, ptr %copy.69, i64 %k2
  %copy.71 = load <8 x float>, ptr %copy.70, align 4
  %copy.72 = getelementptr float, ptr %copy.70, i64 8
  %copy.73 = load <8 x float>, ptr %copy.72, align 4
  %acc.74 = load <8 x float>, ptr %acc, align 4
  %t75 = insertelement <8 x float> poison, float %in1.63, i64 0
  %t76 = shufflevector <8 x float> %t75, <8 x float> poison, <8 x i32> splat (i32 0)
  %t77 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t76, <8 x float> %copy.71, <8 x float> %acc.74)
  store <8 x float> %t77, ptr %acc, align 4
  %acc.78 = load <8 x float>, ptr %acc.45, align 4
  %t79 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t76, <8 x float> %copy.73, <8 x float> %acc.78)
  store <8 x float> %t79, ptr %acc.45, align 4
  ; loop 11, o = 1
  ; loop 12, r = 0
  %in1.80 = getelementptr float, ptr %in1.62, i64 72
  %in1.81 = load float, ptr %in1.80, align 4
  %acc.82 = load <8 x float>, ptr %acc.46, align 4
  %t83 = insertelement <8 x float> poison, float %in1.81, i64 0
  %t84 = shufflevector <8 x float> %t83, <8 x float> poison, <8 x i32> splat (i32 0)
  %t85 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t84, <8 x float> %copy.71, <8 x float> %acc.82)
  store <8 x float> %t85, ptr %acc.46, align 4
  %acc.86 = load <8 x float>, ptr %acc.47, align 4
  %t87 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t84, <8 x float> %copy.73, <8 x float> %acc.86)
  store <8 x float> %t87, ptr %acc.47, align 4
  ; loop 11, o = 2
  ; loop 12, r = 0
  %in1.88 = getelementptr float, ptr %in1.62, i64 144
  %in1.89 = load float, ptr %in1.88, align 4
  %acc.90 = load <8 x float>, ptr %acc.48, align 4
  %t91 = insertelement <8 x float> poison, float %in1.89, i64 0
  %t92 = shufflevector <8 x float> %t91, <8 x float> poison, <8 x i32> splat (i32 0)
  %t93 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t92, <8 x float> %copy.71, <8 x float> %acc.90)
  store <8 x float> %t93, ptr %acc.48, align 4
  %acc.94 = load <8 x float>, ptr %acc.49, align 4
  %t95 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t92, <8 x float> %copy.73, <8 x float> %acc.94)
  store <8 x float> %t95, ptr %acc.49, align 4
  ; loop 11, o = 3
  ; loop 12, r = 0
  %in1.96 = getelementptr float, ptr %in1.62, i64 216
  %in1.97 = load float, ptr %in1.96, align 4
  %acc.98 = load <8 x float>, ptr %acc.50, align 4
  %t99 = insertelement <8 x float> poison, float %in1.97, i64 0
  %t100 = shufflevector <8 x float> %t99, <8 x float> poison, <8 x i32> splat (i32 0)
  %t101 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t100, <8 x float> %copy.71, <8 x float> %acc.98)
  store <8 x float> %t101, ptr %acc.50, align 4
  %acc.102 = load <8 x float>, ptr %acc.51, align 4
  %t103 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t100, <8 x float> %copy.73, <8 x float> %acc.102)
  store <8 x float> %t103, ptr %acc.51, align 4
  ; loop 11, o = 4
  ; loop 12, r = 0
  %in1.104 = getelementptr float, ptr %in1.62, i64 288
  %in1.105 = load float, ptr %in1.104, align 4
  %acc.106 = load <8 x float>, ptr %acc.52, align 4
  %t107 = insertelement <8 x float> poison, float %in1.105, i64 0
  %t108 = shufflevector <8 x float> %t107, <8 x float> poison, <8 x i32> splat (i32 0)
  %t109 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t108, <8 x float> %copy.71, <8 x float> %acc.106)
  store <8 x float> %t109, ptr %acc.52, align 4
  %acc.110 = load <8 x float>, ptr %acc.53, align 4
  %t111 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t108, <8 x float> %copy.73, <8 x float> %acc.110)
  store <8 x float> %t111, ptr %acc.53, align 4
  ; loop 11, o = 5
  ; loop 12, r = 0
  %in1.112 = getelementptr float, ptr %in1.62, i64 360
  %in1.113 = load float, ptr %in1.112, align 4
  %acc.114 = load <8 x float>, ptr %acc.54, align 4
  %t115 = insertelement <8 x float> poison, float %in1.113, i64 0
  %t116 = shufflevector <8 x float> %t115, <8 x float> poison, <8 x i32> splat (i32 0)
  %t117 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t116, <8 x float> %copy.71, <8 x float> %acc.114)
  store <8 x float> %t117, ptr %acc.54, align 4
  %acc.118 = load <8 x float>, ptr %acc.55, align 4
  %t119 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t116, <8 x float> %copy.73, <8 x float> %acc.118)
  store <8 x float> %t119, ptr %acc.55, align 4
  br label %k2.again
k2.again:
  %k2.next = add nuw nsw i64 %k2, 1
  %t120 = icmp slt i64 %k2.next, 3
  br i1 %t120, label %k2.loop, label %k2.end
k2.end:
  br label %k1.again
k1.again:
  %k1.next = add nuw nsw i64 %k1, 1
  %t121 = icmp slt i64 %k1.next, 3
  br i1 %t121, label %k1.loop, label %k1.end
k1.end:
  br label %k0.again
k0.again:
  %k0.next = add nuw nsw i64 %k0, 1
  %t122 = icmp slt i64 %k0.next, 8
  br i1 %t122, label %k0.loop, label %k0.end
k0.end:
  ; loop 14, o = 0
  ; loop 15, r = 0
  ; loop 16, straight
  %acc.123 = load <8 x float>, ptr %acc, align 4
  %t124 = mul i64 %tile_1, 6
  %in2.125 = getelementptr float, ptr %in2, i64 %t124
  %in2.126 = load float, ptr %in2.125, align 4
  %t127 = insertelement <8 x float> poison, float %in2.126, i64 0
  %t128 = shufflevector <8 x float> %t127, <8 x float> poison, <8 x i32> splat (i32 0)
  %t129 = fadd <8 x float> %acc.123, %t128
  %t130 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t129
  %t131 = fcmp oeq <8 x float> %t129, %t129
  %t132 = xor <8 x i1> %t131, splat (i1 true)
  %t133 = or <8 x i1> %t130, %t132
  %t134 = select <8 x i1> %t133, <8 x float> %t129, <8 x float> splat (float 0x0000000000000000)
  %acc.135 = load <8 x float>, ptr %acc.45, align 4
  %t136 = fadd <8 x float> %acc.135, %t128
  %t137 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t136
  %t138 = fcmp oeq <8 x float> %t136, %t136
  %t139 = xor <8 x i1> %t138, splat (i1 true)
  %t140 = or <8 x i1> %t137, %t139
  %t141 = select <8 x i1> %t140, <8 x float> %t136, <8 x float> splat (float 0x0000000000000000)
  %t143 = mul i64 %tile_1, 1536
  %out0.148 = getelementptr float, ptr %out0.147, i64 %t143
  store <8 x float> %t134, ptr %out0.148, align 4
  %out0.149 = getelementptr float, ptr %out0.148, i64 8
  store <8 x float> %t141, ptr %out0.149, align 4
  ; loop 14, o = 1
  ; loop 15, r = 0
  %acc.150 = load <8 x float>, ptr %acc.46, align 4
  %in2.151 = getelementptr float, ptr %in2.125, i64 1
  %in2.152 = load float, ptr %in2.151, align 4
  %t153 = insertelement <8 x float> poison, float %in2.152, i64 0
  %t154 = shufflevector <8 x float> %t153, <8 x float> poison, <8 x i32> splat (i32 0)
  %t155 = fadd <8 x float> %acc.150, %t154
  %t156 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t155
  %t157 = fcmp oeq <8 x float> %t155, %t155
  %t158 = xor <8 x i1> %t157, splat (i1 true)
  %t159 = or <8 x i1> %t156, %t158
  %t160 = select <8 x i1> %t159, <8 x float> %t155, <8 x float> splat (float 0x0000000000000000)
  %acc.161 = load <8 x float>, ptr %acc.47, align 4
  %t162 = fadd <8 x float> %acc.161, %t154
  %t163 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t162
  %t164 = fcmp oeq <8 x float> %t162, %t162
  %t165 = xor <8 x i1> %t164, splat (i1 true)
  %t166 = or <8 x i1> %t163, %t165
  %t167 = select <8 x i1> %t166, <8 x float> %t162, <8 x float> splat (float 0x0000000000000000)
  %out0.168 = getelementptr float, ptr %out0.148, i64 256
  store <8 x float> %t160, ptr %out0.168, align 4
  %out0.169 = getelementptr float, ptr %out0.148, i64 264
  store <8 x float> %t167, ptr %out0.169, align 4
  ; loop 14, o = 2
  ; loop 15, r = 0
  %acc.170 = load <8 x float>, ptr %acc.48, align 4
  %in2.171 = getelementptr float, ptr %in2.125, i64 2
  %in2.172 = load float, ptr %in2.171, align 4
  %t173 = insertelement <8 x float> poison, float %in2.172, i64 0
  %t174 = shufflevector <8 x float> %t173, <8 x float> poison, <8 x i32> splat (i32 0)
  %t175 = fadd <8 x float> %acc.170, %t174
  %t176 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t175
  %t177 = fcmp oeq <8 x float> %t175, %t175
  %t178 = xor <8 x i1> %t177, splat (i1 true)
  %t179 = or <8 x i1> %t176, %t178
  %t180 = select <8 x i1> %t179, <8 x float> %t175, <8 x float> splat (float 0x0000000000000000)
  %acc.181 = load <8 x float>, ptr %acc.49, align 4
  %t182 = fadd <8 x float> %acc.181, %t174
  %t183 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t182
  %t184 = fcmp oeq <8 x float> %t182, %t182
  %t185 = xor <8 x i1> %t184, splat (i1 true)
  %t186 = or <8 x i1> %t183, %t185
  %t187 = select <8 x i1> %t186, <8 x float> %t182, <8 x float> splat (float 0x0000000000000000)
  %out0.188 = getelementptr float, ptr %out0.148, i64 512
  store <8 x float> %t180, ptr %out0.188, align 4
  %out0.189 = getelementptr float, ptr %out0.148, i64 520
  store <8 x float> %t187, ptr %out0.189, align 4
  ; loop 14, o = 3
  ; loop 15, r = 0
  %acc.190 = load <8 x float>, ptr %acc.50, align 4
  %in2.191 = getelementptr float, ptr %in2.125, i64 3
  %in2.192 = load float, ptr %in2.191, align 4
  %t193 = insertelement <8 x float> poison, float %in2.192, i64 0
  %t194 = shufflevector <8 x float> %t193, <8 x float> poison, <8 x i32> splat (i32 0)
  %t195 = fadd <8 x float> %acc.190, %t194
  %t196 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t195
  %t197 = fcmp oeq <8 x float> %t195, %t195
  %t198 = xor <8 x i1> %t197, splat (i1 true)
  %t199 = or <8 x i1> %t196, %t198
  %t200 = select <8 x i1> %t199, <8 x float> %t195, <8 x float> splat (float 0x0000000000000000)
  %acc.201 = load <8 x float>, ptr %acc.51, align 4
  %t202 = fadd <8 x float> %acc.201, %t194
  %t203 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t202
  %t204 = fcmp oeq <8 x float> %t202, %t202
  %t205 = xor <8 x i1> %t204, splat (i1 true)
  %t206 = or <8 x i1> %t203, %t205
  %t207 = select <8 x i1> %t206, <8 x float> %t202, <8 x float> splat (float 0x0000000000000000)
  %out0.208 = getelementptr float, ptr %out0.148, i64 768
  store <8 x float> %t200, ptr %out0.208, align 4
  %out0.209 = getelementptr float, ptr %out0.148, i64 776
  store <8 x float> %t207, ptr %out0.209, align 4
  ; loop 14, o = 4
  ; loop 15, r = 0
  %acc.210 = load <8 x float>, ptr %acc.52, align 4
  %in2.211 = getelementptr float, ptr %in2.125, i64 4
  %in2.212 = load float, ptr %in2.211, align 4
  %t213 = insertelement <8 x float> poison, float %in2.212, i64 0
  %t214 = shufflevector <8 x float> %t213, <8 x float> poison, <8 x i32> splat (i32 0)
  %t215 = fadd <8 x float> %acc.210, %t214
  %t216 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t215
  %t217 = fcmp oeq <8 x float> %t215, %t215
  %t218 = xor <8 x i1> %t217, splat (i1 true)
  %t219 = or <8 x i1> %t216, %t218
  %t220 = select <8 x i1> %t219, <8 x float> %t215, <8 x float> splat (float 0x0000000000000000)
  %acc.221 = load <8 x float>, ptr %acc.53, align 4
  %t222 = fadd <8 x float> %acc.221, %t214
  %t223 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t222
  %t224 = fcmp oeq <8 x float> %t222, %t222
  %t225 = xor <8 x i1> %t224, splat (i1 true)
  %t226 = or <8 x i1> %t223, %t225
  %t227 = select <8 x i1> %t226, <8 x float> %t222, <8 x float> splat (float 0x0000000000000000)
  %out0.228 = getelementptr float, ptr %out0.148, i64 1024
  store <8 x float> %t220, ptr %out0.228, align 4
  %out0.229 = getelementptr float, ptr %out0.148, i64 1032
  store <8 x float> %t227, ptr %out0.229, align 4
  ; loop 14, o = 5
  ; loop 15, r = 0
  %acc.230 = load <8 x float>, ptr %acc.54, align 4
  %in2.231 = getelementptr float, ptr %in2.125, i64 5
  %in2.232 = load float, ptr %in2.231, align 4
  %t233 = insertelement <8 x float> poison, float %in2.232, i64 0
  %t234 = shufflevector <8 x float> %t233, <8 x float> poison, <8 x i32> splat (i32 0)
  %t235 = fadd <8 x float> %acc.230, %t234
  %t236 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t235
  %t237 = fcmp oeq <8 x float> %t235, %t235
  %t238 = xor <8 x i1> %t237, splat (i1 true)
  %t239 = or <8 x i1> %t236, %t238
  %t240 = select <8 x i1> %t239, <8 x float> %t235, <8 x float> splat (float 0x0000000000000000)
  %acc.241 = load <8 x float>, ptr %acc.55, align 4
  %t242 = fadd <8 x float> %acc.241, %t234
  %t243 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t242
  %t244 = fcmp oeq <8 x float> %t242, %t242
  %t245 = xor <8 x i1> %t244, splat (i1 true)
  %t246 = or <8 x i1> %t243, %t245
  %t247 = select <8 x i1> %t246, <8 x float> %t242, <8 x float> splat (float 0x0000000000000000)
  %out0.248 = getelementptr float, ptr %out0.148, i64 1280
  store <8 x float> %t240, ptr %out0.248, align 4
  %out0.249 = getelementptr float, ptr %out0.148, i64 1288
  store <8 x float> %t247, ptr %out0.249, align 4
  br label %tile_1.again
tile_1.again:
  %tile_1.next = add nuw nsw i64 %tile_1, 1
  %t250 = icmp slt i64 %tile_1.next, 2
  br i1 %t250, label %tile_1.loop, label %tile_1.end
tile_1.end:
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.251, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.252, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.253, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.254, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.255, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.256, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.257, align 4
  br label %k0_1.enter
k0_1.enter:
  br label %k0_1.loop
k0_1.loop:  ; loop 19
  %k0_1 = phi i64 [0, %k0_1.enter], [%k0_1.next, %k0_1.again]
  %t258 = mul i64 %k0_1, 9
  %in1.260 = getelementptr float, ptr %in1, i64 %t258
  %t265 = mul i64 %k0_1, 108
  %copy.267 = getelementptr float, ptr %copy.67, i64 %t265
  br label %k1_1.enter
k1_1.enter:
  br label %k1_1.loop
k1_1.loop:  ; loop 20
  %k1_1 = phi i64 [0, %k1_1.enter], [%k1_1.next, %k1_1.again]
  %t259 = mul i64 %k1_1, 3
  %in1.261 = getelementptr float, ptr %in1.260, i64 %t259
  %t266 = mul i64 %k1_1, 18
  %copy.268 = getelementptr float, ptr %copy.267, i64 %t266
  br label %k2_1.enter
k2_1.enter:
  br label %k2_1.loop
k2_1.loop:  ; inner loop 21: acc += in1 * copy
  %k2_1 = phi i64 [0, %k2_1.enter], [%k2_1.next, %k2_1.again]
  ; loop 22, o_1 = 0
  ; loop 23, r_1 = 0
  ; loop 24, straight
  %in1.262 = getelementptr float, ptr %in1.261, i64 %k2_1
  %in1.263 = getelementptr float, ptr %in1.262, i64 864
  %in1.264 = load float, ptr %in1.263, align 4
  %copy.269 = getelementptr float, ptr %copy.268, i64 %k2_1
  %copy.270 = load <8 x float>, ptr %copy.269, align 4
  %copy.271 = getelementptr float, ptr %copy.269, i64 8
  %copy.272 = load <8 x float>, ptr %copy.271, align 4
  %acc_1.273 = load <8 x float>, ptr %acc_1, align 4
  %t274 = insertelement <8 x float> poison, float %in1.264, i64 0
  %t275 = shufflevector <8 x float> %t274, <8 x float> poison, <8 x i32> splat (i32 0)
  %t276 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t275, <8 x float> %copy.270, <8 x float> %acc_1.273)
  store <8 x float> %t276, ptr %acc_1, align 4
  %acc_1.277 = load <8 x float>, ptr %acc_1.251, align 4
  %t278 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t275, <8 x float> %copy.272, <8 x float> %acc_1.277)
  store <8 x float> %t278, ptr %acc_1.251, align 4
  ; loop 22, o_1 = 1
  ; loop 23, r_1 = 0
  %in1.279 = getelementptr float, ptr %in1.262, i64 936
  %in1.280 = load float, ptr %in1.279, align 4
  %acc_1.281 = load <8 x float>, ptr %acc_1.252, align 4
  %t282 = insertelement <8 x float> poison, float %in1.280, i64 0
  %t283 = shufflevector <8 x float> %t282, <8 x float> poison, <8 x i32> splat (i32 0)
  %t284 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t283, <8 x float> %copy.270, <8 x float> %acc_1.281)
  store <8 x float> %t284, ptr %acc_1.252, align 4
  %acc_1.285 = load <8 x float>, ptr %acc_1.253, align 4
  %t286 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t283, <8 x float> %copy.272, <8 x float> %acc_1.285)
  store <8 x float> %t286, ptr %acc_1.253, align 4
  ; loop 22, o_1 = 2
  ; loop 23, r_1 = 0
  %in1.287 = getelementptr float, ptr %in1.262, i64 1008
  %in1.288 = load float, ptr %in1.287, align 4
  %acc_1.289 = load <8 x float>, ptr %acc_1.254, align 4
  %t290 = insertelement <8 x float> poison, float %in1.288, i64 0
  %t291 = shufflevector <8 x float> %t290, <8 x float> poison, <8 x i32> splat (i32 0)
  %t292 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t291, <8 x float> %copy.270, <8 x float> %acc_1.289)
  store <8 x float> %t292, ptr %acc_1.254, align 4
  %acc_1.293 = load <8 x float>, ptr %acc_1.255, align 4
  %t294 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t291, <8 x float> %copy.272, <8 x float> %acc_1.293)
  store <8 x float> %t294, ptr %acc_1.255, align 4
  ; loop 22, o_1 = 3
  ; loop 23, r_1 = 0
  %in1.295 = getelementptr float, ptr %in1.262, i64 1080
  %in1.296 = load float, ptr %in1.295, align 4
  %acc_1.297 = load <8 x float>, ptr %acc_1.256, align 4
  %t298 = insertelement <8 x float> poison, float %in1.296, i64 0
  %t299 = shufflevector <8 x float> %t298, <8 x float> poison, <8 x i32> splat (i32 0)
  %t300 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t299, <8 x float> %copy.270, <8 x float> %acc_1.297)
  store <8 x float> %t300, ptr %acc_1.256, align 4
  %acc_1.301 = load <8 x float>, ptr %acc_1.257, align 4
  %t302 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t299, <8 x float> %copy.272, <8 x float> %acc_1.301)
  store <8 x float> %t302, ptr %acc_1.257, align 4
  br label %k2_1.again
k2_1.again:
  %k2_1.next = add nuw nsw i64 %k2_1, 1
  %t303 = icmp slt i64 %k2_1.next, 3
  br i1 %t303, label %k2_1.loop, label %k2_1.end
k2_1.end:
  br label %k1_1.again
k1_1.again:
  %k1_1.next = add nuw nsw i64 %k1_1, 1
  %t304 = icmp slt i64 %k1_1.next, 3
  br i1 %t304, label %k1_1.loop, label %k1_1.end
k1_1.end:
  br label %k0_1.again
k0_1.again:
  %k0_1.next = add nuw nsw i64 %k0_1, 1
  %t305 = icmp slt i64 %k0_1.next, 8
  br i1 %t305, label %k0_1.loop, label %k0_1.end
k0_1.end:
  ; loop 25, o_1 = 0
  ; loop 26, r_1 = 0
  ; loop 27, straight
  %acc_1.306 = load <8 x float>, ptr %acc_1, align 4
  %t311 = fadd <8 x float> %acc_1.306, %t310
  %t312 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t311
  %t313 = fcmp oeq <8 x float> %t311, %t311
  %t314 = xor <8 x i1> %t313, splat (i1 true)
  %t315 = or <8 x i1> %t312, %t314
  %t316 = select <8 x i1> %t315, <8 x float> %t311, <8 x float> splat (float 0x0000000000000000)
  %acc_1.317 = load <8 x float>, ptr %acc_1.251, align 4
  %t318 = fadd <8 x float> %acc_1.317, %t310
  %t319 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t318
  %t320 = fcmp oeq <8 x float> %t318, %t318
  %t321 = xor <8 x i1> %t320, splat (i1 true)
  %t322 = or <8 x i1> %t319, %t321
  %t323 = select <8 x i1> %t322, <8 x float> %t318, <8 x float> splat (float 0x0000000000000000)
  %out0.324 = getelementptr float, ptr %out0.147, i64 3072
  store <8 x float> %t316, ptr %out0.324, align 4
  %out0.325 = getelementptr float, ptr %out0.147, i64 3080
  store <8 x float> %t323, ptr %out0.325, align 4
  ; loop 25, o_1 = 1
  ; loop 26, r_1 = 0
  %acc_1.326 = load <8 x float>, ptr %acc_1.252, align 4
  %t331 = fadd <8 x float> %acc_1.326, %t330
  %t332 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t331
  %t333 = fcmp oeq <8 x float> %t331, %t331
  %t334 = xor <8 x i1> %t333, splat (i1 true)
  %t335 = or <8 x i1> %t332, %t334
  %t336 = select <8 x i1> %t335, <8 x float> %t331, <8 x float> splat (float 0x0000000000000000)
  %acc_1.337 = load <8 x float>, ptr %acc_1.253, align 4
  %t338 = fadd <8 x float> %acc_1.337, %t330
  %t339 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t338
  %t340 = fcmp oeq <8 x float> %t338, %t338
  %t341 = xor <8 x i1> %t340, splat (i1 true)
  %t342 = or <8 x i1> %t339, %t341
  %t343 = select <8 x i1> %t342, <8 x float> %t338, <8 x float> splat (float 0x0000000000000000)
  %out0.344 = getelementptr float, ptr %out0.147, i64 3328
  store <8 x float> %t336, ptr %out0.344, align 4
  %out0.345 = getelementptr float, ptr %out0.147, i64 3336
  store <8 x float> %t343, ptr %out0.345, align 4
  ; loop 25, o_1 = 2
  ; loop 26, r_1 = 0
  %acc_1.346 = load <8 x float>, ptr %acc_1.254, align 4
  %t351 = fadd <8 x float> %acc_1.346, %t350
  %t352 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t351
  %t353 = fcmp oeq <8 x float> %t351, %t351
  %t354 = xor <8 x i1> %t353, splat (i1 true)
  %t355 = or <8 x i1> %t352, %t354
  %t356 = select <8 x i1> %t355, <8 x float> %t351, <8 x float> splat (float 0x0000000000000000)
  %acc_1.357 = load <8 x float>, ptr %acc_1.255, align 4
  %t358 = fadd <8 x float> %acc_1.357, %t350
  %t359 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t358
  %t360 = fcmp oeq <8 x float> %t358, %t358
  %t361 = xor <8 x i1> %t360, splat (i1 true)
  %t362 = or <8 x i1> %t359, %t361
  %t363 = select <8 x i1> %t362, <8 x float> %t358, <8 x float> splat (float 0x0000000000000000)
  %out0.364 = getelementptr float, ptr %out0.147, i64 3584
  store <8 x float> %t356, ptr %out0.364, align 4
  %out0.365 = getelementptr float, ptr %out0.147, i64 3592
  store <8 x float> %t363, ptr %out0.365, align 4
  ; loop 25, o_1 = 3
  ; loop 26, r_1 = 0
  %acc_1.366 = load <8 x float>, ptr %acc_1.256, align 4
  %t371 = fadd <8 x float> %acc_1.366, %t370
  %t372 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t371
  %t373 = fcmp oeq <8 x float> %t371, %t371
  %t374 = xor <8 x i1> %t373, splat (i1 true)
  %t375 = or <8 x i1> %t372, %t374
  %t376 = select <8 x i1> %t375, <8 x float> %t371, <8 x float> splat (float 0x0000000000000000)
  %acc_1.377 = load <8 x float>, ptr %acc_1.257, align 4
  %t378 = fadd <8 x float> %acc_1.377, %t370
  %t379 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t378
  %t380 = fcmp oeq <8 x float> %t378, %t378
  %t381 = xor <8 x i1> %t380, splat (i1 true)
  %t382 = or <8 x i1> %t379, %t381
  %t383 = select <8 x i1> %t382, <8 x float> %t378, <8 x float> splat (float 0x0000000000000000)
  %out0.384 = getelementptr float, ptr %out0.147, i64 3840
  store <8 x float> %t376, ptr %out0.384, align 4
  %out0.385 = getelementptr float, ptr %out0.147, i64 3848
  store <8 x float> %t383, ptr %out0.385, align 4
  br label %tile.again
tile.again:
  %tile.next = add nuw nsw i64 %tile, 1
  %t386 = icmp slt i64 %tile.next, 4
  br i1 %t386, label %tile.loop, label %tile.end
tile.end:
  ret void
}

attributes #0 = { nounwind "target-cpu"="x86-64-v3" "no-trapping-math"="true" "frame-pointer"="none" }

!0 = !{!"branch_weights", i32 1, i32 4000}
!1 = !{i32 1}
