"""Twelve loops that carry state, as people write them: lazily, realised in each turn, with a jitted
body, and in NumPy.

    python benchmarks/lazy_loops.py [--turns 60] [--only kalman,life]

A loop is a start and a step; most read a number in every turn, some read nothing before the end.
Each column is a process of its own: "cold" is a loop with an empty cache folder, compiling
included, "again" the same loop once more in that process. The last columns are the programs that
the lazy loop has built, cold, and its time beside the slower of the realised and the jitted loop.
Every result is compared with NumPy's.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

State = tuple[Any, ...]
HOW = ("lazy", "realised", "jitted", "NumPy")


@dataclass(frozen=True)
class Loop:
    """start(xp) gives the state; step(xp, *state) the next one and what is read; `reads` says when:
    "turn" or "end"."""

    start: Callable[[Any], State]
    step: Callable[..., tuple[State, Any]]
    reads: str = "turn"


# ---------------------------------------------------------------- loops that read in each turn


def _power(xp: Any, a: Any, v: Any) -> tuple[State, Any]:
    w = a @ v
    size = xp.sqrt((w * w).sum())
    return (a, w / size), size


def _k_means(xp: Any, points: Any, centres: Any) -> tuple[State, Any]:
    squares = ((points[:, None] - centres[None]) ** 2).sum(axis=-1)
    nearest = squares.argmin(axis=1)
    chosen = xp.where(nearest[:, None] == xp.arange(10), 1.0, 0.0)
    return (points, (chosen.T @ points) / chosen.sum(axis=0)[:, None]), squares.min(axis=1).sum()


def _newton(xp: Any, x: Any, c: Any) -> tuple[State, Any]:
    off = x**3 - c
    return (x - off / (3 * x**2), c), xp.abs(off).max()


def _mixture(xp: Any, x: Any, mean: Any, spread: Any, weight: Any) -> tuple[State, Any]:
    dense = weight * xp.exp(-(((x[:, None] - mean) / spread) ** 2) / 2) / spread
    total = dense.sum(axis=1)
    share = dense / total[:, None]
    count = share.sum(axis=0)
    new = (share * x[:, None]).sum(axis=0) / count
    wide = xp.sqrt((share * (x[:, None] - new) ** 2).sum(axis=0) / count)
    return (x, new, wide, count / x.shape[0]), xp.log(total).sum()


def _kalman(xp: Any, at: Any, x: Any, p: Any, f: Any, q: Any) -> tuple[State, Any]:
    x, p = f @ x, f @ p @ f.T + q
    gain = p[:, 0] / (p[0, 0] + 0.5)
    off = xp.sin(at) - x[0]
    return (at + 0.1, x + gain * off, p - gain[:, None] * p[0], f, q), off


def _bodies(xp: Any, place: Any, speed: Any, mass: Any) -> tuple[State, Any]:
    apart = place[None] - place[:, None]
    inverse = 1.0 / xp.sqrt((apart**2).sum(axis=-1) + 0.01)
    pull = (apart * (inverse**3 * mass)[..., None]).sum(axis=1)
    energy = (mass * (speed**2).sum(axis=-1)).sum() / 2 - (mass[:, None] * mass * inverse).sum() / 2
    speed = speed + 0.001 * pull
    return (place + 0.001 * speed, speed, mass), energy


def _descent(xp: Any, m: Any, y: Any, w: Any) -> tuple[State, Any]:
    off = m @ w - y
    return (m, y, w - 0.1 * (m.T @ off) / m.shape[0]), (off * off).mean()


def _life(xp: Any, board: Any) -> tuple[State, Any]:
    near = sum(xp.roll(board, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
    return (xp.where((near == 3) | ((board == 1) & (near == 2)), 1, 0),), board.sum()


def _annealing(xp: Any, x: Any, best: Any, heat: Any, moves: Any) -> tuple[State, Any]:
    new = x + heat * moves
    cost = ((new**2).sum() - 3 * xp.cos(3 * new).sum()) / 10
    better = cost < best
    moves = xp.roll(moves, 1) * 0.99
    return (xp.where(better, new, x), xp.where(better, cost, best), heat * 0.98, moves), best


# ---------------------------------------------------------------- loops that read at the end


def _logistic(xp: Any, x: Any) -> tuple[State, Any]:
    x = 3.2 * x * (1 - x)
    return (x,), x


def _gram_schmidt(xp: Any, a: Any, q: Any, turn: Any) -> tuple[State, Any]:
    column = xp.where(xp.arange(a.shape[1]) == turn, 1.0, 0.0)
    v = a @ column
    v = v - q @ (q.T @ v)
    v = v / xp.sqrt((v * v).sum())
    return (a, q + v[:, None] * column, turn + 1), v[0]


def _cell(xp: Any, h: Any, u: Any, w: Any, x: Any) -> tuple[State, Any]:
    h = xp.tanh(h @ u + x @ w)
    return (h, u, w, xp.roll(x, 1, 0)), (h * h).mean()


# ---------------------------------------------------------------- where they start


def given(xp: Any, *shape: int, seed: int = 0, scale: float = 1.0) -> Any:
    """Random numbers, the same for each library."""
    return _array(xp, np.random.default_rng(seed).standard_normal(shape) * scale)


def _array(xp: Any, values: Any) -> Any:
    values = np.asarray(values, np.float64)
    return values if xp is np else xp.tensor(values)


def _clusters(xp: Any) -> State:
    return (
        given(xp, 5000),
        given(xp, 3, seed=1),
        _array(xp, np.ones(3)),
        _array(xp, np.full(3, 0.3)),
    )


def _tracked(xp: Any) -> State:
    step, noise = [[1.0, 0.1], [0.0, 1.0]], np.eye(2) * 0.01
    return _array(xp, 0.0), given(xp, 2), _array(xp, np.eye(2)), _array(xp, step), _array(xp, noise)


def _heated(xp: Any) -> State:
    return given(xp, 50), _array(xp, 1e9), _array(xp, 1.0), given(xp, 50, seed=1)


def _recurrent(xp: Any) -> State:
    weights = given(xp, 32, 32, scale=0.1), given(xp, 20, 32, seed=1, scale=0.1)
    return _array(xp, np.zeros((16, 32))), *weights, given(xp, 16, 20)


LOOPS: dict[str, Loop] = {
    "power": Loop(lambda xp: (given(xp, 200, 200), given(xp, 200, seed=1)), _power),
    "k-means": Loop(lambda xp: (given(xp, 20_000, 8), given(xp, 10, 8, seed=1)), _k_means),
    "newton": Loop(
        lambda xp: (xp.abs(given(xp, 1000)) + 1.0, xp.abs(given(xp, 1000, seed=1))), _newton
    ),
    "em": Loop(_clusters, _mixture),
    "kalman": Loop(_tracked, _kalman),
    "bodies": Loop(
        lambda xp: (
            given(xp, 100, 3),
            given(xp, 100, 3, seed=1, scale=0.1),
            xp.abs(given(xp, 100)),
        ),
        _bodies,
    ),
    "descent": Loop(
        lambda xp: (given(xp, 2000, 50), given(xp, 2000, seed=1), _array(xp, np.zeros(50))),
        _descent,
    ),
    "life": Loop(lambda xp: (xp.where(given(xp, 256, 256) > 0.5, 1, 0),), _life),
    "annealing": Loop(_heated, _annealing),
    "logistic": Loop(lambda xp: (_array(xp, 0.3),), _logistic, "end"),
    "gram-schmidt": Loop(
        lambda xp: (given(xp, 100, 60), _array(xp, np.zeros((100, 60))), _array(xp, 0.0)),
        _gram_schmidt,
        "end",
    ),
    "rnn cell": Loop(_recurrent, _cell, "end"),
}


# ---------------------------------------------------------------- one column


def run(loop: Loop, how: str, turns: int) -> list[float]:
    """What the loop reads."""
    if how == "NumPy":
        xp: Any = np
    else:
        import weft as xp

    def body(*state: Any) -> Any:
        return loop.step(xp, *state)

    step = xp.jit(body) if how == "jitted" else body
    state, seen = loop.start(xp), []
    for _ in range(turns):
        state, value = step(*state)
        if how == "realised":
            xp.realize(state, value)
        seen.append(float(value) if loop.reads == "turn" else value)
    return seen if loop.reads == "turn" else [float(x) for x in xp.stack(seen)]


def measured(name: str, how: str, turns: int) -> dict[str, Any]:
    """Seconds of the first run and of the least of two more, programs built, and what was read."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        seen = run(LOOPS[name], how, turns)
        seconds.append(time.perf_counter() - start)
        if len(seconds) == 1:
            built = _built()
    return {"cold": seconds[0], "again": min(seconds[1:]), "built": built, "seen": seen}


