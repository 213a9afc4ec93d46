"""`wf.draw`: formulas are true, values and gradients are those of the programs, pictures have no
line in a wrong place."""

from __future__ import annotations

import itertools
import json
import math
import random
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator

import numpy as np
import opspec
import optable
import pytest
import weft as wf
from cudakit import device, needs_compiler
from weft.errors import ArgumentError, DTypeError, JitError
from weft.inspection.drawing import picture
from weft.inspection.drawing.draw import Drawing
from weft.inspection.drawing.expression import evaluate
from weft.inspection.drawing.formulas import BACKWARD, FORMULAS
from weft.inspection.drawing.grid import Picture, drawn
from weft.inspection.drawing.numbers import brief
from weft.inspection.drawing.values import MOST_STEPS, DrawnStep, steps_of
from weft.inspection.terminal import marks
from weft.ir.gradient import gradient
from weft.ir.graph.graph import toposort
from weft.ir.graph.op import OF_GRAPHS

# what formulas are written in: numbers of Python and functions of NumPy
WORDS = (
    "exp exp2 log log2 log10 expm1 log1p sqrt sin cos tan sinh cosh tanh floor hypot where"
    " maximum pi"
)
SPACE = {name: getattr(np, name) for name in WORDS.split()} | {
    "atan2": np.arctan2,
    "erf": np.vectorize(math.erf),
}
SPACE |= {
    f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")
}
UNARY = (
    "-x x.exp() x.exp2() x.log() x.log2() x.log10() x.sqrt() x.sin() x.cos() (-x).sin() x.tan()"
    " x.tanh() x.erf() x.floor()"
)
UNARY += (
    " x.expm1() x.log1p() x.asin() x.acos() x.atan() x.sinh() x.cosh() x.asinh() (x+1).acosh()"
    " x.atanh()"
)
BINARY = "x+y x-y x*y x/y x**y x%y x.atan2(y) x.hypot(y) x.maximum(y) x<y x*x x**2 x/3 2-x"
MOVED = (
    "x.sum(axis=1) x.max(axis=0) x.prod(axis=0) x.reshape(6) x.permute(1,0) x.flip(0) x[1:,::2]"
    " x.cumsum(axis=1)"
)
MOVED += " x.expand(2,2,3)"


def expression(text: str, **given: str) -> list[DrawnStep]:
    found = evaluate(text, given)
    return steps_of(found.result.node, found.texts)


def numbers(steps: list[DrawnStep]) -> dict[str, np.ndarray]:
    return {f"v{s.number}": s.value for s in steps} | {
        f"g{s.number}": s.gradient for s in steps if s.gradient is not None
    }


# ---------------------------------------------------------------- formulas


def test_every_op_of_a_graph_has_a_formula() -> None:
    assert set(FORMULAS) == OF_GRAPHS


def test_every_derivative_has_a_rule() -> None:
    assert set(BACKWARD) == set(gradient.DIFFERENTIABLE)


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("text", (UNARY + " " + BINARY).split())
def test_the_formula_of_a_step_gives_its_value(text: str) -> None:
    steps = expression(text, x="[0.25, 0.5, 0.75]:float64", y="[0.9, 0.5, 0.3]:float64")
    for step in steps:
        if step.sources and "." not in step.formula:
            np.testing.assert_allclose(
                eval(step.formula, {**SPACE, **numbers(steps)}), step.value, rtol=1e-12
            )


@pytest.mark.thinned(to=9)
@pytest.mark.parametrize("text", (UNARY + " " + BINARY).split())
def test_the_formula_of_a_gradient_gives_its_value(text: str) -> None:
    steps = expression(text, x="[0.25, 0.5, 0.75]:float64", y="[0.9, 0.5, 0.3]:float64")
    for share in (share for step in steps for share in step.shares if " where " not in share.text):
        found = eval(share.text, {**SPACE, **numbers(steps)})
        np.testing.assert_allclose(found * np.ones_like(share.value), share.value, rtol=1e-6)


