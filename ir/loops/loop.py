"""The Loops of one kernel: statements over Nodes, the input of every code generator. In: built by
codegen/. Out: text.

    For(var, extent, kind, body)      kind = GRID | LANES | UNROLL | SERIAL | WARPS
    Alloc(buf, init)                  buf.space = REG | SCRATCH | THREAD
    Store(buf, index, value, mask)    where the mask holds
    Reduce(buf, index, op, value)     combines over the LANES loops between its Alloc and itself
    If(cond, body)                    cond is a mask of uniform conditions
    Check(index, extent, site, position)   0 <= index < extent, else the status word says so
    Prefetch(buf, index, cache)       a hint: the element will soon be read; it may lie outside of
                                      buf

On CUDA also, for products on tensor cores, copies that arrive while something else is computed:

    Copy(to, at, source, index, size) some neighbours of an argument to SCRATCH, 0 where the mask
        does not hold
    Commit()                          ends a group of Copies
    Wait(groups)                      until all but the last so many groups have arrived, for all
                                      threads of the block
    Multiply(acc, rows, lanes, ..)    sums of products of two tiles, added to registers

Expressions are loop-level Nodes (shape ()). VAR(index) is the value of an Index as int64,
LOAD((buf, index, mask)) an element (0 where the mask does not hold). Every index is a flat element
offset. A Node is evaluated where a body first needs it, and again only after a statement that
changes, under its name, a buffer that it reads. A WHERE whose arg is "rare" evaluates its second
operand only when its condition holds in some lane.

On a CPU a GRID iteration is a chunk that some thread takes, LANES are those of vectors. On CUDA it
is a block; its LANES are shared out among the threads, `unroll` neighbours at a time, SCRATCH is
shared memory. Iteration v of a WARPS loop belongs to warp v % warps, whose 32 threads then share
its LANES. Outside of LANES, one thread writes to memory, and all hold the same registers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..graph import dtype as dt
from ..graph.dtype import DType
from ..graph.graph import Node
from ..graph.index import Index, Mask, Var
from ..graph.op import Op
from ..graph.site import Site
from ..symbolic.arguments import Argument

GRID, LANES, UNROLL, SERIAL, WARPS = "grid", "lanes", "unroll", "serial", "warps"
REG, SCRATCH, THREAD, GLOBAL = "reg", "scratch", "thread", "global"


@dataclass(frozen=True, eq=False)
class Buf:
    """A piece of memory: an argument of the kernel (GLOBAL), of a chunk (SCRATCH) or registers
    (REG).

    THREAD (CUDA): registers, too, of which each is of one thread. An index is the lane variable (in
    all loops of one extent and unroll), or lane * n + i with i < n and no more lanes than threads.

    `site`: the user's line whose value it holds, for printed code.
    """

    name: str
    dtype: DType
    size: int  # elements; only a hint for GLOBAL
    space: str
    site: Site | None = None

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Param:
    """An int64 argument of the kernel, so that its value is no part of the text; `atom`: what it is
    in symbolic integers of the code."""

    name: str
    atom: Argument | None = None

    def __repr__(self) -> str:
        return self.name


Extent = int | Param  # or symbolic, of arguments


@dataclass
class For:
    """Runs var = 0 .. extent-1; with `total`, only while base + var < total (base does not contain
    var).

    `apart`: a LANES loop adds term i of a sum to its partial sum i mod `apart`, so that the order
    is that of any other such loop, whatever its vectors; 0: to one for each lane of a step. `note`:
    what printed code says of the loop, no part of the kernel.
    """

    var: Var
    extent: Extent
    kind: str
    body: list[Stmt]
    unroll: int = 1  # LANES: vectors a step; on CUDA neighbours that one thread takes
    base: Index = field(default_factory=Index)
    total: Extent | None = None
    note: str = ""
    apart: int = 0


@dataclass
class Alloc:
    """buf with every element `init` (None: undefined). A REG accumulator's init is the identity of
    its Reduce."""

    buf: Buf
    init: float | int | bool | None = None


@dataclass
class Store:
    buf: Buf
    index: Index
    value: Node
    mask: Mask = ()


@dataclass
class Reduce:
    """buf[index] = buf[index] op value where the mask holds, op in add, max, mul; reassociates.

    Adding a product is an FMA, unless it is `rounded` first, as if it came from memory.
    """

    buf: Buf
    index: Index
    op: str
    value: Node
    mask: Mask = ()
    rounded: bool = False

    @property
    def fuses(self) -> bool:
        """Is it an FMA where the target has one."""
        return (
            self.op == "add"
            and self.value.op is Op.MUL
            and self.value.dtype.is_float
            and not self.rounded
        )


def neutral(op: str, dtype: DType) -> float | int | bool:
    """What a Reduce adds without changing anything: -0.0 for a float sum, so that -0.0 stays."""
    if op == "max":
        return dt.lowest(dtype)
    return 1 if op == "mul" else -0.0 if dtype.is_float else 0


@dataclass
class If:
    cond: Mask
    body: list[Stmt]


@dataclass
class Check:
    """Where not 0 <= index < extent: status = (site, position, index value), the lowest position
    wins."""

    index: Node
    extent: int
    site: Extent
    position: Index


@dataclass(frozen=True)
class Prefetch:
    """Brings buf[index] of every lane into a cache. Changes no value; buf is GLOBAL, the index
    gathers nothing."""

    buf: Buf
    index: Index
    cache: int = 1  # its level


@dataclass
class Copy:
    """to[at + i] = source[index + i] for i < size (16 bytes), 0 where the mask does not hold; seen
    after a Wait for its group.

    `to` is SCRATCH, `source` GLOBAL; both places are multiples of size. Until the Wait, no thread
    may touch the target.
    """

    to: Buf
    at: Index
    source: Buf
    index: Index
    size: int
    mask: Mask = ()


@dataclass(frozen=True)
class Commit:
    """Ends a group of Copies, which may be empty."""


@dataclass(frozen=True)
class Wait:
    """All but the last so many groups have arrived, for all threads of the block, which meet
    here."""

    groups: int


@dataclass(frozen=True)
class Matrix:
    """A tile in SCRATCH: the element of row (or lane) i at step k is buf[first + i * across + k *
    along]; one of both is 1."""

    buf: Buf
    first: Index
    across: int
    along: int


@dataclass
class Multiply:
    """acc += rows @ lanes.T, by all warps of the block: each has part[0] x part[1] of the shape[0]
    x shape[1] sums.

    acc is THREAD of float32, its places those of tensor_core_layout.py. The factors are of one
    dtype: of 16 bits, or float32, which is rounded to tf32 (8 bits of exponent, 10 of fraction;
    ties away from 0). Products are exact, sums of float32.
    """

    acc: Buf
    rows: Matrix
    lanes: Matrix
    shape: tuple[int, int, int]  # rows, lanes, steps of k
    part: tuple[int, int]


Stmt = For | Alloc | Store | Reduce | If | Check | Prefetch | Copy | Commit | Wait | Multiply


@dataclass
class Loops:
    """One kernel: phases run one after the other, each a GRID loop whose iterations (chunks) may
    run on any thread."""

    name: str
    buffers: tuple[Buf, ...]  # GLOBAL, in argument order
    params: tuple[Param, ...]
    phases: list[For]
    tiny: bool = False  # so little work that its code is made fast rather than fast code
    streamed: tuple[
        Buf, ...
    ] = ()  # outputs, at multiples of 64, whose whole vectors are written past the caches
    threads: tuple[int, ...] = ()  # CUDA: those of a block, for each phase; multiples of 32
