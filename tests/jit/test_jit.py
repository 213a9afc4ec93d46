"""wf.jit: what it traces, when again, what it changes and what it leaves alone; the same bits as
without."""

from __future__ import annotations

import copy
import gc
import threading
import warnings
import weakref
from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import weft as wf
from counted import Counted
from effort import rarely
from stepping import states, stepper
from weft import options
from weft.frontend.lazy import program_table, state
from weft.frontend.lazy.program_table import statistics
from weft.nn import functional as F
from weft.nn import optim

Array = np.ndarray


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    wf.realize()
    yield
    assert not state.traces
    state.thread.pending.clear()


def parameter(*values: float) -> wf.Tensor:
    return wf.tensor(list(values), requires_grad=True)


def address(t: wf.Tensor) -> int:
    stored = t._stored()
    assert stored is not None
    return stored.address


# ---------------------------------------------------------------- arguments and results


def test_a_jitted_function_says_what_it_is() -> None:
    def step(x: wf.Tensor) -> wf.Tensor:
        return x

    assert repr(wf.jit(step)) == "<wf.jit of test_a_jitted_function_says_what_it_is.<locals>.step>"
    assert repr(wf.jit(np.exp)) == "<wf.jit of exp>"


def test_a_function_of_two_tensors_is_traced_once() -> None:
    f = Counted(lambda x, y: x @ y + 1.0)
    for seed in range(3):
        a, b = (
            np.random.default_rng(seed).standard_normal((5, 5)).astype("float32") for _ in range(2)
        )
        out = f(wf.tensor(a), wf.tensor(b))
        assert out._storage is not None, "results are computed"
        np.testing.assert_allclose(out.numpy(), a @ b + 1, rtol=1e-5, atol=1e-6)
    assert f.traces == 1


def test_a_decorator_with_and_without_options() -> None:
    @wf.jit
    def double(x: wf.Tensor) -> wf.Tensor:
        """Twice."""
        return x * 2

    @wf.jit(static_argnames="n")
    def times(x: wf.Tensor, n: int) -> wf.Tensor:
        return x * n

    assert double.__name__ == "double" and double.__doc__ == "Twice."
    assert double(wf.tensor([1.0])).tolist() == [2.0] and times(wf.tensor([1.0]), n=3).tolist() == [
        3.0
    ]


Pair = namedtuple("Pair", "a b")


@dataclass(frozen=True)
class Batch:
    x: Any
    rest: Any = None
    names: list[str] = field(default_factory=list)


def test_structures_go_in_and_come_out() -> None:
    def f(batch: Batch, more: dict[str, Any], pair: Pair, *, last: list[Any]) -> Any:
        out = Batch(batch.x + more["k"], (pair.a * 2, [pair.b]), [*batch.names, "n"])
        return {"batch": out, "pair": Pair(last[0] - 1, "text"), "none": None, "list": [last[0], 3]}

    jitted = Counted(f)
    for i in range(3):
        x, y = wf.tensor([1.0, i]), wf.tensor([3.0])
        args = (Batch(x, names=["m"]), {"k": y}, Pair(np.float32([i]), x))
        got, wanted = jitted(*args, last=[y]), f(*args, last=[y])
        assert (
            got["batch"].names == ["m", "n"]
            and got["none"] is None
            and got["list"][1] == 3
            and got["pair"].b == "text"
        )
        assert type(got["pair"]) is Pair and type(got["batch"]) is Batch
        assert got["batch"].x.tolist() == wanted["batch"].x.tolist()
        assert got["batch"].rest[0].tolist() == [2.0 * i] and got["batch"].rest[1][0] is x
        assert got["pair"].a.tolist() == [2.0] and got["list"][0] is y
    assert jitted.traces == 1


def test_arrays_numpy_scalars_and_foreign_arrays_are_inputs() -> None:
    f = Counted(lambda x, y, z: x * y + z)
    for i in range(2):
        assert f(np.float32([1, 2]), np.float32(2 + i), wf.ones(2)).tolist() == [
            3.0 + i,
            5.0 + 2 * i,
        ]
    assert f.traces == 1
    assert f(np.arange(6.0)[::2], np.float64(2), np.zeros(3)).dtype is wf.float64
    assert f(np.float32([[1, 2], [3, 4]]).T, np.float32(1), np.float32(0)).tolist() == [
        [1.0, 3.0],
        [2.0, 4.0],
    ]
    with pytest.raises(wf.errors.DTypeError, match="no dtype"):
        f(np.array(["a"]), 1.0, 2.0)


def test_an_array_that_comes_back_is_a_copy() -> None:
    a = np.float32([1, 2, 3])
    same, part = wf.jit(lambda x: (x, x[1:]))(a)
    a[:] = 7
    assert same.tolist() == [1.0, 2.0, 3.0] and part.tolist() == [2.0, 3.0]


def test_results_that_are_views_of_arguments_share_memory_safely() -> None:
    f = wf.jit(lambda x: (x, x.T, x[1:], x.reshape(6)))
    x = wf.tensor(np.arange(6.0).reshape(2, 3))
    same, turned, part, flat = f(x)
    assert same is x and address(turned) == address(x) and address(part) == address(x) + 24
    wanted = x.numpy().copy()
    np.testing.assert_array_equal(turned.numpy(), wanted.T)
    np.testing.assert_array_equal(part.numpy(), wanted[1:])
    x.assign(x + 1)
    wf.realize(x)
    assert flat.tolist() == wanted.reshape(6).tolist() and x.tolist() != wanted.tolist()