@pytest.mark.thinned(to=4)
@pytest.mark.parametrize("text", (UNARY + " " + BINARY + " " + MOVED).split())
def test_the_shares_of_a_gradient_add_up_to_it(text: str) -> None:
    whole = text if "<" in text else f"{text} + x.sum() * 0.5"
    for step in expression(whole, x="[[1,2,3],[0.5,7,8]]:float64", y="[3,2,1]:float64"):
        if step.shares:
            np.testing.assert_allclose(
                sum(share.value for share in step.shares), step.gradient, rtol=1e-12
            )


def test_gradients_pass_loops_that_have_them() -> None:
    def doubled(max_steps: int | None) -> list[DrawnStep]:
        y = wf.while_loop(lambda c: c.sum() < 100, lambda c: c * 2, x, max_steps=max_steps)
        return steps_of((y + 1).sum().node)

    x = wf.tensor([1.0, 2.0, 3.0])
    last, ys = wf.scan(lambda c, a: (c * a, c + a), x.sum(), x)
    steps = steps_of((last + (ys * 2).sum()).node)
    for step in (step for step in [*steps, *doubled(9)] if step.shares):
        np.testing.assert_allclose(sum(s.value for s in step.shares), step.gradient)
    assert steps[0].gradient is not None and len(steps[0].shares) == 3
    assert all(step.gradient is None for step in doubled(None))
    assert doubled(None)[-1].value == doubled(9)[-1].value == 195


def one_row_an_op() -> dict[str, opspec.Row]:
    """For each op a row of the table whose graph has it."""
    found: dict[str, opspec.Row] = {}
    for row in optable.ROWS:
        for n in toposort([row.build(*opspec.leaves(row))]):
            found.setdefault(n.op.value, row)
    return found


ROWS = one_row_an_op()


def test_the_table_has_nearly_all_ops() -> None:
    assert {op.value for op in OF_GRAPHS} - set(ROWS) <= {
        *("copy", "detach", "keep", "scanmul"),
        *("loop", "branch", "routine", "custom_vjp", "host"),
    }


@pytest.mark.thinned(to=7)
@pytest.mark.parametrize("op", sorted(ROWS))
def test_every_op_can_be_drawn(op: str) -> None:
    row = ROWS[op]
    inputs = zip(opspec.values(row, np.random.default_rng(0)), row.inputs, strict=True)
    steps = steps_of(row.build(*(wf.tensor(a, dtype=spec.dtype).node for a, spec in inputs)))
    assert steps[-1].value.shape == steps[-1].shape and str(Drawing(op, tuple(steps)))


# ---------------------------------------------------------------- values


def test_values_and_gradients_are_those_of_numpy() -> None:
    x, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5, 2.0])
    steps = expression(
        "((x * y).log() + (x * y).exp()).sum()", x="[[1,2],[3,4]]:float64", y="[0.5,2]:float64"
    )
    by_name = {step.text: step for step in steps}
    np.testing.assert_allclose(by_name["x * y"].value, x * y)
    np.testing.assert_allclose(by_name["x * y"].gradient, 1 / (x * y) + np.exp(x * y))
    np.testing.assert_allclose(by_name["x"].gradient, y * (1 / (x * y) + np.exp(x * y)))
    np.testing.assert_allclose(
        by_name["y"].gradient, (x * (1 / (x * y) + np.exp(x * y))).sum(axis=0)
    )


def test_values_come_out_of_one_compiled_program() -> None:
    x = wf.tensor([1.5, 2.5]).realize()
    before = dict(wf.frontend.lazy.program_table.statistics)
    assert steps_of(((x * 7.5).exp() / 3).node)
    assert wf.frontend.lazy.program_table.statistics["runs"] == before["runs"] + 1


def test_the_tensor_keeps_its_history() -> None:
    x = wf.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    z = y.sum()
    assert [wf.draw(z).steps[-1].value, wf.draw(z).steps[0].gradient.tolist()] == [5.0, [2.0, 4.0]]
    assert "lazy" in repr(y)
    z.backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 4.0]


