declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare <8 x i32> @llvm.smax.v8i32(<8 x i32>, <8 x i32>)
declare <8 x i32> @llvm.smin.v8i32(<8 x i32>, <8 x i32>)
declare i64 @llvm.smin.i64(i64, i64)

define void @k0_rows_max_exp_sum_div_p0(ptr %ctx, i64 %chunk, i64 %tid) #0 {
start:
  %exp_row0 = alloca [320 x float], align 64
  %max0 = alloca [65 x float], align 64
  %max0.parts = alloca [32 x float], align 64
  %sum1 = alloca [65 x float], align 64
  %sum1.parts = alloca [32 x float], align 64
  %in0 = load ptr, ptr %ctx, align 8
  %t1 = getelementptr i64, ptr %ctx, i64 1
  %out0 = load ptr, ptr %t1, align 8
  %t2 = getelementptr i64, ptr %ctx, i64 2
  %chunks = load i64, ptr %t2, align 8
  %t3 = getelementptr i64, ptr %ctx, i64 3
  %rows = load i64, ptr %t3, align 8
  %t4 = mul i64 %chunk, 2
  %t5 = sub i64 %rows, %t4
  %t6 = call i64 @llvm.smin.i64(i64 2, i64 %t5)
  %t7 = icmp sgt i64 %t6, 0
  br i1 %t7, label %then8, label %done9
then8:
  %max0.10 = getelementptr float, ptr %max0.parts, i64 8
  %max0.11 = getelementptr float, ptr %max0.parts, i64 16
  %max0.12 = getelementptr float, ptr %max0.parts, i64 24
  %t13 = mul i64 %chunk, 512
  %in0.15 = getelementptr float, ptr %in0, i64 %t13
  %sum1.46 = getelementptr float, ptr %sum1.parts, i64 8
  %sum1.47 = getelementptr float, ptr %sum1.parts, i64 16
  %sum1.48 = getelementptr float, ptr %sum1.parts, i64 24
  %out0.270 = getelementptr float, ptr %out0, i64 %t13
  br label %row.enter
row.enter:
  br label %row.loop
row.loop:  ; loop 1
  %row = phi i64 [0, %row.enter], [%row.next, %row.again]
  store <8 x float> splat (float 0xFFF0000000000000), ptr %max0.parts, align 4
  store <8 x float> splat (float 0xFFF0000000000000), ptr %max0.10, align 4
  store <8 x float> splat (float 0xFFF0000000000000), ptr %max0.11, align 4
  store <8 x float> splat (float 0xFFF0000000000000), ptr %max0.12, align 4
  store float 0xFFF0000000000000, ptr %max0, align 4
  %t14 = mul i64 %row, 256
  %in0.16 = getelementptr float, ptr %in0.15, i64 %t14
  br label %c.enter
c.enter:
  br label %c.loop
c.loop:  ; inner loop 2: max0 max= in0
  %c = phi i64 [0, %c.enter], [%c.next, %c.again]
  %in0.17 = getelementptr float, ptr %in0.16, i64 %c
  %in0.18 = load <8 x float>, ptr %in0.17, align 4
  %in0.19 = getelementptr float, ptr %in0.17, i64 8
  %in0.20 = load <8 x float>, ptr %in0.19, align 4
  %in0.21 = getelementptr float, ptr %in0.17, i64 16
  %in0.22 = load <8 x float>, ptr %in0.21, align 4
  %in0.23 = getelementptr float, ptr %in0.17, i64 24
  %in0.24 = load <8 x float>, ptr %in0.23, align 4
  %max0.25 = load <8 x float>, ptr %max0.parts, align 4
  %t26 = fcmp ogt <8 x float> %in0.18, %max0.25
  %t27 = select <8 x i1> %t26, <8 x float> %in0.18, <8 x float> %max0.25
  %t28 = fcmp uno <8 x float> %in0.18, %in0.18
  %t29 = select <8 x i1> %t28, <8 x float> %in0.18, <8 x float> %t27
  store <8 x float> %t29, ptr %max0.parts, align 4
  %max0.30 = load <8 x float>, ptr %max0.10, align 4
  %t31 = fcmp ogt <8 x float> %in0.20, %max0.30
  %t32 = select <8 x i1> %t31, <8 x float> %in0.20, <8 x float> %max0.30
  %t33 = fcmp uno <8 x float> %in0.20, %in0.20
  %t34 = select <8 x i1> %t33, <8 x float> %in0.20, <8 x float> %t32
  store <8 x float> %t34, ptr %max0.10, align 4
  %max0.35 = load <8 x float>, ptr %max0.11, align 4
  %t36 = fcmp ogt <8 x float> %in0.22, %max0.35
  %t37 = select <8 x i1> %t36, <8 x float> %in0.22, <8 x float> %max0.35
  %t38 = fcmp uno <8 x float> %in0.22, %in0.22
  %t39 = select <8 x i1> %t38, <8 x float> %in0.22, <8 x float> %t37
  store <8 x float> %t39, ptr %max0.11, align 4
  %max0.40 = load <8 x float>, ptr %max0.12, align 4
  %t41 = fcmp ogt <8 x float> %in0.24, %max0.40
  %t42 = select <8 x i1> %t41, <8 x float> %in0.24, <8 x float> %max0.40
  %t43 = fcmp uno <8 x float> %in0.24, %in0.24
  %t44 = select <8 x i1> %t43, <8 x float> %in0.24, <8 x float> %t42
  store <8 x float> %t44, ptr %max0.12, align 4
  br label %c.again