def test_one_tensor_returned_twice_and_constants() -> None:
    def f(x: wf.Tensor) -> Any:
        y = x + 1
        return y, y, wf.zeros(2), wf.tensor([5.0]), x.shape, x.sum().detach()

    jitted = Counted(f)
    for _ in range(2):
        a, b, zeros, five, shape, total = jitted(wf.tensor([1.0, 2.0]))
        assert (
            a is b
            and a.tolist() == [2.0, 3.0]
            and zeros.tolist() == [0.0, 0.0]
            and five.tolist() == [5.0]
        )
        assert shape == (2,) and total.item() == 3.0
    assert jitted.traces == 1


def test_results_are_tensors_like_any_other() -> None:
    f = wf.jit(lambda x: x * 2)
    a = f(wf.tensor([1.0, 2.0]))
    assert (a.shape, a.dtype, a.ndim, a.is_leaf, a.requires_grad) == (
        (2,),
        wf.float32,
        1,
        True,
        False,
    )
    assert f(a + f(a)).tolist() == [12.0, 24.0]
    a.requires_grad_()
    (a * a).sum().backward()
    assert a.grad.tolist() == [4.0, 8.0]
    assert copy.deepcopy(a).tolist() == [2.0, 4.0]


def test_empty_arguments_and_results() -> None:
    assert wf.jit(lambda: wf.ones(2) * 3)().tolist() == [3.0, 3.0]
    assert wf.jit(lambda x: None)(wf.ones(2)) is None
    assert wf.jit(lambda x: x + 1)(wf.zeros(0, 3)).shape == (0, 3)


# ---------------------------------------------------------------- signatures


def test_what_makes_a_new_signature() -> None:
    f = Counted(lambda x: x + 1)
    x = wf.tensor(np.arange(12.0, dtype="float32").reshape(3, 4))
    for given in (
        x,
        x.astype(wf.float64),
        x.T,
        x[:, ::2],
        x[:2],
        wf.tensor(x.tolist(), requires_grad=True),
    ):
        before = f.traces
        for _ in range(2):
            np.testing.assert_array_equal(f(given).numpy(), given.numpy() + 1)
        assert f.traces == before + 1
    for given in (x, x[:2], x.T):
        f(given)
    assert f.traces == before + 1
    with wf.no_grad():
        f(x)
    assert f.traces == before + 2


def test_a_moved_view_has_the_same_signature() -> None:
    f = Counted(lambda x: x * 2)
    data = wf.tensor(np.arange(20.0).reshape(10, 2)).realize()
    for i in range(0, 10, 2):
        np.testing.assert_array_equal(f(data[i : i + 2]).numpy(), data.numpy()[i : i + 2] * 2)
    assert f.traces == 1


def test_the_same_tensor_given_twice() -> None:
    def f(x: wf.Tensor, y: wf.Tensor) -> Any:
        with wf.no_grad():
            x += 1
        return x * y

    jitted = Counted(f)
    for _ in range(2):
        a, b = wf.tensor([1.0]), wf.tensor([10.0])
        assert jitted(a, b).tolist() == [20.0] and a.tolist() == [2.0]
        assert jitted(b, b).tolist() == [121.0] and b.tolist() == [11.0]
    assert jitted.traces == 2


def test_static_arguments() -> None:
    f = Counted(
        lambda x, n, mode="sum": x.reshape(n, -1).sum() if mode == "sum" else x.max(),
        static_argnums=1,
    )
    x = wf.arange(6.0)
    for n in (2, 3, 2):
        assert f(x, n).item() == 15.0
    assert f.traces == 2
    assert (
        f(x, n=2).item() == 15.0
        and f(x, 2, mode="max").item() == 5.0
        and f(x, 2, "max").item() == 5.0
    )
    assert f.traces == 5  # a name, another string, the string by place
    with pytest.raises(wf.errors.DTypeError, match="hashable"):
        f(x, [2])
    for wrong in ({"static_argnums": 3}, {"static_argnames": "m"}):
        with pytest.raises(wf.errors.ArgumentError, match="static_arg"):
            wf.jit(lambda x: x, **wrong)
    with pytest.raises(wf.errors.ArgumentError, match="static_argnums"):
        wf.jit(lambda *xs: xs[0], static_argnums=-(2**70))
    with pytest.raises(wf.errors.WeftError):
        wf.jit(3)


def test_static_numbers_keep_their_type_and_sign() -> None:
    f = Counted(lambda x, s: x * s, static_argnames=["s"])
    x = wf.tensor([1, 2])
    for s, dtype in ((2, wf.int64), (2.0, wf.float32), (True, wf.int64)):
        assert f(x, s).dtype is dtype
    assert np.signbit(f(wf.zeros(1), -0.0).numpy()[0]) and not np.signbit(
        f(wf.zeros(1), 0.0).numpy()[0]
    )
    traces = f.traces
    f(x, float("nan")), f(x, float("nan"))
    assert f.traces == traces + 1


def test_a_changed_signature_is_explained(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "weft.inspection.dumps.shown._watched", []
    )  # no times at the end of the tests

    def scale(x: Any, by: Any = 1.0) -> Any:
        return x["a"] * by

    f = wf.jit(scale)
    with options.override(debug=True):
        f({"a": wf.ones(2)})
        f({"a": wf.ones(3)})
        f({"b": wf.ones(3), "a": wf.ones(2)})
        f({"a": wf.ones(2, dtype=wf.float64)})
        with wf.no_grad():
            f({"a": wf.ones(2)})
    told = capsys.readouterr().err.splitlines()
    lines = [line for line in told if line.startswith("jit:") and "is traced" in line]
    assert lines == [
        "jit: scale is traced: this is the first call",
        "jit: scale is traced: argument 0['a'] has shape (3,), not (2,)",
        "jit: scale is traced: argument 0 has another structure, type or static value",
        "jit: scale is traced: argument 0['a'] has dtype float64, not float32",
        "jit: scale is traced: gradients are off",
    ]


