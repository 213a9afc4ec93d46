"""The boundary: signatures and names tell the truth, and whatever is passed, the answer is a value
or a WeftError."""

from __future__ import annotations

import inspect
import subprocess
import sys
import warnings
from collections.abc import Callable

import fuzz_calls
import numpy as np
import pytest
import weft as wf
from effort import rarely
from fuzz_calls import Unprintable, functions

E = wf.errors
X = wf.ones(2, 3)
HUGE = 10**5000  # its digits are more than Python turns into text

CASES: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: wf.exp("a"), E.DTypeError, "exp: x must be a Tensor, an array or a number, not 'a'"),
    (
        lambda: wf.divide(X, None),
        E.DTypeError,
        "divide: b must be a Tensor, an array or a number, not None",
    ),
    (lambda: X.clip(max="a"), E.DTypeError, "clip: max must be a Tensor"),
    (
        lambda: wf.sum([[1], [2, 3]]),
        E.ShapeError,
        "sum: x: the nested lists are not of equal lengths",
    ),
    (lambda: wf.concat([X, {}]), E.DTypeError, r"concat: parts\[1\] must be a Tensor"),
    (lambda: wf.stack(3), E.DTypeError, "stack: parts must be a sequence, not 3"),
    (
        lambda: X.sum(axis=HUGE),
        E.OverflowError,
        "sum: an axis is an integer of 16610 bits, which is too large",
    ),
    (lambda: X[HUGE], E.IndexError, "index an integer of 16610 bits is out of range for axis 0"),
    (
        lambda: wf.zeros(range(2**70)),
        E.OverflowError,
        "zeros: a sequence of ints is range.* too long",
    ),
    (lambda: wf.iinfo(HUGE), E.DTypeError, "there is no dtype an integer of 16610 bits"),
    (
        lambda: wf.add(X, Unprintable()),
        E.DTypeError,
        "add: b must be a Tensor, an array or a number, not a Unprintable",
    ),
    (lambda: X.unsqueeze(None), E.DTypeError, "expand_dims: an axis must be an int, not None"),  # type: ignore[arg-type]
    (lambda: X**HUGE, E.OverflowError, "power: an integer of 16610 bits is out of bounds"),
    (lambda: X.gelu(X), E.ArgumentError, "gelu: approximate must be 'none' or 'tanh', not "),
    (
        lambda: X.repeat(wf.tensor(2.0)),
        E.DTypeError,
        r"repeat: the count must be an int, not <Tensor float32\[\]>",
    ),
    (
        lambda: X.clone().requires_grad_().register_hook(3),
        E.DTypeError,
        "register_hook: a hook must be a function, not 3",
    ),  # type: ignore[arg-type]
    (
        lambda: wf.nn.Linear(1, 1).load_state_dict({"weight": "a", "bias": 1}),
        E.DTypeError,
        "fit Linear: weight: the value must be a Tensor, an array or a number",
    ),
    (lambda: X.pad(wf.tensor([1.5, 1.5])), E.DTypeError, "pad: a width must be an int, not 1.5"),
    (
        lambda: wf.einsum(X, [70], [0]),
        E.ShapeError,
        r"einsum: axis numbers must be 0 to 51, not \[70\]",
    ),
    (lambda: wf.ones_like("a"), E.DTypeError, "'a' is no number"),
    (lambda: wf.realize(3), E.DTypeError, "expected a Tensor.* got 3"),
    (lambda: wf.dump(X, 3), E.DTypeError, "dump: folder must be a path, not 3"),  # type: ignore[arg-type]
    (
        lambda: wf.jvp(lambda x: x, 1.5, [X]),
        E.DTypeError,
        "jvp: inputs must be a sequence, not 1.5",
    ),  # type: ignore[arg-type]
    (lambda: wf.vjp(X, X), E.DTypeError, "vjp: f must be a function, not "),  # type: ignore[arg-type]
    (
        lambda: wf.check_grad(lambda x: x, X, seed=1.5),
        E.DTypeError,
        "check_grad: seed must be an int",
    ),  # type: ignore[arg-type]
    (lambda: X.__array__(1.5), E.DTypeError, "__array__: NumPy has no dtype 1.5"),
    (lambda: wf.nn.functional.linear(X, "a"), E.DTypeError, "linear: weight must be a Tensor"),  # type: ignore[arg-type]
    (lambda: wf.nn.Linear("a", 2), E.DTypeError, "Linear: .* must be .*int*, not 'a'"),  # type: ignore[arg-type]
    (
        lambda: wf.nn.optim.SGD([X.clone().requires_grad_()], "a"),
        E.DTypeError,
        "SGD: lr must be a real number",
    ),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("case", CASES, ids=[case[2][:20] for case in CASES])