c.again:
  %c.next = add nuw nsw i64 %c, 32
  %t45 = icmp slt i64 %c.next, 256
  br i1 %t45, label %c.loop, label %c.end
c.end:
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.parts, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.46, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.47, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.48, align 4
  store float 0x0000000000000000, ptr %sum1, align 4
  %max0.49 = load <8 x float>, ptr %max0.parts, align 4
  %max0.50 = load <8 x float>, ptr %max0.10, align 4
  %max0.51 = load <8 x float>, ptr %max0.11, align 4
  %max0.52 = load <8 x float>, ptr %max0.12, align 4
  %t53 = fcmp ogt <8 x float> %max0.51, %max0.49
  %t54 = select <8 x i1> %t53, <8 x float> %max0.51, <8 x float> %max0.49
  %t55 = fcmp uno <8 x float> %max0.51, %max0.51
  %t56 = select <8 x i1> %t55, <8 x float> %max0.51, <8 x float> %t54
  %t57 = fcmp ogt <8 x float> %max0.52, %max0.50
  %t58 = select <8 x i1> %t57, <8 x float> %max0.52, <8 x float> %max0.50
  %t59 = fcmp uno <8 x float> %max0.52, %max0.52
  %t60 = select <8 x i1> %t59, <8 x float> %max0.52, <8 x float> %t58
  %t61 = fcmp ogt <8 x float> %t60, %t56
  %t62 = select <8 x i1> %t61, <8 x float> %t60, <8 x float> %t56
  %t63 = fcmp uno <8 x float> %t60, %t60
  %t64 = select <8 x i1> %t63, <8 x float> %t60, <8 x float> %t62
  %t65 = shufflevector <8 x float> %t64, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t66 = shufflevector <8 x float> %t64, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t67 = fcmp ogt <4 x float> %t66, %t65
  %t68 = select <4 x i1> %t67, <4 x float> %t66, <4 x float> %t65
  %t69 = fcmp uno <4 x float> %t66, %t66
  %t70 = select <4 x i1> %t69, <4 x float> %t66, <4 x float> %t68
  %t71 = shufflevector <4 x float> %t70, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t72 = shufflevector <4 x float> %t70, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t73 = fcmp ogt <2 x float> %t72, %t71
  %t74 = select <2 x i1> %t73, <2 x float> %t72, <2 x float> %t71
  %t75 = fcmp uno <2 x float> %t72, %t72
  %t76 = select <2 x i1> %t75, <2 x float> %t72, <2 x float> %t74
  %t77 = extractelement <2 x float> %t76, i64 0
  %t78 = extractelement <2 x float> %t76, i64 1
  %t79 = fcmp ogt float %t78, %t77
  %t80 = select i1 %t79, float %t78, float %t77
  %t81 = fcmp uno float %t78, %t78
  %t82 = select i1 %t81, float %t78, float %t80
  %max0.83 = load float, ptr %max0, align 4
  %t84 = fcmp ogt float %t82, %max0.83
  %t85 = select i1 %t84, float %t82, float %max0.83
  %t86 = fcmp uno float %t82, %t82
  %t87 = select i1 %t86, float %t82, float %t85
  store float %t87, ptr %max0, align 4
  store <8 x float> splat (float 0xFFF0000000000000), ptr %max0.parts, align 4
  store <8 x float> splat (float 0xFFF0000000000000), ptr %max0.10, align 4
  store <8 x float> splat (float 0xFFF0000000000000), ptr %max0.11, align 4
  store <8 x float> splat (float 0xFFF0000000000000), ptr %max0.12, align 4
  %max0.90 = load float, ptr %max0, align 4
  %t91 = insertelement <8 x float> poison, float %max0.90, i64 0
  %t92 = shufflevector <8 x float> %t91, <8 x float> poison, <8 x i32> splat (i32 0)
  br label %c.enter.1