# ---------------------------------------------------------------- Python numbers


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize(
    "dtype",
    [wf.int32, wf.int64, wf.uint8, wf.float16, wf.bfloat16, wf.float32, wf.float64, wf.bool_],
)
@pytest.mark.parametrize("number", [2, 0.1, True])
def test_a_python_number_is_weak(dtype: wf.DType, number: float) -> None:
    def use(x: wf.Tensor, s: Any) -> list[wf.Tensor]:
        return [x * s, s * 2 + x, wf.where(x == s, x, s), x == s, x > s, s <= x, x / 10 * s < s]

    f = Counted(lambda x, s: (*use(x, s), s))
    x = wf.tensor([1, 0, 2, 0.1]).astype(dtype)
    *got, alone = f(x, number)
    for a, b in zip(got, use(x, number), strict=True):
        assert a.dtype is b.dtype
        assert a.tolist() == b.tolist()
    assert alone.dtype is {int: wf.int64, float: wf.float32, bool: wf.bool_}[type(number)]
    assert alone.item() == pytest.approx(number)
    f(x, number)
    assert f.traces == 1


def test_a_python_number_changes_without_a_new_trace_or_program() -> None:
    f = Counted(lambda x, rate: x - rate * x.exp() + (1 - rate**2).sqrt())
    x = wf.tensor([0.5, -1.0])
    f(x, 0.5)
    built = statistics["built"]
    for rate in (0.1, 0.25, 0.7):
        np.testing.assert_allclose(
            f(x, rate).numpy(), (x - rate * x.exp() + (1 - rate**2) ** 0.5).numpy(), rtol=1e-6
        )
    assert f.traces == 1 and statistics["built"] <= built + 3  # those of the lazy expressions
    f(x, 1)
    assert f.traces == 2, "an int is another type"


def test_numbers_out_of_range() -> None:
    f = wf.jit(lambda x, s: x + s)
    assert f(wf.tensor([1], dtype=wf.int8), 2).tolist() == [3]
    with pytest.raises(wf.errors.OverflowError, match="300 is out of bounds for int8"):
        f(wf.tensor([1], dtype=wf.int8), 300)
    assert f(wf.tensor([1.0]), 1e300).tolist() == [float("inf")]
    assert f(wf.tensor([1.0], dtype=wf.float64), 1e300).tolist() == [1e300]
    assert f(wf.tensor([0.0]), 2**70).tolist() == [2.0**70]


def test_a_number_that_decides_a_shape_must_be_static() -> None:
    for f in (
        lambda x, n: x.reshape(n, -1),
        lambda x, n: x.sum(axis=n),
        lambda x, n: x if n else -x,
    ):
        with pytest.raises(wf.errors.WeftError, match="static"):
            wf.jit(f)(wf.ones(4), 2)


# ---------------------------------------------------------------- reads


READS: list[Callable[[wf.Tensor], Any]] = [  # each on a line of its own, which the error names
    lambda x: x.item(),
    lambda x: x.numpy(),
    lambda x: x.tolist(),
    lambda x: float(x) + 1,
    lambda x: int(x) + 1,
    lambda x: 1 if x > 0 else 0,
    lambda x: print(x, 1),
    lambda x: f"{x:.2f}",
    lambda x: np.asarray(x).sum(),
    lambda x: copy.deepcopy(x).item(),
    lambda x: list(range(x.astype(int))),
    lambda x: x.realize().item(),
    lambda x: wf.nonzero(x.reshape(1)),
]


@pytest.mark.parametrize("read", READS)
def test_a_read_is_an_error_at_the_users_line(read: Callable[[wf.Tensor], Any]) -> None:
    outside = wf.tensor(2.0).realize()
    functions = [read, lambda x: read(x * 2), lambda x: read(outside), lambda x: read(wf.rand())]
    for f in functions:
        with pytest.raises(
            wf.errors.JitError,
            match=rf"test_jit.py:{read.__code__.co_firstlineno}: .* is read while",
        ):
            wf.jit(f)(wf.tensor(1.0))
    assert outside.item() == 2.0


def test_what_is_the_same_at_every_call_may_be_read() -> None:
    def f(x: wf.Tensor) -> wf.Tensor:
        n = wf.arange(4).sum().item() + wf.tensor([1, 2]).numpy().sum()
        print(wf.ones(2), repr(x))
        return x * float(n)

    assert wf.jit(f)(wf.tensor(2.0)).item() == 18.0


def test_repr_of_a_traced_tensor_says_that_it_is_lazy() -> None:
    seen = []
    outside = wf.tensor([1.0]).realize()
    wf.jit(lambda x: seen.append(repr(x) + repr(outside) + repr(x + 1)))(wf.ones(2).realize())
    assert seen[0].count("lazy") == 3


def test_seeding_and_changes_of_outer_tensors_inside_are_refused() -> None:
    p, q = wf.tensor([1.0]), parameter(1.0)
    for f in (lambda: wf.manual_seed(1), p.requires_grad_, lambda: q.register_hook(lambda g: g)):
        with pytest.raises(wf.errors.JitError, match="only while it is traced"):
            wf.jit(f)()
    assert not p.requires_grad


