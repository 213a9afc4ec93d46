"""Random graphs, compiled and compared with the oracle. In: a source of choices. Out: comparisons,
a table of hits.

`python tests/kit/fuzz.py 5000` (optionally a first seed) runs so many graphs and prints what they
reached. A second evaluation that rounds differently gives the tolerance.
"""

from __future__ import annotations

import platform
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from fuzz_graphs import EXACT, FLOATS, INTS, MOVES, ROUNDS, SUMS, Array, Builder, Choose, arithmetic
from harness import assert_same_bits, compiled, execute, inputs_of
from opspec import assert_matches, float_info
from weft.codegen.cpu.lowering import CPU
from weft.codegen.llvm.target import host
from weft.errors import GradientError
from weft.ir.gradient.gradient import vjp
from weft.ir.graph import dtype as dt
from weft.ir.graph.graph import Node, toposort
from weft.ir.graph.op import COMPLEX_PARTS, OF_GRAPHS, REGIONAL, SCANS, SYSTEMS, Op
from weft.ir.graph.region import shared
from weft.ir.kernels.reason import Rule
from weft.ir.ops.interp import EVALUATORS, run, run_regions

# Threads are forced, so that nothing is tiny; random moves hardly ever make an attention, or
# results without a product.
# matrices that are not in a near cache are too large for random graphs
UNREACHED_SCHEDULES = {"tiny", "chain", "zeros", "stream", "systems", "fourier"}
# what no random graph has: copies, functions of Python, libraries, equations, complex numbers
OTHER_OPS = {Op.COPY, Op.CUSTOM_VJP, Op.HOST, Op.ROUTINE, *SYSTEMS, *COMPLEX_PARTS}
SCHEDULES = [s.name for s in CPU if s.name not in UNREACHED_SCHEDULES]
UNREACHED = {  # rules that no boundary between kernels of a random graph names, and why
    Rule.COLUMN_SUMS: "needs wide sums of many rows",
    Rule.CHAIN: "needs attention",
    Rule.CHAIN_COST: "needs two large products",
    Rule.ORDER: "needs sums of neighbours and of others over the same rows",
    Rule.JOINED: "needs a value of more than 8 joined ones",
    Rule.BUDGET: "needs a value of more than 60 inputs",
    Rule.PARTS: "needs a network of equal layers",
}
NEAR_ZEROS = {
    Op.LGAMMA,
    Op.POLYGAMMA,
}  # off by units of 1 where they are smaller (docs/numerics.md)
# What the machine that runs this can run, too: narrower vectors, other tiles, no masked
# instructions.
NARROWER = [("avx2", 256), ("sse2", 128)] if platform.machine() in ("x86_64", "AMD64") else []
TARGETS = ["host", "host", *(name for name, bits in NARROWER if bits < host().vector_bits)]


class Unsuitable(Exception):
    """The graph amplifies rounding errors until nothing can be compared, or computes nothing."""


@dataclass
class Case:
    """Outputs with their inputs; `exact` outputs must agree bit for bit."""

    outputs: list[Node]
    env: dict[Node, Array]
    exact: list[bool]
    donations: dict[int, int] = field(default_factory=dict)
    target: str = "host"


def random_case(choose: Choose, exact: bool = False, moves: int = 30) -> Case:
    """A graph of at least two moves and fewer than so many more, with 30 of up to about 40 computed
    Nodes, and its inputs."""
    return grown(
        choose,
        Builder(choose, EXACT if exact else MOVES, specials=exact),
        gradients=not exact,
        moves=moves,
    )


def grown(choose: Choose, b: Builder, gradients: bool, moves: int = 30) -> Case:
    """What a Builder makes, perhaps with gradients."""
    b.grow(2 + choose(moves))
    b.finish(arithmetic(b))
    made = [v for v in b.values if v.node not in b.env]
    if not made:
        raise Unsuitable
    chosen = list(dict.fromkeys([made[-1], *(made[choose(len(made))] for _ in range(choose(4)))]))
    case = Case([v.node for v in chosen], b.env, [v.exact for v in chosen])
    if gradients and choose(3) == 0:
        _add_gradients(case, b)
    case.exact = [e for i, e in enumerate(case.exact) if case.outputs[i] not in case.outputs[:i]]
    case.outputs = list(dict.fromkeys(case.outputs))
    case.env = {n: b.env[n] for n in inputs_of(case.outputs)}
    case.donations = _wishes(case) if choose(2) else {}
    case.target = TARGETS[choose(len(TARGETS))]
    return case


