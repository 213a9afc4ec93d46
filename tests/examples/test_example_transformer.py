"""The character transformer end to end: it sees only what came before, learns a text, and writes
one without recompiling."""

from __future__ import annotations

from pathlib import Path

import char_transformer as example
import numpy as np
import pytest
import weft as wf
from effort import rarely
from weft import nn
from weft.nn.data import Vocabulary, reviews

SIZES = "--context 8 --dim 8 --heads 2 --layers 1 --batch-size 11 --length 5 --limit 400"
SMALL = [*SIZES.split(), "--epochs", "1"]
# All texts have the same number of different characters, so that they share their programs.
TEXT = "\n".join(reviews(20).texts)[:400]
ORDERED = "".join(sorted({*TEXT} - {"\n"})) + "\n"
SHORTEST = (ORDERED * 4)[:100]
CHARACTERS = example.SPECIAL + len(ORDERED)


@pytest.fixture(autouse=True)
def few_reviews(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(example, "REVIEWS", 20)


def small(layers: int = 1) -> example.CharTransformer:
    return example.CharTransformer(CHARACTERS, context=8, dim=8, heads=2, layers=layers)


@pytest.mark.slow
@pytest.mark.parametrize("layers", [1, *rarely(2)])
def test_scores_of_a_place_depend_on_no_later_character(layers: int) -> None:
    model, x = small(layers).eval(), wf.randint(0, 12, (1, 8)).numpy()
    changed = x.copy()
    changed[:, 5:] = (changed[:, 5:] + 1) % 12
    before, after = model(wf.tensor(x)).numpy(), model(wf.tensor(changed)).numpy()
    assert before.shape == (1, 8, CHARACTERS)
    np.testing.assert_array_equal(before[:, :5], after[:, :5])
    assert (before[:, 5:] != after[:, 5:]).any(axis=(1, 2)).all()


@pytest.mark.slow
def test_scores_depend_on_the_place() -> None:
    found = small().eval()(wf.tensor(np.zeros((1, 8), np.int64))).numpy()[0]
    assert (np.abs(np.diff(found, axis=0)).max(axis=1) > 0).all()


def test_windows_cover_a_text_and_ask_for_the_next_character() -> None:
    data = example.Windows(np.arange(14), 4)
    assert len(data) == 3
    x, y = data.take_rows(np.array([0, 2]))
    assert x.tolist() == [[0, 1, 2, 3], [8, 9, 10, 11]] and y.tolist() == [
        [1, 2, 3, 4],
        [9, 10, 11, 12],
    ]
    assert data[1][0].tolist() == [4, 5, 6, 7] and len(example.Windows(np.arange(13), 4)) == 3


@pytest.mark.slow
@pytest.mark.parametrize("batch", [4, *rarely(1, 5)])
def test_the_loss_of_a_character_is_the_same_in_any_batch(batch: int) -> None:
    model, data = small(), example.Windows(np.arange(41) % 12, 8)
    x, y = data.take_rows(np.arange(5))
    model.eval()
    expected = nn.functional.cross_entropy(
        model(wf.tensor(x)).reshape(40, CHARACTERS), wf.tensor(y.ravel())
    ).item()
    found = example.evaluate(model.train(), example.DataLoader(data, batch))
    assert found == pytest.approx(expected, rel=1e-5)
    assert model.training


class Fixed(nn.Module):
    """The logarithms of 0.1, 0.2, 0.3, 0.4 for characters, more for what is none; it counts how
    often its Python runs."""

    def __init__(self) -> None:
        self.calls, self.position = 0, nn.Embedding(64, 1)

    def new_cache(self, batch: int) -> None: ...

    def step(self, token: wf.Tensor, cache: None) -> tuple[wf.Tensor, None]:
        self.calls += 1
        scores = wf.tensor(np.log([9, 9, 0.1, 0.2, 0.3, 0.4]).astype(np.float32))
        return scores.expand(*token.shape, 6), cache


@pytest.mark.parametrize("temperature", [0.5, *rarely(1.0, 2.0)])
def test_characters_are_drawn_by_their_probabilities(temperature: float) -> None:
    wf.manual_seed(0)
    draws = 4000
    text = example.generate(Fixed(), Vocabulary(list("abcd")), "a", draws, temperature)[1:]
    counts = [text.count(character) for character in "abcd"]
    p = np.array([0.1, 0.2, 0.3, 0.4]) ** (1 / temperature)
    p /= p.sum()
    assert sum(counts) == len(text) == draws
    np.testing.assert_allclose(np.array(counts) / draws, p, atol=4 * np.sqrt(0.25 / draws))


def test_writing_compiles_one_program() -> None:
    model = Fixed()
    for prompt, temperature in (("c", 1.0), ("cdcdcdcdcd", 0.3)):
        assert example.generate(model, Vocabulary(list("abcd")), prompt, 9, temperature).startswith(
            prompt
        )
    assert model.calls == 1


@pytest.mark.slow
def test_a_low_temperature_takes_the_likeliest_as_the_whole_model_does() -> None:
    wf.manual_seed(3)
    model, words = small(), Vocabulary(list(ORDERED))
    numbers = words.encode(list("abcabbca"))
    begin = len(numbers) - 4  # half of a window of 8
    for _ in range(10):
        begin = len(numbers) - 4 if len(numbers) - begin == 8 else begin
        scores = model.eval()(wf.tensor([numbers[begin:]]))
        numbers.append(int(scores[0, -1, 2:].argmax().item()) + 2)
    assert example.generate(model, words, "abcabbca", 10, 1e-6) == "".join(words.decode(numbers))


def test_main_reports_each_epoch_and_writes(capsys: pytest.CaptureFixture[str]) -> None:
    result = example.main([*SMALL, "--epochs", "2", "--prompt", "The "])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("400 characters, ") and lines[0].endswith(
        " different ones, from an embedded grammar"
    )
    assert (
        lines[1].startswith("epoch 1/2: loss ")
        and ", on held-out text " in lines[2]
        and ", perplexity " in lines[2]
    )
    assert lines[3] == "" and "\n".join(lines[4:-2]).startswith("The ")
    assert (
        lines[-1]
        == f"held-out text: {result:.4f} nats a character, perplexity {np.exp(result):.3f}"
    )


@pytest.mark.slow
def test_the_seed_fixes_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for seed in ("1", "1", "2"):
        example.main([*SMALL, "--seed", seed])
        outputs.append(capsys.readouterr().out.split("ms a step")[1])
    assert outputs[0] == outputs[1] != outputs[2]


@pytest.mark.slow
def test_two_epochs_and_two_more_are_four(tmp_path: Path) -> None:
    straight, parts = tmp_path / "straight", tmp_path / "parts"
    example.main([*SMALL, "--epochs", "4", "--checkpoint", str(straight)])
    example.main([*SMALL, "--epochs", "2", "--checkpoint", str(parts)])
    example.main([*SMALL, "--epochs", "4", "--resume", str(parts)])
    assert straight.read_bytes() == parts.read_bytes()


@pytest.mark.slow
def test_a_checkpoint_of_a_text_with_other_characters_is_refused(tmp_path: Path) -> None:
    texts = {name: tmp_path / name for name in ("one", "other")}
    texts["one"].write_text(TEXT)
    texts["other"].write_text(TEXT.replace("T", "Z"))
    example.main([*SMALL, "--text", str(texts["one"]), "--checkpoint", str(tmp_path / "file")])
    with pytest.raises(SystemExit, match="trained on a text with other tokens"):
        example.main([*SMALL, "--text", str(texts["other"]), "--resume", str(tmp_path / "file")])


def test_the_rate_rises_then_falls_to_a_tenth() -> None:
    rates = [example.rate(step, 1000) for step in range(1500)]
    assert rates[0] == pytest.approx(0.01) and max(rates) == rates[99] == rates[100] == 1.0
    assert rates[550] == pytest.approx(0.55) and rates[1000:] == pytest.approx([0.1] * 500)
    assert all(np.diff(rates[:100]) > 0) and all(np.diff(rates[100:1001]) < 0)
    assert example.rate(50, 1) < 1.0 and example.rate(200, 1) == pytest.approx(0.1)


def test_learns_a_text_by_heart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "text.txt"
    path.write_text(ORDERED * 14, encoding="utf-8")
    steps = ["--epochs", "100", "--lr", "0.05", "--decay", "300"]
    told = ["--text", str(path), "--length", "13", "--prompt", "tu"]
    assert example.main([*SMALL, *steps, *told]) < 0.05
    assert f"\ntuvyé\n{ORDERED[:9]}\n" in capsys.readouterr().out


def test_what_cannot_be_learned_is_reported_without_a_traceback(tmp_path: Path) -> None:
    for contents, says in (
        (b"short", "5 characters are too few for --context 64: it takes 660"),
        (b"\xff", "line 1: not UTF-8"),
    ):
        (tmp_path / "text.txt").write_bytes(contents)
        with pytest.raises(SystemExit, match=says):
            example.main(["--text", str(tmp_path / "text.txt")])
    with pytest.raises(SystemExit, match="No such file"):
        example.main(["--text", str(tmp_path / "none")])
    with pytest.raises(SystemExit, match="the prompt has '%', which is not in the text"):
        example.main(["--prompt", "The %"])


@pytest.mark.parametrize(
    "arguments",
    [
        ["--heads", "3"],
        ["--context", "0"],
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
    assert "usage:" in capsys.readouterr().err


@pytest.mark.slow
def test_the_shortest_text_is_enough(tmp_path: Path) -> None:
    (tmp_path / "text").write_text(SHORTEST)
    assert np.isfinite(example.main([*SMALL, "--text", str(tmp_path / "text")]))


@pytest.mark.slow
def test_the_curves_are_saved(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    example.main([*SMALL, "--plot", str(tmp_path / "curves.png")])
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