def test_a_tensor_that_escapes_says_so_when_used() -> None:
    kept: list[wf.Tensor] = []

    def f(x: wf.Tensor) -> wf.Tensor:
        kept.append(x * 2)
        return x + 1

    x = wf.tensor([1.0])
    assert wf.jit(f)(x).tolist() == [2.0]
    for use in (kept[0].numpy, (kept[0] + 1).item, lambda: wf.realize(kept)):
        with pytest.raises(wf.errors.JitError, match="used after it"):
            use()
    assert x.tolist() == [1.0]


# ---------------------------------------------------------------- what is not passed


def test_a_captured_tensor_is_read_anew_at_every_call() -> None:
    w, lazy = wf.tensor([1.0, 2.0]), wf.ones(2) * 3
    f = Counted(lambda x: x * w + lazy)
    x = wf.tensor([1.0, 1.0])
    assert f(x).tolist() == [4.0, 5.0]
    w.assign([5.0, 6.0])
    assert f(x).tolist() == [8.0, 9.0]
    w += 1
    lazy -= 3
    assert f(x).tolist() == [6.0, 7.0]
    w[0] = 0.0
    assert f(x).tolist() == [0.0, 7.0]
    assert f.traces == 1


def test_tensors_of_equal_value_are_told_apart() -> None:
    a = wf.tensor([1.0])
    b, c, d = a.clone(), a.detach(), copy.deepcopy(a)
    f = wf.jit(lambda: (a * 1, b * 1, c * 1, d * 1))
    f()
    for t, value in ((a, 2.0), (b, 3.0), (c, 4.0), (d, 5.0)):
        t.assign([value])
    assert [t.item() for t in f()] == [2.0, 3.0, 4.0, 5.0]


def test_a_kept_result_survives_later_calls() -> None:
    total = wf.zeros(2)

    def f(x: wf.Tensor) -> wf.Tensor:
        total.assign(total + x)
        return total * 1

    jitted = wf.jit(f)
    results = [jitted(wf.ones(2)) for _ in range(4)]
    assert [r.tolist()[0] for r in results] == [1.0, 2.0, 3.0, 4.0] and total.tolist() == [4.0, 4.0]


# ---------------------------------------------------------------- assignments and donation


def make_update(w: wf.Tensor) -> Callable[[], None]:
    def update() -> None:
        w.assign(w * 2)

    return wf.jit(update)


def test_an_update_is_in_place_unless_somebody_sees_the_old_value() -> None:
    w = wf.tensor([1.0, 2.0]).realize()
    update = make_update(w)
    update()
    place = address(w)
    update()
    assert address(w) == place and w.tolist() == [4.0, 8.0]
    keepers: list[Callable[[], Any]] = [
        w.numpy,
        w.detach,
        w.clone,
        lambda: w[1:],
        lambda: wf.realize(w[1:]),
        lambda: w * 1,
        lambda: wf.realize(w * 1),
        wf.jit(lambda: w[:1]),
        lambda: copy.deepcopy(w),
        lambda: np.from_dlpack(w),
    ]
    for keep in keepers:
        value = w.tolist()
        kept = keep()
        wanted = np.array(kept.tolist())
        update()
        assert np.array_equal(np.array(kept.tolist()), wanted), "an old value has changed"
        assert w.tolist() == [2 * v for v in value]
        del kept
        update()
        update()
        place = address(w)
        update()
        assert address(w) == place


KEEPERS: list[Callable[[wf.Tensor], Any]] = [
    lambda w: w.numpy(),
    np.from_dlpack,
    lambda w: w.detach(),
    lambda w: w.clone(),
    lambda w: w[1:],
    lambda w: w[1:].realize(),
    lambda w: w.reshape(1, 4).realize(),
    lambda w: (w * 1).realize(),
    lambda w: wf.jit(lambda: w[:1])(),
    lambda w: wf.jit(lambda: w)(),
]


@pytest.mark.thinned(to=5)
@pytest.mark.parametrize("keep", KEEPERS)
def test_an_update_that_cannot_be_in_place_leaves_old_values_alone(
    keep: Callable[[wf.Tensor], Any],
) -> None:
    w = wf.tensor([1.0, 2.0, 3.0, 4.0]).realize()
    update = wf.jit(lambda: (w.assign(w.flip(0) * 2), w.sum())[1])
    read = wf.jit(lambda x: x + w)
    zero = wf.zeros(4)
    value = np.array([1.0, 2.0, 3.0, 4.0])
    for _ in range(3):
        for turns in range(3):
            for _ in range(turns):
                value = value[::-1] * 2
                assert update().item() == value.sum()
                assert read(zero).tolist() == value.tolist() == w.tolist()
        kept = keep(w)
        wanted = np.array(kept.tolist() if kept is not w else [])
        for _ in range(3):
            value = value[::-1] * 2
            update()
            assert read(zero).tolist() == value.tolist()
            assert kept is w or np.array_equal(np.array(kept.tolist()), wanted), (
                "an old value has changed"
            )
        del kept


def test_updates_that_cannot_be_in_place_hold_memory_flat() -> None:
    w = wf.tensor(np.ones(1000, np.float32)).realize()
    update = wf.jit(lambda: (w.assign(w.flip(0) + 1), None)[1])
    from weft.runtime.buffer import memory

    for _ in range(3):
        update()
    node, before = id(w.node), memory.allocated_bytes
    for _ in range(5):
        update()
    assert id(w.node) == node and memory.allocated_bytes == before and w.tolist() == [9.0] * 1000


