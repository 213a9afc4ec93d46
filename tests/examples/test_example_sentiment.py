"""The text-CNN end to end: the example's model learns from the order of words, and its options
work."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
import sentiment
import weft as wf
from cudakit import device, needs_compiler
from effort import rarely
from weft import options
from weft.nn.data import DataLoader, Sentences, Vocabulary, reviews, sst2

SMALL = ["--dim", "4", "--filters", "2", "--batch-size", "16", "--epochs", "1"]
# Each sentence has all of them, so that vocabularies have one size, and programs are shared.
WORDS = ["good", "the", "film", "is", "what", "we", "see", "here", "but"]


def praise_or_blame(number: int) -> str:
    """All the words in any order, but for what tells the label: a "not" before or after "good"."""
    words = Random(number).sample(WORDS, len(WORDS))
    words.insert(words.index("good") + number % 2, "not")
    return " ".join(words)


@pytest.fixture(autouse=True)
def no_data_but_a_few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [*map(praise_or_blame, range(80))]
    labels = np.arange(80) % 2
    parts = Sentences(texts[:64], labels[:64], "a test"), Sentences(texts[64:], labels[64:], "")
    monkeypatch.setattr(sentiment, "sst2", lambda path: sst2(path) if path else parts)


def test_shapes_and_parameter_count() -> None:
    model = sentiment.SentimentCNN(1000, 50, 100)
    assert sum(p.size for p in model.parameters()) == 1000 * 50 + 12 * 50 * 100 + 300 + 602
    assert model(wf.zeros(2, 8, dtype="int64")).shape == (2, 2)


def encoded(*texts: str) -> sentiment.Encoded:
    words = Vocabulary([f"w{i}" for i in range(100)])
    return sentiment.Encoded(Sentences(list(texts), np.arange(len(texts)) % 2, "test"), words)


def test_a_batch_is_as_wide_as_its_longest_sentence() -> None:
    data = encoded("w0 w1 w2", "w5 " * 11, "w3 " * 200, "")
    for rows, width in (([0], 6), ([0, 3], 6), ([0, 1], 11), ([2, 0], 64)):
        tokens, labels = data.take_rows(np.array(rows))
        assert tokens.shape == (len(rows), width) and labels.tolist() == [row % 2 for row in rows]
    assert data.take_rows(np.array([0, 1]))[0][0].tolist() == [2, 3, 4, *[1] * 3, *[0] * 5]
    assert len(data) == 4 and data[0][0].shape == (64,)


@pytest.mark.slow
@pytest.mark.parametrize("longest", [11, *rarely(7, 50)])
def test_the_width_of_a_batch_does_not_change_a_score(longest: int) -> None:
    data = encoded("w0 w1 w2", "w3 " * longest)
    model = sentiment.SentimentCNN(102, 4, 3).eval()
    alone = model(wf.tensor(data.take_rows(np.array([0]))[0])).numpy()
    together = model(wf.tensor(data.take_rows(np.arange(2))[0])).numpy()
    np.testing.assert_allclose(alone[0], together[0], rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_words_are_dropped_in_training_but_what_fills_a_row_is_not() -> None:
    model = sentiment.SentimentCNN(102, 4, 3)
    model.dropout.p = 0.0
    before = model.embedding.weight.numpy().copy()
    optimizer = sentiment.nn.optim.Adam(model.parameters(), lr=0.01)
    tokens, labels = next(iter(DataLoader(encoded(*["w0 w1 w2 w3"] * 16), 16)))
    sentiment.train_step(model, optimizer, tokens, labels)
    changed = np.flatnonzero((model.embedding.weight.numpy() != before).any(axis=1))
    assert changed.tolist() == [1, 2, 3, 4, 5]  # also <unk>, which the short sentences end with
    sentiment.train_step(model, optimizer, wf.zeros_like(tokens), labels)
    assert (model.embedding.weight.numpy()[0] == before[0]).all()


def test_main_reports_each_epoch_and_returns_the_accuracy(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = sentiment.main(
        [*SMALL, "--epochs", "2", "--limit", "40", "--classify", "I like the film."]
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "40 training and 16 dev sentences from a test"
    assert lines[1].endswith(" words, 0 of them with given vectors")
    assert (
        lines[2].startswith("epoch 1/2: loss 0.")
        and "dev accuracy" in lines[3]
        and "sentences/s" in lines[3]
    )
    assert lines[4].startswith("'I like the film.': ") and lines[4].endswith(" % sure)")
    assert lines[5] == f"dev accuracy: {100 * result:.2f} %" and len(lines) == 6


@needs_compiler
@pytest.mark.slow
def test_runs_on_a_gpu_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    device()
    with options.override(device="cuda"):
        assert (
            0.0
            <= sentiment.main([*SMALL, "--limit", "16", "--classify", "I like the film."])
            <= 1.0
        )


def test_the_seed_fixes_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    losses = []
    for seed in ("1", "1", "2"):
        sentiment.main([*SMALL, "--seed", seed])
        losses.append(capsys.readouterr().out.splitlines()[2].split(",")[0])
    assert losses[0] == losses[1] != losses[2]


@pytest.mark.slow
def test_two_epochs_and_two_more_are_four(tmp_path: Path) -> None:
    straight, parts = tmp_path / "straight", tmp_path / "parts"
    sentiment.main([*SMALL, "--epochs", "4", "--checkpoint", str(straight)])
    sentiment.main([*SMALL, "--epochs", "2", "--checkpoint", str(parts)])
    sentiment.main([*SMALL, "--epochs", "4", "--resume", str(parts)])
    assert straight.read_bytes() == parts.read_bytes()


@pytest.mark.slow
@pytest.mark.thinned(to=1)
@pytest.mark.parametrize(
    "arguments", [["--limit", "1"], ["--limit", "1", "--batch-size", "1"], ["--limit", "17"]]
)
def test_few_sentences_are_enough(arguments: list[str]) -> None:
    assert 0.0 <= sentiment.main([*SMALL, *arguments]) <= 1.0


@pytest.mark.slow
def test_given_vectors_are_where_training_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("film 1 2 3 4\nunheard 0 0 0 0\n")
    words = Vocabulary(["dull", "film"])
    model = sentiment.SentimentCNN(len(words), 4, 2)
    before = model.embedding.weight.numpy().copy()
    assert sentiment.set_vectors(model, words, str(path)) == 1
    np.testing.assert_array_equal(
        model.embedding.weight.numpy(), np.concatenate([before[:3], [[1, 2, 3, 4]]])
    )
    sentiment.main([*SMALL, "--glove", str(path)])
    assert ", 1 of them with given vectors" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="the vectors have 4 numbers, the model has 3: use --dim"):
        sentiment.main([*SMALL, "--dim", "3", "--glove", str(path)])


def test_missing_and_damaged_files_are_reported_without_a_traceback(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"there is no train\.tsv"):
        sentiment.main(["--data", str(tmp_path)])
    for name in ("train.tsv", "dev.tsv"):
        (tmp_path / name).write_text("sentence\tlabel\nfine\tyes\n")
    with pytest.raises(
        SystemExit, match=r"train\.tsv, line 2: expected a sentence, a tab and the label 0 or 1"
    ):
        sentiment.main(["--data", str(tmp_path)])
    with pytest.raises(SystemExit, match="No such file"):
        sentiment.main(["--glove", str(tmp_path / "none")])


@pytest.mark.parametrize(
    "arguments",
    [["--epochs", "0"], ["--batch-size", "x"], ["--lr", "-1"], ["--dim", "0"], ["--unknown"]],
)
def test_wrong_options_are_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        sentiment.main(arguments)
    assert "usage:" in capsys.readouterr().err


@pytest.mark.slow
def test_the_curves_are_saved(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    sentiment.main([*SMALL, "--plot", str(tmp_path / "curves.png")])
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_learns_the_order_of_two_words() -> None:
    """What a bag of words cannot: it sees the same in each sentence."""
    assert sentiment.main([*SMALL, "--epochs", "60", "--lr", "0.05"]) >= 0.9


@pytest.mark.slow
def test_learns_the_order_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a bag of words cannot: the best one judges 60 % of these sentences rightly."""
    found = reviews(2400)
    parts = found.first(2000), Sentences(found.texts[2000:], found.labels[2000:], found.source)
    monkeypatch.setattr(sentiment, "sst2", lambda path: parts)
    assert (
        sentiment.main(["--epochs", "8", "--dim", "16", "--filters", "16", "--lr", "0.02"]) >= 0.85
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["0", "1", "2"])
def test_learns_sst2(seed: str) -> None:
    folder = options.current().data_dir
    if folder is None or not (folder / "sst2").is_dir():
        pytest.skip("no SST-2: WEFT_DATA_DIR names no folder with it")
    assert sentiment.main(["--data", str(folder), "--seed", seed]) >= 0.8
