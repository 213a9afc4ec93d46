"""The regression of Norch, one point at a time: its published losses, and what the script prints
and draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sine
import weft as wf

PUBLISHED = [1.7035, 0.7193, 0.3068, 0.1742, 0.1342, 0.1232, 0.1220, 0.1241, 0.1270, 0.1297]


def test_the_losses_are_those_that_norch_publishes(capsys: pytest.CaptureFixture[str]) -> None:
    assert [round(loss, 4) for loss in sine.main([])] == PUBLISHED
    *epochs, last = capsys.readouterr().out.splitlines()
    assert epochs == [
        f"epoch {i}/10: loss of the last point {loss:.4f}" for i, loss in enumerate(PUBLISHED, 1)
    ]
    assert last.startswith("loss of the last point: 0.1297; a step takes ") and last.endswith(" us")


def test_a_step_is_one_kernel_and_updates_in_place() -> None:
    model = sine.network(1)
    optimizer = wf.nn.optim.SGD(model.parameters(), lr=1e-3)
    report = wf.explain(sine.train_step, model, optimizer, *sine.points()[0])
    assert len(report.kernels) == 1 and report.in_place == 4


def test_parameters_are_drawn_by_the_seed() -> None:
    first, again, other = (
        np.concatenate([p.numpy().ravel() for p in sine.network(seed).parameters()])
        for seed in (1, 1, 2)
    )
    assert (first == again).all() and not (first == other).any()


@pytest.mark.slow
def test_the_plot_shows_the_network_between_the_points(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    sine.main(["--epochs", "2", "--plot", str(tmp_path / "fit.png")])
    assert (tmp_path / "fit.png").read_bytes().startswith(b"\x89PNG")