def test_what_is_captured_may_change_between_equal_calls() -> None:
    w, x = wf.tensor([1.0, 2.0]), wf.tensor([1.0, 1.0])
    f = Counted(lambda x: x + w)

    def value() -> Any:
        return [f(x).tolist(), f(x).tolist()][1]

    assert value() == [2.0, 3.0]
    add = wf.jit(lambda: (w.assign(w + 1), None)[1])
    add()
    add()
    assert value() == [4.0, 5.0]
    w.assign(wf.tensor([0.0, 1.0]))
    assert value() == [1.0, 2.0]
    w *= 3
    wf.realize()
    assert value() == [1.0, 4.0]
    kept = w.detach()
    add()
    assert value() == [2.0, 5.0] and kept.tolist() == [0.0, 3.0] and f.traces == 1


def test_an_argument_that_is_also_captured_and_assigned_to() -> None:
    w = wf.tensor([1.0, 2.0]).realize()
    f = wf.jit(lambda x: (w.assign(w + x), x * 1)[1])
    one = wf.tensor([1.0, 1.0]).realize()
    for k in range(3):
        assert f(one).tolist() == [1.0, 1.0] and w.tolist() == [2.0 + k, 3.0 + k]
    old = w.tolist()
    assert f(w).tolist() == old and w.tolist() == [2 * v for v in old]


def test_a_value_read_before_the_assignment_is_the_old_one() -> None:
    w = wf.tensor([1.0]).realize()

    def f() -> Any:
        old, view = w * 1, w.detach()
        w.assign(w + 1)
        return old, view, w * 10

    jitted = wf.jit(f)
    for i in range(1, 5):
        old, view, new = jitted()
        assert (old.item(), view.item(), new.item(), w.item()) == (i, i, 10.0 * (i + 1), i + 1)


def test_a_constant_is_not_written_to() -> None:
    for _ in range(2):
        w = wf.zeros(3, 5, 7)
        update = wf.jit(lambda w: (w.assign(w + 1), None)[1])
        update(w)
        update(w)
        assert w.sum().item() == 210.0 and wf.zeros(3, 5, 7).sum().item() == 0.0


def test_two_tensors_swap() -> None:
    a, b = wf.tensor([1.0]), wf.tensor([2.0])

    def swap() -> None:
        old = a.detach()
        a.assign(b)
        b.assign(old)

    f = wf.jit(swap)
    for wanted in ((2.0, 1.0), (1.0, 2.0), (2.0, 1.0)):
        f()
        assert (a.item(), b.item()) == wanted
    c = wf.tensor([5.0])

    def chain() -> None:
        a.assign(c)
        c.assign(c + 1)

    follow = wf.jit(chain)
    for i in range(3):
        follow()
        assert (a.item(), c.item()) == (5.0 + i, 6.0 + i)


def test_arguments_may_be_assigned_to() -> None:
    def f(p: wf.Tensor, x: wf.Tensor) -> wf.Tensor:
        p.assign(p + x)
        p[0] = 0.0
        return p * 2

    jitted = Counted(f)
    for _ in range(3):
        p = wf.tensor([1.0, 2.0])
        assert jitted(p, wf.ones(2)).tolist() == [0.0, 6.0] and p.tolist() == [0.0, 3.0]
    assert jitted.traces == 1


def test_an_exception_while_tracing_leaves_everything_as_it_was() -> None:
    w, p = wf.tensor([1.0]).realize(), parameter(2.0)
    optimizer = optim.Adam([p])

    def f(x: wf.Tensor, fails: bool) -> None:
        wf.rand(13)
        w.assign(w + 1)
        optimizer.zero_grad()
        (p * x).sum().backward()
        optimizer.step()
        if fails:
            raise KeyError("mine")

    wf.manual_seed(3)
    wanted = wf.rand(2).tolist()
    wf.manual_seed(3)
    place = address(w)
    with pytest.raises(KeyError, match="mine"):
        wf.jit(f, static_argnames="fails")(wf.ones(1), True)
    assert (w.item(), p.item(), p.grad, optimizer.steps, address(w)) == (1.0, 2.0, None, [0], place)
    assert wf.rand(2).tolist() == wanted and not state.thread.pending
    w.assign(w + 1)
    assert w.item() == 2.0


