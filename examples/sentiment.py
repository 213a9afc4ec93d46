"""Tells praise from blame in film reviews. In: SST-2's files, or nothing. Out: the accuracy on
unseen sentences after each epoch.

    # SST-2 if it can be downloaded, else reviews of a small grammar
    python examples/sentiment.py
    # folder/sst2 holds train.tsv and dev.tsv of GLUE
    WEFT_DATA_DIR=folder python examples/sentiment.py
    # what it makes of a sentence of yours, in the end
    python examples/sentiment.py --classify "warm and funny"

A convolutional network over word vectors (Kim 2014, Convolutional Neural Networks for Sentence
Classification) that starts from random vectors, or with --glove from those of a file. What is
reported is the accuracy after the last epoch.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import common
import numpy as np
import weft as wf
from progress import Progress
from weft import nn
from weft.nn import functional as F
from weft.nn.data import (
    Array,
    BucketBatchSampler,
    DataError,
    DataLoader,
    Dataset,
    Sentences,
    Vocabulary,
    pad_sequences,
    read_glove,
    sst2,
    tokenize,
)

FULL_SET = 20_000  # sentences from which on three epochs are plenty
WINDOWS = (3, 4, 5)  # words that a filter sees
# words of a sentence, as it is read: unknown ones follow up to there, so that the widest window has
# two places; an axis of one element would have a program of its own
SHORTEST, LONGEST = 6, 64
UNKNOWN = 1  # the number of a word that is not in the vocabulary
EVALUATION_BATCH = 218  # a quarter of SST-2's 872 sentences
SMOOTHING = 0.1  # of a label goes to both sides alike: a few words rarely settle a matter
FALL = 0.3  # of the rate is left after 1000 steps, whatever the number of epochs
WORD_DROPOUT = (
    0.1  # of the words count as unknown while training, so that unknown words have a vector too
)


class SentimentCNN(nn.Module):
    """Tokens (N, L), zeros behind each sentence -> scores (N, 2): the strongest answer of each
    filter anywhere in the sentence, and a linear layer."""

    def __init__(self, words: int, dim: int, filters: int) -> None:
        self.embedding = nn.Embedding(words, dim)
        # small: what is learned decides, not the start
        self.embedding.weight.assign(nn.init.uniform((words, dim), -0.1, 0.1))
        self.convolutions = nn.ModuleList(nn.Conv1d(dim, filters, window) for window in WINDOWS)
        self.dropout = nn.Dropout(0.5)
        self.output = nn.Linear(filters * len(WINDOWS), 2)

    def forward(self, tokens: wf.Tensor) -> wf.Tensor:
        x = self.embedding(tokens).transpose(1, 2)  # (N, dim, L)
        # Windows that end behind a sentence do not count: the width of a batch changes no score.
        strongest = [
            (convolution(x).relu() * (tokens[:, None, window - 1 :] != 0)).max(axis=2)
            for convolution, window in zip(self.convolutions, WINDOWS, strict=True)
        ]
        return self.output(self.dropout(wf.concat(strongest, axis=1)))


class Encoded(Dataset):
    """Sentences as numbers of words. A batch is (tokens (n, L), labels (n,)), as wide as its
    longest sentence, of at least SHORTEST words."""

    def __init__(self, sentences: Sentences, vocabulary: Vocabulary) -> None:
        rows = [vocabulary.encode(tokenize(text))[:LONGEST] for text in sentences.texts]
        self.lengths = np.array([max(len(row), SHORTEST) for row in rows])
        rows = [row + [UNKNOWN] * (SHORTEST - len(row)) for row in rows]
        self.tokens, self.labels = pad_sequences(rows, LONGEST), sentences.labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Array, Array]:
        return self.tokens[index], self.labels[index]

    def take_rows(self, rows: Array) -> tuple[Array, Array]:
        width = self.lengths[rows].max()
        return np.ascontiguousarray(self.tokens[rows, :width]), self.labels[rows]


# One program for batches of all lengths
@wf.jit(dynamic={"tokens": {0: "batch", 1: "length"}, "labels": {0: "batch"}})
def train_step(
    model: SentimentCNN, optimizer: nn.optim.Adam, tokens: wf.Tensor, labels: wf.Tensor
) -> wf.Tensor:
    dropped = (wf.rand(*tokens.shape) < WORD_DROPOUT) & (tokens != 0)
    optimizer.zero_grad()
    loss = F.cross_entropy(
        model(wf.where(dropped, UNKNOWN, tokens)), labels, label_smoothing=SMOOTHING
    )
    loss.backward()
    optimizer.step()
    return loss


@wf.jit(dynamic={"tokens": {0: "batch", 1: "length"}})
def scores(model: SentimentCNN, tokens: wf.Tensor) -> wf.Tensor:
    """The probability of praise."""
    return F.softmax(model(tokens), axis=1)[:, 1]


def accuracy(model: SentimentCNN, data: Encoded) -> float:
    """The share of sentences that the model judges rightly."""
    model.eval()
    with wf.no_grad():
        right = sum(
            int(((scores(model, tokens).cpu().numpy() > 0.5) == labels.cpu().numpy()).sum())
            for tokens, labels in DataLoader(data, EVALUATION_BATCH)
        )
    model.train()
    return right / len(data)


def train_epoch(
    model: SentimentCNN,
    optimizer: nn.optim.Adam,
    schedule: nn.optim.ExponentialLR,
    data: DataLoader,
    bar: Progress,
) -> float:
    """The mean loss over the batches."""
    total, seen = 0.0, 0
    with bar:
        for tokens, labels in data:
            loss = train_step(model, optimizer, tokens, labels).item()
            schedule.step()  # a new rate compiles nothing
            bar.update(len(labels), loss)
            total, seen = total + loss * len(labels), seen + len(labels)
    return total / seen


def verdict(model: SentimentCNN, vocabulary: Vocabulary, text: str) -> str:
    """What the model makes of a text."""
    tokens, _ = Encoded(Sentences([text], np.zeros(1, np.int64), "the user"), vocabulary).take_rows(
        np.zeros(1, np.int64)
    )
    with wf.no_grad():
        praise = scores(model.eval(), wf.tensor(tokens)).item()
    return (
        f"{text!r}: {'praise' if praise > 0.5 else 'blame'} ({100 * max(praise, 1 - praise):.0f} %"
        " sure)"
    )


def set_vectors(model: SentimentCNN, vocabulary: Vocabulary, path: str) -> int:
    """Takes the vectors of a file where it has some; the number of words that it has."""
    vectors, known = read_glove(path, vocabulary)
    start = model.embedding.weight.cpu().numpy()
    if vectors.shape != start.shape:
        raise DataError(
            f"{path}: the vectors have {vectors.shape[1]} numbers, the model has {start.shape[1]}:"
            " use --dim"
        )
    model.embedding.weight.assign(wf.tensor(np.where(known[:, None], vectors, start)))
    return int(known.sum())


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = common.options(
        "Tell praise from blame in film reviews.", epochs="3 for SST-2, 10 for the embedded reviews"
    )
    parser.add_argument(
        "--batch-size",
        type=common.positive,
        metavar="N",
        default=64,
        help="sentences per step (default: 64)",
    )
    parser.add_argument(
        "--lr",
        type=common.positive_float,
        default=2e-3,
        help="rate of Adam at first (default: 0.002), falling",
    )
    parser.add_argument(
        "--dim",
        type=common.positive,
        metavar="N",
        default=50,
        help="numbers of a word's vector (default: 50)",
    )
    parser.add_argument(
        "--filters",
        type=common.positive,
        metavar="N",
        default=100,
        help="filters of each width (default: 100)",
    )
    parser.add_argument(
        "--glove",
        metavar="FILE",
        help="start from the word vectors of this file, in GloVe's text format",
    )
    parser.add_argument(
        "--data",
        metavar="FOLDER",
        help="folder of SST-2 (or WEFT_DATA_DIR, a download, embedded reviews)",
    )
    parser.add_argument(
        "--limit",
        type=common.positive,
        metavar="N",
        help="use only so many training and dev sentences",
    )
    parser.add_argument(
        "--classify",
        metavar="TEXT",
        action="append",
        default=[],
        help="in the end, judge this sentence",
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> float:
    """Trains and reports; returns the dev accuracy after the last epoch."""
    args = arguments(argv)
    wf.manual_seed(args.seed)
    try:
        train_set, dev_set = (part.first(args.limit) for part in sst2(args.data))
        vocabulary = Vocabulary.from_sentences(map(tokenize, train_set.texts))
        model = SentimentCNN(len(vocabulary), args.dim, args.filters)
        known = set_vectors(model, vocabulary, args.glove) if args.glove else 0
    except DataError as e:
        common.fail(e)
    train, dev = Encoded(train_set, vocabulary), Encoded(dev_set, vocabulary)
    print(f"{len(train):,} training and {len(dev):,} dev sentences from {train_set.source}")
    print(f"{len(vocabulary):,} words, {known:,} of them with given vectors", flush=True)
    args.epochs = args.epochs or (3 if len(train) >= FULL_SET else 10)
    sampler = BucketBatchSampler(train.lengths, min(args.batch_size, len(train)))
    data = DataLoader(train, batch_sampler=sampler)
    optimizer = nn.optim.Adam(model.parameters(), lr=args.lr)
    schedule = nn.optim.ExponentialLR(optimizer, FALL ** (1 / 1000))
    training = common.Training(
        args, model=model, optimizer=optimizer, schedule=schedule, vocabulary=vocabulary
    )
    for epoch in training:
        title = f"epoch {epoch + 1}/{args.epochs}"
        bar = Progress(title, len(train), "sentences", compiled=epoch == training.first)
        loss = train_epoch(model, optimizer, schedule, data, bar)
        result = accuracy(model, dev)
        training.end_epoch(loss=loss, dev_accuracy=result)
        print(
            f"{title}: loss {loss:.4f}, dev accuracy {100 * result:.2f} %, {bar.pace}", flush=True
        )
    if args.plot:
        panels = {"loss": {"training": "loss"}, "accuracy": {"dev": "dev_accuracy"}}
        training.curves.plot(args.plot, f"Praise and blame in {len(train):,} sentences", panels)
    for text in args.classify:
        print(verdict(model, vocabulary, text))
    result = training.curves["dev_accuracy"][-1]
    print(f"dev accuracy: {100 * result:.2f} %")
    return result


if __name__ == "__main__":
    common.run(main)
