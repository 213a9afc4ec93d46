"""Classical models of Iris: gradients reach what the algorithms of scikit-learn reach."""

from __future__ import annotations

import classical
import pytest
import weft as wf

pytest.importorskip("sklearn", minversion="1.9")


@pytest.mark.slow
def test_gradients_reach_what_scikit_learn_reaches(capsys: pytest.CaptureFixture[str]) -> None:
    rows = classical.main(["--steps", "400"])
    assert [r.model for r in rows] == ["components", "ridge", "k-means", "mixture"]
    for row in rows:
        assert row.gradients == pytest.approx(row.scikit, rel=2e-3), row.model
    printed = capsys.readouterr().out
    assert printed.endswith(classical.table(rows) + "\n")
    assert printed.splitlines()[-4].split()[:3] == ["components", "variance", "kept"]


def test_the_loss_of_k_means_is_the_distance_to_the_nearest_centre() -> None:
    x = wf.tensor([[0.0, 0.0], [3.0, 4.0]])
    assert classical.distances(x, x[:1]).tolist() == [[0.0], [25.0]]
