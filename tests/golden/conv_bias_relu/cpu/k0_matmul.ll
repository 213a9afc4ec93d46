declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)

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
  %t43 = shufflevector <8 x float> %t36, <8 x float> poison, <2 x i32> <i32 0, i32 1>
  store <2 x float> %t43, ptr %copy.42, align 4
  br label %c2.again
c2.again:
  %c2.next = add nuw nsw i64 %c2, 1
  %t44 = icmp slt i64 %c2.next, 6
  br i1 %t44, label %c2.loop, label %c2.end
c2.end:
  br label %c1.again
c1.again:
  %c1.next = add nuw nsw i64 %c1, 1
  %t45 = icmp slt i64 %c1.next, 8
  br i1 %t45, label %c1.loop, label %c1.end
c1.end:
  %acc.46 = getelementptr float, ptr %acc, i64 8
  %acc.47 = getelementptr float, ptr %acc, i64 16
  %acc.48 = getelementptr float, ptr %acc, i64 24
  %acc.49 = getelementptr float, ptr %acc, i64 32
  %acc.50 = getelementptr float, ptr %acc, i64 40
  %acc.51 = getelementptr float, ptr %acc, i64 48
  %acc.52 = getelementptr float, ptr %acc, i64 56
  %acc.53 = getelementptr float, ptr %acc, i64 64
  %acc.54 = getelementptr float, ptr %acc, i64 72
  %acc.55 = getelementptr float, ptr %acc, i64 80
  %acc.56 = getelementptr float, ptr %acc, i64 88
  %t145 = mul i64 %t18, 4096
  %t146 = add i64 %t17, %t145
  %out0.147 = getelementptr float, ptr %out0, i64 %t146
  %acc_1.252 = getelementptr float, ptr %acc_1, i64 8
  %acc_1.253 = getelementptr float, ptr %acc_1, i64 16
  %acc_1.254 = getelementptr float, ptr %acc_1, i64 24
  %acc_1.255 = getelementptr float, ptr %acc_1, i64 32
  %acc_1.256 = getelementptr float, ptr %acc_1, i64 40
  %acc_1.257 = getelementptr float, ptr %acc_1, i64 48
  %acc_1.258 = getelementptr float, ptr %acc_1, i64 56
  %in2.308 = getelementptr float, ptr %in2, i64 12
  %in2.309 = load float, ptr %in2.308, align 4
  %t310 = insertelement <8 x float> poison, float %in2.309, i64 0
  %t311 = shufflevector <8 x float> %t310, <8 x float> poison, <8 x i32> splat (i32 0)
  %in2.328 = getelementptr float, ptr %in2, i64 13
  %in2.329 = load float, ptr %in2.328, align 4
  %t330 = insertelement <8 x float> poison, float %in2.329, i64 0
  %t331 = shufflevector <8 x float> %t330, <8 x float> poison, <8 x i32> splat (i32 0)
  %in2.348 = getelementptr float, ptr %in2, i64 14
  %in2.349 = load float, ptr %in2.348, align 4
  %t350 = insertelement <8 x float> poison, float %in2.349, i64 0
  %t351 = shufflevector <8 x float> %t350, <8 x float> poison, <8 x i32> splat (i32 0)
  %in2.368 = getelementptr float, ptr %in2, i64 15
  %in2.369 = load float, ptr %in2.368, align 4
  %t370 = insertelement <8 x float> poison, float %in2.369, i64 0
  %t371 = shufflevector <8 x float> %t370, <8 x float> poison, <8 x i32> splat (i32 0)
  br label %tile.enter
tile.enter:
  br label %tile.loop
tile.loop:  ; loop 5
  %tile = phi i64 [0, %tile.enter], [%tile.next, %tile.again]
  %t65 = mul i64 %tile, 18
  %copy.68 = getelementptr float, ptr %copy, i64 %t65
  %t143 = mul i64 %tile, 16
  %out0.148 = getelementptr float, ptr %out0.147, i64 %t143
  br label %tile_1.enter
tile_1.enter:
  br label %tile_1.loop
