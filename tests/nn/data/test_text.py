"""Text in nn/data: tokens, vocabularies, padding, SST-2, the embedded reviews, word vectors,
damaged files."""

from __future__ import annotations

import gzip
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
import weft as wf
from weft import options
from weft.nn import data
from weft.nn.data import Vocabulary, glue

# ---------------------------------------------------------------- tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("A fine film.", "a fine film ."),
        ("It isn't; they'd love it, we'll say!", "it is n't ; they 'd love it , we 'll say !"),
        ("I can\u2019t", "i ca n't"),
        ("well-made -- 10,000 5th ...", "well - made -- 10,000 5th ..."),
        ("``quoted'' (not)", "`` quoted '' ( not )"),
        ("na\u00efve \u00c9clair", "na\u00efve \u00e9clair"),
        (" \t\n", ""),
    ],
)
def test_words_ends_numbers_and_marks_are_tokens(text: str, tokens: str) -> None:
    assert data.tokenize(text) == tokens.split()


def test_text_of_tokens_stays() -> None:
    text = "it 's a `` film '' that i do n't -- ca n't -- like , not even 1,000 times ... !"
    assert " ".join(data.tokenize(text)) == text


def test_only_text_is_tokenized() -> None:
    with pytest.raises(TypeError, match=r"tokenize: text must be a str, not \['a'\]"):
        data.tokenize(["a"])  # type: ignore[arg-type]


# ---------------------------------------------------------------- vocabularies

SENTENCES = [["b", "a", "c"], ["a", "b"], ["a", "<pad>"]]


def test_the_most_frequent_tokens_come_first_and_equals_by_alphabet() -> None:
    assert Vocabulary.from_sentences(SENTENCES).tokens == ["<pad>", "<unk>", "a", "b", "c"]
    assert Vocabulary.from_sentences(reversed(SENTENCES)).tokens == [
        "<pad>",
        "<unk>",
        "a",
        "b",
        "c",
    ]
    assert Vocabulary.from_sentences([["z", "y"]]).tokens[2:] == ["y", "z"]


def test_rare_tokens_and_those_beyond_the_size_are_unknown() -> None:
    assert Vocabulary.from_sentences(SENTENCES, min_count=2).tokens[2:] == ["a", "b"]
    assert Vocabulary.from_sentences(SENTENCES, max_size=3).tokens == ["<pad>", "<unk>", "a"]
    assert Vocabulary.from_sentences(SENTENCES, max_size=2).encode(["a"]) == [1]


def test_decode_undoes_encode_of_known_tokens() -> None:
    words = Vocabulary(["a", "b", "c"])
    assert words.decode(words.encode(["c", "a", "x"])) == ["c", "a", "<unk>"]
    assert words.decode(np.array([0, 4])) == ["<pad>", "c"]
    assert (
        "a" in words
        and "x" not in words
        and list(words) == words.tokens
        and repr(words) == "Vocabulary(5 tokens)"
    )


def test_json_keeps_a_vocabulary() -> None:
    words = Vocabulary(["\u00e9clair", '"', "\n"])
    assert Vocabulary.from_json(words.to_json()).tokens == words.tokens


@pytest.mark.parametrize("text", ["", "{", '{"a": 1}', "3", '["a", "a"]', "[1]", '["<pad>"]'])
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises((data.DataError, ValueError, TypeError), match="Vocabulary"):
        Vocabulary.from_json(text)


def test_text_that_is_not_tokenized_is_refused() -> None:
    says = "expected a list of tokens, not the text 'good film': tokenize it"
    for call in (
        Vocabulary,
        Vocabulary(["good"]).encode,
        lambda text: Vocabulary.from_sentences([text]),
    ):
        with pytest.raises(TypeError, match=says):
            call("good film")


def test_wrong_arguments_of_vocabularies_are_named() -> None:
    for call in (
        Vocabulary,
        Vocabulary(["good"]).encode,
        lambda tokens: Vocabulary.from_sentences([tokens]),
    ):
        with pytest.raises(TypeError, match="every token must be a str, not 7"):
            call(["a", 7])
        with pytest.raises(TypeError, match="a list of tokens must be a sequence, not 7"):
            call(7)
    with pytest.raises(TypeError, match="sentences must be a sequence, not 7"):
        Vocabulary.from_sentences(7)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'a' occurs twice"):
        Vocabulary(["a", "a"])
    with pytest.raises(ValueError, match="max_size counts <pad> and <unk>, so it is not 1"):
        Vocabulary.from_sentences(SENTENCES, max_size=1)
    for number in (-1, 3):
        with pytest.raises(IndexError, match=rf"{number} is not in 0 \.\. 2"):
            Vocabulary(["a"]).decode([number])


