"""The training steps of benchmarks/gpu.py. In: a network and batches. Out: for each system a
function that makes one step.

Weft and torch build the same network; jax has its functions, over parameters of the same names. All
begin with the same weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
import weft as wf
from gpu_systems import Jax, Run, System, Torch, Weft
from training import images, lenet5, most

Array = np.ndarray
Step = Callable[[Any, Any], Any]
Model = Callable[[Any, Any, Any, Any], Any]  # of jax.numpy, jax, parameters and x
WORDS, CHARACTERS = 10_000, 96
RATE = 1e-3


@dataclass(frozen=True)
class Training:
    """`model` is given an nn, `jax` is the same; `batch` draws what a step takes; labels are
    classes of the last axis."""

    name: str
    model: Callable[[Any], Any]
    jax: Model
    batch: Callable[[np.random.Generator], tuple[Array, Array]]
    low: bool = False  # in bfloat16 by autocast
    group: str = "training"
    cost: float = 0.0
    precision: str = "float32"
    without: Sequence[str] = ("cupy",)

    def prepare(self) -> Prepared:
        return Prepared(self)


# ---------------------------------------------------------------- networks


def text_cnn(nn: Any) -> Any:
    """Kim's CNN (2014) over tokens (N, 52)."""

    class TextCNN(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(WORDS, 50)
            self.conv3, self.conv4, self.conv5 = (nn.Conv1d(50, 100, width) for width in (3, 4, 5))
            self.output = nn.Linear(100, 2)

        def forward(self, x: Any) -> Any:
            x = self.embedding(x).transpose(1, 2)
            pooled = [most(conv(x).relu()) for conv in (self.conv3, self.conv4, self.conv5)]
            return self.output(pooled[0] + pooled[1] + pooled[2])

    return TextCNN()


def transformer(dim: int, heads: int, layers: int, context: int) -> Callable[[Any], Any]:
    """Of tokens (N, context), normalised before each part."""

    def build(nn: Any) -> Any:
        class Block(nn.Module):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
                self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
                self.inner, self.outer, self.gelu = (
                    nn.Linear(dim, 4 * dim),
                    nn.Linear(4 * dim, dim),
                    nn.GELU(),
                )

            def forward(self, x: Any) -> Any:
                y = self.norm1(x)
                x = x + self.attention(y, y, y, need_weights=False)[0]
                return x + self.outer(self.gelu(self.inner(self.norm2(x))))

        class Transformer(nn.Module):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.token, self.position = (
                    nn.Embedding(CHARACTERS, dim),
                    nn.Embedding(context, dim),
                )
                self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
                self.norm, self.output = nn.LayerNorm(dim), nn.Linear(dim, CHARACTERS)

            def forward(self, x: Any) -> Any:
                return self.output(
                    self.norm(self.blocks(self.token(x) + self.position.weight[:context]))
                )

        return Transformer()

    return build


# ---------------------------------------------------------------- the same in jax


def _linear(p: Any, name: str, x: Any) -> Any:
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def _conv(jax: Any, p: Any, name: str, x: Any, padding: int = 0) -> Any:
    w = p[f"{name}.weight"]
    rank = w.ndim - 2
    out = jax.lax.conv_general_dilated(x, w, (1,) * rank, [(padding, padding)] * rank)
    return out + p[f"{name}.bias"].reshape(-1, *[1] * rank)


def _pool(jax: Any, x: Any) -> Any:
    return jax.lax.reduce_window(x, -np.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def jax_lenet(jnp: Any, jax: Any, p: Any, x: Any) -> Any:
    h = _pool(jax, jax.nn.relu(_conv(jax, p, "0", x, 2)))
    h = _pool(jax, jax.nn.relu(_conv(jax, p, "3", h))).reshape(x.shape[0], -1)
    return _linear(p, "11", jax.nn.relu(_linear(p, "9", jax.nn.relu(_linear(p, "7", h)))))


def jax_text_cnn(jnp: Any, jax: Any, p: Any, x: Any) -> Any:
    h = p["embedding.weight"][x].transpose(0, 2, 1)
    return _linear(
        p, "output", sum(jax.nn.relu(_conv(jax, p, f"conv{k}", h)).max(2) for k in (3, 4, 5))
    )


def jax_transformer(heads: int, layers: int) -> Model:
    def norm(jax: Any, p: Any, name: str, x: Any) -> Any:
        scaled = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
        return scaled * p[f"{name}.weight"] + p[f"{name}.bias"]

    def model(jnp: Any, jax: Any, p: Any, x: Any) -> Any:
        h = p["token.weight"][x] + p["position.weight"]
        for i in range(layers):
            at = f"blocks.{i}"
            y = norm(jax, p, f"{at}.norm1", h)
            packed = y @ p[f"{at}.attention.in_proj_weight"].T + p[f"{at}.attention.in_proj_bias"]
            q, k, v = (
                part.reshape(*part.shape[:2], heads, -1) for part in jnp.split(packed, 3, -1)
            )
            mixed = jax.nn.dot_product_attention(q, k, v).reshape(*h.shape)
            h = h + _linear(p, f"{at}.attention.out_proj", mixed)
            inner = jax.nn.gelu(
                _linear(p, f"{at}.inner", norm(jax, p, f"{at}.norm2", h)), approximate=False
            )
            h = h + _linear(p, f"{at}.outer", inner)
        return _linear(p, "output", norm(jax, p, "norm", h))

    return model


def trainings(small: bool) -> list[Training]:
    def tokens(
        size: int, length: int, words: int, labels: int, every: bool
    ) -> Callable[[np.random.Generator], tuple[Array, Array]]:
        return lambda rng: (
            rng.integers(0, words, (size, length)),
            rng.integers(0, labels, (size, length) if every else size),
        )

    dim, heads, layers, context, size = (16, 2, 1, 8, 2) if small else (384, 6, 6, 256, 64)
    batches = (4,) if small else (64, 1024)
    network, same = transformer(dim, heads, layers, context), jax_transformer(heads, layers)
    characters = tokens(size, context, CHARACTERS, CHARACTERS, True)
    return [
        *(Training(f"LeNet-5, batch {n}", lenet5, jax_lenet, images(n)) for n in batches),
        *(
            Training(f"text CNN, batch {n}", text_cnn, jax_text_cnn, tokens(n, 52, WORDS, 2, False))
            for n in batches
        ),
        Training(
            f"transformer, {layers} x {dim}, batch {size} x {context}", network, same, characters
        ),
        Training(
            f"transformer, bfloat16, {layers} x {dim}, batch {size} x {context}",
            network,
            same,
            characters,
            low=True,
        ),
    ]


# ---------------------------------------------------------------- a step of each system


def weft_step(system: Weft, t: Training, weights: dict[str, Array]) -> Step:
    nn = wf.nn
    model = t.model(nn)
    model.load_state_dict(weights)
    model.to(system.device)
    optimizer = nn.optim.Adam(model.parameters(), lr=RATE)

    def step(x: wf.Tensor, y: wf.Tensor) -> wf.Tensor:
        optimizer.zero_grad()
        with nn.autocast(enabled=t.low):
            scores = model(x)
            loss = nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), y.reshape(-1))
        loss.backward()
        optimizer.step()
        return loss

    return wf.jit(step)  # type: ignore[no-any-return]


