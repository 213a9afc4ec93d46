"""Layers, losses, functions and training steps as users write them, of inputs of any size. In: a
name. Out: sizes, and results and gradients at these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import weft as wf
from weft import nn
from weft.nn import functional as F

SIZES = ((5, 9), (12, 20), (7, 31), (33, 48), (64, 17), (20, 65))
Case = Callable[[int, int], list[wf.Tensor]]


class Call:
    """`sizes` are two extents."""

    def __init__(self, name: str, device: str = "cpu") -> None:
        self.name, self.device = name, device

    def sizes(self) -> list[tuple[int, ...]]:
        """The same for all."""
        return list(SIZES)

    def at(self, sizes: Sequence[int]) -> list[wf.Tensor]:
        """The results."""
        wf.manual_seed(3)
        first, second = sizes
        return CASES[self.name](first, second)


def floats(*shape: int) -> wf.Tensor:
    values = np.random.default_rng(shape).standard_normal(shape).astype(np.float32)
    return wf.tensor(values).realize()


def labels(*shape: int) -> wf.Tensor:
    return wf.tensor(np.random.default_rng(shape).integers(0, 7, shape)).realize()


def with_slopes(f: Callable[..., wf.Tensor], *xs: wf.Tensor, more: Any = ()) -> list[wf.Tensor]:
    """The value, and half the slopes of its square."""
    leaves = [x.requires_grad_() for x in xs]
    y = f(*leaves)
    found = wf.grad((y * y * 0.5).sum(), [*leaves, *more], allow_unused=True)
    return [y, *(g for g in found if g is not None)]


def layer(make: Callable[[], Any], *shape: int | str) -> Case:
    """A layer over an input of this shape, in which `b` and `n` vary."""

    def case(b: int, n: int) -> list[wf.Tensor]:
        made = make()
        extents = [{"b": b, "n": n}.get(d, d) for d in shape]

        def first(x: wf.Tensor) -> wf.Tensor:
            y = made(x)
            return y[0] if isinstance(y, tuple) else y

        return with_slopes(first, floats(*extents), more=[*made.parameters()])  # type: ignore[arg-type]

    return case


def loss(f: Callable[[wf.Tensor, wf.Tensor], wf.Tensor], of: Any = labels) -> Case:
    """A loss of rows of seven, by their number alone and by that of places in a sequence."""

    def case(b: int, n: int) -> list[wf.Tensor]:
        def total(x: wf.Tensor, z: wf.Tensor) -> wf.Tensor:
            return f(x, of(*_given(x, of))) + f(z, of(*_given(z, of)))

        return with_slopes(lambda x, z: total(x, z.reshape(-1, 7)), floats(b, 7), floats(b, n, 7))

    return case


def _given(x: wf.Tensor, of: Any) -> tuple[int, ...]:
    return x.shape if of is floats else x.shape[:1]


def matrix(f: Callable[[wf.Tensor], wf.Tensor]) -> Case:
    return lambda b, n: with_slopes(f, floats(b, n))


def values(f: Callable[[wf.Tensor], wf.Tensor]) -> Case:
    """Without slopes."""
    return lambda b, n: [f(floats(b, n))]


def trained(make: Callable[[], Any], x: Callable[..., wf.Tensor], *shape: int | str) -> Case:
    """Two steps of Adam."""

    def case(b: int, n: int) -> list[wf.Tensor]:
        made = make()
        optimizer = nn.optim.Adam(made.parameters(), lr=1e-2)
        extents: Any = [{"b": b, "n": n}.get(d, d) for d in shape]
        for _ in range(2):
            optimizer.zero_grad()
            y = made(x(*extents))
            F.cross_entropy(y, labels(len(y))).backward()
            optimizer.step()
        return [p.detach() for p in made.parameters()]

    return case


class Tagger(nn.Module):
    """A label for each word."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.states = nn.Embedding(7, 8), nn.LSTM(8, 12, batch_first=True)
        self.out = nn.Linear(12, 7)

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        return self.out(self.states(self.words(x))[0]).reshape(-1, 7)


def perceptron() -> nn.Module:
    return nn.Sequential(
        nn.Linear(20, 32), nn.BatchNorm1d(32), nn.GELU(), nn.Dropout(0.2), nn.Linear(32, 10)
    )


def convolutional() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)),
    )


