"""Symbolic integers beside Python's: the same values, sound bounds and answers, and nothing that
leaks as a number."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from weft.ir.symbolic.decisions import ask_residue
from weft.ir.symbolic.guard import Guard, guard_of, implies
from weft.ir.symbolic.integer import (
    RELATIONS,
    NotSymbolic,
    NotSymbolicHere,
    NotSymbolicUnless,
    Symbolic,
)
from weft.ir.symbolic.multiples import factored, multiples
from weft.ir.symbolic.proofs import proven
from weft.ir.symbolic.questions import at_least, is_below, is_same, value_of
from weft.ir.symbolic.scope import LEAST, Scope, estimated

VALUES = [(64, 10), (2, 2), (7, 33), (97, 5), (3, 100)]
LEAVES = st.one_of(st.sampled_from(["n", "m"]), st.integers(-9, 99))
TREES: st.SearchStrategy[Any] = st.recursive(
    LEAVES, lambda t: st.tuples(st.sampled_from("+-*/%"), t, t), max_leaves=8
)


def evaluated(tree: Any, n: int, m: int) -> int:
    """A tree of operations on these two; divisors are made positive."""
    if not isinstance(tree, tuple):
        return {"n": n, "m": m}.get(tree, tree)
    op, left, right = tree
    a, b = evaluated(left, n, m), evaluated(right, n, m)
    if op in "/%":
        b = b * b + 1
    return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b}.get(
        op, (lambda: a // b) if op == "/" else lambda: a % b
    )()


@given(TREES)
def test_values_and_bounds(tree: Any) -> None:
    scope = Scope()
    made = evaluated(tree, scope.symbol("n", 64), scope.symbol("m", 10))
    for values in VALUES:
        want = evaluated(tree, *values)
        with scope.at(values):
            assert value_of(made) == want and math.isclose(float(made), want)
        if isinstance(made, Symbolic):
            low, high = made.bounds
            assert low <= want <= high
    assert not scope.guards


@given(TREES, TREES)
def test_an_answer_holds_wherever_its_guards_do(left: Any, right: Any) -> None:
    for question in (
        lambda a, b: bool(a < b),
        lambda a, b: bool(a >= b),
        lambda a, b: bool(a == b),
        lambda a, b: bool(a != b),
        lambda a, b: is_below(a, b) and not a < b,
        lambda a, b: is_same(a, b) and a != b,
    ):
        scope = Scope()
        n, m = scope.symbol("n", 64), scope.symbol("m", 10)
        answer = question(evaluated(left, n, m), evaluated(right, n, m))
        for values in VALUES:
            if scope.holds(values):
                assert question(evaluated(left, *values), evaluated(right, *values)) == answer
        assert scope.holds((64, 10))


@given(TREES, TREES, TREES)
def test_a_settled_decision_is_made_again_only_where_it_may_differ(a: Any, b: Any, c: Any) -> None:
    scope, calls = Scope(), list[int]()
    n, m = scope.symbol("n", 64), scope.symbol("m", 10)
    x, y, z = (evaluated(tree, n, m) for tree in (a, b, c))
    size = scope.choose(lambda: max(1, value_of(y)), math.inf)

    def decision() -> tuple[int, bool]:
        calls.append(1)
        chosen = x if x < y else size
        return value_of(chosen) if chosen > z else 0, bool(y == z)

    scope.settle(decision, str)
    with scope.at(VALUES[0]):
        first = decision()
    for values in VALUES * 2:
        with scope.at(values):
            same = decision() == first
        calls.clear()
        assert scope.holds(values) is same
        assert len(calls) <= 1
    for values in VALUES:
        calls.clear()
        assert scope.holds(values) in (True, False) and not calls


def test_different_numbers_are_looked_up_without_being_compared() -> None:
    """-1 and -2 have one hash in Python."""
    scope = Scope()
    n, m = scope.symbol("n", 64), scope.symbol("m", 10)
    known = {5 - n - 2 * m: 0, 5 - 2 * n - m: 1}
    assert [known[x] for x in (5 - n - 2 * m, 5 - 2 * n - m)] == [0, 1] and not scope.guards


def test_a_decision_that_depends_on_no_size_makes_no_guard() -> None:
    scope = Scope()
    n = scope.symbol("n", 64)
    assert scope.settle(lambda: "even" if n + n >= 4 else "odd", str) == "even"
    assert not scope.guards


def test_what_is_proven_makes_no_guard() -> None:
    scope = Scope()
    n, m = scope.symbol("n", 64), scope.symbol("m", 10)
    assert n * m > n and n != 1 and n * 784 % 784 == 0 and (n * 784 + 783) // 784 == n
    assert -(-n // 16) >= 1 and max(1, n) is n and math.prod((n, 3, m)) == 3 * m * n
    assert (n * m - 1) // m < n and not scope.guards
    assert n > 50 and [*map(str, scope.guards)] == ["n > 50"]
    assert scope.holds((51, 2)) and not scope.holds((50, 2))
    assert not scope.holds((LEAST - 1, 64))


def test_quotients_by_a_number_are_compared_without_guards() -> None:
    scope = Scope()
    n, m = scope.symbol("n", 7), scope.symbol("m", 12)
    assert is_same((3 * n + 5) // 2, n + (n + 1) // 2 + 2)
    assert is_same(-((-n) // 2), (n + 1) // 2)
    assert n >= 2 * (n // 2) and (n + 1) // 2 >= n // 2 and n - 3 * (n // 3) < 3
    assert m + n > 2 * (n // 2) and not (n + 5) // 4 - n // 4 > 2
    assert not scope.guards


def test_products_of_polynomials_divide_exactly() -> None:
    scope = Scope()
    n, m = scope.symbol("n", 7), scope.symbol("m", 12)
    for a, b in ((m, 2 * n - 1), (250, 100 * n * m - 400 * n), (n - 2 * m + 3, m * m - n * m - 1)):
        assert is_same(a * b // b, a) and is_same(-a * b // b, -a)
    assert not is_same((m * (2 * n - 1) + 1) // (2 * n - 1), m) and not scope.guards


def test_guards_say_what_was_asked() -> None:
    scope = Scope()
    n, m = scope.symbol("n", 64), scope.symbol("m", 10)
    assert 2 * n == 118 + m and n % 7 == 1 and n != m + 3
    assert [*map(str, scope.guards)] == ["2*n == 118 + m", "n == 1 + 7*(n // 7)", "n != 3 + m"]
    assert Guard(2 * n - m - 118, "==") in scope.guards


@given(
    a=st.integers(-6, 6).filter(bool),
    b=st.integers(-6, 6),
    c=st.integers(-12, 12),
    relation=st.sampled_from(list(RELATIONS)),
    form=st.integers(0, 2),
)
@example(a=3, b=-4, c=0, relation=">", form=2)
def test_guards_of_one_form_say_the_same(a: int, b: int, c: int, relation: str, form: int) -> None:
    scope = Scope()
    n, m = scope.symbol("n", 3), scope.symbol("m", 2)
    products = a * n * m, a * ((n * m + b * n) // 5), a * n * ((m + 2) // 3)
    asked = products[form] + (b * n if form != 1 else 0) + c
    assume(isinstance(asked, Symbolic))
    assume(proven(asked, "==" if relation in ("==", "!=") else ">") is None)
    guard = guard_of(asked, relation)
    for values in product(range(2, 9), repeat=2):
        with scope.at(values):
            holds = RELATIONS[relation](asked.value)
            assert holds is (guard.holds if guard else relation == "!=")


def test_guards_have_one_form() -> None:
    scope = Scope()
    n, m = scope.symbol("n", 5), scope.symbol("m", 9)
    assert m > 4 and m >= 5 and 100 * n * m > 400 * n and n * m >= 1 + 4 * n
    assert 3 * m < 1000 and m <= 333 and 6 * m != 7 and n * m != 4 * n + 1
    assert (m + 7) // 8 <= 41 and n // 3 >= 1
    assert [*map(str, scope.guards)] == ["m > 4", "m <= 333", "m <= 328", "n > 2"]


def test_guards_that_others_imply() -> None:
    scope = Scope()
    n = scope.symbol("n", 5)
    above, below = guard_of(n - 4, ">"), guard_of(n - 8, "<=")
    assert implies(above, guard_of(n - 3, ">")) and implies(above, guard_of(n - 4, "!="))
    assert implies(below, guard_of(n - 9, "<=")) and implies(below, guard_of(n - 9, "!="))
    for left in (guard_of(n - 5, ">"), guard_of(n - 5, "!="), guard_of(n - 8, "!="), below):
        assert not implies(above, left)
    for left in (guard_of(n - 7, "<="), guard_of(n - 8, "!="), above):
        assert not implies(below, left)


def test_a_guard_that_leaves_one_size_is_refused_but_in_a_kernel() -> None:
    scope = Scope()
    n = scope.symbol("n", 64)
    with pytest.raises(NotSymbolicHere):
        bool(2 * n == 128)
    answer, guards = scope.apart(lambda: 2 * n == 128)
    assert answer and [*map(str, guards)] == ["n == 64"] and not scope.guards


def test_estimates_take_no_difference_of_sizes_for_nothing() -> None:
    scope = Scope()
    n, m = scope.symbol("n", 30), scope.symbol("m", 10)
    with estimated([n, m], 100):
        assert (value_of(n), value_of(m)) == (100, 100)
    with estimated([n, m, n - m], 100):
        assert value_of(n - m) == 20


def test_sizes_of_one_residue_are_asked_for_where_a_quotient_is_exact() -> None:
    scope = Scope()
    n = scope.symbol("n", 21)
    ask_residue(n - 2 * (n // 2))
    assert [*map(str, scope.guards)] == ["n != 2*(n // 2)"]
    with pytest.raises(NotSymbolicUnless) as raised:
        ask_residue(n - 3 * ((n + 2) // 3))
    assert (str(raised.value.symbol), raised.value.by, raised.value.shift) == ("n", 3, 0)


BITS = [lambda n: n | 1, lambda n: n & 1, lambda n: n << 1, lambda n: n >> 1, lambda n: 1 << n]
NUMBERS = [range, hex, "ab".__mul__, [0].__getitem__, math.isqrt, int, *BITS]


@pytest.mark.parametrize("use", NUMBERS)
def test_what_needs_a_number_is_refused(use: Any) -> None:
    scope = Scope()
    n = scope.symbol("n", 5)
    with pytest.raises(NotSymbolic, match="a plain integer is needed for ⟨n⟩"):
        use(n)
    with scope.at([0]):
        assert range(n) == range(0) and int(n) == 0


def test_guards_make_symbols_multiples() -> None:
    scope = Scope()
    n, m = scope.symbol("n", 64), scope.symbol("m", 10)
    assert n % 4 == 0 and (6 * m) % 4 == 0 and (n + m) % 2 == 0
    known = multiples(scope.guards)
    made = factored(3 * n * m + m, known)
    assert is_same(made % 2, 0) and is_same(factored(n * m, known) % 8, 0)
    for values in ((64, 10), (4, 2), (100, 36)):
        assert scope.holds(values)
        with scope.at(values):
            assert value_of(made) == 3 * values[0] * values[1] + values[1]


def test_looking_for_multiples_asks_nothing() -> None:
    scope = Scope()
    n, m = scope.symbol("n", 64), scope.symbol("m", 10)
    assert n // 4 + m == 26
    assert not multiples(scope.guards) and [*map(str, scope.guards)] == ["m + (n // 4) == 26"]


def test_texts_show_that_they_are_symbolic() -> None:
    n = Scope().symbol("n", 5)
    assert f"{n} {n * 2 - 3}" == "⟨n⟩ ⟨-3 + 2*n⟩" and f"{n:.1f}" == "5.0"


def test_some_questions_wait_until_sizes_are_known() -> None:
    scope = Scope()
    later = at_least(scope.symbol("n", 5) * 10, 100)
    with pytest.raises(NotSymbolic):
        bool(later)
    assert at_least(3, 3) is True and not scope.guards
    for n, answer in ((9, False), (10, True)):
        with scope.at([n]):
            assert bool(later) is answer