tile_1.loop:  ; loop 6
  %tile_1 = phi i64 [0, %tile_1.enter], [%tile_1.next, %tile_1.again]
  store <8 x float> splat (float 0x0000000000000000), ptr %acc, align 4
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
  store <8 x float> splat (float 0x0000000000000000), ptr %acc.56, align 4
  %t57 = mul i64 %tile_1, 432
  %in1.60 = getelementptr float, ptr %in1, i64 %t57
  br label %k0.enter
k0.enter:
  br label %k0.loop
k0.loop:  ; loop 8
  %k0 = phi i64 [0, %k0.enter], [%k0.next, %k0.again]
  %t58 = mul i64 %k0, 9
  %in1.61 = getelementptr float, ptr %in1.60, i64 %t58
  %t66 = mul i64 %k0, 108
  %copy.69 = getelementptr float, ptr %copy.68, i64 %t66
  br label %k1.enter
k1.enter:
  br label %k1.loop
k1.loop:  ; loop 9
  %k1 = phi i64 [0, %k1.enter], [%k1.next, %k1.again]
  %t59 = mul i64 %k1, 3
  %in1.62 = getelementptr float, ptr %in1.61, i64 %t59
  %t67 = mul i64 %k1, 18
  %copy.70 = getelementptr float, ptr %copy.69, i64 %t67
  br label %k2.enter
k2.enter:
  br label %k2.loop
k2.loop:  ; inner loop 10: acc += in1 * copy
  %k2 = phi i64 [0, %k2.enter], [%k2.next, %k2.again]
  ; loop 11, o = 0
  ; loop 12, r = 0
  ; loop 13, straight
  %in1.63 = getelementptr float, ptr %in1.62, i64 %k2
  %in1.64 = load float, ptr %in1.63, align 4
  %copy.71 = getelementptr float, ptr %copy.70, i64 %k2
  %copy.72 = load <8 x float>, ptr %copy.71, align 4
  %copy.73 = getelementptr float, ptr %copy.71, i64 8
  %copy.74 = load <8 x float>, ptr %copy.73, align 4
  %acc.75 = load <8 x float>, ptr %acc, align 4
  %t76 = insertelement <8 x float> poison, float %in1.64, i64 0
  %t77 = shufflevector <8 x float> %t76, <8 x float> poison, <8 x i32> splat (i32 0)
  %t78 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t77, <8 x float> %copy.72, <8 x float> %acc.75)
  store <8 x float> %t78, ptr %acc, align 4
  %acc.79 = load <8 x float>, ptr %acc.46, align 4
  %t80 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t77, <8 x float> %copy.74, <8 x float> %acc.79)
  store <8 x float> %t80, ptr %acc.46, align 4
  ; loop 11, o = 1
  ; loop 12, r = 0
  %in1.81 = getelementptr float, ptr %in1.63, i64 72
  %in1.82 = load float, ptr %in1.81, align 4
  %acc.83 = load <8 x float>, ptr %acc.47, align 4
  %t84 = insertelement <8 x float> poison, float %in1.82, i64 0
  %t85 = shufflevector <8 x float> %t84, <8 x float> poison, <8 x i32> splat (i32 0)
  %t86 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t85, <8 x float> %copy.72, <8 x float> %acc.83)
  store <8 x float> %t86, ptr %acc.47, align 4
  %acc.87 = load <8 x float>, ptr %acc.48, align 4
  %t88 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t85, <8 x float> %copy.74, <8 x float> %acc.87)
  store <8 x float> %t88, ptr %acc.48, align 4
  ; loop 11, o = 2
  ; loop 12, r = 0
  %in1.89 = getelementptr float, ptr %in1.63, i64 144
  %in1.90 = load float, ptr %in1.89, align 4
  %acc.91 = load <8 x float>, ptr %acc.49, align 4
  %t92 = insertelement <8 x float> poison, float %in1.90, i64 0
  %t93 = shufflevector <8 x float> %t92, <8 x float> poison, <8 x i32> splat (i32 0)
  %t94 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t93, <8 x float> %copy.72, <8 x float> %acc.91)
  store <8 x float> %t94, ptr %acc.49, align 4
  %acc.95 = load <8 x float>, ptr %acc.50, align 4
  %t96 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t93, <8 x float> %copy.74, <8 x float> %acc.95)
  store <8 x float> %t96, ptr %acc.50, align 4
  ; loop 11, o = 3
  ; loop 12, r = 0
  %in1.97 = getelementptr float, ptr %in1.63, i64 216
  %in1.98 = load float, ptr %in1.97, align 4
  %acc.99 = load <8 x float>, ptr %acc.51, align 4
  %t100 = insertelement <8 x float> poison, float %in1.98, i64 0
  %t101 = shufflevector <8 x float> %t100, <8 x float> poison, <8 x i32> splat (i32 0)
  %t102 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t101, <8 x float> %copy.72, <8 x float> %acc.99)
  store <8 x float> %t102, ptr %acc.51, align 4
  %acc.103 = load <8 x float>, ptr %acc.52, align 4
  %t104 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t101, <8 x float> %copy.74, <8 x float> %acc.103)
  store <8 x float> %t104, ptr %acc.52, align 4
  ; loop 11, o = 4
  ; loop 12, r = 0
  %in1.105 = getelementptr float, ptr %in1.63, i64 288
  %in1.106 = load float, ptr %in1.105, align 4
  %acc.107 = load <8 x float>, ptr %acc.53, align 4
  %t108 = insertelement <8 x float> poison, float %in1.106, i64 0
  %t109 = shufflevector <8 x float> %t108, <8 x float> poison, <8 x i32> splat (i32 0)
  %t110 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t109, <8 x float> %copy.72, <8 x float> %acc.107)
  store <8 x float> %t110, ptr %acc.53, align 4
  %acc.111 = load <8 x float>, ptr %acc.54, align 4
  %t112 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t109, <8 x float> %copy.74, <8 x float> %acc.111)
  store <8 x float> %t112, ptr %acc.54, align 4
  ; loop 11, o = 5
  ; loop 12, r = 0
  %in1.113 = getelementptr float, ptr %in1.63, i64 360
  %in1.114 = load float, ptr %in1.113, align 4
  %acc.115 = load <8 x float>, ptr %acc.55, align 4
  %t116 = insertelement <8 x float> poison, float %in1.114, i64 0
  %t117 = shufflevector <8 x float> %t116, <8 x float> poison, <8 x i32> splat (i32 0)
  %t118 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t117, <8 x float> %copy.72, <8 x float> %acc.115)
  store <8 x float> %t118, ptr %acc.55, align 4
  %acc.119 = load <8 x float>, ptr %acc.56, align 4
  %t120 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t117, <8 x float> %copy.74, <8 x float> %acc.119)
  store <8 x float> %t120, ptr %acc.56, align 4
  br label %k2.again