def attention(b: int, n: int) -> list[wf.Tensor]:
    """Of which each sentence has a length of its own."""
    made = nn.MultiheadAttention(16, 4, batch_first=True)
    padding = wf.arange(n)[None] > wf.arange(b)[:, None] % n
    return with_slopes(
        lambda x: made(x, x, x, key_padding_mask=padding)[0],
        floats(b, n, 16),
        more=[*made.parameters()],
    )


def turned(x: wf.Tensor) -> wf.Tensor:
    """Rotary positions."""
    angles = wf.arange(x.shape[1], dtype=wf.float32)[:, None] * wf.exp(-wf.arange(4) * 1.0)
    a, b, cos, sin = x[..., :4], x[..., 4:], angles.cos(), angles.sin()
    return wf.concat([a * cos - b * sin, b * cos + a * sin], -1)


def contrasted(x: wf.Tensor, y: wf.Tensor) -> wf.Tensor:
    """The loss of CLIP: each row of one belongs to the same one of the other."""
    scores = F.normalize(x) @ F.normalize(y).T / 0.1
    own = wf.arange(len(x))
    return F.cross_entropy(scores, own) + F.cross_entropy(scores.T, own)


def linear_attention(q: wf.Tensor, k: wf.Tensor, v: wf.Tensor) -> wf.Tensor:
    """Causal."""
    return wf.einsum("bnd,bnde->bne", q, (k[..., None] * v[..., None, :]).cumsum(1))


def clustered(b: int, n: int) -> list[wf.Tensor]:
    """Three turns of k-means."""
    points, centres = floats(b + n, 3), floats(5, 3)
    for _ in range(3):
        own = F.one_hot(wf.cdist(points, centres).argmin(1), 5).float()
        centres = (own.T @ points) / (own.sum(0)[:, None] + 1e-3)
    return [centres]


def aligned(b: int, n: int) -> list[wf.Tensor]:
    def total(x: wf.Tensor) -> wf.Tensor:
        ends = wf.full((b,), n), wf.full((b,), 2)
        return F.ctc_loss(x.log_softmax(-1), labels(b, 3) + 1, *ends)

    return with_slopes(total, floats(n, b, 9))


