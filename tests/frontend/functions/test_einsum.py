"""Sums of products: einsum, tensordot, vecdot, matmul and their kin against NumPy; their errors;
that they are contractions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import weft as wf
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from weft.compiler.compile import Compiled
from weft.ir.graph import dtype as dt
from weft.ir.graph.graph import toposort
from weft.ir.graph.op import Op

E = wf.errors
RNG = np.random.default_rng(5)
DTYPES = [d.name for d in dt.ALL if d.name != "bfloat16"]  # which NumPy lacks


def drawn(shape: tuple[int, ...], dtype: str = "float64") -> np.ndarray:
    if dtype.startswith(("float", "bf")):
        return RNG.standard_normal(shape).astype(dtype)
    return RNG.integers(0, 2 if dtype == "bool" else 9, shape).astype(dtype)


def close(got: wf.Tensor, want: Any) -> None:
    want = np.asarray(want)
    assert got.shape == want.shape and got.dtype.name == want.dtype.name, (
        got,
        want.shape,
        want.dtype,
    )
    if want.dtype.kind == "f":
        eps = float(np.finfo(want.dtype).eps)
        np.testing.assert_allclose(got.numpy(), want, rtol=200 * eps, atol=200 * eps)
    else:
        np.testing.assert_array_equal(got.numpy(), want)


# ---------------------------------------------------------------- einsum

CASES = [
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("ij,jk", (3, 4), (4, 5)),
    ("ji,jk->ki", (4, 3), (4, 5)),
    ("ij,kj->ik", (3, 4), (5, 4)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("bij,bjk->ikb", (2, 3, 4), (2, 4, 5)),
    ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("ii", (4, 4)),
    ("ii->i", (4, 4)),
    ("iij->ij", (3, 3, 2)),
    ("iji->j", (3, 2, 3)),
    ("iii->i", (3, 3, 3)),
    ("ii,ii->i", (3, 3), (3, 3)),
    ("ij->ji", (3, 4)),
    ("ij->", (3, 4)),
    ("ij", (3, 4)),
    ("ba", (3, 4)),
    ("i,i", (4,), (4,)),
    ("i,j", (4,), (3,)),
    ("i,j->ji", (4,), (3,)),
    ("i->", (0,)),
    ("ij,jk->ik", (3, 0), (0, 5)),
    (",", (), ()),
    (",ij->ji", (), (2, 3)),
    ("...ij,...jk->...ik", (2, 3, 4), (4, 5)),
    ("...ij,...jk", (6, 1, 3, 4), (2, 4, 5)),
    ("i...->...", (3, 2, 4)),
    ("...->...", (3, 2)),
    ("...i->i...", (3, 2, 4)),
    ("...,...", (3, 1), (2,)),
    ("i...i->...", (3, 2, 3)),
    ("ij,jk->ik", (3, 1), (4, 5)),
    ("ij,ij->ij", (3, 1), (1, 4)),
    ("ij,jk,kl->il", (3, 4), (4, 5), (5, 2)),
    ("ij,jk,kl,lm->im", (3, 4), (4, 5), (5, 2), (2, 3)),
    ("ai,bi,ci->abc", (2, 3), (4, 3), (5, 3)),
    ("ij,k->i", (3, 4), (5,)),
    ("ij,kl->il", (3, 4), (5, 2)),
    ("ij,j,k->ik", (3, 4), (4,), (2,)),
    ("i,i,i,i->i", (3,), (3,), (3,), (3,)),
    (" i j , j k -> i k ", (3, 4), (4, 5)),
    ("Ab,bA->A", (3, 4), (4, 3)),
    ("ijk,ijl,ij->kl", (3, 4, 2), (3, 4, 5), (3, 4)),
    ("abc,cd,de,ef->abf", (2, 3, 4), (4, 5), (5, 2), (2, 3)),
]


@pytest.mark.thinned(to=11)
@pytest.mark.parametrize("case", CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_einsum_is_numpys(case: tuple[Any, ...]) -> None:
    text, *shapes = case
    arrays = [drawn(s) for s in shapes]
    close(wf.einsum(text, *map(wf.tensor, arrays)), np.einsum(text, *arrays))


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize("dtype", DTYPES)
def test_einsum_keeps_the_dtype(dtype: str) -> None:
    a, b = drawn((3, 4), dtype), drawn((4, 5), dtype)
    close(wf.einsum("ij,jk->ki", a, b), np.einsum("ij,jk->ki", a, b))
    close(wf.einsum("ij->j", a), np.einsum("ij->j", a))
    close(wf.einsum("ij,ij->ij", a, a), np.einsum("ij,ij->ij", a, a))


@st.composite
def expressions(draw: st.DrawFn) -> tuple[str, list[np.ndarray]]:
    extents = {c: draw(st.integers(0, 4)) for c in "abcd"}
    terms = draw(st.lists(st.text("abcd", max_size=3), min_size=1, max_size=3))
    dots = [draw(st.integers(-1, 2)) for _ in terms]
    lead = [draw(st.integers(1, 3)) for _ in range(2)]
    parts, arrays = [], []
    for term, d in zip(terms, dots, strict=True):
        broadcast = tuple(draw(st.sampled_from([1, n])) for n in lead[2 - max(d, 0) :])
        parts.append(("..." if d >= 0 else "") + term)
        arrays.append(RNG.integers(-3, 4, broadcast + tuple(extents[c] for c in term)))
    used = sorted(set("".join(terms)))
    text = ",".join(parts)
    if draw(st.booleans()):
        chosen = draw(st.permutations(used)) if used else []
        text += (
            "->"
            + ("..." if max(dots) >= 0 else "")
            + "".join(chosen[: draw(st.integers(0, len(used)))])
        )
    return text, arrays


@examples(150)
@given(expressions())
def test_einsum_of_random_subscripts(case: tuple[str, list[np.ndarray]]) -> None:
    text, arrays = case
    close(wf.einsum(text, *arrays), np.einsum(text, *arrays))


def test_einsum_by_lists_of_axes() -> None:
    a, b = drawn((3, 4)), drawn((4, 5))
    close(
        wf.einsum(a, [0, 1], wf.tensor(b), [1, 2], [2, 0]), np.einsum(a, [0, 1], b, [1, 2], [2, 0])
    )
    close(wf.einsum(a, [0, 1], b, [1, 2]), a @ b)
    close(wf.einsum(a, [..., 0]), np.einsum(a, [..., 0]))


def test_einsum_promotes_and_takes_numbers() -> None:
    a = wf.arange(3)
    assert wf.einsum("i,i", a, wf.ones(3)).dtype is wf.float32
    assert wf.einsum("i,->i", a, 2).tolist() == [0, 2, 4]


def test_a_chain_is_multiplied_in_the_order_that_keeps_products_small() -> None:
    a, b, c = wf.ones(2, 100) + 1, wf.ones(100, 100) + 1, wf.ones(100, 100) + 1
    sums = [n for n in toposort([wf.einsum("ij,jk,kl->il", a, b, c).node]) if n.op is Op.REDUCE]
    assert sorted(n.shape for n in sums) == [(2, 100), (2, 100)]


EINSUM_ERRORS: list[tuple[tuple[Any, ...], str]] = [
    (("ij,jk->ik", (3, 4), (5, 6)), '"j" of "ij,jk->ik" has the extents 4 and 5'),
    (("ii", (3, 4)), '"i" has the extents 3 and 4 in one operand'),
    (("...i,...i", (3, 2), (4, 2)), "axis -1 of the broadcast ones"),
    (("ij->ik", (3, 4)), '"k" of the result'),
    (("ij->ii", (3, 4)), '"i" occurs twice in the result'),
    (("ij", (3,)), r"names 2 axes, the operand has shape \(3,\)"),
    (("i", (3, 4)), r"names 1 axes, the operand has shape \(3, 4\)"),
    (("ij,jk", (3, 4)), "names 2 operands, got 1"),
    (("i1", (3, 4)), "something other than letters"),
    (("..i", (3, 4)), "something other than letters"),
    (("......i", (3, 4)), "something other than letters"),
    (("i->j->k", (3,)), "something other than letters"),
    (("...i->i", (3, 4)), 'needs "..."'),
]


@pytest.mark.parametrize(("case", "text"), EINSUM_ERRORS, ids=[e[0][0] for e in EINSUM_ERRORS])
def test_einsum_errors_name_the_label(case: tuple[Any, ...], text: str) -> None:
    with pytest.raises(E.ShapeError, match=text):
        wf.einsum(case[0], *(wf.zeros(s) for s in case[1:]))


def test_einsum_refuses_what_is_no_operand() -> None:
    with pytest.raises(E.DTypeError, match="einsum"):
        wf.einsum("i", "abc")
    with pytest.raises(E.ShapeError):
        wf.einsum(wf.ones(2), 5)
    with pytest.raises(E.ShapeError):
        wf.einsum(wf.ones(2), [60])
    with pytest.raises(E.ShapeError, match="too many elements"):
        wf.einsum(",".join("abcdefgh"), *[wf.ones(1 << 20)] * 8)


def program(t: wf.Tensor) -> Compiled:
    from harness import compiled

    return compiled([t.node])


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("ij,jk->ik", ((64, 64), (64, 64))),
        ("ij,jk->ki", ((64, 64), (64, 64))),
        ("bij,bkj->bik", ((4, 32, 64), (4, 48, 64))),
        ("aij,jkb->aikb", ((2, 32, 64), (64, 8, 8))),
    ],
)
def test_einsum_becomes_one_contraction(text: str, shapes: tuple[Any, ...]) -> None:
    kernels = program(wf.einsum(text, *(wf.rand(*s).realize() for s in shapes))).lowered.kernels
    assert [k.lowered.schedule.split()[0].rstrip(":") in ("packed", "dot") for k in kernels] == [
        True
    ]


GRADIENTS = ["ij,jk->ik", "ij,jk,kl->il", "ii->i", "iij->j", "ij,ij->", "...i,i->...", "i,j->ij"]


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("text", GRADIENTS)
def test_einsum_gradients(text: str) -> None:
    inputs = [
        wf.tensor(drawn(tuple(3 for _ in term.replace("...", "x"))))
        for term in text.split("->", maxsplit=1)[0].split(",")
    ]
    wf.check_grad(lambda *xs: (wf.einsum(text, *xs) ** 2).sum(), *inputs)


# ---------------------------------------------------------------- tensordot, vecdot, outer, inner,
# dot

TENSORDOTS: list[tuple[tuple[int, ...], tuple[int, ...], Any]] = [
    ((3, 4), (4, 5), 1),
    ((3, 4, 5), (4, 5, 2), 2),
    ((3,), (4,), 0),
    ((), (), 0),
    ((3, 4), (5, 4), ((1,), (1,))),
    ((3, 4, 5), (5, 3, 2), ((0, 2), (1, 0))),
    ((3, 4), (4, 3), ((-1, 0), (0, -1))),
    ((3, 4), (4, 5), (1, 0)),
    ((3, 0), (0, 5), 1),
    ((2, 3), (2, 3), 2),
    ((2, 3), (4, 5), ((), ())),
]


@pytest.mark.parametrize(("left", "right", "axes"), TENSORDOTS, ids=str)
def test_tensordot(left: tuple[int, ...], right: tuple[int, ...], axes: Any) -> None:
    a, b = drawn(left), drawn(right)
    close(wf.tensordot(a, b, axes=axes), np.tensordot(a, b, axes=axes))


@pytest.mark.thinned(to=2)
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_every_dtype(dtype: str) -> None:
    a, b, m = drawn((3, 4), dtype), drawn((4,), dtype), drawn((4, 2), dtype)
    for name, args in (
        ("matmul", (a, m)),
        ("matmul", (a, b)),
        ("vecdot", (a, b)),
        ("outer", (a, b)),
        ("inner", (a, b)),
        ("dot", (a, m)),
    ):
        close(getattr(wf, name)(*args), getattr(np, name)(*args))
    close(wf.tensordot(a, m, axes=1), (a @ m))


VECDOTS = [
    ((3, 4), (3, 4), -1),
    ((3, 4), (4,), -1),
    ((3, 4), (3, 1), -2),
    ((2, 3, 4), (3, 1), -2),
    ((0,), (0,), -1),
    ((2, 1, 3), (5, 3), -1),
]


@pytest.mark.parametrize(("left", "right", "axis"), VECDOTS, ids=str)
def test_vecdot(left: tuple[int, ...], right: tuple[int, ...], axis: int) -> None:
    a, b = drawn(left), drawn(right)
    close(wf.vecdot(a, b, axis=axis), np.vecdot(a, b, axis=axis))


@pytest.mark.thinned(to=3)
@pytest.mark.parametrize(
    ("left", "right"),
    [((3,), (4,)), ((), (3,)), ((2, 3), (3,)), ((2, 3), (4, 3, 2)), ((3,), (3,)), ((), ())],
    ids=str,
)
def test_outer_and_dot(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b = drawn(left), drawn(right)
    close(wf.outer(a, b), np.outer(a, b))
    if not (left and right) or left[-1] == right[-min(2, len(right))]:
        close(wf.dot(a, b), np.dot(a, b))
        close(wf.tensor(a).dot(wf.tensor(b)), np.dot(a, b))


PRODUCT_ERRORS: list[tuple[str, tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
    (
        "tensordot",
        (wf.zeros(3, 4), wf.zeros(5, 6)),
        {"axes": 1},
        E.ShapeError,
        r"axis 1 of shape \(3, 4\) and axis 0 of shape \(5, 6\)",
    ),
    ("tensordot", (wf.zeros(3), wf.zeros(3)), {"axes": 2}, E.ShapeError, "do not have 2 axes"),
    ("tensordot", (wf.zeros(3), wf.zeros(3)), {"axes": -1}, E.ShapeError, "do not have -1 axes"),
    (
        "tensordot",
        (wf.zeros(3), wf.zeros(3)),
        {"axes": ((0,), (1,))},
        E.AxisError,
        "axis 1 is out of range",
    ),
    (
        "tensordot",
        (wf.zeros(3, 3), wf.zeros(3, 3)),
        {"axes": ((0, 0), (0, 1))},
        E.ShapeError,
        "named twice",
    ),
    (
        "tensordot",
        (wf.zeros(3, 3), wf.zeros(3, 3)),
        {"axes": ((0, 1), (0,))},
        E.ShapeError,
        "one by one",
    ),
    ("tensordot", (wf.zeros(3), wf.zeros(3)), {"axes": 1.0}, E.DTypeError, "axes must be an int"),
    (
        "vecdot",
        (wf.zeros(3), wf.zeros(4)),
        {},
        E.ShapeError,
        "3 elements along axis -1 of one operand, 4",
    ),
    ("vecdot", (wf.zeros(3), wf.zeros(1)), {}, E.ShapeError, "vecdot"),
    ("vecdot", (wf.zeros(()), wf.zeros(3)), {}, E.ShapeError, "at least one axis"),
    ("vecdot", (wf.zeros(2, 3), wf.zeros(3)), {"axis": -2}, E.AxisError, "axis -2"),
    ("matmul", (wf.zeros(2, 3), 2.0), {}, E.ShapeError, "at least one axis"),
    ("matmul", (wf.zeros(2, 3), "x"), {}, E.DTypeError, "matmul"),
    ("matrix_transpose", (wf.zeros(3),), {}, E.ShapeError, "two axes"),
    ("outer", (wf.zeros(1 << 31), wf.zeros(1 << 31)), {}, E.ShapeError, "too many elements"),
]


@pytest.mark.parametrize(
    "case", PRODUCT_ERRORS, ids=[f"{c[0]}-{i}" for i, c in enumerate(PRODUCT_ERRORS)]
)
def test_product_errors(
    case: tuple[str, tuple[Any, ...], dict[str, Any], type[Exception], str],
) -> None:
    name, args, kwargs, kind, text = case
    with pytest.raises(kind, match=text):
        getattr(wf, name)(*args, **kwargs)


def test_a_vector_has_no_matrix_transpose() -> None:
    with pytest.raises(ValueError, match="two axes"):
        _ = wf.zeros(3).mT
    close(wf.matrix_transpose(drawn((2, 3, 4))).reshape(-1)[:0], np.zeros(0))
    x = drawn((2, 3, 4))
    close(wf.tensor(x).mT, np.matrix_transpose(x))