def test_a_value_that_is_used_twice_has_one_step_with_two_shares() -> None:
    steps = expression("(x*y).log() + (x*y).exp()", x="2", y="3")
    assert [s.formula for s in steps] == [
        "given",
        "given",
        "v1 * v2",
        "log(v3)",
        "exp(v3)",
        "v4 + v5",
    ]
    assert [(s.use, s.text, s.rule) for s in steps[2].shares] == [
        (4, "g4 / v3", "d log(a)/da = 1 / a"),
        (5, "g5 * v5", "d exp(a)/da = exp(a)"),
    ]


def test_gradients_stop_where_they_do_in_the_program() -> None:
    steps = expression("x.detach() * x + (x > 1)", x="3")
    assert [s.gradient is None for s in steps if s.op in ("detach", "lt")] == [True, True]
    assert steps[0].gradient == 3.0


def test_random_numbers_begin_with_their_bits() -> None:
    x = wf.rand(4)
    steps = wf.draw(x * 2).steps
    assert (
        [s.formula for s in steps].count("random bits")
        == 1
        == len([s for s in steps if s.dtype == "uint64"])
    )
    np.testing.assert_array_equal(steps[-1].value, x.numpy() * 2)


def test_whole_numbers_that_nobody_drew_are_shown_with_their_formulas() -> None:
    x = wf.tensor(3, dtype=wf.uint64)
    steps = wf.draw((wf.ones(2, dtype=wf.uint64) + 1) ^ x).steps
    assert not any("random" in s.formula for s in steps) and steps[-1].value.tolist() == [1, 1]


def test_integers_have_values_and_no_gradients() -> None:
    steps = expression("x * x + 1", x="[1, 2]:int32")
    assert steps[-1].value.tolist() == [2, 5] and all(s.gradient is None for s in steps)
    assert "backward" not in str(Drawing("x", tuple(steps)))


def test_steps_know_their_names_and_lines() -> None:
    w = wf.tensor(2.0, requires_grad=True)
    w.name = "weight"
    first, last = wf.draw(w * 3).steps
    assert first.text == "weight" and last.line is not None and last.line[0] == __file__
    assert "test_drawing.py:" in str(wf.draw(w * 3))


def test_inputs_that_wait_for_their_first_value_are_computed() -> None:
    layer = wf.nn.Linear(3, 2)
    x = wf.ones(1, 3)
    np.testing.assert_array_equal(wf.draw(layer(x)).steps[-1].value, layer(x).numpy())


def test_constants_are_part_of_the_steps_that_use_them() -> None:
    assert [s.formula for s in expression("(x * 2 + 1) / 3", x="[1, 2]")] == [
        "given",
        "v1 * 2",
        "v2 + 1",
        "v3 / 3",
    ]
    assert [s.formula for s in steps_of(wf.full((2,), 7.0).node)] == ["7 repeated, axis=0"]


def test_a_graph_of_too_many_steps_is_refused() -> None:
    x = wf.tensor([1.0])
    for _ in range(MOST_STEPS):
        x = (x + 1.5).sin()
    with pytest.raises(ArgumentError, match=r"draw: the graph has 401 steps, .* wf.dump"):
        wf.draw(x)


def test_values_of_too_many_bytes_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"draw: the values of its steps take .* MiB"):
        wf.draw(wf.arange(1 << 26).float() * 2.5)


def test_what_is_no_tensor_is_refused() -> None:
    with pytest.raises(DTypeError, match="draw: expected a Tensor, not 3"):
        wf.draw(3)


def test_values_that_only_a_call_knows_are_refused() -> None:
    with pytest.raises(JitError):
        wf.jit(lambda x: wf.draw(x * 2) and x)(wf.tensor([1.0]))