c.enter.1:
  br label %c.loop.1
c.loop.1:  ; inner loop 3: sum1 += exp(in0 - max0); exp_row0 = exp(in0 - max0)
  %c.1 = phi i64 [0, %c.enter.1], [%c.next.1, %c.again.1]
  %in0.88 = getelementptr float, ptr %in0.16, i64 %c.1
  %in0.89 = load <8 x float>, ptr %in0.88, align 4
  %t93 = fsub <8 x float> %in0.89, %t92
  %t94 = fcmp olt <8 x float> splat (float 0x4056400000000000), %t93
  %t95 = select <8 x i1> %t94, <8 x float> splat (float 0x4056400000000000), <8 x float> %t93
  %t96 = fcmp olt <8 x float> %t95, splat (float 0xC05A000000000000)
  %t97 = select <8 x i1> %t96, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t95
  %t98 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t97, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t99 = fsub <8 x float> %t98, splat (float 0x4168000000000000)
  %t100 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t99, <8 x float> splat (float 0xBFE62E4000000000), <8 x float> %t97)
  %t101 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t99, <8 x float> splat (float 0xBEB7F7D1C0000000), <8 x float> %t100)
  %t102 = fmul <8 x float> %t101, %t101
  %t103 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t101, <8 x float> splat (float 0x3F2A0D2CE0000000), <8 x float> splat (float 0x3F56E879C0000000))
  %t104 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t103, <8 x float> %t101, <8 x float> splat (float 0x3F81112100000000))
  %t105 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t104, <8 x float> %t101, <8 x float> splat (float 0x3FA5553820000000))
  %t106 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t105, <8 x float> %t101, <8 x float> splat (float 0x3FC5555540000000))
  %t107 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t106, <8 x float> %t101, <8 x float> splat (float 0x3FE0000000000000))
  %t108 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t102, <8 x float> %t107, <8 x float> %t101)
  %t109 = fadd <8 x float> %t108, splat (float 0x3FF0000000000000)
  %t110 = bitcast <8 x float> %t98 to <8 x i32>
  %t111 = sub <8 x i32> %t110, splat (i32 1262485504)
  %t112 = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %t111, <8 x i32> splat (i32 -252))
  %t113 = call <8 x i32> @llvm.smin.v8i32(<8 x i32> %t112, <8 x i32> splat (i32 254))
  %t114 = ashr <8 x i32> %t113, splat (i32 1)
  %t115 = sub <8 x i32> %t113, %t114
  %t116 = add <8 x i32> %t114, splat (i32 127)
  %t117 = shl <8 x i32> %t116, splat (i32 23)
  %t118 = bitcast <8 x i32> %t117 to <8 x float>
  %t119 = fmul <8 x float> %t109, %t118
  %t120 = add <8 x i32> %t115, splat (i32 127)
  %t121 = shl <8 x i32> %t120, splat (i32 23)
  %t122 = bitcast <8 x i32> %t121 to <8 x float>
  %t123 = fmul <8 x float> %t119, %t122
  %in0.124 = getelementptr float, ptr %in0.88, i64 8
  %in0.125 = load <8 x float>, ptr %in0.124, align 4
  %t126 = fsub <8 x float> %in0.125, %t92
  %t127 = fcmp olt <8 x float> splat (float 0x4056400000000000), %t126
  %t128 = select <8 x i1> %t127, <8 x float> splat (float 0x4056400000000000), <8 x float> %t126
  %t129 = fcmp olt <8 x float> %t128, splat (float 0xC05A000000000000)
  %t130 = select <8 x i1> %t129, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t128
  %t131 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t130, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t132 = fsub <8 x float> %t131, splat (float 0x4168000000000000)
  %t133 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t132, <8 x float> splat (float 0xBFE62E4000000000), <8 x float> %t130)
  %t134 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t132, <8 x float> splat (float 0xBEB7F7D1C0000000), <8 x float> %t133)
  %t135 = fmul <8 x float> %t134, %t134
  %t136 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t134, <8 x float> splat (float 0x3F2A0D2CE0000000), <8 x float> splat (float 0x3F56E879C0000000))
  %t137 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t136, <8 x float> %t134, <8 x float> splat (float 0x3F81112100000000))
  %t138 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t137, <8 x float> %t134, <8 x float> splat (float 0x3FA5553820000000))
  %t139 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t138, <8 x float> %t134, <8 x float> splat (float 0x3FC5555540000000))
  %t140 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t139, <8 x float> %t134, <8 x float> splat (float 0x3FE0000000000000))
  %t141 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t135, <8 x float> %t140, <8 x float> %t134)
  %t142 = fadd <8 x float> %t141, splat (float 0x3FF0000000000000)
  %t143 = bitcast <8 x float> %t131 to <8 x i32>
  %t144 = sub <8 x i32> %t143, splat (i32 1262485504)
  %t145 = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %t144, <8 x i32> splat (i32 -252))
  %t146 = call <8 x i32> @llvm.smin.v8i32(<8 x i32> %t145, <8 x i32> splat (i32 254))
  %t147 = ashr <8 x i32> %t146, splat (i32 1)
  %t148 = sub <8 x i32> %t146, %t147
  %t149 = add <8 x i32> %t147, splat (i32 127)
  %t150 = shl <8 x i32> %t149, splat (i32 23)
  %t151 = bitcast <8 x i32> %t150 to <8 x float>
  %t152 = fmul <8 x float> %t142, %t151
  %t153 = add <8 x i32> %t148, splat (i32 127)
  %t154 = shl <8 x i32> %t153, splat (i32 23)
  %t155 = bitcast <8 x i32> %t154 to <8 x float>
  %t156 = fmul <8 x float> %t152, %t155
  %sum1.157 = load <8 x float>, ptr %sum1.parts, align 4
  %t158 = fadd <8 x float> %sum1.157, %t123
  store <8 x float> %t158, ptr %sum1.parts, align 4
  %sum1.159 = load <8 x float>, ptr %sum1.46, align 4
  %t160 = fadd <8 x float> %sum1.159, %t156
  store <8 x float> %t160, ptr %sum1.46, align 4
  %exp_row0.161 = getelementptr float, ptr %exp_row0, i64 %c.1
  store <8 x float> %t123, ptr %exp_row0.161, align 4
  %exp_row0.162 = getelementptr float, ptr %exp_row0.161, i64 8
  store <8 x float> %t156, ptr %exp_row0.162, align 4
  %t163 = add i64 %c.1, 16
  %in0.164 = getelementptr float, ptr %in0.16, i64 %t163
  %in0.165 = load <8 x float>, ptr %in0.164, align 4
  %t166 = fsub <8 x float> %in0.165, %t92
  %t167 = fcmp olt <8 x float> splat (float 0x4056400000000000), %t166
  %t168 = select <8 x i1> %t167, <8 x float> splat (float 0x4056400000000000), <8 x float> %t166
  %t169 = fcmp olt <8 x float> %t168, splat (float 0xC05A000000000000)
  %t170 = select <8 x i1> %t169, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t168
  %t171 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t170, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t172 = fsub <8 x float> %t171, splat (float 0x4168000000000000)
  %t173 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t172, <8 x float> splat (float 0xBFE62E4000000000), <8 x float> %t170)
  %t174 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t172, <8 x float> splat (float 0xBEB7F7D1C0000000), <8 x float> %t173)
  %t175 = fmul <8 x float> %t174, %t174
  %t176 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t174, <8 x float> splat (float 0x3F2A0D2CE0000000), <8 x float> splat (float 0x3F56E879C0000000))
  %t177 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t176, <8 x float> %t174, <8 x float> splat (float 0x3F81112100000000))
  %t178 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t177, <8 x float> %t174, <8 x float> splat (float 0x3FA5553820000000))
  %t179 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t178, <8 x float> %t174, <8 x float> splat (float 0x3FC5555540000000))
  %t180 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t179, <8 x float> %t174, <8 x float> splat (float 0x3FE0000000000000))
  %t181 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t175, <8 x float> %t180, <8 x float> %t174)
  %t182 = fadd <8 x float> %t181, splat (float 0x3FF0000000000000)
  %t183 = bitcast <8 x float> %t171 to <8 x i32>
  %t184 = sub <8 x i32> %t183, splat (i32 1262485504)
  %t185 = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %t184, <8 x i32> splat (i32 -252))
  %t186 = call <8 x i32> @llvm.smin.v8i32(<8 x i32> %t185, <8 x i32> splat (i32 254))
  %t187 = ashr <8 x i32> %t186, splat (i32 1)
  %t188 = sub <8 x i32> %t186, %t187
  %t189 = add <8 x i32> %t187, splat (i32 127)
  %t190 = shl <8 x i32> %t189, splat (i32 23)
  %t191 = bitcast <8 x i32> %t190 to <8 x float>
  %t192 = fmul <8 x float> %t182, %t191
  %t193 = add <8 x i32> %t188, splat (i32 127)
  %t194 = shl <8 x i32> %t193, splat (i32 23)
  %t195 = bitcast <8 x i32> %t194 to <8 x float>
  %t196 = fmul <8 x float> %t192, %t195
  %in0.197 = getelementptr float, ptr %in0.164, i64 8
  %in0.198 = load <8 x float>, ptr %in0.197, align 4
  %t199 = fsub <8 x float> %in0.198, %t92
  %t200 = fcmp olt <8 x float> splat (float 0x4056400000000000), %t199
  %t201 = select <8 x i1> %t200, <8 x float> splat (float 0x4056400000000000), <8 x float> %t199
  %t202 = fcmp olt <8 x float> %t201, splat (float 0xC05A000000000000)
  %t203 = select <8 x i1> %t202, <8 x float> splat (float 0xC05A000000000000), <8 x float> %t201
  %t204 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t203, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %t205 = fsub <8 x float> %t204, splat (float 0x4168000000000000)
  %t206 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t205, <8 x float> splat (float 0xBFE62E4000000000), <8 x float> %t203)
  %t207 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t205, <8 x float> splat (float 0xBEB7F7D1C0000000), <8 x float> %t206)
  %t208 = fmul <8 x float> %t207, %t207
  %t209 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t207, <8 x float> splat (float 0x3F2A0D2CE0000000), <8 x float> splat (float 0x3F56E879C0000000))
  %t210 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t209, <8 x float> %t207, <8 x float> splat (float 0x3F81112100000000))
  %t211 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t210, <8 x float> %t207, <8 x float> splat (float 0x3FA5553820000000))
  %t212 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t211, <8 x float> %t207, <8 x float> splat (float 0x3FC5555540000000))
  %t213 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t212, <8 x float> %t207, <8 x float> splat (float 0x3FE0000000000000))
  %t214 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t208, <8 x float> %t213, <8 x float> %t207)
  %t215 = fadd <8 x float> %t214, splat (float 0x3FF0000000000000)
  %t216 = bitcast <8 x float> %t204 to <8 x i32>
  %t217 = sub <8 x i32> %t216, splat (i32 1262485504)
  %t218 = call <8 x i32> @llvm.smax.v8i32(<8 x i32> %t217, <8 x i32> splat (i32 -252))
  %t219 = call <8 x i32> @llvm.smin.v8i32(<8 x i32> %t218, <8 x i32> splat (i32 254))
  %t220 = ashr <8 x i32> %t219, splat (i32 1)
  %t221 = sub <8 x i32> %t219, %t220
  %t222 = add <8 x i32> %t220, splat (i32 127)
  %t223 = shl <8 x i32> %t222, splat (i32 23)
  %t224 = bitcast <8 x i32> %t223 to <8 x float>
  %t225 = fmul <8 x float> %t215, %t224
  %t226 = add <8 x i32> %t221, splat (i32 127)
  %t227 = shl <8 x i32> %t226, splat (i32 23)
  %t228 = bitcast <8 x i32> %t227 to <8 x float>
  %t229 = fmul <8 x float> %t225, %t228
  %sum1.230 = load <8 x float>, ptr %sum1.47, align 4
  %t231 = fadd <8 x float> %sum1.230, %t196
  store <8 x float> %t231, ptr %sum1.47, align 4
  %sum1.232 = load <8 x float>, ptr %sum1.48, align 4
  %t233 = fadd <8 x float> %sum1.232, %t229
  store <8 x float> %t233, ptr %sum1.48, align 4
  %exp_row0.234 = getelementptr float, ptr %exp_row0, i64 %t163
  store <8 x float> %t196, ptr %exp_row0.234, align 4
  %exp_row0.235 = getelementptr float, ptr %exp_row0.234, i64 8
  store <8 x float> %t229, ptr %exp_row0.235, align 4
  br label %c.again.1
