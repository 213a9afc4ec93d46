"""Loops to machine code: NumPy == the loop interpreter == compiled code, on each vector width."""

import numpy as np
import pytest
from harness import TARGETS
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
    Prefetch,
    Range,
    Reduce,
    Store,
    Var,
    argument,
    check_kernel,
    compiled,
    const,
    dt,
    f32,
    gemm_tile,
    i64,
    interpreted,
    kernel,
    lanes,
    load,
    op,
    serial,
    unroll,
    value_of,
    var,
)
from weft.codegen.llvm.emit import emit
from weft.codegen.llvm.target import host, named
from weft.ir.loops.loop import GRID, UNROLL, For
from weft.ir.loops.verify import verify

random = np.random.default_rng(0)


@pytest.fixture(params=TARGETS)
def target(request):
    return request.param


def normal(*shape, dtype=np.float32):
    return random.standard_normal(shape).astype(dtype)


def integers(*shape, low=-1000, high=1000, dtype=np.int64):
    return random.integers(low, high, shape).astype(dtype)


# ---------------------------------------------------------------- maps


@pytest.mark.thinned(to=7)
@pytest.mark.parametrize("n", [1, 5, 16, 37, 64, 130, 1000])
@pytest.mark.parametrize("steps", [1, 4])
def test_map_of_any_length(target, n, steps):
    x, y, i = argument("x"), argument("y"), Var("i", n)
    loops = kernel(
        [x, y],
        lanes(
            i,
            Store(y, var(i), op(Op.ADD, op(Op.MUL, load(x, i), load(x, i)), const(1, f32))),
            unroll=steps,
        ),
    )
    data = normal(n)
    check_kernel(loops, [data, np.zeros_like(data)], [data, data * data + np.float32(1)], target)


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("n", [3, 64, 257, 1000])
def test_chunks_of_a_length_known_only_when_called(target, n):
    x, y, g, i = argument("x"), argument("y"), Var("g", 1 << 30), Var("i", 128)
    chunks, total = Param("chunks"), Param("total")
    body = lanes(
        i,
        Store(y, var(g) * 128 + var(i), op(Op.NEG, load(x, var(g) * 128 + var(i)))),
        unroll=2,
        base=var(g) * 128,
        total=total,
    )
    loops = Loops("k", (x, y), (chunks, total), [For(g, chunks, GRID, [body])])
    data = normal(n)
    check_kernel(
        loops, [data, np.zeros_like(data)], [data, -data], target, params=(-(-n // 128), n)
    )


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("n", [3, 5, 9, 17, 33, 65])
@pytest.mark.parametrize("narrow", [dt.int8, dt.int16], ids=lambda d: d.name)
def test_a_last_single_element_leaves_its_neighbour_alone(target, narrow, n):
    x, y, i = argument("x", dt.int32), argument("y", narrow), Var("i", n)
    loops = kernel([x, y], lanes(i, Store(y, var(i), op(Op.CAST, load(x, i), arg=narrow))))
    data, old = integers(n, low=0, high=100, dtype=np.int32), np.full(n + 4, 7, narrow.numpy)
    check_kernel(loops, [data, old], [data, np.append(data, [7] * 4).astype(narrow.numpy)], target)


def test_masked_loads_give_zero_and_masked_stores_keep(target):
    x, y, i = argument("x"), argument("y"), Var("i", 45)
    inside, written = Range(var(i) - 3, 0, 40), Range(var(i), 1, 44)
    loops = kernel([x, y], lanes(i, Store(y, var(i), load(x, var(i) - 3, inside), (written,))))
    data, old = normal(40), normal(45)
    want = np.concatenate([np.zeros(3, np.float32), data, np.zeros(2, np.float32)])
    want[[0, 44]] = old[[0, 44]]
    check_kernel(loops, [data, old], [data, want], target)


def test_mask_that_is_the_same_for_all_lanes(target):
    x, y, r, i = argument("x"), argument("y"), Var("r", 5), Var("i", 20)
    row = Range(var(r) - 1, 0, 3)
    loops = kernel(
        [x, y],
        serial(
            r, lanes(i, Store(y, var(r) * 20 + var(i), load(x, (var(r) - 1) * 20 + var(i), row)))
        ),
    )
    data = normal(3, 20)
    check_kernel(loops, [data, normal(5, 20)], [data, np.pad(data, ((1, 1), (0, 0)))], target)


def test_uniform_masked_load_never_reads_outside(target):
    x, y, r, i = argument("x"), argument("y"), Var("r", 5), Var("i", 20)
    far = load(x, var(r) * (1 << 40), Range(var(r), 0, 1))
    loops = kernel([x, y], serial(r, lanes(i, Store(y, var(r) * 20 + var(i), far))))
    data = normal(1)
    want = np.zeros((5, 20), np.float32)
    want[0] = data
    check_kernel(loops, [data, normal(5, 20)], [data, want], target)


ACCESSES = {
    "reversed": (lambda i: Index(const=99) - var(i), lambda k: 99 - k),
    "every second": (lambda i: var(i) * 2 + 1, lambda k: 2 * k + 1),
    "every third": (lambda i: var(i) * 3, lambda k: 3 * k),
    "every fourth": (lambda i: var(i) * 4 + 3, lambda k: 4 * k + 3),
    "backwards by two": (lambda i: Index(const=80) - var(i) * 2, lambda k: 80 - 2 * k),
    "repeated": (lambda i: var(i) // 3, lambda k: k // 3),
    "stretched twice": (lambda i: var(i) // 2 + 5, lambda k: k // 2 + 5),
    "stretched four times": (lambda i: (var(i) + 8) // 4, lambda k: (k + 8) // 4),
    "cyclic": (lambda i: var(i) % 7, lambda k: k % 7),
    "cyclic by whole vectors": (lambda i: var(i) % 32, lambda k: k % 32),
    "transposed": (lambda i: var(i) % 5 * 8 + var(i) // 5, lambda k: k % 5 * 8 + k // 5),
    "floored below zero": (lambda i: (var(i) - 20) // 3 + 7, lambda k: (k - 20) // 3 + 7),
}


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("name", ACCESSES)
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.bool_])
def test_loads_of_any_stride(target, name, dtype):
    index, where = ACCESSES[name]
    x, y, i = argument("x", dtype), argument("y", dtype), Var("i", 33)
    data = (
        normal(140).astype(dtype.numpy)
        if dtype.is_float
        else integers(140, low=0, high=2, dtype=bool)
    )
    loops = kernel([x, y], lanes(i, Store(y, var(i), load(x, index(i)))))
    check_kernel(
        loops, [data, np.zeros(33, dtype.numpy)], [data, data[where(np.arange(33))]], target
    )


@pytest.mark.thinned(to=9)
@pytest.mark.parametrize(
    "name",
    ["reversed", "every second", "every third", "every fourth", "backwards by two", "transposed"],
)
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.float16])
def test_stores_of_any_stride(target, name, dtype):
    index, where = ACCESSES[name]
    x, y, i = argument("x", dtype), argument("y", dtype), Var("i", 33)
    data, want = (
        normal(33).astype(dtype.numpy),
        np.zeros(where(np.arange(33)).max() + 1, dtype.numpy),
    )
    want[where(np.arange(33))] = data
    loops = kernel([x, y], lanes(i, Store(y, index(i), load(x, i))))
    check_kernel(loops, [data, np.zeros_like(want)], [data, want], target)


@pytest.mark.thinned(to=6)
@pytest.mark.parametrize("rows", [1, 3, 16])
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.float16, dt.int64])
def test_squares_stored_transposed(target, rows, dtype):
    w = named(target).lanes(8 * dtype.itemsize)
    rows = min(rows, w)
    x, y, j, i = argument("x", dtype), argument("y", dtype), Var("j", rows), Var("i", w)
    store = Store(y, var(i) * 21 + var(j), load(x, var(j) * w + var(i)))
    data, old = normal(rows, w).astype(dtype.numpy), normal(w, 21).astype(dtype.numpy)
    want = old.copy()
    want[:, :rows] = data.T
    check_kernel(
        kernel([x, y], For(j, rows, UNROLL, [lanes(i, store)])), [data, old], [data, want], target
    )


def test_stretched_loads_of_masked_lanes_read_nothing_else(target):
    x, y, i = argument("x"), argument("y"), Var("i", 40)
    value = load(x, (var(i) - 4) // 2, Range(var(i), 4, 17))
    data, want = normal(7), np.zeros(40, np.float32)
    want[4:17] = data[np.arange(13) // 2]
    check_kernel(
        kernel([x, y], lanes(i, Store(y, var(i), value))), [data, normal(40)], [data, want], target
    )


def test_a_quotient_with_a_gathered_part_is_gathered(target):
    x, idx, y, i = argument("x"), argument("idx", i64), argument("y"), Var("i", 32)
    at = Index({Gathered(load(idx, i), 5): 2}) + var(i)
    loops = kernel([x, idx, y], lanes(i, Store(y, var(i), load(x, at // 2))))
    data, part = normal(40), integers(32, low=0, high=5)
    want = data[(2 * part + np.arange(32)) // 2]
    check_kernel(loops, [data, part, np.zeros(32, np.float32)], [None, None, want], target)


def test_gather_through_an_index_buffer(target):
    x, idx, y, i, c = argument("x"), argument("idx", i64), argument("y"), Var("i", 21), Var("c", 10)
    by_lane = kernel(
        [x, idx, y], lanes(i, Store(y, var(i), load(x, Index({Gathered(load(idx, i), 50): 1}))))
    )
    rows = Index({Gathered(load(idx, i), 5): 10}) + var(c)
    by_row = kernel([x, idx, y], serial(i, lanes(c, Store(y, var(i) * 10 + var(c), load(x, rows)))))
    data, at = normal(50), integers(21, low=0, high=50)
    check_kernel(by_lane, [data, at, np.zeros(21, np.float32)], [None, None, data[at]], target)
    at = at % 5
    check_kernel(
        by_row,
        [data, at, np.zeros((21, 10), np.float32)],
        [None, None, data.reshape(5, 10)[at]],
        target,
    )


def test_index_out_of_range_reads_the_first_element(target):
    x, idx, y, i = argument("x"), argument("idx", i64), argument("y"), Var("i", 9)
    loops = kernel(
        [x, idx, y], lanes(i, Store(y, var(i), load(x, Index({Gathered(load(idx, i), 4): 1}))))
    )
    at = np.array([0, 3, 4, -1, 2**62, -(2**62), 1, 2, 3])
    data = normal(4)
    check_kernel(
        loops,
        [data, at, np.zeros(9, np.float32)],
        [None, None, data[np.where((at >= 0) & (at < 4), at, 0)]],
        target,
    )


def test_scatter_add_meets_the_same_element_twice(target):
    x, idx, y, i = argument("x", i64), argument("idx", i64), argument("y", i64), Var("i", 50)
    loops = kernel(
        [x, idx, y], lanes(i, Reduce(y, Index({Gathered(load(idx, i), 4): 1}), "add", load(x, i)))
    )
    data, at, want = integers(50), integers(50, low=0, high=4), np.zeros(4, np.int64)
    np.add.at(want, at, data)
    check_kernel(loops, [data, at, np.zeros(4, np.int64)], [None, None, want], target)


def test_value_of_an_index(target):
    y, i = argument("y", i64), Var("i", 70)
    loops = kernel(
        [y], lanes(i, Store(y, var(i), op(Op.ADD, value_of(var(i) * 3 - 5), value_of(var(i) % 4))))
    )
    k = np.arange(70)
    check_kernel(loops, [np.zeros(70, np.int64)], [3 * k - 5 + k % 4], target)


# ---------------------------------------------------------------- reductions


def softmax_rows(rows, columns):
    """As exp needs math.expand, 1 + t*t stands for it: max, sum, write."""
    x, y, r = argument("x"), argument("y"), Var("r", rows)
    m, s = Buf("m", f32, 1, REG), Buf("s", f32, 1, REG)
    c, d, e = (Var(n, columns) for n in "cde")

    def term(v):
        t = op(Op.SUB, load(x, var(r) * columns + var(v)), load(m))
        return op(Op.ADD, op(Op.MUL, t, t), const(1, f32))

    return Loops("rows", (x, y), (), [For(r, rows, GRID, [
        Alloc(m, float("-inf")),
        lanes(c, Reduce(m, Index(), "max", load(x, var(r) * columns + var(c))), unroll=4),
        Alloc(s, 0.0), lanes(d, Reduce(s, Index(), "add", term(d)), unroll=2),
        lanes(e, Store(y, var(r) * columns + var(e), op(Op.DIV, term(e), load(s)))),
    ])])  # fmt: skip


@pytest.mark.thinned(to=5)
@pytest.mark.parametrize("columns", [1, 7, 16, 100, 257])
def test_rows_with_two_reductions(target, columns):
    data = normal(3, columns)
    terms = 1 + (data - data.max(1, keepdims=True)) ** 2
    want = (terms / terms.sum(1, keepdims=True)).astype(np.float32)
    check_kernel(
        softmax_rows(3, columns), [data, np.zeros_like(data)], [data, want], target, rtol=1e-5
    )


def test_max_of_a_row_propagates_nan(target):
    x, y, i, m = argument("x"), argument("y"), Var("i", 50), Buf("m", f32, 1, REG)
    loops = kernel(
        [x, y],
        Alloc(m, float("-inf")),
        lanes(i, Reduce(m, Index(), "max", load(x, i)), unroll=2),
        Store(y, Index(), load(m)),
    )
    for place in (None, 0, 20, 49):
        data = normal(50)
        if place is not None:
            data[place] = np.nan
        check_kernel(
            loops, [data, np.zeros(1, np.float32)], [data, data.max(keepdims=True)], target
        )


@pytest.mark.thinned(to=9)
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64, dt.int32, dt.int64, dt.uint8, dt.bool_])
@pytest.mark.parametrize("kind", ["add", "max", "mul"])
def test_reduction_of_every_kind(target, dtype, kind):
    x, y, i, acc = (
        argument("x", dtype),
        argument("y", dtype),
        Var("i", 77),
        Buf("acc", dtype, 1, REG),
    )
    ufunc = {"add": np.add, "max": np.maximum, "mul": np.multiply}[kind]
    data = (
        (1 + normal(77) / 8).astype(dtype.numpy)
        if dtype.is_float
        else integers(77, low=-2, high=3).astype(dtype.numpy)
    )
    start = {"add": 0, "mul": 1, "max": dt.lowest(dtype)}[kind]
    loops = kernel(
        [x, y],
        Alloc(acc, start),
        lanes(i, Reduce(acc, Index(), kind, load(x, i)), unroll=3),
        Store(y, Index(), load(acc)),
    )
    want = ufunc.reduce(data, keepdims=True, dtype=data.dtype)
    check_kernel(
        loops,
        [data, np.zeros(1, dtype.numpy)],
        [data, want],
        target,
        rtol=1e-5 if dtype.is_float else 0,
    )


def test_masked_reduction_skips_what_its_mask_excludes(target):
    x, y, i, acc = argument("x"), argument("y"), Var("i", 50), Buf("acc", f32, 1, REG)
    part = Reduce(
        acc, Index(), "add", op(Op.DIV, const(1, f32), load(x, i)), (Range(var(i) % 2, 0, 1),)
    )
    loops = kernel([x, y], Alloc(acc, 0.0), lanes(i, part, unroll=2), Store(y, Index(), load(acc)))
    data = np.where(np.arange(50) % 2 == 0, 4, 0).astype(np.float32)
    check_kernel(loops, [data, np.zeros(1, np.float32)], [None, [np.float32(25 / 4)]], target)


def test_column_sums_keep_one_accumulator_a_lane(target):
    x, y, r, c, acc = (
        argument("x"),
        argument("y"),
        Var("r", 9),
        Var("c", 71),
        Buf("acc", f32, 1, REG),
    )
    body = [
        Alloc(acc, 0.0),
        serial(r, Reduce(acc, Index(), "add", load(x, var(r) * 71 + var(c)))),
        Store(y, var(c), load(acc)),
    ]
    data = normal(9, 71)
    want = np.zeros(71, np.float32)
    for row in data:
        want += row
    check_kernel(
        kernel([x, y], lanes(c, *body, unroll=2)),
        [data, np.zeros(71, np.float32)],
        [data, want],
        target,
    )


def test_column_sums_in_a_scratch_row(target):
    x, y, r, c, acc = (
        argument("x"),
        argument("y"),
        Var("r", 9),
        Var("c", 171),
        Buf("acc", f32, 171, SCRATCH),
    )
    d = Var("d", 171)
    loops = kernel([x, y], Alloc(acc, 0.0),
        serial(r, lanes(c, Reduce(acc, var(c), "add", load(x, var(r) * 171 + var(c))))),
                   lanes(d, Store(y, var(d), load(acc, d))))  # fmt: skip
    data = normal(9, 171)
    want = np.zeros(171, np.float32)
    for row in data:
        want += row
    check_kernel(loops, [data, np.zeros(171, np.float32)], [data, want], target)


def test_running_total_is_read_between_lane_loops(target):
    """Partial sums are settled inside the outer loop, at every turn."""
    x, y, r, c, acc = (
        argument("x", i64),
        argument("y", i64),
        Var("r", 6),
        Var("c", 19),
        Buf("acc", i64, 1, REG),
    )
    row = lanes(c, Reduce(acc, Index(), "add", load(x, var(r) * 19 + var(c))))
    loops = kernel([x, y], Alloc(acc, 0), serial(r, row, Store(y, var(r), load(acc))))
    data = integers(6, 19)
    check_kernel(loops, [data, np.zeros(6, np.int64)], [data, data.sum(1).cumsum()], target)


def test_partial_sums_of_a_branch_that_is_not_taken(target):
    x, y, r, c, acc = (
        argument("x", i64),
        argument("y", i64),
        Var("r", 6),
        Var("c", 19),
        Buf("acc", i64, 1, REG),
    )
    row = If(
        (Range(var(r), 2, 4),),
        [lanes(c, Reduce(acc, Index(), "add", load(x, var(r) * 19 + var(c))))],
    )
    loops = kernel([x, y], Alloc(acc, 0), serial(r, row), Store(y, Index(), load(acc)))
    data = integers(6, 19)
    check_kernel(loops, [data, np.zeros(1, np.int64)], [data, [data[2:4].sum()]], target)


def test_a_loaded_value_is_read_again_after_it_changed(target):
    """Node identity is not value identity: the same LOAD before and after a Store."""
    x, y, t = argument("x"), argument("y"), Buf("t", f32, 1, REG)
    twice = op(Op.ADD, load(t), load(t))
    loops = kernel(
        [x, y],
        Alloc(t, 1.0),
        Store(y, Index(const=0), twice),
        Store(t, Index(), load(x)),
        Store(y, Index(const=1), twice),
    )
    check_kernel(
        loops, [np.float32([5]), np.zeros(2, np.float32)], [None, np.float32([2, 10])], target
    )


# ---------------------------------------------------------------- tiles


@pytest.mark.thinned
@pytest.mark.parametrize(
    ("m", "n", "k", "dtype"),
    [(12, 32, 40, dt.float32), (3, 10, 7, dt.float32), (6, 16, 20, dt.float64)],
)
def test_register_tile(target, m, n, k, dtype):
    a, b = normal(m, k, dtype=dtype.numpy), normal(k, n, dtype=dtype.numpy)
    check_kernel(
        gemm_tile(m, n, k, dtype),
        [a, b, np.zeros((m, n), dtype.numpy)],
        [a, b, a @ b],
        target,
        rtol=1e-4,
    )


@pytest.mark.parametrize("stored", [28, 32])
def test_tile_whose_rows_are_padded_to_whole_vectors(target, stored):
    """Lanes behind column 28 are written without masks only if no other loop looks at them."""
    x, y, r, i, j, k = (
        argument("x"),
        argument("y"),
        Var("r", 9),
        Var("i", 3),
        Var("j", 28),
        Var("k", stored),
    )
    acc = Buf("acc", f32, 96, REG)
    added = Reduce(acc, var(i) * 32 + var(j), "add", load(x, var(r) * 28 + var(j)))
    kept = Store(y, var(i) * stored + var(k), load(acc, var(i) * 32 + var(k)))
    loops = kernel(
        [x, y], Alloc(acc, 0.5), serial(r, unroll(i, lanes(j, added))), unroll(i, lanes(k, kept))
    )
    data, want = integers(9, 28, dtype=np.float32), np.full((3, stored), 0.5, np.float32)
    want[:, :28] += data.sum(0)
    check_kernel(loops, [data, np.zeros_like(want)], [data, want], target)


def test_dot_tile_with_lanes_along_k(target):
    m, n, k = 3, 4, 50
    a, b, c = (argument(name) for name in "abc")
    i, j, p, u, v = Var("i", m), Var("j", n), Var("p", k), Var("u", m), Var("v", n)
    acc = Buf("acc", f32, m * n, REG)
    product = op(Op.MUL, load(a, var(i) * k + var(p)), load(b, var(j) * k + var(p)))
    loops = kernel(
        [a, b, c],
        Alloc(acc, 0.0),
        lanes(p, unroll(i, unroll(j, Reduce(acc, var(i) * n + var(j), "add", product)))),
        unroll(u, lanes(v, Store(c, var(u) * n + var(v), load(acc, var(u) * n + var(v))))),
    )
    x, y = normal(m, k), normal(n, k)
    check_kernel(loops, [x, y, np.zeros((m, n), np.float32)], [x, y, x @ y.T], target, rtol=1e-4)


def test_tile_at_the_edge(target):
    """Rows and columns of the last tile end at a total that is not a multiple of it."""
    m, n = 5, 21
    x, y, r, i, j = argument("x"), argument("y"), Var("r", 2), Var("i", 4), Var("j", 32)
    at = (var(r) * 4 + var(i)) * n + var(j)
    rows = unroll(
        i,
        lanes(j, Store(y, at, op(Op.NEG, load(x, at))), base=Index(), total=n),
        base=var(r) * 4,
        total=m,
    )
    data = normal(m, n)
    check_kernel(
        kernel([x, y], serial(r, rows)), [data, np.zeros_like(data)], [data, -data], target
    )


# ---------------------------------------------------------------- control


def test_if_skips_its_body(target):
    x, y, r, i = argument("x"), argument("y"), Var("r", 6), Var("i", 20)
    body = If(
        (Range(var(r), 1, 4), Range(var(r), 2, 9)),
        [lanes(i, Store(y, var(r) * 20 + var(i), load(x, i)))],
    )
    data, want = normal(20), np.zeros((6, 20), np.float32)
    want[2:4] = data
    check_kernel(
        kernel([x, y], serial(r, body)), [data, np.zeros((6, 20), np.float32)], [data, want], target
    )


@pytest.mark.parametrize("wrong", [{}, {3: -1}, {40: 7, 21: 100}])
def test_check_reports_the_lowest_position(target, wrong):
    idx, y, i = argument("idx", i64), argument("y", i64), Var("i", 50)
    loops = kernel(
        [idx, y],
        lanes(i, Check(load(idx, i), 7, 2, var(i) * 3), Store(y, var(i), load(idx, i)), unroll=2),
    )
    at = integers(50, low=0, high=7)
    for place, value in wrong.items():
        at[place] = value
    _, failures = interpreted(loops, [at, at])
    _, status = compiled(loops, [at, at], target)
    if not wrong:
        assert failures == []
        assert status.tolist() == [2**64 - 1, 0]
    else:
        lowest = min(wrong)
        assert failures[0] == (2, 3 * lowest, wrong[lowest])
        assert int(status[0]) == (2 << 40) + 3 * lowest
        assert int(status.view(np.int64)[1]) == wrong[lowest]


def test_check_of_a_single_value(target):
    idx = argument("idx", i64)
    loops = kernel([idx], Check(load(idx, 1), 7, 1, Index(const=5)))
    assert compiled(loops, [np.array([9, 3])], target)[1].tolist() == [2**64 - 1, 0]
    assert compiled(loops, [np.array([3, 9])], target)[1].tolist() == [(1 << 40) + 5, 9]


def test_prefetch_changes_nothing(target):
    """Not even where it lies outside of the buffer, or is of a buffer that nothing else uses."""
    x, y, z, i = argument("x"), argument("y"), argument("z"), Var("i", 50)
    hints = [
        Prefetch(x, var(i) + (1 << 20)),
        Prefetch(x, var(i) * 3 - 64),
        Prefetch(z, Index(const=-1)),
    ]
    loops = kernel([x, y, z], *hints[2:], lanes(i, *hints, Store(y, var(i), load(x, i)), unroll=2))
    verify(loops)
    data = normal(50)
    check_kernel(loops, [data, np.zeros(50, np.float32), data], [data, data, data], target)


def test_prefetch_asks_for_each_line_once(target):
    x, y, i = argument("x"), argument("y"), Var("i", 256)
    loops = kernel(
        [x, y], lanes(i, Prefetch(x, var(i) + 512), Store(y, var(i), load(x, i)), unroll=4)
    )
    step = 4 * named(target).lanes(32)
    assert emit(loops, named(target)).count("call void @llvm.prefetch") == 4 * step // 64


def test_in_place_update(target):
    """x and y may be the same memory."""
    x, y, i = argument("x"), argument("y"), Var("i", 50)
    loops = kernel([x, y], lanes(i, Store(y, var(i), op(Op.ADD, load(x, i), load(y, i)))))
    data, more = normal(50), normal(50)
    check_kernel(loops, [data, more], [data, data + more], target)


def test_two_phases_and_several_chunks(target):
    x, s, y, g, h, i = (
        argument("x"),
        argument("s"),
        argument("y"),
        Var("g", 4),
        Var("h", 1),
        Var("i", 32),
    )
    acc, j, total = Buf("acc", f32, 1, REG), Var("j", 4), Buf("total", f32, 1, REG)
    first = For(
        g,
        4,
        GRID,
        [
            Alloc(acc, 0.0),
            lanes(i, Reduce(acc, Index(), "add", load(x, var(g) * 32 + var(i)))),
            Store(s, var(g), load(acc)),
        ],
    )
    second = For(
        h,
        1,
        GRID,
        [
            Alloc(total, 0.0),
            lanes(j, Reduce(total, Index(), "add", load(s, j))),
            Store(y, Index(), load(total)),
        ],
    )
    data = integers(128, dtype=np.float32)
    arrays = [data, np.zeros(4, np.float32), np.zeros(1, np.float32)]
    check_kernel(
        Loops("k", (x, s, y), (), [first, second]),
        arrays,
        [data, data.reshape(4, 32).sum(1), data.sum(keepdims=True)],
        target,
    )


def test_text_is_deterministic():
    assert emit(softmax_rows(3, 50), host()) == emit(softmax_rows(3, 50), host())