def _wishes(case: Case) -> dict[int, int]:
    """Every output that could live in an input's memory."""
    inputs, wishes = inputs_of(case.outputs), {}
    for o, out in enumerate(case.outputs):
        fits = [
            i
            for i, n in enumerate(inputs)
            if n.shape == out.shape and n.dtype is out.dtype and i not in wishes.values()
        ]
        if fits and out.size and out not in inputs:
            wishes[o] = fits[-1]
    return wishes


def _add_gradients(case: Case, b: Builder) -> None:
    target = next((n for n in case.outputs if n.dtype.is_float), None)
    wrt = [n for n in inputs_of(case.outputs) if n.dtype.is_float][:4]
    if target is None or not wrt:
        return
    seed = b.leaf(target.shape, target.dtype)
    try:
        gradients = vjp([target], [seed.node], wrt)
    except GradientError:  # of a loop without bound
        return
    found = [d for d in gradients if d is not None and d not in case.outputs]
    case.outputs += found
    case.exact += [False] * len(found)


EXACTLY_ROUNDED = frozenset({Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.SQRT})


def evaluate(
    outputs: Sequence[Node],
    env: dict[Node, Array],
    noise: np.random.Generator | None = None,
    all_ops: bool = False,
) -> list[Array]:
    """The oracle's values; with noise, every operation that may round differently does so.

    all_ops: those that round exactly, too: of operands that differ a little they may give the next
    number.
    """
    if noise is None:
        return [np.asarray(v) for v in run(outputs, env)]
    values: dict[Node, Array] = {}
    results: dict[Any, list[Array]] = {}
    body = partial(evaluate, noise=noise, all_ops=all_ops)
    with np.errstate(all="ignore"):
        for n in toposort(outputs):
            sources = [values[s] for s in n.src]
            if n.op in REGIONAL:
                if shared(n) not in results:
                    results[shared(n)] = run_regions(n, sources, body)
                values[n] = results[shared(n)][n.arg[1]]
                continue
            values[n] = env[n] if n.op is Op.INPUT else np.asarray(EVALUATORS[n.op](n, *sources))
            shakes = n.op in ROUNDS or (n.op is Op.REDUCE and n.arg[0] != "max")
            if n.dtype.is_float and (shakes or (all_ops and n.op in EXACTLY_ROUNDED)):
                values[n] = _shaken(n, values[n], sources, noise)
    return [values[n] for n in outputs]


def _shaken(n: Node, value: Array, sources: list[Array], noise: np.random.Generator) -> Array:
    size = np.abs(value)
    factors = _factors(n, sources[0], value)
    if n.op in SUMS and not factors:
        size = np.abs(EVALUATORS[n.op](n, np.abs(sources[0]), *sources[1:]))
    if n.op in NEAR_ZEROS:
        size = np.maximum(size, 1)
    eps, _ = float_info(n.dtype.numpy)
    eps *= max(1, factors // 4)  # a product rounds at every factor, and equal factors round alike
    off = size.astype(np.float64) * (2 * eps * noise.choice((-1, 1), value.shape))
    return np.asarray(value.astype(np.float64) + off).astype(n.dtype.numpy)


def _factors(n: Node, x: Array, value: Array) -> int:
    """How many factors one product has; 0 for other operations."""
    if n.op is Op.SCANMUL:
        return x.shape[n.arg]
    return x.size // max(1, value.size) if n.op is Op.REDUCE and n.arg[0] == "mul" else 0


def _in_turn(n: Node) -> int:
    """How many terms an operation adds one after the other: errors of equal ones add up."""
    if n.op in SCANS:
        return n.shape[n.arg]
    return n.src[1].size if n.op is Op.SCATTER else 0


def tolerances(case: Case, want: list[Array]) -> list[float]:
    """How far each output may be off, from evaluations that round differently; raises
    Unsuitable."""
    out = [0.0] * len(want)
    steps = max(map(_in_turn, toposort(case.outputs)), default=0)
    for seed in range(2):
        for i, (w, other) in enumerate(
            zip(want, evaluate(case.outputs, case.env, np.random.default_rng(seed)), strict=True)
        ):
            if not case.outputs[i].dtype.is_float:
                if not case.exact[i] and not np.array_equal(w, other):
                    raise Unsuitable
                continue
            eps, _ = float_info(w.dtype)
            scale = float(np.abs(w.astype(np.float64)).max(initial=0))
            if not scale <= 1e6:
                raise Unsuitable
            off = _farthest(other, w)
            if not off <= max(1e-3, 4 * eps) * max(scale, 1e-3):
                raise Unsuitable
            out[i] = max(out[i], 24 * off + (8 + steps / 8) * eps * scale)
    others = evaluate(case.outputs, case.env, np.random.default_rng(2), all_ops=True)
    for i, (n, w, other) in enumerate(zip(case.outputs, want, others, strict=True)):
        if n.dtype.is_float:
            out[i] = max(out[i], 2 * _farthest(other, w))
    return out


def _farthest(a: Array, b: Array) -> float:
    return float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max(initial=0))