CASES: dict[str, Case] = {
    "batch norm": layer(lambda: nn.BatchNorm1d(6), "b", 6, "n"),
    "group norm": layer(lambda: nn.GroupNorm(2, 8), "b", 8, "n", 10),
    "instance norm": layer(lambda: nn.InstanceNorm2d(4), "b", 4, "n", 10),
    "layer norm": lambda b, n: with_slopes(lambda x: F.layer_norm(x, (n,)), floats(b, n)),
    "norm of lines": layer(lambda: nn.InstanceNorm1d(5, affine=True), "b", 5, "n"),
    "grouped convolution": layer(lambda: nn.Conv1d(4, 8, 3, padding=1, groups=2), "b", 4, "n"),
    "dilated convolution": layer(lambda: nn.Conv1d(4, 8, 3, padding=2, dilation=2), "b", 4, "n"),
    "depthwise convolution": layer(lambda: nn.Conv2d(8, 8, 3, groups=8), "b", 8, "n", 10),
    "transposed convolution": layer(lambda: nn.ConvTranspose1d(4, 8, 3, stride=2), "b", 4, "n"),
    "volumes": layer(lambda: nn.Conv3d(2, 4, 3, padding=1), "b", 2, "n", 5, 6),
    "adaptive pool": layer(lambda: nn.AdaptiveAvgPool2d((3, 3)), "b", 4, "n", 10),
    "recurrent network": layer(lambda: nn.RNN(8, 12), "n", "b", 8),
    "both ways": layer(lambda: nn.GRU(8, 12, bidirectional=True), "n", "b", 8),
    "attention to what is there": attention,
    "encoder layer": layer(
        lambda: nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True), "b", "n", 16
    ),
    "linear attention": lambda b, n: with_slopes(
        linear_attention, floats(b, n, 4), floats(b, n, 4), floats(b, n, 4)
    ),
    "dropout": layer(lambda: nn.Dropout2d(0.3), "b", 4, "n", 10),
    "parametric relu": layer(lambda: nn.PReLU(4), "b", 4, "n"),
    "upsampled": layer(lambda: nn.Upsample(scale_factor=2, mode="bilinear"), "b", 3, "n", 10),
    "reflected": layer(lambda: nn.ReflectionPad1d(2), "b", 3, "n"),
    "patches": layer(lambda: nn.Unfold(3, padding=1), "b", 3, "n", 10),
    "shuffled pixels": layer(lambda: nn.PixelShuffle(2), "b", 4, "n", 10),
    "bags": lambda b, n: with_slopes(lambda w: F.embedding_bag(labels(b, n), w), floats(9, 12)),
    "cross entropy": loss(F.cross_entropy),
    "smoothed labels": loss(lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1)),
    "ignored labels": loss(lambda x, t: F.cross_entropy(x, t, ignore_index=3)),
    "margins": loss(F.multi_margin_loss),
    "divergence": loss(lambda x, t: F.kl_div(x.log_softmax(-1), t.softmax(-1)), floats),
    "gumbel": loss(lambda x, t: F.gumbel_softmax(x).sum()),
    "alignments": aligned,
    "contrasts": lambda b, n: with_slopes(contrasted, floats(b, n), floats(b, n)),
    "triplets": lambda b, n: with_slopes(F.triplet_margin_loss, *(floats(b, n) for _ in range(3))),
    "clusters": clustered,
    **{f"{f.__name__} over {axis}": matrix(lambda x, f=f, axis=axis: f(x * 0.1 + 1, axis))
       for f in (wf.prod, wf.std, wf.logsumexp, wf.cumprod, wf.cumsum, wf.sort, wf.diff)
       for axis in (0, 1)},
    "median": values(lambda x: wf.median(x, 1)),
    "greatest": values(lambda x: wf.topk(x, 2, 0)[0]),
    "quantile": values(lambda x: wf.quantile(x, 0.3, 1)),
    "positive": values(lambda x: x[x > 0]),
    "histogram": values(lambda x: wf.histogram(x, 7)[0]),
    "found": values(lambda x: wf.searchsorted(wf.sort(x[0]), x.reshape(-1))),
    "distances": lambda b, n: [wf.cdist(floats(b, 3), floats(n, 3))],
    "lower triangle": matrix(wf.tril),
    "diagonal": matrix(wf.diagonal),
    "on a diagonal": lambda b, n: with_slopes(wf.diag, floats(n)),
    "Kronecker product": lambda b, n: with_slopes(wf.kron, floats(b, 3), floats(2, n)),
    "halves": matrix(lambda x: wf.concat([-x[:, x.shape[1] // 2 :], x[:, : x.shape[1] // 2]], 1)),
    "every second": matrix(lambda x: x[:, ::2].tanh()),
    "backwards": matrix(lambda x: x[:, ::-1].cumsum(1)),
    "rolled": matrix(lambda x: wf.roll(x, 2, 1)),
    "rotary positions": lambda b, n: with_slopes(turned, floats(b, n, 8)),
    "taken along": matrix(lambda x: wf.take_along_axis(x, wf.argsort(x, 1), 1)),
    "three factors": lambda b, n: with_slopes(lambda x: x @ x @ x, floats(n, n)),
    "both Gram matrices": matrix(lambda x: (x @ x.mT).sum(0) @ x + (x.mT @ x).sum(0)),
    "einsum": lambda b, n: with_slopes(
        lambda x, y: wf.einsum("bnd,bmd->nm", x, y), floats(b, n, 4), floats(b, n, 4)
    ),
    "half precision": matrix(lambda x: (x.bfloat16() @ x.bfloat16().mT).float()),
    "cholesky": lambda b, n: [wf.linalg.cholesky(floats(n, n) @ floats(n, n).mT + wf.eye(n))],
    "small inverses": lambda b, n: [wf.linalg.inv(floats(b, 4, 4) + 5 * wf.eye(4))],
    "Jacobian": lambda b, n: [wf.jacrev(lambda v: (v * v).tanh().cumsum(0))(floats(n))],
    "mapped": matrix(wf.vmap(lambda r: (r * r.softmax(-1)).sum())),
    "drawn": lambda b, n: [wf.randn(b, n) * 2, wf.randint(0, 9, (b, n)) * 3, wf.randperm(n) * 1],
    "a perceptron": trained(perceptron, floats, "b", 20),
    "a convolutional network": trained(convolutional, floats, "b", 1, "n", 14),
    "a tagger": trained(Tagger, labels, "b", "n"),
}  # fmt: skip
