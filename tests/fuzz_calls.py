"""Wrong calls of every public function and method: whatever is passed, the answer is a value or an error of Weft's hierarchy.

`python tests/fuzz_calls.py COUNT [FIRST_SEED]` makes COUNT calls in child processes and prints what escaped, and crashes.
"""

from __future__ import annotations

import inspect
import math
import random
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import weft as wf

BATCH = 2000  # calls in one child process
MOST_ELEMENTS = 100_000  # larger results are built, not computed
DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
NUMBERS = (
    *(0, 1, 2, 3, -1, -2, 7, 100, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, 2**63, -(2**63), 2**64, 2**80, -(2**200)),
    *(0.0, -0.0, 0.5, 1.5, -3.25, 1e-320, 1e30, 1e308, float("nan"), float("inf"), float("-inf")),
    *(True, False),
)
ODDITIES = (
    None,
    "",
    "x",
    "cpu",
    "float32",
    "ij,jk->ik",
    "left",
    b"y",
    object(),
    {},
    {1: 2},
    [],
    (),
    [[]],
    [[1, 2], [3]],
    ...,
    slice(None),
)
SKIPPED = frozenset({"manual_seed", "realize", "Tensor"})  # they change the process or are no functions


def shape(rng: random.Random) -> tuple[int, ...]:
    return tuple(rng.choice((0, 1, 1, 2, 2, 3, 4, 5)) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4))))


def tensor(rng: random.Random) -> wf.Tensor:
    """A small Tensor of any dtype, with special values; sometimes lazy, a view, or one that requires a gradient."""
    extents = shape(rng)
    values = np.array(rng.choices((0, 1, 2, -1, 3, 100, 1000), k=math.prod(extents))).reshape(extents)
    array = values.astype(rng.choice(DTYPES))
    if array.dtype.kind == "f" and array.size and rng.random() < 0.3:
        array.reshape(-1)[0] = rng.choice((np.nan, np.inf, -np.inf, -0.0))
    t = wf.tensor(array)
    if rng.random() < 0.3 and array.dtype.kind == "f":
        t.requires_grad_()
    if rng.random() < 0.2:
        t = t.T
    return t + t if rng.random() < 0.2 else t


def integers(rng: random.Random) -> Any:
    """An axis, a shape, axes, shifts: one integer or several."""
    n = rng.choice((0, 1, 1, 2, 2, 3, 5, 40))
    several = [rng.choice((0, 1, 2, 3, -1, -2, 4, 5, -7, 2**31, 2**62, 2**63, -(2**70))) for _ in range(n)]
    return rng.choice((several, tuple(several), several[0] if several else 0, rng.choice((0, 1, -1, 2))))


def key(rng: random.Random) -> Any:
    """An index: of every kind, alone or several."""
    one: tuple[Callable[[], Any], ...] = (
        lambda: rng.choice((0, 1, -1, 2, -3, 5, 2**63, -(2**90))),
        lambda: slice(*(rng.choice((None, 0, 1, -1, 2, -2, 3, 2**65, -(2**65))) for _ in range(3))),
        lambda: None,
        lambda: ...,
        lambda: tensor(rng),
        lambda: [rng.choice((0, 1, -1, 9)) for _ in range(rng.randrange(4))],
        lambda: rng.choice((True, False, 1.5, "a", np.int8(1), np.array([True, False]))),
    )
    if rng.random() < 0.4:
        return rng.choice(one)()
    return tuple(rng.choice(one)() for _ in range(rng.randrange(6)))


def anything(rng: random.Random) -> Any:
    """An argument of some kind."""
    kind = rng.random()
    if kind < 0.45:
        return tensor(rng)
    if kind < 0.65:
        return rng.choice(NUMBERS)
    if kind < 0.8:
        return integers(rng)
    if kind < 0.86:
        return rng.choice((*DTYPES, "float128", "nope", np.dtype("f4"), np.dtype("S3"), int, float, complex, str))
    if kind < 0.92:
        return [tensor(rng) for _ in range(rng.randrange(4))]
    if kind < 0.95:
        return np.asarray(rng.choice((["a"], [1 + 2j], [None], np.datetime64("2020-01-01"), [[1, 2]], 3.0)))
    return rng.choice(ODDITIES)