def test_a_wrong_index_leaves_everything_as_it_was_and_names_the_line() -> None:
    table, optimizer = parameter(1.0, 2.0, 3.0), None
    optimizer = optim.SGD([table], lr=0.1, momentum=0.9)

    def step(labels: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        loss = wf.gather(table, labels).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    f = wf.jit(step)
    f(wf.tensor([0, 1]))
    before = [table.tolist(), optimizer.state[0]["momentum_buffer"].tolist(), optimizer.steps[:]]
    line = step.__code__.co_firstlineno + 2
    with pytest.raises(
        IndexError, match=f"index 3 is out of range for axis 0 of extent 3, in .*test_jit.py:{line}"
    ):
        f(wf.tensor([0, 3]))
    assert [
        table.tolist(),
        optimizer.state[0]["momentum_buffer"].tolist(),
        optimizer.steps[:],
    ] == before
    f(wf.tensor([2, 2]))
    assert optimizer.steps == [2]


# ---------------------------------------------------------------- gradients


def test_gradients_inside() -> None:
    w = parameter(1.0, 2.0)

    def f(x: wf.Tensor) -> Any:
        loss = (w * x).square().sum()
        (by_w,) = wf.grad(loss, [w])
        loss.backward()
        _, by_x = wf.value_and_grad(lambda v: (v * v).sum())(x)
        return loss, w.grad, by_w, by_x

    jitted = wf.jit(f)
    for _ in range(3):
        loss, g, by_w, by_x = jitted(wf.tensor([3.0, 4.0]))
        assert (
            loss.item() == 73.0
            and g.tolist() == by_w.tolist() == [18.0, 64.0]
            and by_x.tolist() == [6.0, 8.0]
        )
        assert w.grad is g, "a gradient that is returned stays"
        w.grad = None


def test_a_gradient_that_is_not_returned_is_cleared() -> None:
    w = parameter(1.0)
    f = wf.jit(lambda x: (w * x).sum().backward())
    with pytest.warns(wf.errors.GradientWarning, match="uses and returns none of the gradients"):
        f(wf.ones(1))
    assert w.grad is None
    w.grad = wf.ones(1)
    with pytest.raises(wf.errors.JitError, match="zero_grad"):
        f(wf.ones(1))

    def zeroed(x: wf.Tensor) -> None:
        w.grad = None
        (w * x).sum().backward()

    g = wf.jit(zeroed)
    with pytest.warns(wf.errors.GradientWarning, match="zeroed calls backward"):
        g(wf.ones(1))
    assert w.grad is None
    w.grad = wf.ones(1)
    g(wf.ones(1))
    assert w.grad is None


@pytest.mark.parametrize("how", ["returned", "assigned", "dropped before the end"])
def test_gradients_that_are_used_warn_of_nothing(how: str) -> None:
    v, w = parameter(1.0), parameter(1.0)

    def f(x: wf.Tensor) -> wf.Tensor | None:
        (v * w * x).sum().backward()
        if how == "returned":
            return w.grad
        if how == "assigned":
            w.assign(w - w.grad)
        else:
            v.grad = w.grad = None
        return None

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wf.jit(f)(wf.ones(1))


def test_gradients_accumulate_within_a_call() -> None:
    w = parameter(1.0)

    def f(x: wf.Tensor) -> wf.Tensor:
        w.grad = None
        for _ in range(3):
            (w * x).sum().backward()
        return w.grad

    assert wf.jit(f)(wf.tensor([2.0])).tolist() == [6.0]


def test_gradients_of_arguments_and_hooks() -> None:
    f = wf.jit(lambda x: (x * x).sum().backward() or x.grad)
    for value in (1.0, 2.0):
        x = parameter(value)
        x.register_hook(lambda g: g * 10)
        assert f(x).tolist() == [20.0 * value] and x.grad.tolist() == [20.0 * value]


def test_backward_does_not_flow_out_of_a_jitted_function() -> None:
    w = parameter(1.0, 2.0)
    loss = wf.jit(lambda x: (w * x).sum())(wf.ones(2))
    with pytest.raises(wf.errors.GradientError, match="result of a jitted function"):
        loss.backward()
    hidden = w * 2
    with pytest.raises(wf.errors.GradientError, match="computed outside"):
        wf.jit(lambda: (hidden * w).sum().backward())()
    assert wf.jit(lambda: hidden.detach().sum())().item() == 6.0


def test_a_parameter_that_is_frozen_is_a_new_signature() -> None:
    w, v = parameter(1.0), parameter(2.0)

    def f() -> Any:
        w.grad = v.grad = None
        (w * v).sum().backward()
        return w.grad, v.grad

    jitted = Counted(f)
    assert [t.item() for t in jitted()] == [2.0, 1.0]
    v.requires_grad_(False)
    assert jitted()[1] is None
    v.requires_grad_()
    assert [t.item() for t in jitted()] == [2.0, 1.0] and jitted.traces == 2
    with wf.no_grad(), pytest.raises(wf.errors.GradientError):
        jitted()


# ---------------------------------------------------------------- training


class Net(wf.nn.Module):
    """Dropout, statistics that it keeps, and a parameter of each size."""

    def __init__(self, p: float = 0.25) -> None:
        self.first, self.second = wf.nn.Linear(8, 16), wf.nn.Linear(16, 4)
        self.drop = wf.nn.Dropout(p)
        self.mean, self.seen = wf.zeros(16), wf.tensor(0)

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        h = self.first(x).relu()
        if self.training:
            with wf.no_grad():
                self.mean.assign(0.9 * self.mean + 0.1 * h.mean(axis=0))
                self.seen += len(x)
            h = h - h.mean(axis=0)
        else:
            h = h - self.mean
        return self.second(self.drop(h))


OPTIMISERS: list[Callable[[Any], optim.Optimizer]] = [
    lambda p: optim.Adam(p, lr=0.01, weight_decay=0.01),
    lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    lambda p: optim.SGD(p, lr=0.1),
]
MAKE = pytest.mark.parametrize(
    "make", [OPTIMISERS[0], *rarely(*OPTIMISERS[1:])], ids=["adam", "nesterov", "sgd"]
)


def data(i: int, n: int = 12) -> tuple[wf.Tensor, wf.Tensor]:
    rng = np.random.default_rng(i)
    return wf.tensor(rng.standard_normal((n, 8)).astype("float32")), wf.tensor(
        rng.integers(0, 4, n)
    )


def trained(
    make: Callable[[Any], optim.Optimizer], wrapper: Callable[[Any], Any], steps: int = 12
) -> list[Any]:
    """Everything that a training run leaves behind."""
    wf.manual_seed(0)
    model = Net()
    optimizer = make(model.parameters())
    f, losses = wrapper(stepper(model, optimizer)), []
    for i in range(steps):
        optimizer.lr = 0.05 * 0.9**i
        losses.append(f(*data(i)).item())
    values = [t.tolist() for t in [*model.parameters(), *states(optimizer), model.mean, model.seen]]
    return [losses, *values, optimizer.steps, wf.rand(2).tolist()]


@pytest.mark.slow
@MAKE
def test_parameters_and_optimiser_state_are_written_in_place(
    make: Callable[[Any], optim.Optimizer],
) -> None:
    model = wf.nn.Sequential(wf.nn.Linear(8, 300), wf.nn.ReLU(), wf.nn.Linear(300, 4))
    optimizer = make(model.parameters())
    everything = [*model.parameters(), *states(optimizer)]
    f = wf.jit(stepper(model, optimizer))
    f(*data(0))
    f(*data(1))
    places = [address(t) for t in everything]
    f(*data(2))
    assert [address(t) for t in everything] == places


@MAKE
def test_a_jitted_training_run_has_the_bits_of_a_lazy_one(
    make: Callable[[Any], optim.Optimizer],
) -> None:
    lazy = trained(make, lambda f: f)
    counts: list[Counted] = []

    def counted(f: Any) -> Any:
        counts.append(Counted(f))
        return counts[0]

    assert trained(make, counted) == lazy
    assert counts[0].traces == 1


def test_lazy_and_jitted_steps_may_alternate() -> None:
    make = OPTIMISERS[0]

    def alternating(f: Any) -> Any:
        jitted, calls = wf.jit(f), []

        def call(*args: Any) -> Any:
            calls.append(1)
            return (jitted if len(calls) % 3 else f)(*args)

        return call

    assert trained(make, alternating) == trained(make, lambda f: f)


@pytest.mark.slow
def test_a_step_with_the_same_outputs_has_the_same_program_key() -> None:
    def make() -> tuple[Any, list[wf.Tensor]]:
        wf.manual_seed(0)
        model = Net()
        optimizer = optim.Adam(model.parameters())
        params = list(model.parameters())

        def step(x: wf.Tensor, y: wf.Tensor) -> Any:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return [p.grad for p in params], loss

        return step, [*params, model.mean, model.seen]

    lazy, _ = make()
    for i in range(2):
        kept = lazy(*data(i))
    del kept
    step, _ = make()
    f = wf.jit(step)
    f(*data(0))
    built, programs = statistics["built"], len(program_table._programs)
    keys = {key for key, *_ in program_table._programs}
    (steps,) = f._steps.values()
    assert steps[0].key in keys
    lazy(*data(2))
    assert (statistics["built"], len(program_table._programs)) == (built, programs)


def test_training_is_in_place_and_holds_memory_flat() -> None:
    from weft.runtime.buffer import memory

    model = Net()
    optimizer = optim.Adam(model.parameters())

    def step(x: wf.Tensor, y: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    f = wf.jit(step)
    for i in range(3):
        f(*data(i))
    places = [address(p) for p in model.parameters()]
    gc.collect()
    before, built = memory.allocated_bytes, statistics["built"]
    for i in range(60):
        loss = f(*data(i))
    gc.collect()
    assert memory.allocated_bytes <= before + 4096 and statistics["built"] == built
    assert [address(p) for p in model.parameters()] == places and loss.item() > 0


@pytest.mark.slow
def test_train_and_eval_are_two_signatures() -> None:
    model = Net()
    f = Counted(model)
    x = data(0)[0]
    first, second = f(x).tolist(), f(x).tolist()
    assert first != second, "dropout draws anew"
    model.eval()
    assert f(x).tolist() == f(x).tolist() == model(x).tolist()
    model.train()
    f(x)
    assert f.traces == 2
    model.drop.training = False
    assert f(x).tolist() == f(x).tolist()
    assert f.traces == 3


@pytest.mark.slow
def test_a_module_with_other_parts_is_traced_anew() -> None:
    model = wf.nn.Sequential(wf.nn.Linear(3, 4), wf.nn.ReLU(), wf.nn.Linear(4, 2))
    f = Counted(model)
    x = wf.ones(5, 3)
    assert f(x).shape == (5, 2)
    model[2] = wf.nn.Linear(4, 5)
    assert f(x).tolist() == f(x).tolist() == model(x).tolist() and f.traces == 2
    model.append(wf.nn.Linear(5, 7))
    assert f(x).shape == (5, 7)
    del model[3]
    model[0].bias = None
    assert f(x).tolist() == model(x).tolist()
    model[0].weight = wf.nn.Parameter(wf.ones(4, 3))
    assert f(x).tolist() == f(x).tolist() == model(x).tolist() and f.traces == 5


def test_what_a_module_counts_or_updates_traces_nothing_anew() -> None:
    norm = wf.nn.BatchNorm1d(3)
    norm.calls, norm._settings = 0, {"a name": "of the user's"}
    f, x = Counted(norm), wf.ones(5, 3)
    for _ in range(3):
        norm(x).realize()
        norm.calls += 1
        f(x)
    assert f.traces == 1


def test_random_numbers_are_fresh_and_those_of_a_lazy_run() -> None:
    f = wf.jit(lambda: (wf.rand(11), wf.randn(7)))
    for seed in (0, 7):
        wf.manual_seed(seed)
        lazy = [(wf.rand(11).tolist(), wf.randn(7).tolist()) for _ in range(3)]
        wf.manual_seed(seed)
        assert [tuple(t.tolist() for t in f()) for _ in range(3)] == lazy
    assert lazy[0] != lazy[1]


def test_a_rate_that_is_a_tensor() -> None:
    for make in (optim.SGD, optim.Adam):
        rate, w, v = wf.tensor(0.1), parameter(1.0, 2.0), parameter(1.0, 2.0)
        a, b = make([w], lr=rate), make([v], lr=0.1)

        def step(p: wf.Tensor, o: optim.Optimizer) -> None:
            o.zero_grad()
            (p * p).sum().backward()
            o.step()

        f = Counted(step)
        for value in (0.1, 0.05, 0.2):
            rate.assign(value)
            b.lr = value
            f(w, a)
            step(v, b)
            np.testing.assert_allclose(w.numpy(), v.numpy(), rtol=1e-6)
        assert f.traces == 1


def test_parameters_with_different_numbers_of_steps() -> None:
    def run(wrapper: Callable[[Any], Any]) -> list[Any]:
        a, b = parameter(1.0), parameter(2.0)
        optimizer = optim.Adam([a, b], lr=0.1)

        def step(x: wf.Tensor, both: bool) -> None:
            optimizer.zero_grad()
            ((a * b) if both else a * x).sum().backward()
            optimizer.step()

        f = wrapper(step)
        for both in (True, False, False, True, True, False, True):
            f(wf.ones(1), both)
        return [a.tolist(), b.tolist(), optimizer.steps]

    assert run(lambda f: wf.jit(f, static_argnames="both")) == run(lambda f: f)


# ---------------------------------------------------------------- methods, nesting, threads


class Trainer:
    def __init__(self, value: float) -> None:
        self.w = parameter(value)
        self.traces = 0

    @wf.jit(static_argnums=2)
    def step(self, x: wf.Tensor, times: int) -> wf.Tensor:
        self.traces += 1
        return self.w * x * times


def test_methods() -> None:
    a, b = Trainer(2.0), Trainer(3.0)
    for _ in range(2):
        assert a.step(wf.ones(1), 1).item() == 2.0 and b.step(wf.ones(1), 2).item() == 6.0
    assert (a.traces, b.traces) == (1, 1)
    ref = weakref.ref(a)
    step = a.step
    del a
    assert step(wf.ones(1), 1).item() == 2.0
    del step
    gc.collect()
    assert ref() is None, "a jitted method keeps its instance alive"
    again = copy.copy(b)
    again.w = parameter(5.0)
    assert again.step(wf.ones(1), 1).item() == 5.0


def test_a_jitted_function_inside_another() -> None:
    w = wf.tensor([1.0])
    inner = Counted(lambda x, s: x * w * s)
    outer = Counted(lambda x: inner(x, 2.0) + inner(x, 3.0))
    for i in range(3):
        w.assign([float(i)])
        assert outer(wf.ones(1)).item() == 5.0 * i and inner(wf.ones(1), 2.0).item() == 2.0 * i
    assert outer.traces == 1 and inner.traces == 3


def test_many_threads() -> None:
    w = wf.tensor([0.0]).realize()

    def f(x: wf.Tensor) -> wf.Tensor:
        w.assign(w + 1)
        return (x * 2 + w * 0).sum()

    jitted, wrong = wf.jit(f), []

    def work(k: int) -> None:
        for i in range(60):
            x = wf.ones(1 + (k + i) % 5) * float(k)
            if jitted(x).item() != 2.0 * k * x.size:
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and w.item() == 240.0


def test_another_thread_computes_while_a_function_is_traced() -> None:
    w = wf.tensor([1.0, 2.0])
    inside, done = threading.Event(), threading.Event()
    seen: list[Any] = []

    def other() -> None:
        inside.wait(10)
        seen.append((w + 1).tolist())
        w.assign(w * 3)
        seen.append(w.tolist())
        done.set()

    def f(x: wf.Tensor) -> wf.Tensor:
        y = x * w
        inside.set()
        done.wait(10)
        return y

    thread = threading.Thread(target=other)
    thread.start()
    out = wf.jit(f)(wf.ones(2))
    thread.join()
    assert seen == [[2.0, 3.0], [3.0, 6.0]] and out.tolist() == [3.0, 6.0]


def test_nothing_is_kept_alive() -> None:
    x, y = wf.ones(1000).realize(), wf.tensor(np.ones(1000))
    f = wf.jit(lambda x, y: x + y)
    out = f(x, y)
    refs = [weakref.ref(t) for t in (x, y, out)] + [weakref.ref(t._storage) for t in (x, y, out)]
    del x, y, out
    gc.collect()
    assert [r() for r in refs] == [None] * 6


def test_the_number_of_specialisations_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.frontend.jit.jit.MAX_STEPS", 3)
    f = wf.jit(lambda x: x + 1)
    for n in range(1, 7):
        assert f(wf.ones(n)).tolist() == [2.0] * n
    assert sum(map(len, f._steps.values())) == 3


# ---------------------------------------------------------------- compile


def test_compile_a_graph() -> None:
    x, w = wf.tensor([1.0, 2.0]), wf.tensor([3.0, 4.0])
    y = x * w
    f = wf.compile({"y": y, "sum": y.sum()}, [x], [(w, w + x)])
    for _ in range(2):
        before = w.tolist()
        out = f(np.float32([10, 20]))
        assert out["y"].tolist() == [10 * before[0], 20 * before[1]] and out["sum"].item() == sum(
            out["y"].tolist()
        )
        assert w.tolist() == [before[0] + 10, before[1] + 20]
    assert y.tolist() == [3.0, 8.0], "the graph itself keeps its values"
    assert f(wf.tensor([[1.0, 5.0], [2.0, 6.0]])[:, 0])["y"].size == 2
    with pytest.raises(wf.errors.ShapeError, match=r"inputs\[0\] has shape \(3,\), not \(2,\)"):
        f(wf.ones(3))
    with pytest.raises(wf.errors.ArgumentError):
        f(wf.ones(2), wf.ones(2))
    with pytest.raises(wf.errors.ArgumentError, match=r"inputs\[0\]"):
        wf.compile(y, [wf.ones(2)])


def test_compile_keeps_what_is_no_input() -> None:
    x, w = wf.tensor([1.0]), wf.tensor([3.0]).realize()
    f = wf.compile(x * w, [x])
    update = make_update(w)
    for _ in range(3):
        update()
        w.assign(w + 1)
        wf.realize(w)
    assert f(wf.tensor([2.0])).tolist() == [6.0]
