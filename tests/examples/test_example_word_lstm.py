"""The recurrent language model end to end: its state goes from window to window, it learns a text,
and one call writes another."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import weft as wf
import word_lstm as example
from effort import rarely
from weft import nn
from weft.nn import functional as F
from weft.nn.data import Vocabulary

SIZES = "--batch 3 --bptt 5 --hidden 8 --layers 2 --words 6 --limit 400 --lr 5"
SMALL = [*SIZES.split(), "--epochs", "1"]
WORDS = list("abcdefg")


@pytest.fixture(autouse=True)
def few_reviews(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(example, "REVIEWS", 40)


def small(layers: int = 2) -> example.WordLSTM:
    return example.WordLSTM(example.SPECIAL + len(WORDS), hidden=8, layers=layers)


@pytest.mark.parametrize("layers", [2, *rarely(1, 3)])
def test_shapes_and_parameter_count(layers: int) -> None:
    model = example.WordLSTM(50, 8, layers)
    of_layer = 4 * 8 * (8 + 8) + 2 * 4 * 8
    assert sum(p.size for p in model.parameters()) == 50 * 8 + layers * of_layer + 8 * 50 + 50
    scores, (h, c) = model(wf.zeros(5, 3, dtype="int64"), model.first_state(3))
    assert scores.shape == (5, 3, 50) and h.shape == c.shape == (layers, 3, 8)


def test_windows_cover_a_text_in_streams_that_go_on() -> None:
    data = example.windows(np.arange(14), 2, 3)
    assert [x.T.tolist() for x, _ in data] == [[[0, 1, 2], [6, 7, 8]], [[3, 4, 5], [9, 10, 11]]]
    assert all((y == x + 1).all() for x, y in data)
    assert len(example.windows(np.arange(13), 2, 3)) == 2
    assert len(example.windows(np.arange(12), 2, 3)) == 1


@pytest.mark.slow
def test_two_windows_in_a_row_give_the_loss_of_a_long_one() -> None:
    model, text = small(), np.arange(61) * 5 % 7 + 2
    short, (long,) = example.windows(text, 6, 5), example.windows(text, 6, 10)
    assert len(short) == 2
    whole = example.evaluate(model, [long])
    assert example.evaluate(model, short) == pytest.approx(whole, rel=1e-5)
    apart = sum(example.evaluate(model, [window]) for window in short) / 2
    assert abs(apart - whole) > 1e-4
    assert model.training


@pytest.mark.slow
def test_the_loss_is_that_of_the_words_that_follow() -> None:
    model, (window,) = small().eval(), example.windows(np.arange(31) % 7 + 2, 6, 5)
    scores, _ = model(wf.tensor(window[0]), model.first_state(6))
    expected = F.cross_entropy(scores.reshape(30, 9), wf.tensor(window[1].ravel())).item()
    assert example.evaluate(model, [window]) == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
def test_an_epoch_lowers_the_loss() -> None:
    wf.manual_seed(0)
    model, data = small(), example.windows(np.arange(1501) % 7 + 2, 3, 5)
    optimizer = nn.optim.SGD(model.parameters(), lr=5.0)
    before = example.evaluate(model, data)
    example.train_epoch(model, optimizer, data, example.Progress("", len(data), "steps"))
    assert example.evaluate(model, data) < 0.8 * before


@pytest.mark.slow
def test_the_gradients_are_clipped() -> None:
    model, ((x, y), *_) = small(), example.windows(np.arange(16) % 7 + 2, 3, 5)
    optimizer = nn.optim.SGD(model.parameters(), lr=1.0)
    before = [p.numpy().copy() for p in model.parameters()]
    example.train_step(model, optimizer, x, y, model.first_state(3))
    steps = [p.numpy() - old for p, old in zip(model.parameters(), before, strict=True)]
    assert np.sqrt(sum((step**2).sum() for step in steps)) < 1.001 * example.CLIP


class Fixed(nn.Module):
    """The logarithms of 0.1, 0.2, 0.3, 0.4 for words, more for what is none; it counts how often
    its Python runs."""

    def __init__(self) -> None:
        self.calls = 0

    def forward(self, x: wf.Tensor, state: example.State) -> tuple[wf.Tensor, example.State]:
        self.calls += 1
        scores = wf.tensor(np.log([9, 9, 0.1, 0.2, 0.3, 0.4]).astype(np.float32))
        return scores.expand(*x.shape, 6), state

    def first_state(self, streams: int) -> example.State:
        return wf.zeros(1, streams, 1), wf.zeros(1, streams, 1)


@pytest.mark.parametrize("temperature", [0.5, *rarely(1.0, 2.0)])
def test_words_are_drawn_by_their_probabilities(temperature: float) -> None:
    wf.manual_seed(0)
    model, draws = Fixed(), 4000
    text = example.generate(model, Vocabulary(WORDS[:4]), ["a"], draws, temperature).split()[1:]
    counts = [text.count(word) for word in WORDS[:4]]
    p = np.array([0.1, 0.2, 0.3, 0.4]) ** (1 / temperature)
    p /= p.sum()
    assert sum(counts) == len(text) == draws
    np.testing.assert_allclose(np.array(counts) / draws, p, atol=4 * np.sqrt(0.25 / draws))
    assert model.calls == 2  # for the prompt, and for the body of the loop


def test_another_temperature_compiles_nothing() -> None:
    model = Fixed()
    for temperature in (1.0, 0.3):
        example.generate(model, Vocabulary(WORDS[:4]), ["c", "d"], 9, temperature)
    assert model.calls == 2


@pytest.mark.slow
def test_a_low_temperature_takes_the_likeliest_as_the_model_does_step_by_step() -> None:
    wf.manual_seed(3)
    model, words = small(), Vocabulary(WORDS)
    numbers = words.encode(list("cab"))
    for _ in range(6):
        scores, _ = model.eval()(wf.tensor(numbers)[:, None], model.first_state(1))
        numbers.append(int(scores[-1, 0, 2:].argmax().item()) + 2)
    assert example.generate(model, words, list("cab"), 6, 1e-6) == " ".join(words.decode(numbers))


def test_words_are_joined_to_lines() -> None:
    assert example.joined(["a", "b", "\n", "c", "\n", "\n", "d"]) == "a b\nc\n\nd"


def test_main_reports_each_epoch_and_writes(capsys: pytest.CaptureFixture[str]) -> None:
    result = example.main([*SMALL, "--epochs", "2", "--prompt", "The film"])
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"400 words, \d+ different ones, from an embedded grammar", lines[0])
    for line, epoch in zip(lines[1:3], (1, 2), strict=True):
        numbers = r"loss [\d.]+, on held-out text [\d.]+, perplexity [\d.]+, [\d.]+ ms a step"
        assert re.fullmatch(f"epoch {epoch}/2: {numbers}", line)
    assert lines[3] == "" and "\n".join(lines[4:-2]).startswith("the film ")
    assert lines[-1] == f"held-out text: {result:.4f} nats a word, perplexity {np.exp(result):.3f}"


@pytest.mark.slow
def test_the_seed_fixes_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for seed in ("1", "1", "2"):
        example.main([*SMALL, "--seed", seed])
        outputs.append(re.sub(r"[\d.]+ ms a step", "", capsys.readouterr().out))
    assert outputs[0] == outputs[1] != outputs[2]


@pytest.mark.slow
def test_two_epochs_and_two_more_are_four(tmp_path: Path) -> None:
    straight, parts = tmp_path / "straight", tmp_path / "parts"
    example.main([*SMALL, "--epochs", "4", "--checkpoint", str(straight)])
    example.main([*SMALL, "--epochs", "2", "--checkpoint", str(parts)])
    example.main([*SMALL, "--epochs", "4", "--resume", str(parts)])
    assert straight.read_bytes() == parts.read_bytes()


@pytest.mark.slow
def test_learns_a_text_by_heart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "text.txt"
    path.write_text("A rose is red,\nand so is a rose!\n" * 40, encoding="utf-8")
    told = ["--text", str(path), "--prompt", "red", "--words", "8", "--temperature", "0.1"]
    assert example.main([*SMALL, *told, "--epochs", "15"]) < 0.5
    assert "\nred ,\nand so is a rose !\n" in capsys.readouterr().out


def test_what_cannot_be_learned_is_reported_without_a_traceback(tmp_path: Path) -> None:
    for contents, says in (
        (b"too short", "3 words are too few for --batch 20 --bptt 35: it takes 7,020"),
        (b"\xff", "line 1: not UTF-8"),
    ):
        (tmp_path / "text.txt").write_bytes(contents)
        with pytest.raises(SystemExit, match=says):
            example.main(["--text", str(tmp_path / "text.txt")])
    with pytest.raises(SystemExit, match="No such file"):
        example.main(["--text", str(tmp_path / "none")])
    with pytest.raises(SystemExit, match="the prompt has 'xyz', which is not in the text"):
        example.main([*SMALL, "--prompt", "the xyz"])


@pytest.mark.parametrize(
    "arguments",
    [
        ["--bptt", "0"],
        ["--batch", "-1"],
        ["--temperature", "0"],
        ["--lr", "nan"],
        ["--layers", "x"],
        ["--unknown"],
    ],
)
def test_wrong_options_are_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        example.main(arguments)
    assert arguments[0] in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.slow
def test_the_shortest_text_is_enough(tmp_path: Path) -> None:
    (tmp_path / "text").write_text(" ".join(WORDS * 30))
    assert np.isfinite(example.main([*SMALL, "--limit", "170", "--text", str(tmp_path / "text")]))


@pytest.mark.slow
def test_the_curves_are_saved(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    example.main([*SMALL, "--plot", str(tmp_path / "curves.png")])
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
