"""Strict mode: compiled results equal the interpreter bit for bit, whatever the schedule."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import graphs as g
import numpy as np
import pytest
import weft as wf
from effort import rarely
from fuzz_networks import trained
from fuzz_strict import TINY, compare_seed, compare_strictly
from harness import compiled, inputs_of, leaf, normal_inputs
from optable import ROWS, Row, leaves, values
from weft import options
from weft.codegen.cpu.chunks import Tuning
from weft.compiler.backends.kinds import CudaKind
from weft.compiler.programs.interpreted import strictly
from weft.ir.gradient.gradient import vjp
from weft.ir.graph import dtype as dt
from weft.ir.graph import graph
from weft.ir.graph.graph import Node, node
from weft.ir.graph.op import Op
from weft.ir.ops.interp import run


def check_row(row: Row) -> None:
    """Values, special values and gradients, in threads and tiny."""
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    arguments = leaves(row)
    output = row.build(*arguments)
    for specials in (False, True):
        env = dict(zip(arguments, values(row, rng, specials), strict=True))
        compare_strictly([output], env, **(TINY if specials else {}))
    if row.differentiable:
        seed = leaf(*output.shape, dtype=output.dtype)
        found = vjp([output], [seed], [a for a in arguments if a.dtype.is_float])
        gradients = list(dict.fromkeys(d for d in found if d is not None))
        env = dict(zip(arguments, values(row, rng), strict=True)) | normal_inputs([seed])
        compare_strictly(gradients, {n: env[n] for n in inputs_of(gradients)})


@pytest.mark.thinned(to=8)
@pytest.mark.parametrize("row", ROWS[::64], ids=lambda r: r.name)
def test_an_op_has_the_bits_of_the_interpreter(row: Row) -> None:
    check_row(row)


@pytest.mark.slow
def test_every_op_has_the_bits_of_the_interpreter() -> None:
    for row in ROWS:
        check_row(row)


# ---------------------------------------------------------------- what strict mode keeps from being
# rewritten


def signed_zeros(*shape: int) -> np.ndarray:
    zeros = np.random.default_rng(0).choice(np.array([0.0, -0.0], np.float32), shape)
    zeros.reshape(-1)[: zeros.size // 2] = -0.0
    return zeros


def total(x: Node, *axes: int, kind: str = "add") -> Node:
    return graph.reduce(kind, x, axes)


def attention() -> list[Node]:
    q, k, v = (leaf(2, 3, 33, 20) for _ in range(3))
    out = g.matmul(g.softmax(g.scale(g.matmul(q, graph.permute(k, (0, 1, 3, 2))), 0.2)), v)
    return [out, *vjp([out], [leaf(*out.shape)], [q, k, v])]


def layer_norm() -> list[Node]:
    wrt = [leaf(70, 96), leaf(96), leaf(96)]
    y = g.layer_norm(*wrt)
    return [y, *vjp([y], [leaf(70, 96)], wrt)]


def convolution() -> list[Node]:
    x, w = leaf(2, 3, 14, 14), leaf(8, 3, 3, 3)
    y = g.max_pool(g.relu(g.conv2d(x, w, 1, 1, 1, 1)), 2, 2)
    return [y, *vjp([y], [leaf(*y.shape)], [x, w])]


def powers() -> list[Node]:
    x = leaf(4096)
    return [node(Op.POW, (g.mul(x, x), g.like(by, x))) for by in (0.5, 2.0, 3.0, -1.0, -0.5)]


def shuffled_axes() -> list[Node]:
    """Reduced axes in another order than that of memory, inside and around the kept one."""
    x = leaf(7, 40, 50)
    turned = [graph.permute(x, order) for order in ((1, 0, 2), (2, 1, 0), (2, 0, 1))]
    return [total(y, *axes) for y in turned for axes in ((0, 1), (0, 2), (1, 2))]


CASES: dict[str, Callable[[], list[Node]]] = {
    "rows": lambda: [total(leaf(70, 1000), 1), g.softmax(leaf(70, 300))],
    "columns": lambda: [total(leaf(1000, 70), 0), total(leaf(300, 4100), 0)],
    "all": lambda: [total(leaf(1 << 17), 0), total(leaf(300, 500), 0, 1)],
    "few rows": lambda: [total(leaf(3, 50_001), 1), total(leaf(40_000, 3), 0)],
    "products": lambda: [
        total(g.add(g.scale(leaf(30, 70), 0.01), g.like(1, leaf(30, 70))), 1, kind="mul")
    ],
    "sums of sums": lambda: [
        total(total(leaf(60, 30, 20), 2), 0),
        total(total(leaf(60, 30, 20), 0), 0),
    ],
    "sums of equal numbers": lambda: [total(graph.full(0.1, dt.float32, (1000,)), 0)],
    "axes": shuffled_axes,
    "powers": powers,
    "functions": lambda: [
        node(op, (leaf(1000, dtype=d),))
        for op in (Op.EXP, Op.ERF, Op.TANH)
        for d in (dt.float32, dt.float64)
    ],
    "matmul": lambda: [g.matmul(leaf(37, 530), leaf(530, 71))],
    "half": lambda: [g.matmul(leaf(37, 53, dtype=dt.float16), leaf(53, 71, dtype=dt.float16))],
    "convolution": convolution,
    "attention": attention,
    "layer norm": layer_norm,
}


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", CASES)
def test_sums_have_the_bits_of_the_interpreter(name: str) -> None:
    outputs = CASES[name]()
    compare_strictly(outputs, normal_inputs(outputs), threads=(2, 3))


def zeros_of_windows() -> list[Node]:
    """The gradient of a sum over windows that do not overlap."""
    x = leaf(6, 40)
    y = total(g.window(x, 1, 4, 4), 2)
    return list(vjp([y], [leaf(*y.shape)], [x]))


def zeros_of_labels() -> list[Node]:
    """The gradient of picking an element of each row."""
    x, labels = leaf(60, 10), leaf(60, dtype=dt.int64)
    y = g.pick(x, labels)
    return list(vjp([y], [leaf(60)], [x]))


def maxima() -> list[Node]:
    shapes = (((60, 70), 1), ((70, 60), 0), ((9, 3), 1), ((5000,), 0))
    return [total(leaf(*shape), axis, kind="max") for shape, axis in shapes]


ZEROS: dict[str, Callable[[], list[Node]]] = {
    "sum of one": lambda: [total(leaf(60, 1), 1)],
    "sums": lambda: [
        total(leaf(40, 3), 1),
        total(leaf(3, 40), 0),
        node(Op.SCAN, (leaf(40, 3),), 1),
    ],
    "maxima": maxima,
    "windows": zeros_of_windows,
    "labels": zeros_of_labels,
}


@pytest.mark.parametrize("name", ZEROS)
def test_zeros_have_the_signs_of_the_interpreter(name: str) -> None:
    outputs = ZEROS[name]()
    env = {
        n: signed_zeros(*n.shape) if n.dtype.is_float else a
        for n, a in normal_inputs(outputs).items()
    }
    compare_strictly(outputs, env)


# ---------------------------------------------------------------- random graphs and networks


@pytest.mark.parametrize("first", [0, *rarely(4)])
def test_random_graphs_have_the_bits_of_the_interpreter(first: int) -> None:
    for seed in range(first, first + 4):
        compare_seed(seed)


@pytest.mark.slow
def test_many_random_graphs_have_the_bits_of_the_interpreter() -> None:
    for seed in range(20_000):
        compare_seed(seed)


def check_network(seed: int) -> None:
    """Two steps of training: the interpreter, lazy, jitted on two threads."""
    dtype = ("float32", "float64")[seed % 2]
    want = trained(seed, dtype, strict=True, interpret=True)
    for got in (
        trained(seed, dtype, strict=True),
        trained(seed, dtype, jitted=True, strict=True, num_threads=2),
    ):
        for name, w in want.items():
            np.testing.assert_array_equal(got[name], w, err_msg=name)


@pytest.mark.slow
def test_a_network_trains_to_the_bits_of_the_interpreter() -> None:
    check_network(12)


@pytest.mark.slow
def test_networks_train_to_the_bits_of_the_interpreter() -> None:
    for seed in range(100):
        check_network(seed)


# ---------------------------------------------------------------- the option


def test_the_interpreter_adds_one_term_after_the_other() -> None:
    x = np.array([1.0, 1e8, -1e8, 0.25, 3.0], np.float32)
    n = leaf(5)
    (got,) = run([total(n, 0)], {n: x}, strictly())
    assert got == np.float32(3.25)  # 1 + 1e8 is 1e8
    (wide,) = run([total(n, 0)], {n: x})
    assert wide == np.float32(4.25)


def test_strict_programs_are_others_in_one_process() -> None:
    x = wf.tensor(np.random.default_rng(0).standard_normal((40, 1000)).astype("float32"))
    results = []
    for strict in (False, True, False, True):
        with options.override(strict=strict):
            results.append(x.exp().sum(axis=1).numpy().copy())
    assert not np.array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    np.testing.assert_array_equal(results[1], results[3])


def test_strict_mode_fuses_and_shares_work_among_threads() -> None:
    outputs = [g.softmax(g.scale(leaf(512, 256), 2))]
    program = compiled(outputs, strict=True)
    assert len(program.lowered.kernels) == 1 and all(program.program.calls[0].parallel)


@pytest.mark.parametrize("shape", [(9000,), (40, 1000)], ids=str)
def test_verify_names_what_the_interpreter_has_otherwise(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = wf.tensor(np.random.default_rng(0).standard_normal(shape).astype("float32"))
    want = x.sum(axis=-1).numpy()
    with options.override(strict=True, verify=True, cache_dir=None):
        np.testing.assert_allclose(x.sum(axis=-1).numpy(), want, rtol=1e-3)
        monkeypatch.setattr(Tuning, "strict", property(lambda _: False, lambda *_: None))
        told = r"strict mode: reduce of float32.* \(test_strict_mode.py:\d+\): element \["
        with pytest.raises(wf.errors.CompileError, match=told):
            (x * 2).sum(axis=-1).numpy()


def test_a_compared_program_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with options.override(strict=True, verify=True, debug=1):
        (wf.tensor([1.0, 2.5]) * 3.25).numpy()
    assert "1 kernel for cpu" in capsys.readouterr().err


def test_explain_says_that_strict_mode_is_on() -> None:
    x = wf.tensor(np.ones((40, 50), "float32")).sum(axis=1)
    assert "strict mode" not in str(wf.explain(x))
    with options.override(strict=True):
        assert str(wf.explain(x)).startswith("1 kernel on cpu in strict mode, ")
        assert wf.explain(x).to_dict()["strict"]


def test_a_gpu_has_no_strict_mode() -> None:
    with (
        options.override(strict=True),
        pytest.raises(wf.errors.DeviceError, match=r"cuda:0: strict mode .* for the CPU alone"),
    ):
        CudaKind().settings(0, "")
