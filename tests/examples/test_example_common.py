"""What the examples share: options refuse what cannot work before anything runs, the bar, curves
and ends are as promised."""

from __future__ import annotations

import sys
from pathlib import Path

import common
import progress
import pytest


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The last line that a script with these arguments prints before it ends."""
    with pytest.raises(SystemExit) as end:
        common.options("Does something.", epochs=3).parse_args(arguments)
    assert end.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


def test_defaults() -> None:
    args = common.options("Does something.", epochs=3).parse_args([])
    assert (args.epochs, args.seed, args.plot) == (3, 0, None)


@pytest.mark.parametrize("text", ["0", "-2", "1.5", "x", ""])
def test_epochs_are_counted(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    message = f"argument --epochs: must be a whole number of at least 1, not {text!r}"
    assert refused(capsys, f"--epochs={text}").endswith(message)


def test_a_seed_is_not_negative(capsys: pytest.CaptureFixture[str]) -> None:
    assert "argument --seed: must be a whole number of at least 0, not '-1'" in refused(
        capsys, "--seed=-1"
    )


@pytest.mark.parametrize("text", ["0", "-0.1", "inf", "nan", "fast"])
def test_a_rate_is_positive(text: str) -> None:
    with pytest.raises(common.argparse.ArgumentTypeError, match="must be a finite number above 0"):
        common.positive_float(text)


@pytest.mark.slow
def test_a_picture_needs_a_folder_and_a_known_kind(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    assert f"there is no folder {tmp_path / 'none'}" in refused(
        capsys, "--plot", str(tmp_path / "none" / "a.png")
    )
    assert f"{tmp_path} is a folder" in refused(capsys, "--plot", str(tmp_path))
    assert "a.doc must end in one of: " in refused(capsys, "--plot", str(tmp_path / "a.doc"))


def test_without_matplotlib_a_plot_is_refused_at_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    assert refused(capsys, "--plot", str(tmp_path / "a.png")).endswith(
        "--plot: needs matplotlib: pip install matplotlib"
    )


def test_curves_keep_a_number_for_each_epoch() -> None:
    curves = common.Curves()
    curves.add(loss=0.5, accuracy=0.8)
    curves.add(loss=0.25, accuracy=0.9)
    assert curves == {"loss": [0.5, 0.25], "accuracy": [0.8, 0.9]}


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_curves_become_a_picture(ending: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    curves = common.Curves(loss=[0.5, 0.25], test_loss=[0.6, 0.4], accuracy=[0.8, 0.9])
    panels = {"loss": {"training": "loss", "test": "test_loss"}, "accuracy": {"test": "accuracy"}}
    curves.plot(tmp_path / f"a.{ending}", "A network", panels)
    start = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}[ending]
    assert (tmp_path / f"a.{ending}").read_bytes().startswith(start)


def test_a_panel_shows_its_curves_over_whole_epochs() -> None:
    pytest.importorskip("matplotlib")
    figure, panels = common.new_figure("A network", 2)
    common.draw_curves(panels[1], "loss", {"training": [0.5, 0.75, 0.25], "test": [1.0, 2.0, 3.0]})
    epochs, drawn = [1, 2, 3], [[list(x) for x in line.get_data()] for line in panels[1].lines]
    assert drawn == [[epochs, [0.5, 0.75, 0.25]], [epochs, [1.0, 2.0, 3.0]]]
    assert [text.get_text() for text in panels[1].get_legend().get_texts()] == ["training", "test"]
    assert (panels[1].get_xlabel(), panels[1].get_ylabel(), figure.get_suptitle()) == (
        "epoch",
        "loss",
        "A network",
    )
    figure.canvas.draw()
    assert {tick % 1 for tick in panels[1].get_xticks()} == {0}


def test_the_bar_shows_loss_and_speed_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tqdm")
    for terminal in (False, True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda terminal=terminal: terminal)
        with progress.Progress("epoch 1/1", 4, "images") as bar:
            for loss in (0.5, 0.25):
                bar.update(2, loss)
            if bar.bar is not None:
                bar.bar.refresh()
            bar.print("half of it")
        shown = capsys.readouterr()
        assert (
            ("loss=0.2500" in shown.err and "images/s" in shown.err)
            if terminal
            else shown.err == ""
        )
        assert shown.out == "half of it\n"


@pytest.mark.parametrize("tqdm", [True, False])
def test_a_terminal_says_what_it_waits_for_until_the_first_step_is_done(
    tqdm: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    if not tqdm:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    with progress.Progress("epoch 1/2", 4, "images", compiled=True) as bar:
        assert capsys.readouterr().err.endswith("epoch 1/2: compiling ...")
        bar.update(2, 0.5)
        assert capsys.readouterr().err.startswith(f"\r{'':24}\r")
    with progress.Progress("epoch 2/2", 4, "images") as bar:
        bar.update(4, 0.5)
    assert "compiling" not in capsys.readouterr().err + bar.pace


def test_steps_that_compile_do_not_slow_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 9.0, 9.5, 10.0, 10.0])
    monkeypatch.setattr(progress, "perf_counter", lambda: next(clock))
    with progress.Progress("epoch 1/2", 300, "images", compiled=True) as bar:
        for _ in range(3):
            bar.update(100, 0.5)
    assert (bar.rate, bar.pace) == (200, "10.00 s with compiling, 200 images/s")


@pytest.mark.parametrize(
    ("epochs", "told"), [(3, [0, 1, 2]), (20, [*range(1, 20, 2)]), (25, [*range(1, 24, 2), 24])]
)
def test_about_ten_epochs_are_told_and_the_last(epochs: int, told: list[int]) -> None:
    assert [epoch for epoch in range(epochs) if progress.worth_a_line(epoch, epochs)] == told


def test_ctrl_c_ends_a_script_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    def main() -> None:
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as end:
        common.run(main)
    assert end.value.code == 130 and capsys.readouterr().err == "\ninterrupted\n"


def test_a_lack_of_memory_is_told_in_a_line() -> None:
    def main() -> None:
        raise MemoryError("no room for 3 PiB")

    with pytest.raises(SystemExit, match="no room for 3 PiB"):
        common.run(main)


def test_a_picture_that_cannot_be_written_is_told_in_a_line(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "gone" / "a.png"
    with pytest.raises(SystemExit, match=f"{file}: No such file or directory"):
        common.Curves(loss=[1.0]).plot(file, "A network", {"loss": {"training": "loss"}})


def test_a_failure_names_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["examples/lenet.py"])
    with pytest.raises(SystemExit, match=r"^lenet: no data$"):
        common.fail("no data")
