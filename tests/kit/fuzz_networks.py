"""Random networks trained for two steps. In: a source of choices. Out: lazy, jitted and interpreted
steps, compared.

`python tests/kit/fuzz_networks.py 200` (optionally a first seed) trains so many networks and prints
those whose steps differ.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import weft as wf
from harness import FORCED, assert_same_bits
from weft import nn, options
from weft.frontend.lazy import program_table
from weft.nn import functional as F

Array = np.ndarray[Any, Any]
Choose = Callable[[int], int]  # n -> one of 0 .. n-1
Results = dict[str, Array]

TOLERANCES = {
    "float32": 2e-3,
    "float64": 1e-9,
}  # of the largest value: sums of other orders, behind two steps
MOST = 4000  # elements between two layers


class Residual(nn.Module):
    """How the values before some layers meet those behind them."""

    def __init__(self, layers: nn.Sequential, how: str) -> None:
        self.layers, self.how = layers, how

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        y = self.layers(x)
        return (
            wf.concat([x, y], axis=1)
            if self.how == "join"
            else x * y.sigmoid()
            if self.how == "gate"
            else x + y
        )


class Attended(nn.Module):
    """Self-attention over axis 1."""

    def __init__(self, features: int, heads: int) -> None:
        self.attention = nn.MultiheadAttention(features, heads, batch_first=True)

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        return self.attention(x, x, x, need_weights=False, is_causal=True)[0]  # type: ignore[no-any-return]


class Swapped(nn.Module):
    """The features of an image, or of a line, as the last axis of rows."""

    def forward(self, x: wf.Tensor) -> wf.Tensor:
        return x.flatten(2).transpose(1, 2)


ACTIVATIONS = (
    nn.ReLU,
    nn.GELU,
    nn.SiLU,
    nn.Tanh,
    nn.Mish,
    nn.ELU,
    nn.PReLU,
    nn.Hardswish,
    nn.LeakyReLU,
    nn.Softplus,
    nn.Softmax,
)


def any_layer(choose: Choose, shape: tuple[int, ...], depth: int) -> nn.Module:
    """A layer for Tensors of a shape, which may refuse them."""
    c, last, spatial = shape[1], shape[-1], len(shape) - 2
    k, s, p = 1 + choose(3), 1 + choose(2), choose(2)
    norms: list[Callable[[], nn.Module]] = [
        lambda: nn.LayerNorm(last),
        lambda: nn.RMSNorm(last),
        lambda: nn.LayerNorm(shape[1:]),
    ]
    makes: list[Callable[[], nn.Module]] = [
        ACTIVATIONS[choose(len(ACTIVATIONS))],
        lambda: nn.Linear(last, 1 + choose(20)),
    ]
    if depth < 2:
        makes.append(
            lambda: Residual(
                stack(choose, shape, 1 + choose(2), depth + 1)[0],
                ("add", "gate", "join")[choose(3)],
            )
        )
    if spatial:
        rank, groups = f"{spatial}d", (1, 1, c)[choose(3)]
        conv, unconv = getattr(nn, f"Conv{rank}"), getattr(nn, f"ConvTranspose{rank}")
        pools = [
            getattr(nn, name + rank)
            for name in ("MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool")
        ]
        makes += 3 * [lambda: conv(c, groups * (1 + choose(8)), k, s, p, 1 + choose(2), groups)]
        makes += [
            lambda: unconv(c, 1 + choose(5), k, s, choose(2)),
            lambda: pools[choose(4)](1 + choose(3)),
            Swapped,
        ]
        makes.append(
            lambda: nn.Upsample(
                scale_factor=2,
                mode=("nearest", "linear" if spatial == 1 else "bilinear")[choose(2)],
            )
        )
        norms += [
            lambda: nn.GroupNorm(1, c),
            *(lambda n=n: getattr(nn, n + rank)(c) for n in ("BatchNorm", "InstanceNorm")),
        ]
    if spatial == 1:
        makes += 2 * [lambda: Attended(last, 1)]
        makes.append(
            lambda: nn.TransformerEncoderLayer(
                last, 1, 8, 0.0, "gelu", batch_first=True, norm_first=choose(2) > 0
            )
        )
    makes.append(norms[choose(len(norms))])
    return makes[choose(len(makes))]()


def stack(
    choose: Choose, shape: tuple[int, ...], count: int, depth: int = 0
) -> tuple[nn.Sequential, tuple[int, ...]]:
    """So many layers that take one another's shapes, and the last shape. Lazily, shapes cost
    nothing."""
    layers: list[nn.Module] = []
    while len(layers) < count:
        try:
            layer = any_layer(choose, shape, depth)
            out = layer(wf.zeros(*shape)).shape
        except wf.errors.WeftError:
            continue
        if 0 < np.prod(out) <= MOST and (depth == 0 or len(out) == len(shape)):
            layers.append(layer)
            shape = out
    return nn.Sequential(*layers), shape


def optimizer_of(choose: Choose, model: nn.Module) -> nn.optim.Optimizer:
    settings: list[tuple[Callable[..., nn.optim.Optimizer], dict[str, Any]]] = [
        (nn.optim.SGD, {"momentum": 0.9}),
        (nn.optim.Adam, {"eps": 0.01}),
        (nn.optim.AdamW, {"eps": 0.01, "amsgrad": True}),
        (nn.optim.RMSprop, {"eps": 0.01, "momentum": 0.5}),
    ]
    make, chosen = settings[choose(len(settings))]
    return make(model.parameters(), 0.01, **chosen)


def trained(seed: int, dtype: str, jitted: bool = False, **opts: Any) -> Results:
    """Losses and state behind two steps of the network of a seed."""
    choose = random.Random(seed).randrange
    wf.manual_seed(seed)
    with options.override(**(FORCED | opts)):
        first = (1 + choose(5), 1 + choose(6), *(4 + choose(6) for _ in range(choose(3))))
        layers, last = stack(choose, first, 2 + choose(5))
        model = nn.Sequential(layers, nn.Flatten(), nn.Linear(int(np.prod(last[1:])), 3)).to(dtype)
        optimizer, clipped = optimizer_of(choose, model), choose(2)

        def step(x: wf.Tensor, y: wf.Tensor) -> wf.Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            if clipped:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            return loss

        run, rng, out = wf.jit(step) if jitted else step, np.random.default_rng(seed), {}
        for i in range(2):
            x, y = rng.standard_normal(first), rng.integers(0, 3, first[0])
            out[f"loss {i}"] = run(wf.tensor(x, dtype), wf.tensor(y)).numpy().copy()
        return out | {name: t.numpy().copy() for name, t in model.state_dict().items()}


def compare(seed: int) -> None:
    """Interpreter == lazy == jitted, and the same bits on one thread and on two."""
    dtype = ("float32", "float64")[seed % 2]
    with mock.patch.object(
        program_table, "_programs", program_table.Programs()
    ):  # programs are found again by their graph, whoever runs them
        want = trained(seed, dtype, interpret=True)
    jitted = trained(seed, dtype, jitted=True, num_threads=1)
    for what, got in (("lazy", trained(seed, dtype)), ("jitted", jitted)):
        assert list(got) == list(want)
        for name, w in want.items():
            scale = max(1.0, float(np.abs(w).max(initial=0)))
            np.testing.assert_allclose(
                got[name], w, rtol=0, atol=TOLERANCES[dtype] * scale, err_msg=f"{what}, {name}"
            )
    assert_same_bits(
        [*trained(seed, dtype, jitted=True, num_threads=2).values()], [*jitted.values()]
    )


def main(count: int, first: int = 0) -> int:
    failures = 0
    for seed in range(first, first + count):
        try:
            compare(seed)
        except Exception as e:
            failures += 1
            print(f"seed {seed}: {type(e).__name__}: {' '.join(str(e).split())[:200]}", flush=True)
    print(f"{count} networks, {failures} failures")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