k2.again:
  %k2.next = add nuw nsw i64 %k2, 1
  %t121 = icmp slt i64 %k2.next, 3
  br i1 %t121, label %k2.loop, label %k2.end
k2.end:
  br label %k1.again
k1.again:
  %k1.next = add nuw nsw i64 %k1, 1
  %t122 = icmp slt i64 %k1.next, 3
  br i1 %t122, label %k1.loop, label %k1.end
k1.end:
  br label %k0.again
k0.again:
  %k0.next = add nuw nsw i64 %k0, 1
  %t123 = icmp slt i64 %k0.next, 8
  br i1 %t123, label %k0.loop, label %k0.end
k0.end:
  ; loop 14, o = 0
  ; loop 15, r = 0
  ; loop 16, straight
  %acc.124 = load <8 x float>, ptr %acc, align 4
  %t125 = mul i64 %tile_1, 6
  %in2.126 = getelementptr float, ptr %in2, i64 %t125
  %in2.127 = load float, ptr %in2.126, align 4
  %t128 = insertelement <8 x float> poison, float %in2.127, i64 0
  %t129 = shufflevector <8 x float> %t128, <8 x float> poison, <8 x i32> splat (i32 0)
  %t130 = fadd <8 x float> %acc.124, %t129
  %t131 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t130
  %t132 = fcmp oeq <8 x float> %t130, %t130
  %t133 = xor <8 x i1> %t132, splat (i1 true)
  %t134 = or <8 x i1> %t131, %t133
  %t135 = select <8 x i1> %t134, <8 x float> %t130, <8 x float> splat (float 0x0000000000000000)
  %acc.136 = load <8 x float>, ptr %acc.46, align 4
  %t137 = fadd <8 x float> %acc.136, %t129
  %t138 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t137
  %t139 = fcmp oeq <8 x float> %t137, %t137
  %t140 = xor <8 x i1> %t139, splat (i1 true)
  %t141 = or <8 x i1> %t138, %t140
  %t142 = select <8 x i1> %t141, <8 x float> %t137, <8 x float> splat (float 0x0000000000000000)
  %t144 = mul i64 %tile_1, 1536
  %out0.149 = getelementptr float, ptr %out0.148, i64 %t144
  store <8 x float> %t135, ptr %out0.149, align 4
  %out0.150 = getelementptr float, ptr %out0.149, i64 8
  store <8 x float> %t142, ptr %out0.150, align 4
  ; loop 14, o = 1
  ; loop 15, r = 0
  %acc.151 = load <8 x float>, ptr %acc.47, align 4
  %in2.152 = getelementptr float, ptr %in2.126, i64 1
  %in2.153 = load float, ptr %in2.152, align 4
  %t154 = insertelement <8 x float> poison, float %in2.153, i64 0
  %t155 = shufflevector <8 x float> %t154, <8 x float> poison, <8 x i32> splat (i32 0)
  %t156 = fadd <8 x float> %acc.151, %t155
  %t157 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t156
  %t158 = fcmp oeq <8 x float> %t156, %t156
  %t159 = xor <8 x i1> %t158, splat (i1 true)
  %t160 = or <8 x i1> %t157, %t159
  %t161 = select <8 x i1> %t160, <8 x float> %t156, <8 x float> splat (float 0x0000000000000000)
  %acc.162 = load <8 x float>, ptr %acc.48, align 4
  %t163 = fadd <8 x float> %acc.162, %t155
  %t164 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t163
  %t165 = fcmp oeq <8 x float> %t163, %t163
  %t166 = xor <8 x i1> %t165, splat (i1 true)
  %t167 = or <8 x i1> %t164, %t166
  %t168 = select <8 x i1> %t167, <8 x float> %t163, <8 x float> splat (float 0x0000000000000000)
  %out0.169 = getelementptr float, ptr %out0.149, i64 256
  store <8 x float> %t161, ptr %out0.169, align 4
  %out0.170 = getelementptr float, ptr %out0.149, i64 264
  store <8 x float> %t168, ptr %out0.170, align 4
  ; loop 14, o = 2
  ; loop 15, r = 0
  %acc.171 = load <8 x float>, ptr %acc.49, align 4
  %in2.172 = getelementptr float, ptr %in2.126, i64 2
  %in2.173 = load float, ptr %in2.172, align 4
  %t174 = insertelement <8 x float> poison, float %in2.173, i64 0
  %t175 = shufflevector <8 x float> %t174, <8 x float> poison, <8 x i32> splat (i32 0)
  %t176 = fadd <8 x float> %acc.171, %t175
  %t177 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t176
  %t178 = fcmp oeq <8 x float> %t176, %t176
  %t179 = xor <8 x i1> %t178, splat (i1 true)
  %t180 = or <8 x i1> %t177, %t179
  %t181 = select <8 x i1> %t180, <8 x float> %t176, <8 x float> splat (float 0x0000000000000000)
  %acc.182 = load <8 x float>, ptr %acc.50, align 4
  %t183 = fadd <8 x float> %acc.182, %t175
  %t184 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t183
  %t185 = fcmp oeq <8 x float> %t183, %t183
  %t186 = xor <8 x i1> %t185, splat (i1 true)
  %t187 = or <8 x i1> %t184, %t186
  %t188 = select <8 x i1> %t187, <8 x float> %t183, <8 x float> splat (float 0x0000000000000000)
  %out0.189 = getelementptr float, ptr %out0.149, i64 512
  store <8 x float> %t181, ptr %out0.189, align 4
  %out0.190 = getelementptr float, ptr %out0.149, i64 520
  store <8 x float> %t188, ptr %out0.190, align 4
  ; loop 14, o = 3
  ; loop 15, r = 0
  %acc.191 = load <8 x float>, ptr %acc.51, align 4
  %in2.192 = getelementptr float, ptr %in2.126, i64 3
  %in2.193 = load float, ptr %in2.192, align 4
  %t194 = insertelement <8 x float> poison, float %in2.193, i64 0
  %t195 = shufflevector <8 x float> %t194, <8 x float> poison, <8 x i32> splat (i32 0)
  %t196 = fadd <8 x float> %acc.191, %t195
  %t197 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t196
  %t198 = fcmp oeq <8 x float> %t196, %t196
  %t199 = xor <8 x i1> %t198, splat (i1 true)
  %t200 = or <8 x i1> %t197, %t199
  %t201 = select <8 x i1> %t200, <8 x float> %t196, <8 x float> splat (float 0x0000000000000000)
  %acc.202 = load <8 x float>, ptr %acc.52, align 4
  %t203 = fadd <8 x float> %acc.202, %t195
  %t204 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t203
  %t205 = fcmp oeq <8 x float> %t203, %t203
  %t206 = xor <8 x i1> %t205, splat (i1 true)
  %t207 = or <8 x i1> %t204, %t206
  %t208 = select <8 x i1> %t207, <8 x float> %t203, <8 x float> splat (float 0x0000000000000000)
  %out0.209 = getelementptr float, ptr %out0.149, i64 768
  store <8 x float> %t201, ptr %out0.209, align 4
  %out0.210 = getelementptr float, ptr %out0.149, i64 776
  store <8 x float> %t208, ptr %out0.210, align 4
  ; loop 14, o = 4
  ; loop 15, r = 0
  %acc.211 = load <8 x float>, ptr %acc.53, align 4
  %in2.212 = getelementptr float, ptr %in2.126, i64 4
  %in2.213 = load float, ptr %in2.212, align 4
  %t214 = insertelement <8 x float> poison, float %in2.213, i64 0
  %t215 = shufflevector <8 x float> %t214, <8 x float> poison, <8 x i32> splat (i32 0)
  %t216 = fadd <8 x float> %acc.211, %t215
  %t217 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t216
  %t218 = fcmp oeq <8 x float> %t216, %t216
  %t219 = xor <8 x i1> %t218, splat (i1 true)
  %t220 = or <8 x i1> %t217, %t219
  %t221 = select <8 x i1> %t220, <8 x float> %t216, <8 x float> splat (float 0x0000000000000000)
  %acc.222 = load <8 x float>, ptr %acc.54, align 4
  %t223 = fadd <8 x float> %acc.222, %t215
  %t224 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t223
  %t225 = fcmp oeq <8 x float> %t223, %t223
  %t226 = xor <8 x i1> %t225, splat (i1 true)
  %t227 = or <8 x i1> %t224, %t226
  %t228 = select <8 x i1> %t227, <8 x float> %t223, <8 x float> splat (float 0x0000000000000000)
  %out0.229 = getelementptr float, ptr %out0.149, i64 1024
  store <8 x float> %t221, ptr %out0.229, align 4
  %out0.230 = getelementptr float, ptr %out0.149, i64 1032
  store <8 x float> %t228, ptr %out0.230, align 4
  ; loop 14, o = 5
  ; loop 15, r = 0
  %acc.231 = load <8 x float>, ptr %acc.55, align 4
  %in2.232 = getelementptr float, ptr %in2.126, i64 5
  %in2.233 = load float, ptr %in2.232, align 4
  %t234 = insertelement <8 x float> poison, float %in2.233, i64 0
  %t235 = shufflevector <8 x float> %t234, <8 x float> poison, <8 x i32> splat (i32 0)
  %t236 = fadd <8 x float> %acc.231, %t235
  %t237 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t236
  %t238 = fcmp oeq <8 x float> %t236, %t236
  %t239 = xor <8 x i1> %t238, splat (i1 true)
  %t240 = or <8 x i1> %t237, %t239
  %t241 = select <8 x i1> %t240, <8 x float> %t236, <8 x float> splat (float 0x0000000000000000)
  %acc.242 = load <8 x float>, ptr %acc.56, align 4
  %t243 = fadd <8 x float> %acc.242, %t235
  %t244 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t243
  %t245 = fcmp oeq <8 x float> %t243, %t243
  %t246 = xor <8 x i1> %t245, splat (i1 true)
  %t247 = or <8 x i1> %t244, %t246
  %t248 = select <8 x i1> %t247, <8 x float> %t243, <8 x float> splat (float 0x0000000000000000)
  %out0.249 = getelementptr float, ptr %out0.149, i64 1280
  store <8 x float> %t241, ptr %out0.249, align 4
  %out0.250 = getelementptr float, ptr %out0.149, i64 1288
  store <8 x float> %t248, ptr %out0.250, align 4
  br label %tile_1.again
