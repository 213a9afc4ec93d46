"""Loops beside the lines that made them: infix expressions, sites of statements, numbers of
loops."""

from __future__ import annotations

import re

import pytest
import weft as wf
from loopkit import (
    Op,
    Range,
    Reduce,
    Store,
    Var,
    argument,
    const,
    f32,
    kernel,
    lanes,
    load,
    op,
    serial,
    unroll,
    var,
)
from weft.codegen.llvm.target import named
from weft.ir.loops.infix import infix, number
from weft.ir.loops.listing import listing, numbered, summary
from weft.ir.loops.text import show

X, Y = argument("x"), argument("y")
C, R = Var("c", 100), Var("r", 7)


def listed(*body):
    return listing(kernel([X, Y], *body))


def anything(loop):
    return True


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (op(Op.SUB, load(X), op(Op.SUB, load(X, 1), load(X, 2))), "x - (x - x)"),
        (op(Op.SUB, op(Op.SUB, load(X), load(X, 1)), load(X, 2)), "x - x - x"),
        (op(Op.MUL, op(Op.ADD, load(X), load(X, 1)), load(X)), "(x + x) * x"),
        (op(Op.NEG, op(Op.ADD, load(X), load(X, 1))), "-(x + x)"),
        (
            op(Op.EQ, op(Op.LT, load(X), load(X, 1)), op(Op.LT, load(X, 1), load(X))),
            "(x < x) == (x < x)",
        ),
        (op(Op.DIV, load(X), const(0.1, f32)), "x / 0.1"),
        (op(Op.EXP, op(Op.NEG, load(X)), arg=2), "exp(-x, 2)"),
    ],
)
def test_expressions_have_the_parentheses_that_they_need(node, text):
    def of(n):
        if n.op is Op.LOAD:
            return "x", 10
        return (
            (number(n.arg, n.dtype), 10) if n.op is Op.CONST else infix(n, [of(s) for s in n.src])
        )

    assert of(node)[0] == text


def test_a_value_needed_once_stands_in_its_statement():
    text = listed(lanes(C, Store(Y, var(C), op(Op.EXP, op(Op.MUL, load(X, C), const(2.0, f32))))))
    assert "y[c] = exp(x[c] * 2.0)" in text


def test_a_value_needed_twice_has_a_name():
    twice = op(Op.EXP, load(X, C))
    text = listed(lanes(C, Store(Y, var(C), twice), Store(Y, var(C) + 100, op(Op.NEG, twice))))
    assert "t0 = exp(x[c])" in text and "y[c] = t0" in text and "y[c + 100] = -t0" in text


def test_a_value_is_read_again_behind_a_store_that_may_change_it():
    value = op(Op.EXP, load(Y, C))
    text = listed(lanes(C, Store(Y, var(C), value), Store(X, var(C), op(Op.NEG, value))))
    assert text.count("exp(y[c])") == 2


def test_masked_loads_show_their_condition():
    text = listed(lanes(C, Store(Y, var(C), load(X, var(C) - 3, Range(var(C) - 3, 0, 90)))))
    assert "y[c] = (x[c - 3] if 0 <= c - 3 < 90 else 0)" in text


def test_loops_are_numbered_in_the_order_of_the_text():
    loops = numbered(kernel([X, Y], serial(R, lanes(C, Store(Y, var(C), load(X, C))))), anything)
    assert re.findall(r"for (\w) .*# (.*)", listing(loops)) == [
        ("r", "loop 1"),
        ("c", "inner loop 2"),
    ]


def test_what_is_unrolled_is_no_inner_loop():
    body = unroll(R, Store(Y, var(C), load(X, C)))
    (phase,) = numbered(kernel([X, Y], serial(C, body)), anything).phases
    assert phase.body[0].note == "inner loop 1: y = x" and phase.body[0].body[0].note == "loop 2"


def test_notes_are_no_part_of_what_a_kernel_is():
    loops = kernel([X, Y], serial(R, lanes(C, Reduce(Y, var(R), "add", load(X, C)))))
    assert show(numbered(loops, anything)) == show(loops)


def test_a_summary_is_short_for_an_expression_of_any_depth():
    value = load(X, C)
    for _ in range(5000):
        value = op(Op.EXP, value)
    assert summary(lanes(C, Store(Y, var(C), value))) == "y = exp(exp(exp(exp(..))))"


def texts_of(x):
    from weft.inspection.explain.explain import compiled_behind

    program = compiled_behind("test", x, (), {})
    return [program.texts(k) for k in program.in_order()]


def test_every_statement_stands_beside_the_line_that_it_comes_from():
    x = wf.ones(64, 100).realize()
    m = x.max(axis=1, keepdims=True)
    e = (x - m).exp()
    y = e / e.sum(axis=1, keepdims=True)
    (texts,) = texts_of(y * 3)
    found = re.findall(r"^ *(.*?) +# .*\.py:\d+  (.*)$", texts["loops"], re.M)
    beside = {line: statement for statement, line in found}
    assert beside["m = x.max(axis=1, keepdims=True)"].startswith("max0[0] max= in0[")
    assert " = exp(in0[" in beside["e = (x - m).exp()"]
    assert beside["y = e / e.sum(axis=1, keepdims=True)"].endswith("exp_row0[c] / sum1[0]")


def test_what_computes_a_gradient_says_so():
    x = wf.ones(50).realize().requires_grad_()
    y = x.sin().sum()
    (texts, *_) = texts_of(wf.grad(y, [x]))
    assert re.search(r"gradient of .*\.py:\d+  y = x.sin\(\).sum\(\)", texts["loops"])


def test_sums_of_products_stand_beside_the_line_of_the_product():
    a, b = wf.ones(64, 64).realize(), wf.ones(64, 64).realize()
    product = a @ b
    (texts,) = texts_of(product + 1)
    assert re.search(r"(acc|panel)\[.*# .*product = a @ b", texts["loops"])


def test_a_line_that_cannot_be_read_is_named_without_its_text():
    scope = {"x": wf.ones(500).realize()}
    exec(compile("y = x.exp()", "<gone>", "exec"), {}, scope)
    (texts,) = texts_of(scope["y"])
    assert "# <gone>:1\n" in texts["loops"]


def test_equal_kernels_of_different_lines_have_one_key():
    from weft.compiler.backends.compile_kernels import kernel_key
    from weft.inspection.explain.explain import compiled_behind

    x = wf.ones(777).realize()
    one = compiled_behind("test", x.exp() * 2, (), {})
    other = compiled_behind("test", x.exp() * 2, (), {})
    assert one.kernel_keys == other.kernel_keys
    (k,) = one.in_order()
    assert kernel_key(k.step.loops, named("avx2")) == kernel_key(
        other.in_order()[0].step.loops, named("avx2")
    )
