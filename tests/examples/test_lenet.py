"""LeNet-5 end to end: the example's model learns digits, and its options work."""

from __future__ import annotations

import re
import sys
import threading
from collections import Counter
from pathlib import Path

import lenet
import numpy as np
import pytest
import weft as wf
from effort import rarely
from stripes import stripes
from weft import nn, options
from weft.nn import data


def test_shapes_and_parameter_count() -> None:
    model = lenet.LeNet()
    assert sum(p.size for p in model.parameters()) == 61_706
    assert model(wf.zeros(2, 1, 28, 28)).shape == (2, 10)


def test_pixels_are_converted_inside_the_graph() -> None:
    x = lenet.normalised(wf.tensor(np.array([[[[0, 255]]]], np.uint8)))
    assert x.dtype.name == "float32" and "lazy" in repr(x)
    np.testing.assert_allclose(x.numpy().ravel(), [-0.13 / 0.31, 0.87 / 0.31], rtol=1e-5)


def test_main_reports_each_epoch_and_returns_the_accuracy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(lenet.DATASETS, "mnist", lambda path: (stripes(80, 0), stripes(16, 1)))
    result = lenet.main(["--epochs", "2", "--batch-size", "16", "--limit", "32", "--lr", "0.003"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "32 training and 16 test images from stripes"
    assert (
        lines[1].startswith("epoch 1/2: loss ")
        and "images/s" in lines[1]
        and "test accuracy" in lines[2]
    )
    assert lines[3] == f"test accuracy: {100 * result:.2f} %" and len(lines) == 4


@pytest.mark.slow
def test_the_seed_fixes_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(lenet.DATASETS, "mnist", lambda path: (stripes(32, 0), stripes(20, 1)))
    losses = []
    for seed in ("1", "1", "2"):
        lenet.main(["--epochs", "1", "--batch-size", "16", "--seed", seed])
        losses.append(capsys.readouterr().out.splitlines()[1].split(",")[0])
    assert losses[0] == losses[1] != losses[2]


@pytest.mark.slow
def test_two_epochs_and_two_more_are_four(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(lenet.DATASETS, "mnist", lambda path: (stripes(32, 0), stripes(20, 1)))
    straight, parts = tmp_path / "straight", tmp_path / "parts"
    small = ["--batch-size", "16"]
    lenet.main([*small, "--epochs", "4", "--checkpoint", str(straight)])
    lenet.main([*small, "--epochs", "2", "--checkpoint", str(parts)])
    lenet.main([*small, "--epochs", "4", "--resume", str(parts)])
    assert straight.read_bytes() == parts.read_bytes()


def test_a_missing_folder_is_reported_without_a_traceback(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="there is no train-images-idx3-ubyte"):
        lenet.main(["--data", str(tmp_path)])


def test_the_data_set_is_chosen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(lenet.DATASETS, "fashion", lambda path: (stripes(16, 0), stripes(20, 1)))
    lenet.main(["--dataset", "fashion", "--epochs", "1", "--batch-size", "16"])
    assert capsys.readouterr().out.startswith("16 training and 20 test images from stripes\n")


@pytest.mark.parametrize("arguments", [["--epochs", "0"], ["--batch-size", "x"], ["--unknown"]])
def test_wrong_options_are_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        lenet.main(arguments)
    assert "usage:" in capsys.readouterr().err


@pytest.mark.slow
def test_learns_the_embedded_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.setitem(lenet.DATASETS, "mnist", lambda path: data.digits())
    assert lenet.main(["--epochs", "12"]) >= 0.95


@pytest.mark.slow
def test_learns_mnist() -> None:
    """One pass over 12,032 of the 60,000 training images, which are whole batches, judged on test
    images."""
    folder = options.current().data_dir
    if folder is None or not (folder / "mnist").is_dir():
        pytest.skip("no MNIST: WEFT_DATA_DIR names no folder with it")
    assert lenet.main(["--epochs", "1", "--limit", "12032"]) >= 0.93


@pytest.mark.parametrize("batch", [16, *rarely(8, 64)])
def test_a_training_step_takes_few_kernels_and_no_new_memory(batch: int) -> None:
    """A budget: fewer is better. Parameters and both averages of Adam are written in place."""
    model = lenet.LeNet()
    optimizer = nn.optim.Adam(model.parameters())
    images, labels = next(iter(lenet.loader(stripes(batch, 0), batch, training=True)))
    lenet.train_step(model, optimizer, images, labels)
    report = wf.explain(lenet.train_step)
    assert len(report.kernels) <= 30 and report.in_place == 3 * len(optimizer.params)


@pytest.mark.slow
def test_the_plot_shows_the_curves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setitem(lenet.DATASETS, "mnist", lambda path: (stripes(16, 0), stripes(20, 1)))
    lenet.main(["--epochs", "1", "--batch-size", "16", "--plot", str(tmp_path / "curves.png")])
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_explain_prints_the_kernels_of_a_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(lenet.DATASETS, "mnist", lambda path: (stripes(32, 0), stripes(20, 1)))
    lenet.main(["--epochs", "1", "--batch-size", "16", "--explain"])
    assert re.search(r"^\d+ kernels on cpu, .* 30 outputs in place$", capsys.readouterr().out, re.M)


@pytest.mark.slow
def test_an_unjitted_step_makes_few_calls() -> None:
    """Each takes about 0.2 us, also where nothing can be timed: 2 ms would be longer than the step
    itself."""
    model = lenet.LeNet()
    optimizer = nn.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    images, labels = next(iter(lenet.loader(stripes(8, 0), 8, training=True)))
    x, y = images / 255, labels
    calls: Counter[str] = Counter()

    def step() -> None:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        loss.item()

    def profiled() -> None:
        for _ in range(5):  # x is kept by the second, which computes it again, for two more
            step()
        sys.setprofile(lambda frame, event, arg: calls.update([event]))
        step()

    fresh = threading.Thread(target=profiled)  # in which nothing waits that other tests have made
    fresh.start()
    fresh.join()
    assert 0 < calls["call"] <= 6000 and calls["c_call"] <= 8000


def test_a_wrong_label_in_the_middle_leaves_the_weights() -> None:
    model = lenet.LeNet()
    optimizer = nn.optim.Adam(model.parameters(), lr=1e-3)
    images, labels = next(iter(lenet.loader(stripes(16, 0), 16, training=True)))
    lenet.train_step(model, optimizer, images, labels)
    before = [p.numpy().copy() for p in model.parameters()]
    with pytest.raises(IndexError, match="77"):
        lenet.train_step(model, optimizer, images, wf.full(16, 77, dtype=wf.uint8))
    for p, old in zip(model.parameters(), before, strict=True):
        np.testing.assert_array_equal(p.numpy(), old)
    assert np.isfinite(lenet.train_step(model, optimizer, images, labels).item())