def torch_step(system: Torch, t: Training, weights: dict[str, Array]) -> Step:
    torch = system.torch
    model = t.model(torch.nn)
    model.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in weights.items()})
    model.to(system.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, fused=True)

    def loss_of(x: Any, y: Any) -> Any:
        with torch.autocast(system.device, dtype=torch.bfloat16, enabled=t.low):
            scores = model(x)
            return torch.nn.functional.cross_entropy(
                scores.reshape(-1, scores.shape[-1]), y.reshape(-1)
            )

    evaluate = system.compiled(loss_of)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = evaluate(x, y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def jax_step(system: Jax, t: Training, weights: dict[str, Array]) -> Step:
    jax = system.jax
    jnp, tree = jax.numpy, jax.tree_util
    low = jnp.bfloat16 if t.low else jnp.float32

    def loss_of(p: Any, x: Any, y: Any) -> Any:
        p = tree.tree_map(lambda w: w.astype(low), p)
        x = x.astype(low) if x.dtype == jnp.float32 else x
        scores = t.jax(jnp, jax, p, x).astype(jnp.float32)
        picked = jnp.take_along_axis(jax.nn.log_softmax(scores), y[..., None], -1)
        return -picked.mean()

    def update(state: Any, x: Any, y: Any) -> Any:
        p, mean, square, count = state
        loss, g = jax.value_and_grad(loss_of)(p, x, y)
        count = count + 1
        mean = tree.tree_map(lambda m, g: 0.9 * m + 0.1 * g, mean, g)
        square = tree.tree_map(lambda s, g: 0.999 * s + 0.001 * g * g, square, g)
        scale = RATE * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
        small = 1e-8 * jnp.sqrt(1 - 0.999**count)
        p = tree.tree_map(lambda w, m, s: w - scale * m / (jnp.sqrt(s) + small), p, mean, square)
        return (p, mean, square, count), loss

    run = jax.jit(update, donate_argnums=0)
    start = {name: system.put(value) for name, value in weights.items()}
    zeros = [tree.tree_map(jnp.zeros_like, start) for _ in range(2)]
    held = [(start, *zeros, system.put(np.float32(0)))]

    def step(x: Any, y: Any) -> Any:
        held[0], loss = run(held[0], x, y)
        return loss

    return step


def step_of(system: System, t: Training, weights: dict[str, Array]) -> Step:
    """Raises AttributeError for a system that has no networks."""
    match system:
        case Weft():
            return weft_step(system, t, weights)
        case Torch():
            return torch_step(system, t, weights)
        case Jax():
            return jax_step(system, t, weights)
    raise AttributeError(f"{system.name} has no networks")


BATCHES, STEPS = 4, 5  # batches in turns; steps whose losses must agree
TOLERANCE, LOW_TOLERANCE = 2e-3, 3e-2


class Prepared:
    """The first weights and the batches of a network, and the losses of the systems that have
    begun."""

    def __init__(self, t: Training) -> None:
        self.t, rng = t, np.random.default_rng(0)
        wf.manual_seed(0)
        self.weights = {name: value.numpy() for name, value in t.model(wf.nn).state_dict().items()}
        self.batches = [t.batch(rng) for _ in range(BATCHES)]
        self.losses: dict[str, list[float]] = {}

    def start(self, system: System) -> Run:
        """One step, after some that were checked. Raises ArithmeticError."""
        system.precision("float32")
        step = step_of(system, self.t, self.weights)
        batches = cycle([(system.put(x), system.put(y)) for x, y in self.batches])
        found = self.losses[system.name] = [
            float(system.get(step(*next(batches)))) for _ in range(STEPS)
        ]
        name, expected = next(iter(self.losses.items()))
        if not np.allclose(found, expected, rtol=LOW_TOLERANCE if self.t.low else TOLERANCE):
            raise ArithmeticError(f"losses {found}, but those of {name} are {expected}")
        return lambda: step(*next(batches))
