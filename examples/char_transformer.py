"""Learns to write, one character after the other. In: a text file, or nothing. Out: the loss on
held-out text, and new text.

    python examples/char_transformer.py   # reviews of films that a small grammar writes
    python examples/char_transformer.py --text book.txt --prompt "It was "  # a text of yours

A decoder-only transformer (Vaswani et al. 2017, normalised before each part as by Radford et al.
2019): each character is guessed from at most --context before it. The loss is in nats a character;
the perplexity, exp(loss), is the number of equally likely characters that would be as hard to
guess.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from math import cos, exp, pi

import common
import numpy as np
import weft as wf
from progress import Progress
from weft import nn
from weft.nn import functional as F
from weft.nn.data import Array, DataError, DataLoader, Dataset, Vocabulary

REVIEWS = 4000  # of the text without a file: 240,000 characters
HELD_OUT = 0.1  # of the text, at its end
WARM_UP = 100  # steps in which the rate rises before it falls along a cosine
DROPOUT = 0.1
SPECIAL = 2  # numbers of a vocabulary that stand for no character
PROMPT = 10  # characters of the text to go on from


class Block(nn.Module):
    """(N, L, dim) -> the same: every place adds what it finds at itself and before, then what two
    layers make of it."""

    def __init__(self, dim: int, heads: int) -> None:
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.layers = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        y = self.norm1(x)
        attended, _ = self.attention(y, y, y, need_weights=False, is_causal=True)
        x = x + self.dropout(attended)
        return x + self.dropout(self.layers(self.norm2(x)))

    def step(self, x: wf.Tensor, cache: nn.KVCache) -> tuple[wf.Tensor, nn.KVCache]:
        """The same of the next place alone, (N, dim)."""
        attended, cache = self.attention.step(self.norm1(x), cache)
        x = x + attended
        return x + self.layers(self.norm2(x)), cache


class CharTransformer(nn.Module):
    """Numbers of characters (N, L) -> scores (N, L, characters) of the one after each."""

    def __init__(self, characters: int, context: int, dim: int, heads: int, layers: int) -> None:
        self.token, self.position = nn.Embedding(characters, dim), nn.Embedding(context, dim)
        for table in (self.token, self.position):
            nn.init.normal_(table.weight, std=0.02)
        self.blocks = nn.Sequential(*(Block(dim, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(dim)
        self.output = nn.Linear(dim, characters)

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        x = self.token(x) + self.position.weight[: x.shape[1]]
        return self.output(self.norm(self.blocks(x)))

    def new_cache(self, batch: int) -> list[nn.KVCache]:
        """For `step`, one of each block."""
        places = self.position.num_embeddings
        return [block.attention.new_cache(batch, places) for block in self.blocks]

    def step(self, token: wf.Tensor, cache: list[nn.KVCache]) -> tuple[wf.Tensor, list[nn.KVCache]]:
        """The scores after the next character (N,) of each text: all before it are in the cache."""
        x = self.token(token) + self.position.weight[cache[0].used]
        after = []
        for block, before in zip(self.blocks, cache, strict=True):
            x, new = block.step(x, before)
            after.append(new)
        return self.output(self.norm(x)), after


class Windows(Dataset):
    """Pieces of a text as numbers. An item is (characters (context,), the character after each
    (context,))."""

    def __init__(self, text: Array, context: int) -> None:
        count = (len(text) - 1) // context
        self.x, self.y = (text[i : i + count * context].reshape(count, context) for i in (0, 1))

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> tuple[Array, Array]:
        return self.x[index], self.y[index]

    def take_rows(self, rows: Array) -> tuple[Array, Array]:
        return self.x[rows], self.y[rows]


def mean_loss(model: CharTransformer, x: wf.Tensor, y: wf.Tensor) -> wf.Tensor:
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


@wf.jit(dynamic={"x": {0: "batch"}, "y": {0: "batch"}})  # one program for the last batch, too
def train_step(
    model: CharTransformer, optimizer: nn.optim.AdamW, x: wf.Tensor, y: wf.Tensor
) -> wf.Tensor:
    optimizer.zero_grad()
    loss = mean_loss(model, x, y)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss


held_out_loss = wf.jit(mean_loss)


def evaluate(model: CharTransformer, data: DataLoader) -> float:
    """The mean loss of a character."""
    model.eval()
    with wf.no_grad():
        total = sum(held_out_loss(model, x, y).item() * len(x) for x, y in data)
    model.train()
    return total / len(data.dataset)


def rate(step: int, decay: int) -> float:
    """The part of the highest rate that a step has, whatever the number of epochs: a tenth from
    step `decay` on."""
    fallen = min(1.0, max(0, step - WARM_UP) / max(1, decay - WARM_UP))
    return min(1.0, (step + 1) / WARM_UP) * (0.55 + 0.45 * cos(pi * fallen))


def train_epoch(
    model: CharTransformer,
    optimizer: nn.optim.AdamW,
    schedule: nn.optim.LambdaLR,
    data: DataLoader,
    bar: Progress,
) -> float:
    """The mean loss of a character."""
    total = 0.0
    with bar:
        for x, y in data:
            loss = train_step(model, optimizer, x, y).item()
            schedule.step()
            bar.update(1, loss)
            total += loss * len(x)
    return total / len(data.dataset)


@wf.jit
def written(
    model: CharTransformer, window: wf.Tensor, known: wf.Tensor, temperature: float
) -> wf.Tensor:
    """A window (1, context) of which so many characters are known, and the others drawn: one call
    of the program, which keeps what attention has seen."""

    def step(token: wf.Tensor, cache: list[nn.KVCache]) -> tuple[wf.Tensor, list[nn.KVCache]]:
        scores, cache = model.step(token, cache)
        return wf.where(wf.arange(scores.shape[1]) < SPECIAL, -wf.inf, scores), cache

    return nn.generate(step, model.new_cache(1), window, known, temperature)[0]


def generate(
    model: CharTransformer, vocabulary: Vocabulary, prompt: str, length: int, temperature: float
) -> str:
    """The prompt and so many characters more. When a window is full, its second half begins the
    next one."""
    context = model.position.num_embeddings
    numbers = vocabulary.encode(list(prompt))
    wanted = len(numbers) + length
    model.eval()
    with wf.no_grad():
        while len(numbers) < wanted:
            seen = numbers[-max(1, context // 2) :]
            window = nn.data.pad_sequences([seen], context)
            drawn = written(model, window, np.int64(len(seen)), temperature).numpy()[0]
            numbers += drawn[len(seen) :].tolist()
    model.train()
    return "".join(vocabulary.decode(numbers[:wanted]))


def read_text(args: argparse.Namespace) -> str:
    """The text to learn. Raises DataError."""
    text = "\n".join(common.lines(args.text, REVIEWS))[: args.limit]
    least = int((args.context + 2) / HELD_OUT)
    if len(text) < least:
        raise DataError(
            f"{len(text):,} characters are too few for --context {args.context}: it takes {least:,}"
        )
    return text


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = common.options("Learn to write, one character after the other.", epochs=10)
    counts = {
        "batch-size": (32, "pieces of text per step"),
        "context": (64, "characters that one is guessed from, at most"),
        "dim": (64, "features of a character"),
        "heads": (4, "of each attention"),
        "layers": (2, "blocks of attention and two layers"),
        "decay": (1000, "steps until the rate has fallen to a tenth"),
        "length": (300, "characters to write in the end"),
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
        default=3e-3,
        help="highest rate of AdamW (default: 0.003)",
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
        "--limit", type=common.positive, metavar="N", help="use only so many characters of the text"
    )
    args = parser.parse_args(argv)
    if args.dim % args.heads:
        parser.error(f"--heads {args.heads} does not divide --dim {args.dim}")
    return args


def main(argv: Sequence[str] | None = None) -> float:
    """Trains, reports and writes; returns the loss on the held-out text, in nats a character."""
    args = arguments(argv)
    wf.manual_seed(args.seed)
    try:
        text = read_text(args)
        vocabulary = Vocabulary.from_sentences([list(text)])
        prompt = args.prompt or text[:PROMPT]
        common.require_known(prompt, vocabulary)
    except DataError as e:
        common.fail(e)
    numbers, cut = np.array(vocabulary.encode(list(text))), round(len(text) * (1 - HELD_OUT))
    train, held_out = Windows(numbers[:cut], args.context), Windows(numbers[cut:], args.context)
    print(
        f"{len(text):,} characters, {len(vocabulary) - SPECIAL} different ones, from"
        f" {args.text or 'an embedded grammar'}"
    )
    model = CharTransformer(len(vocabulary), args.context, args.dim, args.heads, args.layers)
    data = DataLoader(train, args.batch_size, shuffle=True)
    optimizer = nn.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.1)
    schedule = nn.optim.LambdaLR(optimizer, lambda step: rate(step, args.decay))
    training = common.Training(
        args, model=model, optimizer=optimizer, schedule=schedule, vocabulary=vocabulary
    )
    for epoch in training:
        title = f"epoch {epoch + 1}/{args.epochs}"
        bar = Progress(title, len(data), "steps", compiled=epoch == training.first)
        loss = train_epoch(model, optimizer, schedule, data, bar)
        held_out_loss = evaluate(model, DataLoader(held_out, args.batch_size))
        training.end_epoch(loss=loss, held_out_loss=held_out_loss, perplexity=exp(held_out_loss))
        losses = (
            f"loss {loss:.4f}, on held-out text {held_out_loss:.4f}, perplexity"
            f" {exp(held_out_loss):.3f}"
        )
        print(f"{title}: {losses}, {1e3 / bar.rate:.1f} ms a step", flush=True)
    if args.plot:
        losses = {"training": "loss", "held-out text": "held_out_loss"}
        panels = {
            "loss in nats per character": losses,
            "perplexity": {"held-out text": "perplexity"},
        }
        training.curves.plot(args.plot, f"A transformer on {len(text):,} characters", panels)
    print(f"\n{generate(model, vocabulary, prompt, args.length, args.temperature)}\n")
    result = training.curves["held_out_loss"][-1]
    print(f"held-out text: {result:.4f} nats a character, perplexity {exp(result):.3f}")
    return result


if __name__ == "__main__":
    common.run(main)