c.again.1:
  %c.next.1 = add nuw nsw i64 %c.1, 32
  %t236 = icmp slt i64 %c.next.1, 256
  br i1 %t236, label %c.loop.1, label %c.end.1
c.end.1:
  %sum1.237 = load <8 x float>, ptr %sum1.parts, align 4
  %sum1.238 = load <8 x float>, ptr %sum1.46, align 4
  %sum1.239 = load <8 x float>, ptr %sum1.47, align 4
  %sum1.240 = load <8 x float>, ptr %sum1.48, align 4
  %t241 = fadd <8 x float> %sum1.237, %sum1.239
  %t242 = fadd <8 x float> %sum1.238, %sum1.240
  %t243 = fadd <8 x float> %t241, %t242
  %t244 = shufflevector <8 x float> %t243, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t245 = shufflevector <8 x float> %t243, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t246 = fadd <4 x float> %t244, %t245
  %t247 = shufflevector <4 x float> %t246, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t248 = shufflevector <4 x float> %t246, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t249 = fadd <2 x float> %t247, %t248
  %t250 = extractelement <2 x float> %t249, i64 0
  %t251 = extractelement <2 x float> %t249, i64 1
  %t252 = fadd float %t250, %t251
  %sum1.253 = load float, ptr %sum1, align 4
  %t254 = fadd float %sum1.253, %t252
  store float %t254, ptr %sum1, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.parts, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.46, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.47, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.48, align 4
  %sum1.257 = load float, ptr %sum1, align 4
  %t258 = insertelement <8 x float> poison, float %sum1.257, i64 0
  %t259 = shufflevector <8 x float> %t258, <8 x float> poison, <8 x i32> splat (i32 0)
  %out0.271 = getelementptr float, ptr %out0.270, i64 %t14
  br label %c.enter.2
