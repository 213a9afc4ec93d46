"""Points of two classes: each set is learned, in full batches and minibatches, and the boundary is
drawn."""

from __future__ import annotations

from pathlib import Path

import points
import pytest
import weft as wf
from effort import rarely
from weft.nn.data import POINT_SETS

HARD = ["circle", "spiral"]


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("name", [*HARD, *rarely(*(s for s in POINT_SETS if s not in HARD))])
def test_every_set_is_learned(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert points.main(["--dataset", name]) >= 0.98
    *epochs, last = capsys.readouterr().out.splitlines()
    assert len(epochs) == 10 and epochs[-1].startswith("epoch 1000/1000: loss ")
    fresh = float(last.split(", ")[1].split(" % of 1000 fresh ones")[0])
    assert last.startswith(f"{name}: ") and fresh >= 97.5


@pytest.mark.slow
def test_minibatches_learn_too() -> None:
    assert points.main(["--dataset", "xor", "--batch-size", "50", "--epochs", "60"]) >= 0.95


def test_an_epoch_reports_loss_and_points_before_each_step() -> None:
    model, data = points.Network(4), points.points("diag", 32)
    optimizer = wf.nn.optim.SGD(model.parameters(), lr=1e-30)
    scores, labels = model(wf.tensor(data.x)), wf.tensor(data.y).float()
    loss, right = points.train_epoch(model, optimizer, points.DataLoader(data, 8))
    assert loss == pytest.approx(
        wf.nn.functional.binary_cross_entropy_with_logits(scores, labels).item(), rel=1e-5
    )
    assert right == points.accuracy(model, data)


@pytest.mark.slow
def test_the_plot_shows_a_boundary(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    points.main(["--epochs", "2", "--plot", str(tmp_path / "spiral.png")])
    assert (tmp_path / "spiral.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "arguments", [["--dataset", "square"], ["--points", "0"], ["--hidden", "x"], ["--lr", "0"]]
)
def test_wrong_options_are_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        points.main(arguments)
    assert (
        end.value.code == 2
        and f"argument {arguments[0]}: " in capsys.readouterr().err.splitlines()[-1]
    )
