"""Values of LLVM IR and their spelling. In: numbers, dtypes, lanes. Out: Vals and the texts of
types and literals."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from ...ir.graph.dtype import DType, half_bits


class Val(NamedTuple):
    """An SSA name or a literal; `w` lanes (1: a scalar) of the LLVM type `type`."""

    text: str
    type: str
    w: int = 1
    level: int = 0

    @property
    def full(self) -> str:
        return vector_type(self.type, self.w)

    @property
    def literal(self) -> bool:
        return not self.text.startswith("%")

    def __str__(self) -> str:
        return f"{self.full} {self.text}"


def vector_type(elem: str, w: int) -> str:
    return elem if w == 1 else f"<{w} x {elem}>"


def elem_type(dtype: DType) -> str:
    """The type of a value in registers: a 16-bit float is its bits, since it is only moved and
    converted."""
    if dtype.is_float and not dtype.is_half:
        return {32: "float", 64: "double"}[dtype.bits]
    return f"i{dtype.bits}"


def memory_type(dtype: DType) -> str:
    """The type of an element in memory: a bool is one byte."""
    return "i8" if dtype.kind == "b" else elem_type(dtype)


def suffix(elem: str, w: int) -> str:
    """The type as intrinsic names spell it."""
    short = {"half": "f16", "float": "f32", "double": "f64"}.get(elem, elem)
    return short if w == 1 else f"v{w}{short}"


def const_text(value: float | int | bool, dtype: DType) -> str:
    """A literal of any dtype, floats by their bits."""
    if dtype.is_half:
        return str(half_bits(value, dtype))
    if dtype.is_float:
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    return str(bool(value)).lower() if dtype.kind == "b" else str(int(value))


def integer(value: int, bits: int = 64) -> Val:
    return Val(str(value), f"i{bits}")


def vector_literal(elem: str, items: Iterable[str]) -> Val:
    texts = list(items)
    if len(set(texts)) == 1:
        return Val(f"splat ({elem} {texts[0]})", elem, len(texts))
    return Val("<" + ", ".join(f"{elem} {t}" for t in texts) + ">", elem, len(texts))


def lanes_of(v: Val) -> list[str] | None:
    """The lanes of a vector literal; None of any other value."""
    if v.text.startswith("splat ("):
        return [v.text[len(f"splat ({v.type} ") : -1]] * v.w
    if v.text.startswith("<"):
        return [lane[len(v.type) + 1 :] for lane in v.text[1:-1].split(", ")]
    return None


@lru_cache(1024)
def picks(lanes: tuple[int, ...]) -> Val:
    """The mask of a shuffle."""
    return vector_literal("i32", map(str, lanes))


@lru_cache(1024)
def prefix(count: int, w: int) -> Val:
    """The mask of the first lanes."""
    return vector_literal("i1", (str(lane < count).lower() for lane in range(w)))


@lru_cache(1024)
def iota(w: int, bits: int, start: int = 0, step: int = 1) -> Val:
    return vector_literal(f"i{bits}", (str(start + step * lane) for lane in range(w)))