def arguments(rng: random.Random, function: Callable[..., Any], is_method: bool) -> tuple[list[Any], dict[str, Any]]:
    """Arguments that fit the function's parameters in number and name, of any kind; a method's self is left out."""
    positional, keywords = [], {}
    for p in list(inspect.signature(function).parameters.values())[is_method:]:
        if p.kind is p.VAR_POSITIONAL:
            positional += [anything(rng) for _ in range(rng.randrange(4))]
        elif p.kind is p.VAR_KEYWORD or (p.default is not p.empty and rng.random() < 0.5):
            continue
        elif p.kind is p.KEYWORD_ONLY or (p.default is not p.empty and p.kind is not p.POSITIONAL_ONLY):
            keywords[p.name] = fitting(rng, p.name)
        else:
            positional.append(fitting(rng, p.name))
    return positional, keywords


def fitting(rng: random.Random, name: str) -> Any:
    """More often than not what the parameter's name asks for."""
    if rng.random() < 0.35:
        return anything(rng)
    if name in ("axis", "axes", "shape", "shift", "source", "destination", "repetitions", "repeats"):
        return integers(rng)
    if name in ("dtype", "type"):
        return rng.choice(DTYPES)
    if name in ("key", "index"):
        return key(rng)
    if name in ("keepdims", "descending", "stable", "endpoint", "copy", "include_initial", "largest", "sorted"):
        return rng.choice((True, False))
    if name in ("arrays", "parts", "tensors"):
        return [tensor(rng) for _ in range(rng.randrange(4))]
    return rng.choice((tensor, tensor, tensor, lambda r: r.choice(NUMBERS)))(rng)


def functions() -> list[tuple[str, Callable[..., Any], bool]]:
    """(name, function, is it a method) of everything public that computes."""
    found = []
    for name in wf.__all__:
        f = getattr(wf, name)
        if callable(f) and not isinstance(f, type) and name not in SKIPPED:
            found.append((name, f, False))
    for name in dir(wf.Tensor):
        f = getattr(wf.Tensor, name)
        operator = name.startswith("__") and name not in dir(object) and name not in ("__slots__", "__weakref__", "__module__")
        if callable(f) and (operator or not name.startswith("_")):
            found.append((f"Tensor.{name}", f, True))
    return [entry for entry in found if _has_signature(entry[1])]


def _has_signature(f: Callable[..., Any]) -> bool:
    try:
        inspect.signature(f)
    except (TypeError, ValueError):
        return False
    return True


def compute(result: Any) -> None:
    """Reads what came back, if it is not too large."""
    if isinstance(result, (tuple, list)):
        for r in result[:5]:
            compute(r)
    elif isinstance(result, wf.Tensor) and result.size <= MOST_ELEMENTS:
        result.numpy()


def call(seed: int, table: list[tuple[str, Callable[..., Any], bool]]) -> str | None:
    """Makes the call of this seed. Returns None if all is well, else what escaped."""
    rng = random.Random(seed)
    name, function, is_method = rng.choice(table)
    positional, keywords = arguments(rng, function, is_method)
    try:
        compute(function(tensor(rng), *positional, **keywords) if is_method else function(*positional, **keywords))
    except wf.errors.WeftError:
        return None
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return (
            f"{name}: {type(error).__name__}: {str(error)[:120]} ({where.filename.rsplit('/', 1)[-1]}:{where.lineno}) seed {seed}"
        )
    return None


def batch(first: int, count: int) -> Counter[str]:
    """What escaped from the calls of these seeds."""
    table = functions()
    escaped: Counter[str] = Counter()
    for seed in range(first, first + count):
        print(f"@{seed}", flush=True)
        if (found := call(seed, table)) is not None:
            print(found, flush=True)
            escaped[found.split(":")[0]] += 1
    return escaped


def main(count: int, first: int) -> int:
    """Runs the calls in child processes. Returns the number of escapes and crashes."""
    bad = 0
    seed = first
    while seed < first + count:
        size = min(BATCH, first + count - seed)
        child = subprocess.run(
            [sys.executable, __file__, "--batch", str(seed), str(size)], capture_output=True, text=True, check=False
        )
        lines = child.stdout.splitlines()
        escaped = [line for line in lines if not line.startswith("@")]
        bad += len(escaped)
        print("\n".join(escaped), flush=True) if escaped else None
        seed += size
        if child.returncode:
            last = int(next(line for line in reversed(lines) if line.startswith("@"))[1:])
            print(f"CRASH with status {child.returncode} at seed {last}\n{child.stderr[-2000:]}", flush=True)
            bad, seed = bad + 1, last + 1
    print(f"{count} calls, {bad} escaped")
    return bad


if __name__ == "__main__":
    if sys.argv[1] == "--batch":
        batch(int(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.exit(bool(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)))