# ---------------------------------------------------------------- padding


def test_rows_are_cut_or_filled_to_one_length() -> None:
    assert data.pad_sequences([[5, 6, 7], [8], []], 2).tolist() == [[5, 6], [8, 0], [0, 0]]
    assert data.pad_sequences([[5, 6, 7], [8]], value=1).tolist() == [[5, 6, 7], [8, 1, 1]]


@pytest.mark.parametrize(("rows", "shape"), [([], (0, 0)), ([[]], (1, 0)), ([[1]], (1, 1))])
def test_padded_rows_are_int64_of_the_longest(
    rows: list[list[int]], shape: tuple[int, int]
) -> None:
    out = data.pad_sequences(rows)
    assert out.dtype == np.int64 and out.shape == shape


@pytest.mark.parametrize("rows", [5, [5], [["a"]], [[1.5]], [[1], [[2]]], [[2**70]]])
def test_only_rows_of_integers_are_padded(rows: object) -> None:
    with pytest.raises(TypeError, match=r"pad_sequences: (rows|each row) must be a sequence"):
        data.pad_sequences(rows)  # type: ignore[arg-type]


def test_a_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="length must be at least 0, not -1"):
        data.pad_sequences([[1]], -1)
    with pytest.raises(TypeError, match=r"length must be an int, not 1\.5"):
        data.pad_sequences([[1]], 1.5)  # type: ignore[arg-type]


# ---------------------------------------------------------------- SST-2