@needs_compiler
def test_steps_on_a_gpu_have_values() -> None:
    device()
    x = wf.tensor([1.0, 2.0], device="cuda", requires_grad=True)
    steps = wf.draw((x * x).sum()).steps
    assert steps[-1].value == 5.0 and steps[0].gradient.tolist() == [2.0, 4.0]


def test_the_data_is_json() -> None:
    found = json.loads(json.dumps(wf.draw(wf.tensor([1.0, 2.0]) * 3).to_dict()))
    assert found["steps"][1] == {
        "number": 2, "op": "mul", "text": "", "formula": "v1 * 3", "dtype": "float32", "shape": [2],
        "sources": [1],
        "value": [3.0, 6.0], "gradient": [1.0, 1.0], "shares": [],
    }  # fmt: skip


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    "value", [0.1, -1e-20, [1.0, 2.5, 1e9], [[True, False]], [], [[]], list(range(100))], ids=str
)
def test_a_value_in_short_is_never_too_wide(value: object) -> None:
    for columns in range(3, 40):
        text = brief(np.array(value), columns)
        assert len(text) <= max(columns, 11 if not isinstance(value, list) else 0)


def test_a_value_that_fits_is_shown_whole() -> None:
    assert brief(np.array([[1.0, 2.5], [3.0, 4.0]]), 20) == "[[1, 2.5], [3, 4]]"
    assert brief(np.array([1 / 3, 2 / 3]), 20) == "[0.333333, 0.666667]"
    assert brief(np.arange(1000), 15) == "[0, 1, 2, 3, …]"
    assert brief(np.arange(1000).reshape(10, 100), 16) == "[[0, 1, 2, …]]"


# ---------------------------------------------------------------- pictures

Line = tuple[int, set[tuple[int, int]], bool]  # whose, its cells, does it go along


