"""Learns to write, one word after the other. In: a text file, or nothing. Out: the loss on held-out
text, and new text.

    python examples/word_lstm.py   # reviews of films that a small grammar writes
    python examples/word_lstm.py --text book.txt --prompt "it was"  # a text of yours

A recurrent language model (Zaremba et al. 2014, Recurrent Neural Network Regularization): the text
runs in --batch streams side by side past layers of long short-term memory. Gradients reach back
over at most --bptt words, the state of the network goes on from there to the next words. The loss
is in nats a word; the perplexity, exp(loss), is the number of equally likely words that would be as
hard to guess. Marks and ends of lines count as words.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import chain
from math import exp

import common
import numpy as np
import weft as wf
from progress import Progress
from weft import nn
from weft.nn import functional as F
from weft.nn.data import Array, DataError, Vocabulary, tokenize

REVIEWS = 4000  # of the text without a file: 59,000 words
HELD_OUT = 0.1  # of the text, at its end
DROPOUT = 0.2
CLIP = 0.25  # the greatest norm of the gradients
FALL = 0.25  # of the rate is left after an epoch that was no better on held-out text
SPECIAL = 2  # numbers of a vocabulary that stand for no word
PROMPT = 2  # words of the text to go on from
END = "\n"  # the word that ends a line

State = tuple[wf.Tensor, wf.Tensor]  # h and c, each (layers, N, hidden)


class WordLSTM(nn.Module):
    """Numbers of words (T, N) -> (scores (T, N, words) of the one after each, the last state)."""

    def __init__(self, words: int, hidden: int, layers: int) -> None:
        self.embedding = nn.Embedding(words, hidden)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.lstm = nn.LSTM(hidden, hidden, layers, dropout=DROPOUT)
        self.dropout = nn.Dropout(DROPOUT)
        self.output = nn.Linear(hidden, words)

    def forward(self, x: wf.Tensor, state: State) -> tuple[wf.Tensor, State]:
        y, state = self.lstm(self.dropout(self.embedding(x)), state)
        return self.output(self.dropout(y)), state

    def first_state(self, streams: int) -> State:
        shape = (self.lstm.num_layers, streams, self.lstm.hidden_size)
        return wf.zeros(*shape), wf.zeros(*shape)


def windows(text: Array, streams: int, length: int) -> list[tuple[Array, Array]]:
    """A text as numbers in streams side by side, cut into (words (length, streams), the word after
    each): a window goes on where the one before it ends."""
    count = (len(text) - 1) // (streams * length)
    size = count * streams * length
    x, y = (
        np.ascontiguousarray(text[i : i + size].reshape(streams, count, length).transpose(1, 2, 0))
        for i in (0, 1)
    )
    return list(zip(x, y, strict=True))


def mean_loss(model: WordLSTM, x: wf.Tensor, y: wf.Tensor, state: State) -> tuple[wf.Tensor, State]:
    scores, (h, c) = model(x, state)
    return F.cross_entropy(scores.flatten(0, 1), y.flatten()), (h.detach(), c.detach())


@wf.jit
def train_step(
    model: WordLSTM, optimizer: nn.optim.SGD, x: wf.Tensor, y: wf.Tensor, state: State
) -> tuple[wf.Tensor, State]:
    optimizer.zero_grad()
    loss, state = mean_loss(model, x, y, state)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), CLIP)
    optimizer.step()
    return loss, state


held_out_loss = wf.jit(mean_loss)


def evaluate(model: WordLSTM, data: Sequence[tuple[Array, Array]]) -> float:
    """The mean loss of a word."""
    total, state = 0.0, model.first_state(data[0][0].shape[1])
    model.eval()
    with wf.no_grad():
        for x, y in data:
            loss, state = held_out_loss(model, x, y, state)
            total += loss.item()
    model.train()
    return total / len(data)


def train_epoch(
    model: WordLSTM,
    optimizer: nn.optim.SGD,
    data: Sequence[tuple[Array, Array]],
    bar: Progress,
) -> float:
    """The mean loss over the windows."""
    total, state = 0.0, model.first_state(data[0][0].shape[1])
    with bar:
        for x, y in data:
            loss, state = train_step(model, optimizer, x, y, state)
            bar.update(1, loss.item())
            total += loss.item()
    return total / len(data)


def draw(scores: wf.Tensor, temperature: float) -> wf.Tensor:
    """A word by its probability, which a low temperature sharpens: the greatest score plus Gumbel
    noise."""
    scores = scores[SPECIAL:] / temperature
    return (scores - (-wf.rand(*scores.shape).log()).log()).argmax() + SPECIAL


@wf.jit(static_argnames="count")
def next_words(model: WordLSTM, prompt: wf.Tensor, count: int, temperature: float) -> wf.Tensor:
    """The numbers of so many words after those of the prompt: one call writes them all."""

    def step(before: tuple[wf.Tensor, State], _: None) -> tuple[tuple[wf.Tensor, State], wf.Tensor]:
        word, state = before
        scores, state = model(word[None, None], state)
        return (draw(scores[0, 0], temperature), state), word

    scores, state = model(prompt[:, None], model.first_state(1))
    return wf.scan(step, (draw(scores[-1, 0], temperature), state), length=count)[1]


def generate(
    model: WordLSTM, vocabulary: Vocabulary, prompt: Sequence[str], count: int, temperature: float
) -> str:
    """The prompt and so many words more."""
    numbers = np.array(vocabulary.encode(prompt))
    model.eval()
    with wf.no_grad():
        new = next_words(model, numbers, count, temperature)
    model.train()
    return joined([*prompt, *vocabulary.decode(new.numpy().tolist())])


def joined(words: Sequence[str]) -> str:
    """Words as lines of text."""
    return "\n".join(line.strip(" ") for line in " ".join(words).split(END))


def read_words(args: argparse.Namespace) -> list[str]:
    """The text to learn. Raises DataError."""
    lines = common.lines(args.text, REVIEWS)
    words = list(chain.from_iterable([*tokenize(line), END] for line in lines))[: args.limit]
    least = int((args.batch * args.bptt + 2) / HELD_OUT)
    if len(words) < least:
        raise DataError(
            f"{len(words):,} words are too few for --batch {args.batch} --bptt {args.bptt}:"
            f" it takes {least:,}"
        )
    return words


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = common.options("Learn to write, one word after the other.", epochs=8)
    counts = {
        "batch": (20, "streams of text side by side"),
        "bptt": (35, "words that gradients reach back over, at most"),
        "hidden": (200, "features of a word and of each layer"),
        "layers": (2, "layers of long short-term memory"),
        "words": (60, "words to write in the end"),
    }
    for name, (default, what) in counts.items():
        parser.add_argument(
            f"--{name}",
            type=common.positive,
            metavar="N",
            default=default,
            help=f"{what} (default: {default})",
        )
    parser.add_argument(
        "--lr",
        type=common.positive_float,
        default=20.0,
        help="rate of SGD at first (default: 20)",
    )
    parser.add_argument(
        "--text",
        metavar="FILE",
        help="what to learn (default: reviews that a small grammar writes)",
    )
    parser.add_argument("--prompt", help="what to go on from (default: the beginning of the text)")
    parser.add_argument(
        "--temperature",
        type=common.positive_float,
        default=0.8,
        help="below 1: safer choices (default: 0.8)",
    )
    parser.add_argument(
        "--limit", type=common.positive, metavar="N", help="use only so many words of the text"
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> float:
    """Trains, reports and writes; returns the loss on the held-out text, in nats a word."""
    args = arguments(argv)
    wf.manual_seed(args.seed)
    try:
        words = read_words(args)
        vocabulary = Vocabulary.from_sentences([words])
        prompt = tokenize(args.prompt or "") or words[:PROMPT]
        common.require_known(prompt, vocabulary)
    except DataError as e:
        common.fail(e)
    numbers, cut = np.array(vocabulary.encode(words)), round(len(words) * (1 - HELD_OUT))
    train, held_out = (
        windows(part, args.batch, args.bptt) for part in (numbers[:cut], numbers[cut:])
    )
    print(
        f"{len(words):,} words, {len(vocabulary) - SPECIAL:,} different ones, from"
        f" {args.text or 'an embedded grammar'}"
    )
    model = WordLSTM(len(vocabulary), args.hidden, args.layers)
    optimizer = nn.optim.SGD(model.parameters(), lr=args.lr)
    schedule = nn.optim.ReduceLROnPlateau(optimizer, factor=FALL, patience=0)
    training = common.Training(
        args, model=model, optimizer=optimizer, schedule=schedule, vocabulary=vocabulary
    )
    for epoch in training:
        title = f"epoch {epoch + 1}/{args.epochs}"
        bar = Progress(title, len(train), "steps", compiled=epoch == training.first)
        loss = train_epoch(model, optimizer, train, bar)
        held_out_loss = evaluate(model, held_out)
        schedule.step(held_out_loss)
        training.end_epoch(loss=loss, held_out_loss=held_out_loss, perplexity=exp(held_out_loss))
        losses = (
            f"loss {loss:.4f}, on held-out text {held_out_loss:.4f}, perplexity"
            f" {exp(held_out_loss):.3f}"
        )
        print(f"{title}: {losses}, {1e3 / bar.rate:.1f} ms a step", flush=True)
    if args.plot:
        losses = {"training": "loss", "held-out text": "held_out_loss"}
        panels = {"loss in nats per word": losses, "perplexity": {"held-out text": "perplexity"}}
        training.curves.plot(args.plot, f"An LSTM on {len(words):,} words", panels)
    print(f"\n{generate(model, vocabulary, prompt, args.words, args.temperature)}\n")
    result = training.curves["held_out_loss"][-1]
    print(f"held-out text: {result:.4f} nats a word, perplexity {exp(result):.3f}")
    return result


if __name__ == "__main__":
    common.run(main)