def test_errors_name_function_argument_and_value(
    case: tuple[Callable[[], object], type[Exception], str],
) -> None:
    with pytest.raises(case[1], match=case[2]):
        case[0]()


def test_functions_bear_their_public_names() -> None:
    aliases = {
        "abs": "absolute",
        "neg": "negative",
        "concatenate": "concat",
        "permute_dims": "permute",
    }
    aliases |= {"expand_dims": "unsqueeze", "clamp": "clip"}
    made = [(name, f) for name in wf.__all__ if hasattr(f := getattr(wf, name), "__wrapped__")]
    assert len(made) > 150
    assert [(name, f.__name__) for name, f in made if f.__name__ != aliases.get(name, name)] == []


def test_signatures_show_tensors_and_no_internals() -> None:
    for name, function, _ in functions():
        signature = str(inspect.signature(function))
        assert "Node" not in signature and "Operand" not in signature, name
    assert (
        str(inspect.signature(wf.take))
        == "(x: 'Tensor', indices: 'ArrayLike', axis: 'int | None' = None) -> 'Tensor'"
    )
    assert list(inspect.signature(wf.Tensor.take).parameters) == ["self", "indices", "axis"]
    assert str(inspect.signature(wf.exp)) == "(x: 'Tensor', /) -> 'Tensor'"
    assert (
        str(inspect.signature(wf.maximum))
        == "(a: 'Tensor | float', b: 'Tensor | float', /) -> 'Tensor'"
    )


def test_the_name_of_a_tensor_is_no_argument() -> None:
    with pytest.raises(TypeError, match="name"):
        wf.take(X, 0, name="x")
    table = wf.ones(3)
    table.name = "table"
    with pytest.raises(IndexError, match="'table'"):
        wf.take(table, wf.tensor(5)).numpy()


def test_any_argument_may_require_the_gradient() -> None:
    w = wf.ones(3).requires_grad_()
    for out in (
        wf.where(True, 0.0, w),
        wf.concat([wf.ones(2), w]),
        wf.einsum("i->", w),
        wf.clip(wf.ones(3), max=w),
        1.0 - w,
    ):
        assert out.requires_grad
    assert not wf.maximum(X, 0.0).requires_grad
    assert all(t.requires_grad for t in wf.meshgrid(wf.ones(2), w))
    with wf.no_grad():
        assert not wf.add(w, w).requires_grad


def test_constants_are_rounded_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values = [1e300, -1e300, 1e-320, float("nan"), float("inf"), 3, 2**200]
        for dtype in (wf.float16, wf.bfloat16, wf.float32, wf.float64):
            for value in values:
                wf.full(2, value, dtype=dtype).numpy()
        assert (wf.ones(2) + 1e300).tolist() == [float("inf")] * 2
    with np.errstate(over="ignore"):
        for value in (16777217, 0.1, 1e-45, 3.4028236e38):
            assert wf.full((), value, dtype="float32").item() == float(np.float32(value))
    assert (
        wf.full((), 2**60 + 2**36 + 1, dtype="float32").item() == 2.0**60 + 2.0**37
    )  # in one step


def test_pads_with_the_value_that_is_given() -> None:
    assert np.signbit(wf.pad(wf.ones(1), 1, value=-0.0).numpy()).tolist() == [True, False, True]
    assert wf.pad(wf.ones(1, dtype="int8"), 1, value=0.0).dtype == wf.int8
    assert wf.pad(wf.ones(1), 1, value=wf.tensor(2.0)).tolist() == [2.0, 1.0, 2.0]
    with pytest.raises(E.ShapeError, match="pad: the value must be one number"):
        wf.pad(wf.ones(1), 1, value=wf.ones(2))


@pytest.mark.parametrize("count", ["30", *rarely("1500")])
def test_nothing_escapes_from_random_wrong_calls(count: str) -> None:
    command = [sys.executable, fuzz_calls.__file__, count, "7"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr[-3000:]


@pytest.mark.parametrize(
    ("call", "note"),
    [
        (lambda: X.sum(dim=0), "dim= is called axis= here"),  # type: ignore[call-arg]
        (lambda: wf.concat([X, X], dim=0), "dim= is called axis= here"),  # type: ignore[call-arg]
        (lambda: wf.nn.functional.softmax(X, dim=0), "dim= is called axis= here"),
        (lambda: wf.max(X, axis=0, keepdim=True), "keepdim= is called keepdims= here"),  # type: ignore[call-arg]
    ],
)
def test_names_of_torch_are_told(call: Callable[[], object], note: str) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument") as caught:
        call()
    assert caught.value.__notes__ == [note]
