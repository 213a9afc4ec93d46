"""A training that is kept and gone on with is the training that was never interrupted, bit for
bit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import common
import numpy as np
import points
import pytest
import sine
import weft as wf
from weft import nn

CASES = [
    (points, ["--points", "40", "--batch-size", "8"]),
    (sine, []),
]


def leaves(state: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The numbers and arrays in nested dicts and lists."""
    if isinstance(state, (dict, list)):
        for key, value in state.items() if isinstance(state, dict) else enumerate(state):
            yield from leaves(value, f"{name}.{key}")
    else:
        yield name, state.numpy() if isinstance(state, wf.Tensor) else state


@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(("script", "options"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_two_epochs_and_two_more_are_four(
    script: ModuleType, options: list[str], tmp_path: Path
) -> None:
    straight, parts = str(tmp_path / "straight.safetensors"), str(tmp_path / "parts.safetensors")
    script.main([*options, "--epochs", "4", "--checkpoint", straight])
    script.main([*options, "--epochs", "2", "--checkpoint", parts])
    wf.manual_seed(99)  # the checkpoint has the state of the generator
    script.main([*options, "--epochs", "4", "--resume", parts])
    first, second = (nn.load(file) for file in (straight, parts))
    assert first["curves"]["loss"] == second["curves"]["loss"]
    for part in ("model", "optimizer"):
        for (name, a), (other, b) in zip(leaves(first[part]), leaves(second[part]), strict=True):
            assert name == other
            np.testing.assert_array_equal(a, b, err_msg=name)


def test_with_another_file_the_old_one_stays(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    sine.main(["--epochs", "1", "--checkpoint", str(old)])
    before = old.read_bytes()
    sine.main(["--epochs", "2", "--resume", str(old), "--checkpoint", str(new)])
    assert old.read_bytes() == before and len(nn.load(new)["curves"]["loss"]) == 2


def test_nothing_is_left_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "done")
    losses = sine.main(["--epochs", "2", "--checkpoint", file])
    printed = capsys.readouterr().out.splitlines()
    assert sine.main(["--epochs", "1", "--resume", file]) == losses
    assert capsys.readouterr().out.splitlines() == printed[-1:]


def test_a_checkpoint_of_another_network_is_refused_in_one_line(tmp_path: Path) -> None:
    file = str(tmp_path / "other")
    sine.main(["--epochs", "1", "--checkpoint", file])
    with pytest.raises(SystemExit) as end:
        points.main(["--resume", file])
    assert file in str(end.value) and "\n" not in str(end.value)


def test_what_is_no_checkpoint_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_text("no checkpoint")
    with pytest.raises(SystemExit, match=str(tmp_path / "text")):
        sine.main(["--resume", str(tmp_path / "text")])
    with pytest.raises(SystemExit):
        sine.main(["--resume", str(tmp_path / "none")])
    assert (
        capsys.readouterr()
        .err.splitlines()[-1]
        .endswith(f"argument --resume: there is no file {tmp_path / 'none'}")
    )


def test_without_safetensors_a_checkpoint_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(common, "find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        sine.main(["--checkpoint", "a"])
    assert (
        capsys.readouterr()
        .err.splitlines()[-1]
        .endswith("needs safetensors: pip install safetensors")
    )