tile_1.again:
  %tile_1.next = add nuw nsw i64 %tile_1, 1
  %t251 = icmp slt i64 %tile_1.next, 2
  br i1 %t251, label %tile_1.loop, label %tile_1.end
tile_1.end:
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.252, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.253, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.254, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.255, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.256, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.257, align 4
  store <8 x float> splat (float 0x0000000000000000), ptr %acc_1.258, align 4
  br label %k0_1.enter
k0_1.enter:
  br label %k0_1.loop
k0_1.loop:  ; loop 19
  %k0_1 = phi i64 [0, %k0_1.enter], [%k0_1.next, %k0_1.again]
  %t259 = mul i64 %k0_1, 9
  %in1.261 = getelementptr float, ptr %in1, i64 %t259
  %t266 = mul i64 %k0_1, 108
  %copy.268 = getelementptr float, ptr %copy.68, i64 %t266
  br label %k1_1.enter
k1_1.enter:
  br label %k1_1.loop
k1_1.loop:  ; loop 20
  %k1_1 = phi i64 [0, %k1_1.enter], [%k1_1.next, %k1_1.again]
  %t260 = mul i64 %k1_1, 3
  %in1.262 = getelementptr float, ptr %in1.261, i64 %t260
  %t267 = mul i64 %k1_1, 18
  %copy.269 = getelementptr float, ptr %copy.268, i64 %t267
  br label %k2_1.enter
