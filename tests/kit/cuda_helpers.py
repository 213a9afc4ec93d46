"""Kernels that call one helper of codegen/cuda/weft.cuh each. In: nothing. Out: their texts, in
tables."""

from __future__ import annotations

import itertools
from typing import Any

from cuda_emulator.samples import C_TYPES, elementwise

INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
HALVES = ("float16", "bfloat16")
SAME_WIDTH = [("float32", "uint32"), ("int32", "float32"), ("float64", "int64"),
    ("float16", "int16"), ("uint16", "bfloat16"),
              ("bool", "uint8"), ("uint8", "bool")]  # fmt: skip
COMBINED = (
    "weft_combine<weft_product>(weft_combine<weft_sum>(a, b), weft_combine<weft_largest>(a, b))"
)
BINARY = {
    f"{op}_{d}": elementwise(f"{op}_{d}", f"weft_{op}(a, b)", d, d, d)
    for op, dtypes in {
        "add": INTS, "sub": INTS, "mul": INTS, "shl": INTS, "shr": INTS, "floordiv": INTS,
        "mod": INTS + FLOATS, "max": INTS + FLOATS + ("bool",),
    }.items()
    for d in dtypes
}  # fmt: skip
NEGATIONS = {f"neg_{d}": elementwise(f"neg_{d}", "weft_neg(a)", d, d) for d in INTS}
CASTS = {
    (a, b): elementwise(f"cast_{a}_{b}", f"weft_cast<{C_TYPES[b]}>(a)", b, a)
    for a, b in itertools.product(C_TYPES, C_TYPES)
}
LDEXP = {
    f: elementwise(f"ldexp_{f}", "weft_ldexp(a, b)", f, f, n)
    for f, n in (("float32", "int32"), ("float64", "int64"))
}
EXACT = {
    (op, d): elementwise(f"{op}_{d}", f"weft_{op}(a)", d, d) for op,
    d in itertools.product(("floor", "sqrt"), FLOATS)
}  # fmt: skip


FMA = {d: elementwise(f"fma_{d}", "weft_fma(a, b, c)", d, d, d, d) for d in FLOATS}
PACK = {
    h: elementwise(f"pack_{h}", f"weft_pack<{C_TYPES[h]}>(a, b)", "uint32", "float32", "float32")
    for h in HALVES
}
BITCASTS = {
    (a, b): elementwise(f"bitcast_{a}_{b}", f"weft_bitcast<{C_TYPES[b]}>(a)", b, a)
    for a, b in SAME_WIDTH
}
OTHERS = {
    "tf32": elementwise("tf32", "weft_tf32(a)", "uint32", "float32"),
    "clamped": elementwise("clamped", "weft_clamped(a, 7)", "int64", "int64"),
    "combine": elementwise("combine", COMBINED, "bool", "bool", "bool"),
}
TABLES: list[dict[Any, str]] = [BINARY, NEGATIONS, CASTS, LDEXP, EXACT, FMA, PACK, BITCASTS]
TEXTS = [text for table in [*TABLES, OTHERS] for text in table.values()]
