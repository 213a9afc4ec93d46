"""Reading a lazy array part by part. In: loops over elements and rows. Out: few programs, the same
values, no waste."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest
import weft as wf
from weft.frontend.lazy import program_table, whole_of_parts

VALUES = np.linspace(-2.0, 2.0, 35).reshape(5, 7)


def _asked() -> int:
    return sum(program_table.statistics[what] for what in ("built", "found", "generalised"))


@pytest.fixture
def programs() -> Iterator[list[int]]:
    """Counts the programs that have been run since the test asked first."""
    yield [_asked()]


def ran(programs: list[int]) -> int:
    return _asked() - programs[0]


def test_elements_and_rows_of_a_lazy_array_are_read_with_one_program(programs: list[int]) -> None:
    y = wf.tensor(VALUES).sin() * 3
    wanted = np.sin(VALUES) * 3
    np.testing.assert_allclose(
        [[y[i, j].item() for j in range(7)] for i in range(5)], wanted, rtol=1e-14
    )
    np.testing.assert_allclose([row.tolist() for row in y], wanted, rtol=1e-14)
    assert ran(programs) == 1


def test_what_is_computed_from_elements_computes_their_array_once(programs: list[int]) -> None:
    x = wf.tensor(VALUES)
    y = x.exp()
    assert all(y[i, 0] > x[i, 0] for i in range(5))
    assert y.node is not None and y._stored() is not None
    assert ran(programs) <= 1 + 5 and all(y[i, 1] == y[i, 1] for i in range(5))


def test_an_element_of_a_great_array_does_not_compute_it(programs: list[int]) -> None:
    y = wf.arange(whole_of_parts.MOST_ELEMENTS + 1) * 2
    assert y[7].item() == 14 and y._stored() is None
    assert wf.zeros(10**15)[5].item() == 0
    assert ran(programs) <= 2


def test_indexing_computes_nothing(programs: list[int]) -> None:
    y = wf.tensor(VALUES).cos()
    kept = [y[i] for i in range(5)] + [y[0, 0]]
    assert len(kept) == 6 and y._stored() is None and ran(programs) == 0


def test_a_whole_that_is_gone_is_not_computed(programs: list[int]) -> None:
    part = (wf.tensor(VALUES) * 5)[2, 3]
    assert part.item() == VALUES[2, 3] * 5 and ran(programs) == 1


def test_gradients_and_assignments_see_no_difference() -> None:
    x = wf.tensor(VALUES, requires_grad=True)
    y = x * x
    assert y[1, 2].item() == VALUES[1, 2] ** 2
    y[1, 2].backward()
    wanted = np.zeros_like(VALUES)
    wanted[1, 2] = 2 * VALUES[1, 2]
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), wanted)
    z = wf.tensor(VALUES) + 1
    old = z[0, 0]
    z[0, 0] = 9.0
    assert (old.item(), z[0, 0].item(), z[0, 1].item()) == (VALUES[0, 0] + 1, 9.0, VALUES[0, 1] + 1)


def test_an_assignment_to_a_part_warns_once_at_its_line_while_the_whole_is_there() -> None:
    x = wf.zeros(2, 3)

    def assign() -> None:
        for row in x:
            row[0] = 1.0

    with pytest.warns(wf.errors.AliasWarning, match=r"leaves the whole Tensor as it is") as caught:
        assign()
        assign()
    assert [(w.filename, w.lineno) for w in caught] == [
        (__file__, assign.__code__.co_firstlineno + 2)
    ]
    assert x.tolist() == [[0.0] * 3] * 2


def test_assignments_to_copies_numbers_and_picked_elements_do_not_warn() -> None:
    x = wf.arange(6.0).reshape(2, 3)
    copied, number, picked = x[0].clone(), x[0, 0], x[wf.tensor([0, 1])]
    rest = wf.zeros(4)[1:]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        copied[0] = 9.0
        number += 1
        picked += 1
        rest[0] = 5.0
        x[0, 1] = 7.0
        x[1] += 1.0
    assert (copied.tolist(), number.item(), rest.tolist(), x[0].tolist()) == (
        [9, 1, 2],
        1.0,
        [5, 0, 0],
        [0, 7, 2],
    )