k2_1.enter:
  br label %k2_1.loop
k2_1.loop:  ; inner loop 21: acc += in1 * copy
  %k2_1 = phi i64 [0, %k2_1.enter], [%k2_1.next, %k2_1.again]
  ; loop 22, o_1 = 0
  ; loop 23, r_1 = 0
  ; loop 24, straight
  %in1.263 = getelementptr float, ptr %in1.262, i64 %k2_1
  %in1.264 = getelementptr float, ptr %in1.263, i64 864
  %in1.265 = load float, ptr %in1.264, align 4
  %copy.270 = getelementptr float, ptr %copy.269, i64 %k2_1
  %copy.271 = load <8 x float>, ptr %copy.270, align 4
  %copy.272 = getelementptr float, ptr %copy.270, i64 8
  %copy.273 = load <8 x float>, ptr %copy.272, align 4
  %acc_1.274 = load <8 x float>, ptr %acc_1, align 4
  %t275 = insertelement <8 x float> poison, float %in1.265, i64 0
  %t276 = shufflevector <8 x float> %t275, <8 x float> poison, <8 x i32> splat (i32 0)
  %t277 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t276, <8 x float> %copy.271, <8 x float> %acc_1.274)
  store <8 x float> %t277, ptr %acc_1, align 4
  %acc_1.278 = load <8 x float>, ptr %acc_1.252, align 4
  %t279 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t276, <8 x float> %copy.273, <8 x float> %acc_1.278)
  store <8 x float> %t279, ptr %acc_1.252, align 4
  ; loop 22, o_1 = 1
  ; loop 23, r_1 = 0
  %in1.280 = getelementptr float, ptr %in1.263, i64 936
  %in1.281 = load float, ptr %in1.280, align 4
  %acc_1.282 = load <8 x float>, ptr %acc_1.253, align 4
  %t283 = insertelement <8 x float> poison, float %in1.281, i64 0
  %t284 = shufflevector <8 x float> %t283, <8 x float> poison, <8 x i32> splat (i32 0)
  %t285 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t284, <8 x float> %copy.271, <8 x float> %acc_1.282)
  store <8 x float> %t285, ptr %acc_1.253, align 4
  %acc_1.286 = load <8 x float>, ptr %acc_1.254, align 4
  %t287 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t284, <8 x float> %copy.273, <8 x float> %acc_1.286)
  store <8 x float> %t287, ptr %acc_1.254, align 4
  ; loop 22, o_1 = 2
  ; loop 23, r_1 = 0
  %in1.288 = getelementptr float, ptr %in1.263, i64 1008
  %in1.289 = load float, ptr %in1.288, align 4
  %acc_1.290 = load <8 x float>, ptr %acc_1.255, align 4
  %t291 = insertelement <8 x float> poison, float %in1.289, i64 0
  %t292 = shufflevector <8 x float> %t291, <8 x float> poison, <8 x i32> splat (i32 0)
  %t293 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t292, <8 x float> %copy.271, <8 x float> %acc_1.290)
  store <8 x float> %t293, ptr %acc_1.255, align 4
  %acc_1.294 = load <8 x float>, ptr %acc_1.256, align 4
  %t295 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t292, <8 x float> %copy.273, <8 x float> %acc_1.294)
  store <8 x float> %t295, ptr %acc_1.256, align 4
  ; loop 22, o_1 = 3
  ; loop 23, r_1 = 0
  %in1.296 = getelementptr float, ptr %in1.263, i64 1080
  %in1.297 = load float, ptr %in1.296, align 4
  %acc_1.298 = load <8 x float>, ptr %acc_1.257, align 4
  %t299 = insertelement <8 x float> poison, float %in1.297, i64 0
  %t300 = shufflevector <8 x float> %t299, <8 x float> poison, <8 x i32> splat (i32 0)
  %t301 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t300, <8 x float> %copy.271, <8 x float> %acc_1.298)
  store <8 x float> %t301, ptr %acc_1.257, align 4
  %acc_1.302 = load <8 x float>, ptr %acc_1.258, align 4
  %t303 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t300, <8 x float> %copy.273, <8 x float> %acc_1.302)
  store <8 x float> %t303, ptr %acc_1.258, align 4
  br label %k2_1.again