@dataclass
class Hits:
    """What the graphs so far reached."""

    counts: Counter[str] = field(default_factory=Counter)

    def count(self, case: Case, program: Any) -> None:
        self.counts.update({f"op {n.op.value}" for n in toposort(program.graph)})
        self.counts.update(
            f"schedule {c.schedule}" for k in program.lowered.kernels for c in k.lowered.choices
        )
        self.counts.update(f"reason {b.reason.rule}" for b in program.fused.boundaries)
        self.counts["graphs"] += 1
        self.counts[f"target {case.target}"] += 1
        self.counts.update({f"dtype {n.dtype.name}" for n in toposort(program.graph)})
        self.counts["donations wished"] += len(case.donations)
        self.counts["donations done"] += len(program.donations)

    def table(self) -> str:
        return "\n".join(f"{n:8d}  {name}" for name, n in sorted(self.counts.items()))

    def missing(self) -> list[str]:
        """Everything that should be reached and was not."""
        wanted = [f"op {op.value}" for op in OF_GRAPHS - OTHER_OPS]
        wanted += [f"dtype {d.name}" for d in (*FLOATS, *INTS, dt.bool_)]
        wanted += [f"schedule {s}" for s in SCHEDULES] + [
            f"reason {r}" for r in Rule if r not in UNREACHED
        ]
        return sorted({w for w in wanted if not self.counts[w]})


def _chooses(output: Node) -> bool:
    """Is a maximum of floats among what it is made of, which may be either of two zeros?"""
    nodes = toposort([output])
    return any(
        n.dtype.is_float and (n.op is Op.MAX or (n.op is Op.REDUCE and n.arg[0] == "max"))
        for n in nodes
    )


def _without_sign_of_zero(x: Array) -> Array:
    return np.where(x == 0, np.zeros((), x.dtype), x)


def compare_case(
    case: Case, hits: Hits, exact: bool = False, threads: Sequence[int] = (2, 3), **opts: Any
) -> None:
    """Oracle == compiled on one thread == compiled on several threads, the latter bit for bit."""
    want = evaluate(case.outputs, case.env)
    allowed = [0.0] * len(want) if exact else tolerances(case, want)
    program = compiled(case.outputs, case.env, case.donations, target=case.target, **opts)
    hits.count(case, program)
    got = execute(program, case.outputs, case.env)
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        if case.exact[i] or not case.outputs[i].dtype.is_float:
            assert_matches(
                *(
                    _without_sign_of_zero(x) if _chooses(case.outputs[i]) else x
                    for x in (a, np.asarray(b))
                )
            )
        else:
            error = _farthest(a, b)
            assert error <= allowed[i], (
                f"output {i} is off by {error:.3g}, allowed {allowed[i]:.3g}"
            )
    for several in threads:
        assert_same_bits(execute(program, case.outputs, case.env, several), got)


def seeded(seed: int) -> Choose:
    source = random.Random(seed)
    return source.randrange


def main(count: int, first: int = 0) -> int:
    """Runs so many graphs, and up to as many again while something is not reached: a new op makes
    them other graphs."""
    hits, failures, unsuitable = Hits(), 0, 0
    for seed in range(first, first + 2 * count):
        if seed >= first + count and not hits.missing():
            break
        exact = seed % 5 == 0
        try:
            compare_case(random_case(seeded(seed), exact), hits, exact)
        except Unsuitable:
            unsuitable += 1
        except Exception as e:
            failures += 1
            print(
                f"seed {seed}: {type(e).__name__}:"
                f" {str(e).strip().splitlines()[0] if str(e) else ''}",
                flush=True,
            )
    print(hits.table())
    print(f"{failures} failures, {unsuitable} graphs too sensitive to rounding")
    print(f"not reached: {', '.join(hits.missing()) or 'nothing'}")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