def _built() -> int:
    if "weft" not in sys.modules:
        return 0
    from weft.frontend.lazy.program_table import statistics

    return statistics["built"]


def in_process(name: str, how: str, turns: int) -> dict[str, Any]:
    """The same in a new process with an empty cache folder."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--turns", str(turns), "--here", name, how]
        environment = os.environ | {"WEFT_CACHE_DIR": folder}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--only", help="loops, between commas")
    parser.add_argument("--here", nargs=2, metavar=("LOOP", "HOW"), help=argparse.SUPPRESS)
    o = parser.parse_args()
    if o.here:
        print(json.dumps(measured(*o.here, o.turns)))
        return
    print(f"{'':14}{'cold, ms':^36}  {'again, ms':^36}  {'built':>5}  {'cold':>5}  {'again':>5}")
    print(
        f"{o.turns:5} turns   "
        + 2 * ("".join(f"{how:>9}" for how in HOW) + "  ")
        + f"{'':5}  {'beside others':>12}"
    )
    for name in o.only.split(",") if o.only else LOOPS:
        found = {how: in_process(name, how, o.turns) for how in HOW}
        for how in HOW[:3]:
            np.testing.assert_allclose(
                found[how]["seen"],
                found["NumPy"]["seen"],
                rtol=1e-6,
                atol=1e-9,
                err_msg=f"{name}, {how}",
            )
        columns = "  ".join(
            "".join(f"{1e3 * found[how][kind]:9.1f}" for how in HOW) for kind in ("cold", "again")
        )
        others = [
            found["lazy"][k] / max(found[how][k] for how in HOW[1:3]) for k in ("cold", "again")
        ]
        print(
            f"{name:14}{columns}  {found['lazy']['built']:5}  {others[0]:5.2f}  {others[1]:5.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
