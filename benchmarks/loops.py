"""Loops inside the program beside those of other systems. In: simulations and recurrent networks.
Out: milliseconds of a call, from one run.

    python benchmarks/loops.py                     # all, beside what is installed
    python benchmarks/loops.py --only life,lstm    # two of them

Simulations are those of examples/simulate.py, a call each; numba and jax compute the same in loops
of their own. Networks are compared with torch's modules of the same weights: a training step of a
language model (2 layers of 200, 35 steps, 20 streams, 10,000 words), and inference of one sequence
of 200 steps in 256 features.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import weft as wf
from beside import Call, measured, print_head, print_rows
from weft import nn
from weft.nn import functional as F

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import simulate

Array = np.ndarray
STEPS = 1000
CELLS, BODIES = 512, 512
LAYERS, HIDDEN, LENGTH, STREAMS, WORDS = 2, 200, 35, 20, 10_000
LONG, WIDE = 200, 256  # of inference


# ---------------------------------------------------------------- simulations


def life(random: np.random.Generator) -> dict[str, Callable[[], Call]]:
    """Generations of cells on a torus, compared by how many are alive."""
    cells = (random.random((CELLS, CELLS)) < simulate.ALIVE).astype(np.uint8)

    def with_weft() -> Call:
        x = wf.tensor(cells)

        def call() -> Any:
            return simulate.evolve(x, STEPS)[1].item()

        return call

    def with_jax() -> Call:
        jax, jnp = import_module("jax"), import_module("jax.numpy")

        def generation(_: Any, cells: Any) -> Any:
            wide = jnp.pad(cells, 1, mode="wrap")
            rows = wide[:-2] + wide[1:-1] + wide[2:]
            nine = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]
            return ((nine == 3) | ((nine == 4) & (cells == 1))).astype(jnp.uint8)

        run = jax.jit(lambda cells: jax.lax.fori_loop(0, STEPS, generation, cells))
        return lambda: int(np.sum(np.asarray(run(cells))))

    def with_numba() -> Call:
        numba = import_module("numba")

        @numba.njit(parallel=True, fastmath=True)  # type: ignore[untyped-decorator]
        def run(cells: Array, steps: int) -> Array:
            n = cells.shape[0]
            wide = np.zeros((n + 2, n + 2), np.uint8)
            new = cells.copy()
            for _ in range(steps):
                wide[1:-1, 1:-1] = new
                wide[0, 1:-1], wide[-1, 1:-1] = new[-1], new[0]
                wide[:, 0], wide[:, -1] = wide[:, -2].copy(), wide[:, 1].copy()
                for i in numba.prange(n):
                    for j in range(n):
                        nine = np.uint8(0)
                        for a in range(3):
                            for b in range(3):
                                nine += wide[i + a, j + b]
                        new[i, j] = (nine == 3) | ((nine == 4) & (wide[i + 1, j + 1] == 1))
            return new

        return lambda: int(run(cells, STEPS).sum())

    return {"weft": with_weft, "jax": with_jax, "numba": with_numba}


def bodies(random: np.random.Generator) -> dict[str, Callable[[], Call]]:
    """Steps of stars that attract each other, compared by where they are after a few."""
    x = random.standard_normal((3, BODIES), dtype=np.float32)
    v = 0.3 * random.standard_normal((3, BODIES), dtype=np.float32)
    dt, soft = np.float32(simulate.TIME_STEP), np.float32(simulate.SOFTENING**2)

    def with_weft() -> Call:
        state = wf.tensor(x), wf.tensor(v)

        def call() -> Any:
            return simulate.leapfrog(*state, STEPS)[2].item()

        return call

    def energies(xp: Any, x: Any, v: Any) -> Any:
        apart = x[:, None] - x[:, :, None]
        near = (1 / xp.sqrt((apart * apart).sum(0) + soft)).sum() - BODIES / simulate.SOFTENING
        return (v * v).sum() / (2 * BODIES) - near / (2 * BODIES**2)

    def with_jax() -> Call:
        jax, jnp = import_module("jax"), import_module("jax.numpy")

        def acceleration(x: Any) -> Any:
            dx, dy, dz = (p[None] - p[:, None] for p in x)
            squared = dx * dx + dy * dy + dz * dz + soft
            weight = 1 / (squared * jnp.sqrt(squared))
            return jnp.stack([(d * weight).sum(1) for d in (dx, dy, dz)]) / BODIES

        def step(_: Any, state: Any) -> Any:
            x, v, a = state
            v = v + dt / 2 * a
            x = x + dt * v
            a = acceleration(x)
            return x, v + dt / 2 * a, a

        @jax.jit  # type: ignore[untyped-decorator]
        def run(x: Any, v: Any) -> Any:
            end = jax.lax.fori_loop(0, STEPS, step, (x, v, acceleration(x)))
            return energies(jnp, end[0], end[1]) / energies(jnp, x, v) - 1

        return lambda: float(run(x, v))

    def with_numba() -> Call:
        numba = import_module("numba")

        @numba.njit(parallel=True, fastmath=True)  # type: ignore[untyped-decorator]
        def acceleration(x: Array, a: Array) -> None:
            for i in numba.prange(BODIES):
                ax = ay = az = np.float32(0)
                for j in range(BODIES):
                    dx, dy, dz = x[0, j] - x[0, i], x[1, j] - x[1, i], x[2, j] - x[2, i]
                    squared = dx * dx + dy * dy + dz * dz + soft
                    weight = np.float32(1) / (squared * np.sqrt(squared))
                    ax, ay, az = ax + dx * weight, ay + dy * weight, az + dz * weight
                a[0, i], a[1, i], a[2, i] = ax / BODIES, ay / BODIES, az / BODIES

        @numba.njit(fastmath=True)  # type: ignore[untyped-decorator]
        def run(x: Array, v: Array, steps: int) -> tuple[Array, Array]:
            x, v, a = x.copy(), v.copy(), np.empty_like(x)
            acceleration(x, a)
            for _ in range(steps):
                v += dt / np.float32(2) * a
                x += dt * v
                acceleration(x, a)
                v += dt / np.float32(2) * a
            return x, v

        return lambda: float(energies(np, *run(x, v, STEPS)) / energies(np, x, v) - 1)

    return {"weft": with_weft, "jax": with_jax, "numba": with_numba}


# ---------------------------------------------------------------- recurrent networks


def language_model(nn: Any) -> Any:
    """Words (T, N) and a state -> (scores, the next state)."""

    class Model(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(WORDS, HIDDEN)
            self.lstm = nn.LSTM(HIDDEN, HIDDEN, LAYERS)
            self.output = nn.Linear(HIDDEN, WORDS)

        def forward(self, x: Any, state: Any) -> Any:
            y, state = self.lstm(self.embedding(x), state)
            return self.output(y), state

    return Model()


def training(random: np.random.Generator) -> dict[str, Callable[[], Call]]:
    """A step of SGD of an LSTM language model, compared by the loss."""
    words, after = (random.integers(0, WORDS, (LENGTH, STREAMS)) for _ in range(2))
    zero = np.zeros((LAYERS, STREAMS, HIDDEN), np.float32)
    wf.manual_seed(0)
    model = language_model(nn)
    weights = {name: value.numpy().copy() for name, value in model.state_dict().items()}

    def step_of(F: Any, model: Any, optimizer: Any, clip: Any) -> Callable[..., Any]:
        def step(x: Any, y: Any, *state: Any) -> Any:
            optimizer.zero_grad()
            scores, state = model(x, state)
            loss = F.cross_entropy(scores.flatten(0, 1), y.flatten())
            loss.backward()
            clip(model.parameters(), 0.25)
            optimizer.step()
            return loss

        return step

    def with_weft() -> Call:
        optimizer = nn.optim.SGD(model.parameters(), lr=1.0)
        step = wf.jit(step_of(F, model, optimizer, nn.utils.clip_grad_norm_))
        inputs = [wf.tensor(a) for a in (words, after, zero, zero)]
        return lambda: step(*inputs).item()

    def with_torch() -> Call:
        torch = import_module("torch")
        other = language_model(torch.nn)
        other.load_state_dict({n: torch.from_numpy(w.copy()) for n, w in weights.items()})
        optimizer = torch.optim.SGD(other.parameters(), lr=1.0)
        step = step_of(torch.nn.functional, other, optimizer, torch.nn.utils.clip_grad_norm_)
        inputs = [torch.from_numpy(a) for a in (words, after, zero, zero)]
        return lambda: step(*inputs).item()

    return {"weft": with_weft, "torch": with_torch}


def inference(kind: str) -> Callable[[np.random.Generator], dict[str, Callable[[], Call]]]:
    """One sequence through a recurrent layer, compared by the last output."""

    def case(random: np.random.Generator) -> dict[str, Callable[[], Call]]:
        x = random.standard_normal((LONG, 1, WIDE), dtype=np.float32)
        wf.manual_seed(0)
        model = getattr(nn, kind)(WIDE, WIDE)

        def with_weft() -> Call:
            f, at = wf.jit(lambda x: model(x)[0][-1, 0, :8]), wf.tensor(x)

            def call() -> Array:
                with wf.no_grad():
                    return f(at).numpy()

            return call

        def with_torch() -> Call:
            torch = import_module("torch")
            other, at = getattr(torch.nn, kind)(WIDE, WIDE), torch.from_numpy(x)
            state = {n: torch.from_numpy(w.numpy().copy()) for n, w in model.state_dict().items()}
            other.load_state_dict(state)

            def call() -> Array:
                with torch.no_grad():
                    return other(at)[0][-1, 0, :8].numpy()

            return call

        return {"weft": with_weft, "torch": with_torch}

    return case


@dataclass(frozen=True)
class Case:
    """What is timed, and how far results may differ."""

    make: Callable[[np.random.Generator], dict[str, Callable[[], Call]]]
    tolerance: float


CASES = {
    "life": Case(life, 0),
    "bodies": Case(bodies, 1e-3),
    "language model": Case(training, 1e-4),
    "lstm": Case(inference("LSTM"), 1e-4),
    "gru": Case(inference("GRU"), 1e-4),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", help="names, between commas")
    o = parser.parse_args()
    print_head()
    for name in o.only.split(",") if o.only else CASES:
        case = CASES[name]
        made = case.make(np.random.default_rng(0))
        print_rows(name, measured(made, o.rounds, case.tolerance))


if __name__ == "__main__":
    main()
