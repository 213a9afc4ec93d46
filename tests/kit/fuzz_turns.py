"""Random lazy loops, compared with NumPy. In: a source of choices. Out: comparisons of every value
that a turn reads.

`python tests/kit/fuzz_turns.py 1000` (optionally a first seed) runs so many loops. The body of a
loop is a random list of statements over a few variables of fixed shapes; some statements read.
Besides right values, Weft owes programs that repeat: after a few turns none is new.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import weft as wf
from weft.frontend.lazy.program_table import statistics

Array = np.ndarray[Any, Any]
Choose = Callable[[int], int]  # n -> one of 0 .. n-1
N = 5
SHAPES = {"s": (), "v": (N,), "m": (N, N)}
UNREAD = 40  # turns before anything is read
TURNS, SETTLED = (
    24,
    18,
)  # from then on, every program is found: a few variables that change places have periods of six


@dataclass(frozen=True)
class Function:
    """What a statement computes: of values of these kinds, in Weft and in NumPy."""

    result: str
    operands: str
    weft: Callable[..., Any]
    numpy: Callable[..., Any]


def both(result: str, operands: str, f: Callable[..., Any]) -> Function:
    """A function that is written alike for both."""
    return Function(result, operands, lambda *xs: f(wf, *xs), lambda *xs: f(np, *xs))


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _set_element(x: wf.Tensor, y: wf.Tensor) -> wf.Tensor:
    x = x.clone()
    x[1] = y
    return x


def _set_element_in_numpy(x: Array, y: Array) -> Array:
    x = x.copy()
    x[1] = y
    return x


def _descended(x: wf.Tensor, m: wf.Tensor) -> wf.Tensor:
    x = x.detach().requires_grad_()
    loss = ((m @ x) ** 2).sum()
    return (x.detach() - 0.05 * wf.grad(loss, x)).tanh()


FUNCTIONS = (
    both("v", "vv", lambda np, a, b: np.tanh(a * 0.5 + b)),
    both("v", "vv", lambda np, a, b: np.where(a > 0.3, b, a * 0.5)),
    both("v", "vs", lambda np, a, s: a / (1.0 + np.abs(s))),
    both("v", "v", lambda np, a: a * 0.75 + 0.1),
    both("v", "v", lambda np, a: np.flip(a, axis=0)),
    both("v", "v", lambda np, a: np.roll(a, 2)),
    both("v", "v", lambda np, a: np.tanh(np.cumsum(a, axis=0))),
    both("v", "mv", lambda np, m, a: np.tanh(m @ a)),
    both("v", "m", lambda np, m: m.mean(axis=0)),
    both("v", "m", lambda np, m: m[2]),
    both("v", "m", lambda np, m: m.max(axis=1)),
    both("m", "vv", lambda np, a, b: a[:, None] - b[None, :]),
    both("m", "vv", lambda np, a, b: np.tanh(a[:, None] * b[None, :])),
    both("m", "mm", lambda np, m, k: np.tanh(m @ k)),
    both("m", "m", lambda np, m: m.T),
    both("m", "mv", lambda np, m, a: m * 0.5 + a),
    both("s", "v", lambda np, a: np.sqrt((a * a).sum() + 0.5)),
    both("s", "v", lambda np, a: a[1]),
    both("s", "m", lambda np, m: m.mean()),
    both("s", "ss", lambda np, s, t: np.tanh(s - t * 0.5)),
    both("s", "ss", lambda np, s, t: np.where(s > 0.3, t, s * 0.5)),
    both("v", "vs", lambda np, a, s: np.stack([s, a[1], s * 0.5, a[0], a[2]])),
    Function("m", "m", lambda m: m.softmax(axis=-1), _softmax),
    Function("v", "vs", _set_element, _set_element_in_numpy),
    Function("v", "vm", _descended, lambda a, m: np.tanh(a - 0.1 * m.T @ (m @ a))),
)


def _read_element(x: wf.Tensor) -> Any:
    return x.reshape(-1)[0].item()


READS: tuple[tuple[Callable[[wf.Tensor], Any], Callable[[Array], Any]], ...] = (
    (lambda x: x.numpy().copy(), lambda x: x),
    (lambda x: x.sum().item(), lambda x: x.sum()),
    (lambda x: bool((x > 0.01).any()), lambda x: bool((x > 0.01).any())),
    (_read_element, lambda x: x.reshape(-1)[0]),
    (lambda x: float(x.max()), lambda x: x.max()),
    (lambda x: np.asarray(x * 2), lambda x: x * 2),
)


@dataclass
class Loop:
    """Statements over variables: (target, function, operands), or (None, a read, the variable)."""

    variables: dict[str, Array]
    body: list[tuple[str | None, Any, tuple[str, ...]]] = field(default_factory=list)

    def run(self, turns: int, reads: bool = True) -> list[int]:
        """Runs it in Weft and in NumPy, and reads what it reads or at the end alone; how many
        programs each turn has built."""
        tensors = {k: wf.tensor(v) for k, v in self.variables.items()}
        oracle = Oracle(self.variables)
        built = []
        for _ in range(turns):
            before = statistics["built"] + statistics["generalised"]
            for target, what, operands in self.body:
                if target is not None:
                    tensors[target] = what.weft(*(tensors[k] for k in operands))
                    oracle.assign(target, what.numpy, operands)
                elif reads:
                    oracle.compare(what[0](tensors[operands[0]]), what[1], operands[0])
            built.append(statistics["built"] + statistics["generalised"] - before)
        for name, t in tensors.items():
            oracle.compare(t.numpy(), lambda x: x, name)
        return built


class Oracle:
    """The same variables in NumPy, and once more a little off: how much that matters says how far
    results may be off."""

    def __init__(self, variables: dict[str, Array]) -> None:
        self.runs = [dict(variables), {k: v * (1 + 1e-14) for k, v in variables.items()}]

    def assign(self, target: str, function: Callable[..., Any], operands: tuple[str, ...]) -> None:
        for run in self.runs:
            run[target] = function(*(run[k] for k in operands))

    def compare(self, found: Any, read: Callable[[Array], Any], name: str) -> None:
        want, other = (np.asarray(read(run[name]), np.float64) for run in self.runs)
        off = np.abs(want - other).max()
        if off < 1e-6:  # else the loop is chaotic
            np.testing.assert_allclose(
                np.asarray(found, np.float64), want, rtol=1e-9, atol=1e-11 + 1e3 * off
            )


def random_loop(choose: Choose) -> Loop:
    """Up to a dozen statements over up to eight variables."""
    rng = np.random.default_rng(choose(1 << 16))
    names = [f"{kind}{i}" for kind in SHAPES for i in range(1 + choose(3))]
    loop = Loop({k: rng.uniform(-1, 1, SHAPES[k[0]]) for k in names})
    of_kind = {kind: [k for k in names if k[0] == kind] for kind in SHAPES}
    for _ in range(1 + choose(10)):
        f = FUNCTIONS[choose(len(FUNCTIONS))]
        operands = tuple(of_kind[kind][choose(len(of_kind[kind]))] for kind in f.operands)
        loop.body.append((of_kind[f.result][choose(len(of_kind[f.result]))], f, operands))
    for _ in range(1 + choose(3)):
        at = choose(len(loop.body) + 1)
        loop.body.insert(at, (None, READS[choose(len(READS))], (names[choose(len(names))],)))
    return loop


def check(loop: Loop) -> None:
    """Runs the loop, whose programs must come to an end: by SETTLED, or else in a second run, twice
    as long, there are none.

    A value that waits unread has grown too large at some turn for a program to look at all of it,
    which is one program more.
    """
    built = loop.run(TURNS)
    if any(built[SETTLED:]):
        again = loop.run(2 * TURNS)
        assert not any(again), f"programs that are new in each turn: {built}, then {again}"


def check_unread(loop: Loop) -> None:
    """Runs many turns before it reads."""
    loop.run(UNREAD, reads=False)


def main(count: int, first: int = 0) -> int:
    failures = 0
    for seed in range(first, first + count):
        try:
            loop = random_loop(random.Random(seed).randrange)
            check(loop)
            check_unread(loop)
        except Exception as e:
            failures += 1
            print(f"seed {seed}: {type(e).__name__}: {' '.join(str(e).split())[:200]}", flush=True)
    print(f"{failures} failures of {count} loops")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