def graphs() -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Random graphs: each box uses one or two earlier ones, or none."""
    for seed in range(120):
        r = random.Random(seed)
        count = r.randint(1, 16)
        edges = [
            (r.randrange(b), b)
            for b in range(1, count)
            for _ in range(r.choice((0, 1, 1, 2, 2, 3)))
        ]
        yield count, edges


CASES = list(graphs())
FORMS: dict[str, Callable[[int], tuple[int, int]]] = {
    "along": lambda k: (8 + k % 5, 5),  # boxes as wide as their text, five high
    "across": lambda k: (5, 9 + 2 * (k % 5)),
}


def cells(start: tuple[int, int], end: tuple[int, int]) -> set[tuple[int, int]]:
    (a, b), (c, d) = min(start, end), max(start, end)
    return {(along, across) for along in range(a, c + 1) for across in range(b, d + 1)}


def lines(found: Picture) -> list[Line]:
    return [
        (w.source, cells(*piece), piece[0][1] == piece[1][1])
        for w in found.wires
        for piece in w.pieces
    ]


def pictures(
    form: str,
) -> Iterator[tuple[int, list[tuple[int, int]], Picture, list[set[tuple[int, int]]]]]:
    for count, edges in CASES:
        sizes = [FORMS[form](k) for k in range(count)]
        found = drawn(sizes, edges, 1)
        boxes = [
            cells(c, (c[0] + s[0] - 1, c[1] + s[1] - 1))
            for c, s in zip(found.corners, sizes, strict=True)
        ]
        yield count, edges, found, boxes


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("form", FORMS)
def test_boxes_stand_apart_and_inside(form: str) -> None:
    for _, _, found, boxes in pictures(form):
        assert not any(a & b for a, b in itertools.combinations(boxes, 2))
        assert all(0 <= x < found.along and 0 <= y < found.across for box in boxes for x, y in box)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("form", FORMS)
def test_lines_touch_no_box_but_their_ends(form: str) -> None:
    for _, edges, found, boxes in pictures(form):
        for whose, on, _ in lines(found):
            touched = {k for k, box in enumerate(boxes) if box & on}
            assert touched <= {whose} | {b for a, b in edges if a == whose}


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("form", FORMS)
def test_lines_of_two_boxes_meet_only_to_cross(form: str) -> None:
    for _, _, found, _ in pictures(form):
        for (one, on, along), (other, off, also) in itertools.combinations(lines(found), 2):
            if one != other and (met := on & off):
                assert along != also and len(met) == 1
                (cell,) = met
                ends = {min(on), max(on)}, {min(off), max(off)}
                assert not any(cell in end for end in ends)


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("form", FORMS)
def test_every_edge_is_a_path_that_ends_in_an_arrow(form: str) -> None:
    for _, edges, found, boxes in pictures(form):
        for wire in found.wires:
            reached, pieces = set(boxes[wire.source]), [cells(*piece) for piece in wire.pieces]
            for _ in pieces:
                reached |= set().union(*(piece for piece in pieces if piece & reached))
            targets = [b for a, b in edges if a == wire.source]
            assert all(reached & boxes[b] for b in targets)
            heads = [
                k
                for along, across in wire.heads
                for k, box in enumerate(boxes)
                if (along + 1, across) in box
            ]
            assert set(heads) == set(targets)


def steps(text: str = "(x*y).log() + (x*y).exp()") -> list[DrawnStep]:
    return expression(text, x="2", y="3")


def test_the_picture_of_an_expression() -> None:
    assert picture.text(steps(), 80).splitlines() == [
        "┌────────────┐                      ┌────────────────┐",
        "│ 1  x       │                      │ 4  (x*y).log() │",
        "│ v 2        ├─┐                    │ v 1.791759     ├─┐",
        "│ g 1210.786 │ │  ┌────────────┐ ┌─▶│ g 1            │ │  ┌────────────┐",
        "└────────────┘ └─▶│ 3  x*y     │ │  └────────────────┘ └─▶│ 6  add     │",
        "                  │ v 6        ├─┤                        │ v 405.2206 │",
        "┌────────────┐ ┌─▶│ g 403.5955 │ │  ┌────────────────┐ ┌─▶│ g 1        │",
        "│ 2  y       │ │  └────────────┘ └─▶│ 5  (x*y).exp() │ │  └────────────┘",
        "│ v 3        ├─┘                    │ v 403.4288     ├─┘",
        "│ g 807.1909 │                      │ g 1            │",
        "└────────────┘                      └────────────────┘",
    ]


def test_a_picture_that_is_too_wide_goes_down() -> None:
    text = picture.text(steps(), 45)
    assert max(map(len, text.splitlines())) <= 45 and "▼" in text and "▶" not in text


def test_a_picture_that_fits_nowhere_says_so() -> None:
    assert "columns wide" in picture.text(steps("x+y+(x*y)*(x-y)*(x/y)"), 20)


def test_a_picture_in_ascii() -> None:
    text = picture.text(steps(), 80, marks(ascii_only=True))
    assert text.isascii() and text.count(">|") == 6 and "+------------+" in text


def test_a_picture_as_svg_is_well_formed_and_has_every_step() -> None:
    root = ElementTree.fromstring(wf.draw(wf.tensor([1.0, 2.0]).exp().sum()).svg())
    said = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert said[::3] == ["1  given  (2,)", "2  exp  (2,)", "3  sum"] and "v [1, 2]" in said


def test_a_notebook_gets_the_picture_and_the_steps() -> None:
    html = wf.draw((wf.tensor([1.0, 2.0]) < 2).float())._repr_html_()
    assert html.startswith("<div><svg ") and "v2  = v1 &lt; 2" in html


def test_a_comparison_is_no_markup() -> None:
    assert "<title>x&lt;y</title>" in picture.svg(steps("x<y"))


def test_a_picture_for_graphviz_has_every_edge() -> None:
    text = picture.dot(steps())
    assert (
        text.count("->") == 6
        and text.startswith("digraph {")
        and 'label="3  x*y\\lv 6\\lg 403.5955\\l"' in text
    )