def write_sst2(folder: Path, *rows: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("train.tsv", "dev.tsv"):
        (folder / name).write_text("\n".join(["sentence\tlabel", *rows, ""]), encoding="utf-8")
    return folder


@pytest.mark.parametrize("sub", ["", "sst2", "SST-2"])
def test_sst2_is_found_in_the_folder_or_below(tmp_path: Path, sub: str) -> None:
    write_sst2(tmp_path / sub, "a fine caf\u00e9 \t1", "`` no '' \" wit\t0")
    train, dev = data.sst2(tmp_path)
    assert train.texts == dev.texts == ["a fine caf\u00e9", "`` no '' \" wit"]
    assert (
        train.labels.dtype == np.int64
        and train.labels.tolist() == [1, 0]
        and "train.tsv" in train.source
    )
    assert (
        len(train) == 2 and train.first(1).texts == train.texts[:1] and train.first(None) is train
    )


def test_path_comes_before_option_before_download_before_reviews(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("path", "option/sst2"):
        write_sst2(tmp_path / name, f"{name}\t1")
    (tmp_path / "net").mkdir()
    with ZipFile(tmp_path / "net" / "SST-2.zip", "w") as archive:
        for name in ("train.tsv", "dev.tsv"):
            archive.writestr(f"SST-2/{name}", "sentence\tlabel\nnet\t0\n")
    monkeypatch.setattr(glue, "download", lambda source: tmp_path / "net")
    with options.override(data_dir=tmp_path / "option"):
        assert [data.sst2(path)[0].texts for path in (tmp_path / "path", None)] == [
            ["path"],
            ["option/sst2"],
        ]
    for folder in (None, tmp_path):  # where WEFT_DATA_DIR has other sets
        with options.override(data_dir=folder):
            assert data.sst2()[1].texts == ["net"]
    monkeypatch.setattr(glue, "download", lambda source: None)
    with options.override(data_dir=None):
        train, dev = data.sst2()
    assert (
        (len(train), len(dev)) == (4000, 500)
        and not set(train.texts) & set(dev.texts)
        and train.source == dev.source
    )
    assert train.source.startswith(
        "embedded grammar of film reviews, in place of SST-2: no download ("
    )
    assert 240 < dev.labels.sum() < 260


def test_a_zipped_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_bytes(gzip.compress(b"sentence\tlabel\r\nfine\t1\r\n"))
    assert data.read_tsv(tmp_path / "x.tsv").texts == ["fine"]


@pytest.mark.parametrize(
    ("contents", "says"),
    [
        (b"", "there is no sentence in it"),
        (b"sentence\tlabel\n", "there is no sentence in it"),
        (
            b"index\tsentence\n0\tx\n",
            r"line 1: expected 'sentence\\tlabel', found 'index\\tsentence'",
        ),
        (
            b"sentence\tlabel\nfine\t1\nfine\n",
            "line 3: expected a sentence, a tab and the label 0 or 1, found 'fine'",
        ),
        (b"sentence\tlabel\nfine\t2\n", "line 2: .* found 'fine"),
        (b"sentence\tlabel\nfine\t1\t0\n", "line 2: "),
        (b"sentence\tlabel\n \t1\n", "line 2: "),
        (b"sentence\tlabel\n\xff\xfe\t1\n", "line 2: not UTF-8 text"),
        (gzip.compress(b"sentence\tlabel\nfine\t1\n")[:-9], "damaged: it cannot be decompressed"),
    ],
    ids=[
        "empty",
        "no-rows",
        "test-file",
        "no-label",
        "label",
        "three",
        "no-text",
        "latin",
        "cut-gzip",
    ],
)
def test_damaged_sentences_say_where(tmp_path: Path, contents: bytes, says: str) -> None:
    path = tmp_path / "train.tsv"
    path.write_bytes(contents)
    with pytest.raises(data.DataError, match=says) as e:
        data.read_tsv(path)
    assert str(path) in str(e.value)


def test_missing_sentences_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        data.DataError, match=r"there is no train\.tsv in it, nor in its subfolder sst2 or SST-2"
    ):
        data.sst2(tmp_path)
    (tmp_path / "train.tsv").write_text("sentence\tlabel\nfine\t1\n")
    with pytest.raises(data.DataError, match=r"dev\.tsv: cannot be read: No such file"):
        data.sst2(tmp_path)
    with pytest.raises(data.DataError, match="No such file"):
        data.read_tsv(tmp_path / "none.tsv")


def test_all_of_sst2_is_read() -> None:
    folder = options.current().data_dir
    if folder is None or not (folder / "sst2").is_dir():
        pytest.skip("no SST-2: WEFT_DATA_DIR names no folder with it")
    train, dev = data.sst2(folder)
    assert (len(train), len(dev)) == (67349, 872) and (
        int(train.labels.sum()),
        int(dev.labels.sum()),
    ) == (37569, 444)


# ---------------------------------------------------------------- batches of similar length


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("rows", [0, 1, 8, 10, 23])
def test_each_row_is_in_one_batch(rows: int, drop_last: bool) -> None:
    sampler = data.BucketBatchSampler(np.arange(rows) % 7, 4, drop_last, pool=2)
    batches = list(sampler)
    found = np.concatenate(batches) if batches else np.zeros(0, np.int64)
    assert len(batches) == len(sampler) and len(set(found.tolist())) == len(found) == (
        rows // 4 * 4 if drop_last else rows
    )
    assert sorted(map(len, batches))[1:] == [4] * (len(batches) - 1)


def test_rows_of_a_batch_have_similar_lengths() -> None:
    lengths = np.random.default_rng(0).integers(1, 50, 1000)
    spread = [np.ptp(lengths[rows]) for rows in data.BucketBatchSampler(lengths, 10, pool=50)]
    assert np.mean(spread) < 3


def test_the_seed_decides_the_batches_of_each_pass() -> None:
    sampler = data.BucketBatchSampler([1, 2, 3, 4, 5, 6], 2)
    passes = []
    for seed in (1, 1, 2):
        wf.manual_seed(seed)
        passes.append([[rows.tolist() for rows in sampler] for _ in range(3)])
    assert passes[0] == passes[1] != passes[2] and passes[0][0] != passes[0][1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([1], 0), "batch_size must be at least 1, not 0"),
        (([1], 1, False, 0), "pool must be at least 1, not 0"),
        ((3, 1), "one number for each row, not 3"),
    ],
)
def test_wrong_arguments_of_the_sampler_are_named(arguments: tuple[object, ...], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        data.BucketBatchSampler(*arguments)  # type: ignore[arg-type]


def test_lengths_are_numbers() -> None:
    with pytest.raises(
        TypeError,
        match=(
            r"BucketBatchSampler: lengths must be a Tensor, an array or a number, not \['a', 'b'\]"
        ),
    ):
        data.BucketBatchSampler(["a", "b"], 1)  # type: ignore[list-item]


# ---------------------------------------------------------------- the embedded reviews


def test_reviews_are_those_of_their_seed_everywhere() -> None:
    found = data.reviews(3, seed=7)
    assert found.texts == [
        "In the end, the plot is never shallow.",
        "The pace is predictable, and the plot is really stale.",
        "My friends adore the camera.",
    ]
    assert found.texts == data.reviews(100, seed=7).first(3).texts != data.reviews(3, seed=8).texts


def test_reviews_differ_and_alternate() -> None:
    found = data.reviews(2000)
    assert len(set(found.texts)) == 2000 and found.labels.tolist() == [1, 0] * 1000
    assert all(
        text[0].isupper() and text.endswith(".") and "  " not in text for text in found.texts
    )


def test_no_symbol_of_the_grammar_is_left() -> None:
    assert not any(
        data.glue.SYMBOL.search(text) or set("+-=|") & set(text) - {"-"}
        for text in data.reviews(2000).texts
    )


def fitted_accuracy(count: int) -> float:
    """Of unseen reviews, by the best linear function of which words are there."""
    found = data.reviews(count)
    rows = [data.tokenize(text) for text in found.texts]
    words = Vocabulary.from_sentences(rows)
    bags = np.zeros((count, len(words)))
    for bag, row in zip(bags, rows, strict=True):
        bag[words.encode(row)] = 1.0
    half, sign = count // 2, found.labels * 2.0 - 1.0
    weights = np.linalg.lstsq(bags[:half], sign[:half], rcond=None)[0]
    return float(np.mean((bags[half:] @ weights > 0) == (sign[half:] > 0)))


@pytest.mark.slow
def test_a_bag_of_words_does_not_tell_praise_from_blame() -> None:
    assert 0.5 < fitted_accuracy(4000) < 0.68


@pytest.mark.parametrize("count", [0, -1, 10**9])
def test_a_wrong_number_of_reviews_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match=r"count must be in 1 \.\. 1,000,000"):
        data.reviews(count)


