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
  %out0.197 = getelementptr float, ptr %out0, i64 %t13
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
  %t53 = fcmp ogt <8 x float> %max0.50, %max0.49
  %t54 = select <8 x i1> %t53, <8 x float> %max0.50, <8 x float> %max0.49
  %t55 = fcmp uno <8 x float> %max0.50, %max0.50
  %t56 = select <8 x i1> %t55, <8 x float> %max0.50, <8 x float> %t54
  %t57 = fcmp ogt <8 x float> %max0.52, %max0.51
  %t58 = select <8 x i1> %t57, <8 x float> %max0.52, <8 x float> %max0.51
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
  br label %c.again.1
c.again.1:
  %c.next.1 = add nuw nsw i64 %c.1, 16
  %t163 = icmp slt i64 %c.next.1, 256
  br i1 %t163, label %c.loop.1, label %c.end.1
c.end.1:
  %sum1.164 = load <8 x float>, ptr %sum1.parts, align 4
  %sum1.165 = load <8 x float>, ptr %sum1.46, align 4
  %sum1.166 = load <8 x float>, ptr %sum1.47, align 4
  %sum1.167 = load <8 x float>, ptr %sum1.48, align 4
  %t168 = fadd <8 x float> %sum1.164, %sum1.165
  %t169 = fadd <8 x float> %sum1.166, %sum1.167
  %t170 = fadd <8 x float> %t168, %t169
  %t171 = shufflevector <8 x float> %t170, <8 x float> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %t172 = shufflevector <8 x float> %t170, <8 x float> poison, <4 x i32> <i32 4, i32 5, i32 6, i32 7>
  %t173 = fadd <4 x float> %t171, %t172
  %t174 = shufflevector <4 x float> %t173, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %t175 = shufflevector <4 x float> %t173, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %t176 = fadd <2 x float> %t174, %t175
  %t177 = extractelement <2 x float> %t176, i64 0
  %t178 = extractelement <2 x float> %t176, i64 1
  %t179 = fadd float %t177, %t178
  %sum1.180 = load float, ptr %sum1, align 4
  %t181 = fadd float %sum1.180, %t179
  store float %t181, ptr %sum1, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.parts, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.46, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.47, align 4
  store <8 x float> splat (float 0x8000000000000000), ptr %sum1.48, align 4
  %sum1.184 = load float, ptr %sum1, align 4
  %t185 = insertelement <8 x float> poison, float %sum1.184, i64 0
  %t186 = shufflevector <8 x float> %t185, <8 x float> poison, <8 x i32> splat (i32 0)
  %out0.198 = getelementptr float, ptr %out0.197, i64 %t14
  br label %c.enter.2
c.enter.2:
  br label %c.loop.2
c.loop.2:  ; inner loop 4: out0 = exp_row0 / sum1
  %c.2 = phi i64 [0, %c.enter.2], [%c.next.2, %c.again.2]
  %exp_row0.182 = getelementptr float, ptr %exp_row0, i64 %c.2
  %exp_row0.183 = load <8 x float>, ptr %exp_row0.182, align 4
  %t187 = fdiv <8 x float> %exp_row0.183, %t186
  %exp_row0.188 = getelementptr float, ptr %exp_row0.182, i64 8
  %exp_row0.189 = load <8 x float>, ptr %exp_row0.188, align 4
  %t190 = fdiv <8 x float> %exp_row0.189, %t186
  %exp_row0.191 = getelementptr float, ptr %exp_row0.182, i64 16
  %exp_row0.192 = load <8 x float>, ptr %exp_row0.191, align 4
  %t193 = fdiv <8 x float> %exp_row0.192, %t186
  %exp_row0.194 = getelementptr float, ptr %exp_row0.182, i64 24
  %exp_row0.195 = load <8 x float>, ptr %exp_row0.194, align 4
  %t196 = fdiv <8 x float> %exp_row0.195, %t186
  %out0.199 = getelementptr float, ptr %out0.198, i64 %c.2
  store <8 x float> %t187, ptr %out0.199, align 4
  %out0.200 = getelementptr float, ptr %out0.199, i64 8
  store <8 x float> %t190, ptr %out0.200, align 4
  %out0.201 = getelementptr float, ptr %out0.199, i64 16
  store <8 x float> %t193, ptr %out0.201, align 4
  %out0.202 = getelementptr float, ptr %out0.199, i64 24
  store <8 x float> %t196, ptr %out0.202, align 4
  br label %c.again.2
c.again.2:
  %c.next.2 = add nuw nsw i64 %c.2, 32
  %t203 = icmp slt i64 %c.next.2, 256
  br i1 %t203, label %c.loop.2, label %c.end.2
c.end.2:
  br label %row.again
row.again:
  %row.next = add nuw nsw i64 %row, 1
  %t204 = icmp slt i64 %row.next, %t6
  br i1 %t204, label %row.loop, label %row.end
row.end:
  br label %done9
done9:
  ret void
}

attributes #0 = { nounwind "target-cpu"="x86-64-v3" "no-trapping-math"="true" "frame-pointer"="none" }

!0 = !{!"branch_weights", i32 1, i32 4000}
!1 = !{i32 1}
