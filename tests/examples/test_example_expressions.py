"""The tour of expressions: what it promises is so, and it finds the minimum."""

from __future__ import annotations

from pathlib import Path

import expressions
import numpy as np
import pytest
import weft as wf


def test_the_tour_ends_at_the_minimum(capsys: pytest.CaptureFixture[str]) -> None:
    assert expressions.main([]) == pytest.approx((1, 1))
    printed = capsys.readouterr().out
    assert printed.endswith("\nminimum of the valley: (1.000000, 1.000000)\n")
    assert "repr says what is known: <Tensor float32[] cpu lazy>\n" in printed
    assert "Hessian of valley @ [1, 0]:  [ 9202. -1200.]\n" in printed
    assert "kernels.txt\n" in printed and "apart from " in printed


def test_a_step_is_that_of_newton() -> None:
    """The Hessian of Rosenbrock's function, by hand."""
    x, y = -1.2, 1.0
    slope = np.array([-2 * (1 - x) - 400 * x * (y - x * x), 200 * (y - x * x)])
    hessian = np.array([[2 - 400 * (y - 3 * x * x), -400 * x], [-400 * x, 200]])
    point, length = expressions.newton_step(wf.tensor([x, y], dtype=wf.float64))
    np.testing.assert_allclose(point.numpy(), [x, y] - np.linalg.solve(hessian, slope))
    assert length.item() == pytest.approx(np.linalg.norm(slope))


@pytest.mark.slow
def test_the_plot_shows_a_function_and_its_derivatives(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    expressions.plot(tmp_path / "wave.svg")
    assert "<svg" in (tmp_path / "wave.svg").read_text()