# ---------------------------------------------------------------- word vectors

VECTORS = "good 1 2\n. 0 3\n. . 5 5\nbad -0.5 1e-1\nfilm 7 8\n"


@pytest.mark.parametrize("zipped", [False, True])
def test_vectors_of_the_vocabulary_are_read(tmp_path: Path, zipped: bool) -> None:
    path = tmp_path / "vectors.txt"
    path.write_bytes(gzip.compress(VECTORS.encode()) if zipped else VECTORS.encode())
    table, found = data.read_glove(path, Vocabulary(["bad", "unheard", "good", "."]))
    assert table.dtype == np.float32 and found.tolist() == [False, False, True, False, True, True]
    np.testing.assert_array_equal(
        table, np.array([[0, 0], [0, 0], [-0.5, 0.1], [0, 0], [1, 2], [0, 3]], np.float32)
    )


@pytest.mark.parametrize(
    ("contents", "says"),
    [
        ("", "there is no word of the vocabulary in it"),
        ("bad 1 2\n", "there is no word of the vocabulary in it"),
        ("2 50\ngood 1 2\n", "line 1: expected a word and its vector, found 1 number after a word"),
        ("bad 1 2\ngood 1\n", "line 2: the vector of 'good' has 1 numbers, not 2 as in line 1"),
        ("bad 1 2\ngood 1 2 3\n", "line 2: the vector of 'good' has 3 numbers, not 2"),
        ("bad 1 2\ngood 1 x\n", "line 2: the vector of 'good' is not made of numbers"),
        ("good 1 nan\n", "line 1: the vector of 'good' has a number that is not finite"),
        ("good 1 1e99\n", "line 1: the vector of 'good' has a number that is not finite"),
    ],
)
def test_damaged_vectors_say_where(tmp_path: Path, contents: str, says: str) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text(contents)
    with pytest.raises(data.DataError, match=says) as e:
        data.read_glove(path, Vocabulary(["good"]))
    assert str(path) in str(e.value)