c.enter.2:
  br label %c.loop.2
c.loop.2:  ; inner loop 4: out0 = exp_row0 / sum1
  %c.2 = phi i64 [0, %c.enter.2], [%c.next.2, %c.again.2]
  %exp_row0.255 = getelementptr float, ptr %exp_row0, i64 %c.2
  %exp_row0.256 = load <8 x float>, ptr %exp_row0.255, align 4
  %t260 = fdiv <8 x float> %exp_row0.256, %t259
  %exp_row0.261 = getelementptr float, ptr %exp_row0.255, i64 8
  %exp_row0.262 = load <8 x float>, ptr %exp_row0.261, align 4
  %t263 = fdiv <8 x float> %exp_row0.262, %t259
  %exp_row0.264 = getelementptr float, ptr %exp_row0.255, i64 16
  %exp_row0.265 = load <8 x float>, ptr %exp_row0.264, align 4
  %t266 = fdiv <8 x float> %exp_row0.265, %t259
  %exp_row0.267 = getelementptr float, ptr %exp_row0.255, i64 24
  %exp_row0.268 = load <8 x float>, ptr %exp_row0.267, align 4
  %t269 = fdiv <8 x float> %exp_row0.268, %t259
  %out0.272 = getelementptr float, ptr %out0.271, i64 %c.2
  store <8 x float> %t260, ptr %out0.272, align 4
  %out0.273 = getelementptr float, ptr %out0.272, i64 8
  store <8 x float> %t263, ptr %out0.273, align 4
  %out0.274 = getelementptr float, ptr %out0.272, i64 16
  store <8 x float> %t266, ptr %out0.274, align 4
  %out0.275 = getelementptr float, ptr %out0.272, i64 24
  store <8 x float> %t269, ptr %out0.275, align 4
  br label %c.again.2
c.again.2:
  %c.next.2 = add nuw nsw i64 %c.2, 32
  %t276 = icmp slt i64 %c.next.2, 256
  br i1 %t276, label %c.loop.2, label %c.end.2
c.end.2:
  br label %row.again
row.again:
  %row.next = add nuw nsw i64 %row, 1
  %t277 = icmp slt i64 %row.next, %t6
  br i1 %t277, label %row.loop, label %row.end
row.end:
  br label %done9
done9:
  ret void
}

attributes #0 = { nounwind "target-cpu"="x86-64-v3" "no-trapping-math"="true" "frame-pointer"="none" }

!0 = !{!"branch_weights", i32 1, i32 4000}
!1 = !{i32 1}