k2_1.again:
  %k2_1.next = add nuw nsw i64 %k2_1, 1
  %t304 = icmp slt i64 %k2_1.next, 3
  br i1 %t304, label %k2_1.loop, label %k2_1.end
k2_1.end:
  br label %k1_1.again
k1_1.again:
  %k1_1.next = add nuw nsw i64 %k1_1, 1
  %t305 = icmp slt i64 %k1_1.next, 3
  br i1 %t305, label %k1_1.loop, label %k1_1.end
k1_1.end:
  br label %k0_1.again
k0_1.again:
  %k0_1.next = add nuw nsw i64 %k0_1, 1
  %t306 = icmp slt i64 %k0_1.next, 8
  br i1 %t306, label %k0_1.loop, label %k0_1.end
k0_1.end:
  ; loop 25, o_1 = 0
  ; loop 26, r_1 = 0
  ; loop 27, straight
  %acc_1.307 = load <8 x float>, ptr %acc_1, align 4
  %t312 = fadd <8 x float> %acc_1.307, %t311
  %t313 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t312
  %t314 = fcmp oeq <8 x float> %t312, %t312
  %t315 = xor <8 x i1> %t314, splat (i1 true)
  %t316 = or <8 x i1> %t313, %t315
  %t317 = select <8 x i1> %t316, <8 x float> %t312, <8 x float> splat (float 0x0000000000000000)
  %acc_1.318 = load <8 x float>, ptr %acc_1.252, align 4
  %t319 = fadd <8 x float> %acc_1.318, %t311
  %t320 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t319
  %t321 = fcmp oeq <8 x float> %t319, %t319
  %t322 = xor <8 x i1> %t321, splat (i1 true)
  %t323 = or <8 x i1> %t320, %t322
  %t324 = select <8 x i1> %t323, <8 x float> %t319, <8 x float> splat (float 0x0000000000000000)
  %out0.325 = getelementptr float, ptr %out0.148, i64 3072
  store <8 x float> %t317, ptr %out0.325, align 4
  %out0.326 = getelementptr float, ptr %out0.148, i64 3080
  store <8 x float> %t324, ptr %out0.326, align 4
  ; loop 25, o_1 = 1
  ; loop 26, r_1 = 0
  %acc_1.327 = load <8 x float>, ptr %acc_1.253, align 4
  %t332 = fadd <8 x float> %acc_1.327, %t331
  %t333 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t332
  %t334 = fcmp oeq <8 x float> %t332, %t332
  %t335 = xor <8 x i1> %t334, splat (i1 true)
  %t336 = or <8 x i1> %t333, %t335
  %t337 = select <8 x i1> %t336, <8 x float> %t332, <8 x float> splat (float 0x0000000000000000)
  %acc_1.338 = load <8 x float>, ptr %acc_1.254, align 4
  %t339 = fadd <8 x float> %acc_1.338, %t331
  %t340 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t339
  %t341 = fcmp oeq <8 x float> %t339, %t339
  %t342 = xor <8 x i1> %t341, splat (i1 true)
  %t343 = or <8 x i1> %t340, %t342
  %t344 = select <8 x i1> %t343, <8 x float> %t339, <8 x float> splat (float 0x0000000000000000)
  %out0.345 = getelementptr float, ptr %out0.148, i64 3328
  store <8 x float> %t337, ptr %out0.345, align 4
  %out0.346 = getelementptr float, ptr %out0.148, i64 3336
  store <8 x float> %t344, ptr %out0.346, align 4
  ; loop 25, o_1 = 2
  ; loop 26, r_1 = 0
  %acc_1.347 = load <8 x float>, ptr %acc_1.255, align 4
  %t352 = fadd <8 x float> %acc_1.347, %t351
  %t353 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t352
  %t354 = fcmp oeq <8 x float> %t352, %t352
  %t355 = xor <8 x i1> %t354, splat (i1 true)
  %t356 = or <8 x i1> %t353, %t355
  %t357 = select <8 x i1> %t356, <8 x float> %t352, <8 x float> splat (float 0x0000000000000000)
  %acc_1.358 = load <8 x float>, ptr %acc_1.256, align 4
  %t359 = fadd <8 x float> %acc_1.358, %t351
  %t360 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t359
  %t361 = fcmp oeq <8 x float> %t359, %t359
  %t362 = xor <8 x i1> %t361, splat (i1 true)
  %t363 = or <8 x i1> %t360, %t362
  %t364 = select <8 x i1> %t363, <8 x float> %t359, <8 x float> splat (float 0x0000000000000000)
  %out0.365 = getelementptr float, ptr %out0.148, i64 3584
  store <8 x float> %t357, ptr %out0.365, align 4
  %out0.366 = getelementptr float, ptr %out0.148, i64 3592
  store <8 x float> %t364, ptr %out0.366, align 4
  ; loop 25, o_1 = 3
  ; loop 26, r_1 = 0
  %acc_1.367 = load <8 x float>, ptr %acc_1.257, align 4
  %t372 = fadd <8 x float> %acc_1.367, %t371
  %t373 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t372
  %t374 = fcmp oeq <8 x float> %t372, %t372
  %t375 = xor <8 x i1> %t374, splat (i1 true)
  %t376 = or <8 x i1> %t373, %t375
  %t377 = select <8 x i1> %t376, <8 x float> %t372, <8 x float> splat (float 0x0000000000000000)
  %acc_1.378 = load <8 x float>, ptr %acc_1.258, align 4
  %t379 = fadd <8 x float> %acc_1.378, %t371
  %t380 = fcmp olt <8 x float> splat (float 0x0000000000000000), %t379
  %t381 = fcmp oeq <8 x float> %t379, %t379
  %t382 = xor <8 x i1> %t381, splat (i1 true)
  %t383 = or <8 x i1> %t380, %t382
  %t384 = select <8 x i1> %t383, <8 x float> %t379, <8 x float> splat (float 0x0000000000000000)
  %out0.385 = getelementptr float, ptr %out0.148, i64 3840
  store <8 x float> %t377, ptr %out0.385, align 4
  %out0.386 = getelementptr float, ptr %out0.148, i64 3848
  store <8 x float> %t384, ptr %out0.386, align 4
  br label %tile.again
tile.again:
  %tile.next = add nuw nsw i64 %tile, 1
  %t387 = icmp slt i64 %tile.next, 4
  br i1 %t387, label %tile.loop, label %tile.end
tile.end:
  ret void
}

attributes #0 = { nounwind "target-cpu"="x86-64-v3" "no-trapping-math"="true" "frame-pointer"="none" }

!0 = !{!"branch_weights", i32 1, i32 4000}
!1 = !{i32 1}
