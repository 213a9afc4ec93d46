"""Every construct of the loop language, as CUDA C has it. In: nothing. Out: Cases: loops and
arrays.

A case is a function that gives loops and arrays; all are compiled in one go. Its name is what would
break.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from cuda_loops import prepared
from loopkit import (
    REG,
    SCRATCH,
    Alloc,
    Buf,
    Check,
    Gathered,
    If,
    Index,
    Loops,
    Op,
    Param,
    Range,
    Reduce,
    Store,
    Var,
    argument,
    const,
    dt,
    f32,
    kernel,
    lanes,
    load,
    op,
    serial,
    unroll,
    value_of,
    var,
)
from weft.ir.graph.index import Div, Mod
from weft.ir.loops.loop import GRID, THREAD, WARPS, For

NOW = Index()
X, Y, Z, W = (argument(name) for name in "xyzw")


@dataclass
class Case:
    loops: Loops
    arrays: list[Any]
    params: tuple[int, ...] = ()
    rtol: float = 0.0
    in_place: tuple[tuple[int, int], ...] = ()
    shift: int = 0  # elements before the first one of each array


CASES = []


def case(make):
    CASES.append(make)
    return make


def kernel_of(name, buffers, *body, grid=1, threads=64, params=()):
    """Verified, expanded loops of one phase; `grid`: its variable, or blocks."""
    g = grid if isinstance(grid, Var) else Var("g", grid)
    return prepared(kernel(buffers, *body, chunk=g, params=params, name=name), threads)


def ints(*shape, top=9):
    """Small integers as floats: sums of them are exact in any order."""
    return np.random.default_rng(sum(shape)).integers(-top, top, shape).astype(np.float32)


def warps(v, *body, **more):
    return For(v, v.extent, WARPS, list(body), **more)


@cache
def cases():
    return {make.__name__: make() for make in CASES}


# ---------------------------------------------------------------- lanes


def cut(name, count, shift=0):
    """y = 2.5 x + b, b repeated, in blocks of 1024 elements, four a thread at once; as many as a
    param says."""
    g, c, n = Var("g", 1 << 20), Var("c", 1024), Param("n")
    at = var(g) * 1024 + var(c)
    value = op(Op.ADD, op(Op.MUL, load(X, at), const(2.5, f32)), load(Z, at % 64))
    body = lanes(c, Store(Y, at, value), unroll=4, base=var(g) * 1024, total=n)
    loops = Loops(name, (X, Z, Y), (Param("blocks"), n), [For(g, Param("blocks"), GRID, [body])])
    return Case(
        prepared(loops),
        [ints(count), ints(64), ints(count)],
        (-(-count // 1024), count),
        shift=shift,
    )


@case
def a_map_of_many_blocks():
    return cut("map", 5003)


@case
def a_map_of_less_than_a_vector():
    return cut("less", 3)


@case
def views_that_begin_anywhere():
    return cut("anywhere", 2060, shift=1)


def chosen_rows(name, **more):
    """Three rows of 64 a block, each where an index says."""
    g, c, index = Var("g", 3), Var("c", 3 * 64), argument("index", dt.int64)
    row = load(index, var(g) * 3 + var(c) // 64)
    x = load(X, Index({Gathered(row, 9): 64}) + var(c) % 64)
    body = lanes(c, Store(Y, var(g) * 192 + var(c), x), unroll=4)
    rows = np.arange(9, dtype=np.int64) * 7 % 9
    return Case(
        kernel_of(name, [index, X, Y], body, grid=g), [rows, ints(9 * 64), ints(9 * 64)], **more
    )


@case
def rows_that_an_index_chooses():
    return chosen_rows("chosen")


@case
def chosen_rows_that_begin_anywhere():
    return chosen_rows("chosen_anywhere", shift=1)


def softmax(columns, size):
    g, c = Var("g", 3), Var("c", columns)
    at, m, s = var(g) * columns + var(c), Buf("m", f32, 1, REG), Buf("s", f32, 1, REG)
    row = Buf("row", f32, columns, SCRATCH)
    e = op(Op.EXP, op(Op.SUB, load(X, at), load(m)))
    body = [
        *[Alloc(m, float("-inf")), Alloc(s, 0.0), Alloc(row)],
        lanes(c, Reduce(m, NOW, "max", load(X, at)), unroll=size),
        lanes(c, Store(row, var(c), e), Reduce(s, NOW, "add", load(row, c)), unroll=size),
        lanes(c, Store(Y, at, op(Op.DIV, load(row, c), load(s))), unroll=size),
    ]
    x = np.random.default_rng(columns).standard_normal(3 * columns).astype(np.float32)
    return Case(kernel_of(f"softmax{columns}", [X, Y], *body, grid=g), [x, x], rtol=2e-6)


@case
def rows_in_registers():
    return softmax(1000, 4)


@case
def rows_shorter_than_a_block():
    return softmax(37, 4)


@case
def rows_in_shared_memory():
    return softmax(2200, 1)


@case
def a_single_lane_is_all_threads():
    """What it stores in registers all threads know."""
    one, c, s = Var("one", 1), Var("c", 40), Buf("s", f32, 1, REG)
    body = [Alloc(s), lanes(one, Store(s, NOW, load(X, one)), Store(Z, var(one), load(X, 3)))]
    return Case(
        kernel_of("single", [X, Y, Z], *body, lanes(c, Store(Y, var(c), load(s)))),
        [ints(4), ints(40), ints(1)],
    )


@case
def several_pieces_at_once_and_more():
    """More than four pieces a thread: they are loaded four by four, the last ones as far as there
    are any."""
    c = Var("c", 3003)
    return Case(
        kernel_of("more", [X, Y], lanes(c, Store(Y, var(c), op(Op.NEG, load(X, c))), unroll=4)),
        [ints(3003), ints(3003)],
    )


# ---------------------------------------------------------------- sums


@case
def sums_start_afresh_after_each_look():
    """In a loop that adds to an accumulator over lanes and stores its total at each turn."""
    c, k, acc = Var("c", 100), Var("k", 3), Buf("acc", f32, 1, REG)
    body = [
        lanes(c, Reduce(acc, NOW, "add", load(X, var(k) * 100 + var(c)))),
        Store(Y, var(k), load(acc)),
    ]
    return Case(
        kernel_of("afresh", [X, Y], Alloc(acc, 0.0), serial(k, *body)), [ints(300), ints(3)]
    )


@case
def sums_are_put_together_once_after_a_loop():
    c, k, acc = Var("c", 70), Var("k", 3), Buf("acc", f32, 1, REG)
    turns = serial(k, lanes(c, Reduce(acc, NOW, "add", load(X, var(k) * 70 + var(c)))))
    return Case(
        kernel_of("once", [X, Y], Alloc(acc, 0.0), turns, Store(Y, NOW, load(acc))),
        [ints(210), ints(1)],
    )


@case
def sums_go_on_after_they_were_read():
    c, d, acc = Var("c", 100), Var("d", 30), Buf("acc", f32, 1, REG)
    body = [
        Alloc(acc, 0.0),
        lanes(c, Reduce(acc, NOW, "add", load(X, c))),
        Store(Y, NOW, load(acc)),
        lanes(d, Reduce(acc, NOW, "add", load(X, d))),
        Reduce(acc, NOW, "add", const(3, f32)),
        Store(Y, NOW + 1, load(acc)),
    ]
    return Case(kernel_of("on", [X, Y], *body), [ints(100), ints(2)])


@case
def sums_under_a_condition_of_the_block():
    c, g, acc = Var("c", 100), Var("g", 4), Buf("acc", f32, 1, REG)
    only = If((Range(var(g), 1, 3),), [lanes(c, Reduce(acc, NOW, "add", load(X, c)))])
    return Case(
        kernel_of("only", [X, Y], Alloc(acc, 0.0), only, Store(Y, var(g), load(acc)), grid=g),
        [ints(100), ints(4)],
    )


@case
def sums_of_several_elements_side_by_side():
    c, j, acc = Var("c", 90), Var("j", 3), Buf("acc", f32, 3, REG)
    each = unroll(j, Reduce(acc, var(j), "add", load(X, var(j) * 90 + var(c))))
    return Case(kernel_of("several", [X, Y], Alloc(acc, 0.0), lanes(c, each),
        unroll(j, Store(Y, var(j), load(acc, j)))),
                [ints(270), ints(3)])  # fmt: skip


@case
def sums_of_a_block_from_its_warps():
    """Each warp adds what only its first lane must, and what all its lanes have."""
    v, c, acc = Var("v", 5), Var("c", 40), Buf("acc", f32, 1, REG)
    body = warps(
        v,
        Reduce(acc, NOW, "add", load(Z, v)),
        lanes(c, Reduce(acc, NOW, "add", load(X, var(v) * 40 + var(c)))),
    )
    return Case(
        kernel_of("of_warps", [X, Z, Y], Alloc(acc, 0.0), body, Store(Y, NOW, load(acc))),
        [ints(200), ints(5), ints(1)],
    )


@case
def sums_where_a_mask_holds():
    c, acc = Var("c", 100), Buf("acc", f32, 1, REG)
    odd = Reduce(acc, NOW, "add", load(X, c), (Range(var(c) % 2, 1, 2),))
    body = [Alloc(acc, 0.0), lanes(c, odd, unroll=4), Store(Y, NOW, load(acc))]
    return Case(kernel_of("odd", [X, Y], *body), [ints(100), ints(1)])


KINDS = [("add", d) for d in (f32, dt.float64, dt.int32, dt.int64, dt.uint8, dt.int16, dt.bool_)]
KINDS += [("mul", d) for d in (f32, dt.int32, dt.bool_)] + [
    ("max", d) for d in (f32, dt.float64, dt.int64, dt.uint8, dt.bool_)
]
STARTS = {"add": 0, "mul": 1}


def reduction(what, dtype):
    """Over all lanes of a block, their number cut by a param, 4 at a time."""
    x, y = argument("x", dtype), argument("y", dtype)
    c, n, acc = Var("c", 300), Param("n"), Buf("acc", dtype, 1, REG)
    start = STARTS.get(what, dt.lowest(dtype))
    sums = lanes(c, Reduce(acc, NOW, what, load(x, c)), unroll=4, total=n)
    loops = kernel_of(
        f"{what}_{dtype.name}",
        [x, y],
        Alloc(acc, start),
        sums,
        Store(y, NOW, load(acc)),
        params=[n],
    )
    values = (
        np.random.default_rng(5)
        .choice([-2, -1, 1, 1, 1] if dtype.kind in "if" else [0, 1, 1], 300)
        .astype(dtype.numpy)
    )
    return Case(loops, [values, values[:1]], (277,))


for what, dtype in KINDS:

    def _reduction(what=what, dtype=dtype):
        return reduction(what, dtype)

    _reduction.__name__ = f"{what}_of_{dtype.name}"
    case(_reduction)


@case
def a_nan_is_the_greatest():
    c, acc = Var("c", 100), Buf("acc", f32, 1, REG)
    x = ints(100)
    x[77] = np.nan
    body = [
        Alloc(acc, float("-inf")),
        lanes(c, Reduce(acc, NOW, "max", load(X, c))),
        Store(Y, NOW, load(acc)),
    ]
    return Case(kernel_of("nan", [X, Y], *body), [x, ints(1)])


# ---------------------------------------------------------------- who waits for whom


@case
def lanes_read_what_other_lanes_wrote():
    c, row = Var("c", 100), Buf("row", f32, 100, SCRATCH)
    body = [
        Alloc(row),
        lanes(c, Store(row, var(c), load(X, c))),
        lanes(c, Store(Y, var(c), load(row, var(c) * -1 + 99))),
    ]
    return Case(kernel_of("other", [X, Y], *body), [ints(100), ints(100)])


@case
def lanes_wait_from_turn_to_turn():
    """The next turn overwrites what other threads still read."""
    c, k, row = Var("c", 100), Var("k", 4), Buf("row", f32, 100, SCRATCH)
    at = var(k) * 100 + var(c)
    turn = [
        lanes(c, Store(row, var(c), load(X, at))),
        lanes(c, Store(Y, at, load(row, var(c) * -1 + 99))),
    ]
    return Case(kernel_of("turns", [X, Y], Alloc(row), serial(k, *turn)), [ints(400), ints(400)])


@case
def lanes_dealt_out_otherwise_wait():
    c, d, row = Var("c", 128), Var("d", 128), Buf("row", f32, 128, SCRATCH)
    body = [
        lanes(c, Store(row, var(c), load(X, c)), unroll=4),
        lanes(d, Store(Y, var(d), load(row, d))),
    ]
    return Case(kernel_of("otherwise", [X, Y], Alloc(row), *body), [ints(128), ints(128)])


@case
def all_threads_read_what_the_first_wrote():
    c, s = Var("c", 100), Buf("s", f32, 2, SCRATCH)
    first = [Store(s, NOW, load(X, 5)), Store(s, NOW + 1, op(Op.ADD, load(s), const(1, f32)))]
    use = lanes(c, Store(Y, var(c), op(Op.ADD, load(X, c), load(s, 1))))
    again = [Reduce(s, NOW + 1, "add", load(Y, 99)), lanes(c, Store(Z, var(c), load(s, 1)))]
    return Case(
        kernel_of("first", [X, Y, Z], Alloc(s), *first, use, *again),
        [ints(100), ints(100), ints(100)],
    )


@case
def scratch_starts_as_it_is_said_to():
    c, k, row = Var("c", 100), Var("k", 2), Buf("row", f32, 100, SCRATCH)
    body = [Alloc(row, 7.0), lanes(c, Reduce(row, var(c), "add", load(X, var(c) * -1 + 99))),
            lanes(c, Store(Y, var(k) * 100 + var(c), load(row, var(c) * -1 + 99)))]  # fmt: skip
    return Case(kernel_of("filled", [X, Y], serial(k, *body)), [ints(100), ints(200)])


@case
def scratch_buffers_take_turns_in_one_place():
    c = Var("c", 100)
    a, b = Buf("a", f32, 100, SCRATCH), Buf("b", f32, 100, SCRATCH)
    more = op(Op.ADD, load(X, c), const(100, f32))
    body = [
        *[
            Alloc(a),
            lanes(c, Store(a, var(c), load(X, c))),
            lanes(c, Store(Y, var(c), load(a, var(c) * -1 + 99))),
        ],
        *[
            Alloc(b),
            lanes(c, Store(b, var(c), more)),
            lanes(c, Store(Z, var(c), load(b, var(c) * -1 + 99))),
        ],
    ]
    return Case(kernel_of("in_turns", [X, Y, Z], *body), [ints(100), ints(100), ints(100)])


@case
def warps_keep_their_own_scratch():
    v, c, row = Var("v", 7), Var("c", 50), Buf("row", f32, 50, SCRATCH)
    at = var(v) * 50 + var(c)
    body = [
        Alloc(row),
        lanes(c, Store(row, var(c), load(X, at))),
        lanes(c, Store(Y, at, load(row, var(c) * -1 + 49))),
    ]
    return Case(kernel_of("own", [X, Y], warps(v, *body)), [ints(350), ints(350)])


@case
def warps_end_where_their_total_says():
    v, c, g, n, acc = Var("v", 4), Var("c", 33), Var("g", 8), Param("n"), Buf("acc", f32, 1, REG)
    row = var(g) * 4 + var(v)
    body = [
        Alloc(acc, 0.0),
        lanes(c, Reduce(acc, NOW, "add", load(X, row * 33 + var(c)))),
        Store(Y, row, load(acc)),
    ]
    loop = warps(v, *body, base=var(g) * 4, total=n)
    loops = Loops(
        "rows_of_warps", (X, Y), (Param("blocks"), n), [For(g, Param("blocks"), GRID, [loop])]
    )
    return Case(prepared(loops), [ints(14 * 33), ints(14)], (4, 14))


@case
def blocks_read_what_warps_wrote():
    v, c, d, tile = Var("v", 5), Var("c", 40), Var("d", 200), Buf("tile", f32, 200, SCRATCH)
    at = var(v) * 40 + var(c)
    rows = warps(v, lanes(c, Store(tile, at, load(X, at))))
    backwards = lanes(d, Store(Y, var(d), load(tile, var(d) * -1 + 199)))
    return Case(kernel_of("tile", [X, Y], Alloc(tile), rows, backwards), [ints(200), ints(200)])


# ---------------------------------------------------------------- registers of a thread


@case
def registers_of_a_lane_are_found_again():
    c, k, kept = Var("c", 512), Var("k", 3), Buf("kept", f32, 512, THREAD)
    body = [
        Alloc(kept, 1.0),
        serial(k, lanes(c, Reduce(kept, var(c), "add", load(X, var(k) * 512 + var(c))), unroll=4)),
        lanes(c, Store(Y, var(c), load(kept, c)), unroll=4),
    ]
    return Case(kernel_of("again", [X, Y], *body), [ints(1536), ints(512)])


@case
def registers_of_lanes_that_are_no_multiple():
    c, kept = Var("c", 203), Buf("kept", f32, 203, THREAD)
    body = [
        lanes(c, Store(kept, var(c), load(X, c)), unroll=4),
        lanes(c, Store(Y, var(c), load(kept, c)), unroll=4),
    ]
    return Case(kernel_of("uneven", [X, Y], Alloc(kept), *body), [ints(203), ints(203)])


@case
def registers_of_a_thread_are_several():
    t, i, j, acc = Var("t", 60), Var("i", 2), Var("j", 3), Buf("acc", f32, 360, THREAD)
    own = var(t) * 6 + var(i) * 3 + var(j)
    adds = lanes(t, unroll(i, unroll(j, Reduce(acc, own, "add", load(X, own)))))
    stores = lanes(t, serial(i, serial(j, Store(Y, own, load(acc, own)))))
    return Case(
        kernel_of("tile_of_thread", [X, Y], Alloc(acc, 2.0), adds, stores), [ints(360), ints(360)]
    )


@case
def registers_of_the_loop_alone():
    """Three elements for each of four neighbours, and their index is known at compile time."""
    c, j, acc = Var("c", 101), Var("j", 3), Buf("acc", f32, 3, REG)
    fill = unroll(j, Store(acc, var(j), load(X, var(c) * 3 + var(j))))
    body = lanes(c, Alloc(acc), fill, Store(Y, var(c), load(acc, 2)), unroll=4)
    return Case(kernel_of("alone", [X, Y], body), [ints(303), ints(101)])


# ---------------------------------------------------------------- values and places


@case
def halves_are_moved_and_converted():
    x, y = argument("x", dt.float16), argument("y", dt.bfloat16)
    c = Var("c", 203)
    wide = op(Op.CAST, load(x, c), arg=f32)
    scaled = op(Op.CAST, op(Op.MUL, wide, const(1.1, f32)), arg=dt.bfloat16)
    body = lanes(c, Store(y, var(c), scaled), Store(Z, var(c), wide), unroll=8)
    values = np.linspace(-3, 3, 203).astype(np.float16)
    return Case(
        kernel_of("halves", [x, y, Z], body), [values, values.astype(dt.bfloat16.numpy), ints(203)]
    )


@case
def elements_behind_an_edge_are_zero():
    c = Var("c", 100)
    shifted = load(X, var(c) - 3, Range(var(c), 3, 97))
    return Case(
        kernel_of("edge", [X, Y], lanes(c, Store(Y, var(c), shifted), unroll=4)),
        [ints(100), ints(100)],
    )


@case
def what_a_mask_leaves_out_is_0_of_any_type():
    """The name of the type is two words."""
    c, (x, y) = Var("c", 300), (argument(name, dt.int64) for name in "xy")
    loops = kernel_of(
        "left_out", [x, y], lanes(c, Store(y, var(c), load(x, c, Range(var(c), 5, 290))))
    )
    return Case(loops, [np.arange(300), np.arange(300)])


@case
def masks_of_whole_pieces_keep_vectors():
    c = Var("c", 128)
    first = load(X, var(c) + 4, Range(var(c) // 4, 0, 31))
    body = lanes(c, Store(Y, var(c), first, (Range(var(c) // 64, 1, 2),)), unroll=4)
    return Case(kernel_of("pieces", [X, Y], body), [ints(128), ints(128)])


@case
def gathers_stay_inside():
    x, i, y = X, argument("i", dt.int64), Y
    c = Var("c", 100)
    at = Index({Gathered(load(i, c), 50): 2}, 1)
    places = np.random.default_rng(3).integers(-5, 60, 100)
    return Case(
        kernel_of("gather", [x, i, y], lanes(c, Store(y, var(c), load(x, at)), unroll=4)),
        [ints(101), places, ints(100)],
    )


@case
def rows_are_divided_and_wrap_around():
    c = Var("c", 120)
    value = op(
        Op.ADD, load(X, (var(c) * 7 + 3) % 50), op(Op.CAST, value_of((var(c) - 60) // 7), arg=f32)
    )
    return Case(
        kernel_of("divided", [X, Y], lanes(c, Store(Y, var(c), value), unroll=4)),
        [ints(50), ints(120)],
    )


@case
def what_is_negative_is_divided_downwards():
    k = Var("k", 30)
    value = value_of(Index({Div(var(k) - 20, 7): 2, Mod(var(k) - 20, 7): 100}, -3))
    return Case(
        kernel_of("downwards", [Y], serial(k, Store(Y, var(k), op(Op.CAST, value, arg=f32)))),
        [ints(30)],
    )


@case
def rare_values_are_computed_where_they_are_needed():
    c = Var("c", 100)
    small = op(Op.LT, load(X, c), const(0, f32))
    rare = op(
        Op.WHERE,
        op(Op.ANY, small, dtype=dt.bool_),
        op(Op.MUL, load(Z, c), load(Z, c)),
        const(5, f32),
        arg="rare",
    )
    both = op(Op.ADD, op(Op.WHERE, small, rare, load(X, c)), rare)
    return Case(
        kernel_of("rare", [X, Z, Y], lanes(c, Store(Y, var(c), both), unroll=4)),
        [ints(100), ints(100), ints(100)],
    )


@case
def loops_in_lanes_run_for_each():
    c, k, acc = Var("c", 102), Var("k", 9), Buf("acc", f32, 1, REG)
    sums = serial(k, Reduce(acc, NOW, "add", load(X, var(k) * 104 + var(c))), total=7)
    body = [Alloc(acc, 0.0), sums, Store(Y, var(c), load(acc))]
    return Case(
        kernel_of("columns_of_lanes", [X, Y], lanes(c, *body, unroll=4)), [ints(9 * 104), ints(102)]
    )


@case
def lanes_read_what_they_wrote():
    c = Var("c", 100)
    product = Store(Z, var(c), op(Op.MUL, load(Y, c), load(X, c)))
    body = [Store(Y, var(c), load(X, c)), product, Reduce(Y, var(c), "add", load(Z, c))]
    return Case(
        kernel_of("wrote", [X, Y, Z], lanes(c, *body, unroll=4)), [ints(100), ints(100), ints(100)]
    )


@case
def loops_forget_what_they_change():
    k, a, b = Var("k", 4), Buf("a", f32, 2, REG), Buf("b", f32, 1, REG)
    turn = serial(k, Reduce(b, NOW, "add", load(a, 1)), Reduce(a, NOW + 1, "add", const(1, f32)))
    body = [
        Alloc(a, 3.0),
        Alloc(b, 0.0),
        Reduce(b, NOW, "add", load(a, 1)),
        turn,
        Store(Y, NOW, load(b)),
    ]
    return Case(kernel_of("forget", [Y], *body), [ints(1)])


@case
def loops_end_where_their_total_says():
    k, j, n, acc = Var("k", 8), Var("j", 4), Param("n"), Buf("acc", f32, 1, REG)
    some = serial(k, Reduce(acc, NOW, "add", load(X, k)), total=n)
    rest = unroll(j, Reduce(acc, NOW, "add", load(X, var(j) + 4)), base=Index(const=4), total=n)
    body = [Alloc(acc, 0.0), some, rest, Store(Y, NOW, load(acc))]
    return Case(kernel_of("ends", [X, Y], *body, params=[n]), [ints(8), ints(1)], (6,))


@case
def blocks_behind_the_total_do_nothing():
    g, c, n = Var("g", 6), Var("c", 10), Param("n")
    at = var(g) * 10 + var(c)
    phase = For(g, 6, GRID, [lanes(c, Store(Y, at, load(X, at)))], total=n)
    return Case(prepared(Loops("beyond", (X, Y), (n,), [phase])), [ints(40), ints(40)], (4,))


@case
def phases_follow_each_other():
    g, c, h = Var("g", 3), Var("c", 40), Var("h", 1)
    first = For(
        g, 3, GRID, [lanes(c, Store(Y, var(g) * 40 + var(c), load(X, var(g) * 40 + var(c))))]
    )
    acc = Buf("acc", f32, 1, REG)
    d = Var("d", 120)
    second = For(
        h,
        1,
        GRID,
        [Alloc(acc, 0.0), lanes(d, Reduce(acc, NOW, "add", load(Y, d))), Store(Z, NOW, load(acc))],
    )
    return Case(
        prepared(Loops("phases", (X, Y, Z), (), [first, second], threads=(32, 96))),
        [ints(120), ints(120), ints(1)],
    )


@case
def names_may_be_words_of_the_language():
    buffers = [argument(name) for name in ("float", "threadIdx", "1 + i")]
    c = Var("new", 40)
    value = op(Op.ADD, load(buffers[0], c), load(buffers[1], c))
    return Case(
        kernel_of("words", buffers, lanes(c, Store(buffers[2], var(c), value))),
        [ints(40), ints(40), ints(40)],
    )


@case
def constants_of_every_kind_are_exact():
    numbers = [
        (f32, v) for v in (0.1, -0.0, 1e-45, 3.4028234663852886e38, float("inf"), float("-inf"))
    ]
    numbers += [(dt.float64, v) for v in (0.1, 5e-324, -1.7976931348623157e308)]
    numbers += [(d, v) for d in (dt.int8, dt.int16, dt.int32, dt.int64) for v in dt.limits(d)]
    numbers += [(d, dt.limits(d)[1]) for d in (dt.uint8, dt.uint16, dt.uint32, dt.uint64)] + [
        (dt.bool_, True),
        (dt.float16, 0.1),
    ]
    buffers = [argument(f"b{i}", d) for i, (d, _) in enumerate(numbers)]
    body = [Store(b, NOW, const(v, b.dtype)) for b, (_, v) in zip(buffers, numbers, strict=True)]
    return Case(
        kernel_of("constants", buffers, *body), [np.zeros(1, b.dtype.numpy) for b in buffers]
    )


# ---------------------------------------------------------------- failed checks, memory of inputs


@case
def the_lowest_failed_check_is_reported():
    i, c = argument("i", dt.int64), Var("c", 200)
    places = np.arange(200)
    places[[90, 150, 151]] = -4, 1000, 1 << 40
    return Case(
        kernel_of("checks", [i], lanes(c, Check(load(i, c), 200, 3, var(c)), unroll=2)), [places]
    )


@case
def a_check_outside_of_lanes_is_made_once():
    i = argument("i", dt.int64)
    return Case(kernel_of("check", [i], Check(load(i), 7, 2, Index(const=5))), [np.array([9])])


@case
def an_output_takes_the_memory_of_an_input():
    c, acc = Var("c", 300), Buf("acc", f32, 1, REG)
    body = [Alloc(acc, 0.0), lanes(c, Reduce(acc, NOW, "add", load(X, c)), unroll=4),
            lanes(c, Store(Y, var(c), op(Op.ADD, load(X, c), load(acc))))]  # fmt: skip
    return Case(kernel_of("in_place", [X, Y], *body), [ints(300), ints(300)], in_place=((1, 0),))


@case
def an_output_waits_for_those_who_read_its_memory():
    """Loops dealt out otherwise: a thread writes what another one has still to read under another
    name."""
    c = Var("c", 300)
    twice = lanes(c, Store(Z, var(c), op(Op.ADD, load(X, c), load(X, c))), unroll=4)
    more = lanes(c, Store(Y, var(c), op(Op.ADD, load(X, c), const(1, f32))))
    return Case(
        kernel_of("waits", [X, Y, Z], twice, more),
        [ints(300), ints(300), ints(300)],
        in_place=((1, 0),),
    )


@case
def what_was_loaded_is_not_loaded_again_behind_a_store():
    """Y lies in the memory of X; the loads are no vectors, and a loop parts the stores."""
    c, k, acc = Var("c", 99), Var("k", 3), Buf("acc", f32, 1, REG)
    x = load(X, var(c) + 1)
    body = [Alloc(acc, 0.0), Store(Y, var(c) + 1, op(Op.ADD, x, const(1, f32))),
        serial(k, Reduce(acc, NOW, "add", load(Z, k))),
            Store(W, var(c), op(Op.ADD, x, load(acc)))]  # fmt: skip
    return Case(kernel_of("once_loaded", [X, Y, Z, W], lanes(c, *body, unroll=4)),
                [ints(100), ints(100), ints(3), ints(99)], in_place=((1, 0),))  # fmt: skip


@case
def what_the_first_thread_loaded_is_not_loaded_again():
    g, c, acc = Var("g", 3), Var("c", 40), Buf("acc", f32, 1, REG)
    body = [
        Alloc(acc, 0.0),
        Store(Y, var(g), op(Op.ADD, load(X, g), const(1, f32))),
        lanes(c, Reduce(acc, NOW, "add", load(Z, c))),
        Store(W, var(g), op(Op.ADD, load(X, g), load(acc))),
    ]
    return Case(kernel_of("once_by_first", [X, Y, Z, W], *body, grid=g),
                [ints(3), ints(3), ints(40), ints(3)], in_place=((1, 0),))  # fmt: skip


@case
def all_threads_load_what_the_first_writes_over():
    """A sum in the registers of every thread needs what the first one has overwritten by then."""
    g, acc = Var("g", 3), Buf("acc", f32, 1, REG)
    body = [
        Alloc(acc, 0.0),
        Store(Y, var(g), op(Op.ADD, load(X, g), const(1, f32))),
        Reduce(acc, NOW, "add", load(X, g)),
        lanes(c := Var("c", 40), Store(W, var(g) * 40 + var(c), load(acc))),
    ]
    loops = kernel_of("over", [X, Y, W], *body, grid=g)
    return Case(loops, [ints(3), ints(3), ints(120)], in_place=((1, 0),))


# ---------------------------------------------------------------- all of them
