"""Wrong calls of every public function and method: whatever is passed, the answer is a value or an
error of Weft's hierarchy.

`python tests/kit/fuzz_calls.py COUNT [FIRST_SEED [PREFIX]]` makes COUNT calls in child processes,
of functions whose names begin so, and prints what escaped, and crashes.
"""

from __future__ import annotations

import array
import enum
import inspect
import math
import random
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import weft as wf
from weft import array_api, fft, linalg, nn
from weft.frontend.lazy import state

BATCH = 2000  # calls in one child process
SECONDS = 20  # of processor time for one call
MEMORY = 24 << 30  # address space of a child: what would take more fails, and must say so
MOST_ELEMENTS = 100_000  # larger results are built, not computed
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGER = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = ("bool", *INTEGER, *FLOATS, *COMPLEX)


class Colour(enum.IntEnum):
    RED = 1


class Opaque:
    """Has nothing that a number or an array has."""

    def __repr__(self) -> str:
        return "<opaque>"


class Unprintable:
    """Raises where it is printed."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")


NUMBERS = (
    *(
        0,
        1,
        2,
        3,
        -1,
        -2,
        7,
        100,
        2**31 - 1,
        2**31,
        -(2**31),
        2**63 - 1,
        2**63,
        -(2**63),
        2**64,
        2**80,
        -(2**200),
        10**5000,
    ),
    *(0.0, -0.0, 0.5, 1.5, -3.25, 1e-320, 1e30, 1e308, float("nan"), float("inf"), float("-inf")),
    *(
        True,
        False,
        Colour.RED,
        np.int8(-1),
        np.uint64(2**64 - 1),
        np.float16(2),
        np.float64("nan"),
        np.bool_(True),
    ),
)
ODDITIES: tuple[Callable[[], Any], ...] = (
    *(
        lambda v=v: v
        for v in (
            None,
            "",
            "x",
            "cpu",
            "cuda",
            "float32",
            "ij,jk->ik",
            "left",
            b"y",
            ...,
            slice(None),
            1 + 2j,
        )
    ),
    *(Opaque, Unprintable, dict, list, tuple, set, object),
    *(
        lambda v=v: v
        for v in (
            {1: 2},
            {1, 2},
            [[]],
            [[1, 2], [3]],
            [None],
            ["a"],
            [[[1]], 2],
            range(3),
            range(2**70),
        )
    ),
    *(
        lambda v=v: v
        for v in (int, float, wf.Tensor, math, repr, Decimal(1), Fraction(1, 2), date(2020, 1, 1))
    ),
    lambda: (i for i in (0, 1)),
    lambda: array.array("d", [1.0, 2.0]),
    lambda: memoryview(b"abc"),
    lambda: bytearray(b"ab"),
    lambda: [10**5000],
    lambda: (2**63, -1),
    lambda: wf.ones(2).__dlpack__(),
)
ARRAYS: tuple[Callable[[], Any], ...] = (
    *(
        lambda v=v: np.asarray(v)
        for v in (
            ["a"],
            [1 + 2j],
            [None],
            np.datetime64("2020-01-01"),
            [[1, 2]],
            3.0,
            [],
            [2**64 - 1],
        )
    ),
    lambda: np.arange(6.0)[::-1],
    lambda: np.arange(3, dtype=">i4"),
    lambda: np.ones(2, np.longdouble),
    lambda: np.zeros(2, [("a", "i4")]),
    lambda: np.ma.masked_array([1.0, 2.0], [True, False]),
    lambda: np.broadcast_to(np.float32(1), (2, 3)),
    lambda: np.frombuffer(b"\0" * 9, np.uint8)[1:].view("f4"),
    lambda: np.matrix([[1, 2]]),
)
FUNCTIONS: tuple[Callable[..., Any], ...] = (
    lambda *xs: wf.concat([wf.ones(1), *(wf.sum(x).reshape(1) for x in xs)]).sum(),
    lambda *xs: xs[0] if xs else wf.ones(2),
    lambda *xs: wf.ones(()),
    lambda *xs: None,
    lambda *xs: (wf.ones(2), {"a": [wf.ones(())]}),
)
SKIPPED = frozenset({"Tensor", "DType"})  # made by functions
SKIPPED |= {"orthogonal"}  # computes matrices of any size at once
NO_OPERATORS = frozenset({"__slots__", "__weakref__", "__module__", "__getattr__"})
NO_OPERATORS |= {"__array_ufunc__", "__array_function__"}  # which NumPy alone calls


def shape(rng: random.Random) -> tuple[int, ...]:
    return tuple(
        rng.choice((0, 1, 1, 2, 2, 3, 4, 5)) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4)))
    )


def tensor(rng: random.Random) -> wf.Tensor:
    """A small Tensor of any dtype, with special values; sometimes lazy, a view, a stack of square
    matrices, or one that requires a gradient."""
    extents = shape(rng)
    if len(extents) > 1 and rng.random() < 0.3:
        extents = (*extents[:-1], extents[-2])
    values = np.array(rng.choices((0, 1, 2, -1, 3, 100, 1000), k=math.prod(extents))).reshape(
        extents
    )
    dtype = rng.choice(DTYPES)
    is_inexact = dtype not in ("bool", *INTEGER)
    array = values.astype(dtype if dtype not in FLOATS else np.float64)
    if dtype in COMPLEX and rng.random() < 0.5:
        array = array * np.exp(1j * np.arange(array.size).reshape(extents)).astype(dtype)
    if is_inexact and array.size and rng.random() < 0.3:
        array.reshape(-1)[0] = rng.choice((np.nan, np.inf, -np.inf, -0.0))
    t = wf.tensor(array, dtype)
    if rng.random() < 0.3 and is_inexact:
        t.requires_grad_()
    if rng.random() < 0.2:
        t = t.T
    return t + t if rng.random() < 0.2 else t


def integers(rng: random.Random) -> Any:
    """An axis, a shape, axes, shifts: one integer or several."""
    n = rng.choice((0, 1, 1, 2, 2, 3, 5, 40))
    several = [
        rng.choice((0, 1, 2, 3, -1, -2, 4, 5, -7, 2**31, 2**62, 2**63, -(2**70))) for _ in range(n)
    ]
    return rng.choice(
        (several, tuple(several), several[0] if several else 0, rng.choice((0, 1, -1, 2)))
    )


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
    if kind < 0.4:
        return tensor(rng)
    if kind < 0.6:
        return rng.choice(NUMBERS)
    if kind < 0.72:
        return integers(rng)
    if kind < 0.78:
        return rng.choice(
            (*DTYPES, "float128", "nope", np.dtype("f4"), np.dtype("S3"), int, float, complex, str)
        )
    if kind < 0.84:
        return [tensor(rng) for _ in range(rng.randrange(4))]
    if kind < 0.9:
        return rng.choice(ARRAYS)()
    return rng.choice(ODDITIES)()


def arguments(
    rng: random.Random, function: Callable[..., Any], is_method: bool
) -> tuple[list[Any], dict[str, Any]]:
    """Arguments that fit the function's parameters in number and name, of any kind."""
    signature = inspect.signature(function)
    positional, keywords, spread = [], {}, []
    for i, p in enumerate(signature.parameters.values()):
        if p.kind is p.VAR_POSITIONAL:
            spread = [
                integers(rng) if p.name in ("more", "shape") else anything(rng)
                for _ in range(rng.randrange(4))
            ]
        elif is_method and i == 0:
            inner = getattr(getattr(function, "__wrapped__", None), "__qualname__", "a.method")
            is_bound = (
                "." not in inner or "<locals>" in inner
            )  # made from a function of Nodes, which checks its self too
            positional.append(anything(rng) if is_bound and rng.random() < 0.03 else tensor(rng))
        elif p.kind is p.VAR_KEYWORD or (p.default is not p.empty and rng.random() < 0.5):
            continue
        elif p.kind is p.KEYWORD_ONLY or (
            p.default is not p.empty and p.kind is not p.POSITIONAL_ONLY
        ):
            keywords[p.name] = fitting(rng, p.name)
        else:
            positional.append(fitting(rng, p.name))
    try:
        signature.bind(*positional, *spread, **keywords)
    except TypeError:  # what is spread takes a place that a keyword names
        spread = []
    return [*positional, *spread], keywords


INTEGERS = [
    "axis", "axes", "axis1", "axis2", "shape", "shift", "source", "destination", "repetitions",
    "repeats", "sizes",
    "decimals", "k", "n", "size", "stride", "dilation", "offset", "start_axis", "end_axis",
    "chunks", "minlength",
    "pad_width", "kernel_size", "padding", "groups", "normalized_shape", "num_classes", "num",
    "n_rows", "n_cols", "seed",
    "s", "max_elements", "argnums", "in_features", "out_features", "in_channels", "out_channels",
    "num_embeddings",
    "embedding_dim",
    "step_size", "milestones", "total_iters", "T_max", "T_0", "T_mult", "total_steps", "epochs",
    "steps_per_epoch", "patience",
    "cooldown", "last_epoch", "num_samples", "edge_order", "N", "bins", "offset", "size", "strides",
]  # fmt: skip
SWITCHES = [
    "keepdims", "descending", "stable", "endpoint", "copy", "include_initial", "largest", "sorted",
    "equal_nan", "invert",
    "assume_unique", "requires_grad", "replace", "replacement", "density", "increasing",
    "training", "bias", "nesterov", "retain_graph", "allow_unused", "return_index",
    "return_inverse", "return_counts", "affine", "is_causal",
    "upper", "unit_diagonal", "left", "full_matrices",
    "amsgrad", "maximize", "centered", "cycle_momentum", "three_phase", "error_if_nonfinite",
]  # fmt: skip
WORDS = {
    "side": ("left", "right"),
    "indexing": ("xy", "ij"),
    "mode": ("constant", "edge", "reflect", "symmetric", "wrap", "reduced", "complete"),
    "norm": ("backward", "ortho", "forward"),
    "ord": ("fro", "nuc", 1, 2, -2, 0, 0.5, math.inf, -math.inf, None),
    "approximate": ("none", "tanh"),
    "reduction": ("mean", "sum", "none"),
    "device": ("cpu", "cuda", None),
    "subscripts": (
        "ij,jk->ik",
        "ij->ji",
        "i,i",
        "...i->...",
        "ii",
        "i->ii",
        "a",
        "->",
        ",",
        "ij,jk,kl",
    ),
    "kind": ("bool", "integral", "real floating", ("numeric", "bool"), "complex floating"),
    "folder": ("here", "a/b"),
    "anneal_strategy": ("cos", "linear"),
    "threshold_mode": ("rel", "abs"),
    "method": ("linear", "lower", "higher", "midpoint", "nearest"),
}


def fitting(rng: random.Random, name: str) -> Any:
    """More often than not what the parameter's name asks for."""
    if rng.random() < 0.3:
        other = anything(rng)
        return (
            None if name == "distance_function" and callable(other) else other
        )  # what a user's function raises is the user's
    if name in INTEGERS:
        return integers(rng)
    if name in SWITCHES:
        return rng.choice((True, False))
    if name in WORDS:
        return rng.choice(WORDS[name])
    if name in ("dtype", "type", "from_", "to"):
        return rng.choice(DTYPES)
    if name in ("key", "index"):
        return key(rng)
    if name in (
        "arrays",
        "parts",
        "tensors",
        "params",
        "parameters",
        "inputs",
        "tangents",
        "indices",
    ):
        return [tensor(rng) for _ in range(rng.randrange(4))]
    if name in ("f", "function", "hook", "fn"):
        return rng.choice(FUNCTIONS)
    return rng.choice((tensor, tensor, tensor, lambda r: r.choice(NUMBERS)))(rng)


Entry = tuple[str, Callable[..., Any], bool]
CONTAINERS = nn.layers.container.__all__  # made of modules, not of numbers


def functions() -> list[Entry]:
    """(name, function, is it a method) of everything public that computes."""
    found = []
    found += public("", wf, wf.__all__)
    for name in dir(wf.Tensor):
        f = getattr(wf.Tensor, name)
        operator = name.startswith("__") and name not in dir(object) and name not in NO_OPERATORS
        if callable(f) and (operator or not name.startswith("_")):
            found.append((f"Tensor.{name}", f, True))
    found += public("array_api.", array_api, array_api.__all__)
    found += public("linalg.", linalg, linalg.__all__)
    found += public("fft.", fft, fft.__all__)
    found += public("nn.functional.", nn.functional, dir(nn.functional))
    found += public("nn.init.", nn.init, dir(nn.init))
    found += [
        (f"nn.{name}", _layer(getattr(nn, name)), False)
        for name in nn.__all__
        if _is_layer(getattr(nn, name))
    ]
    found += [
        (f"nn.optim.{kind.__name__}", _optimizer(kind), False)
        for kind in vars(nn.optim).values()
        if _is_optimizer(kind)
    ]
    schedules = [name for name in nn.optim.lr_scheduler.__all__ if name != "LRScheduler"]
    found += [(f"nn.optim.{name}", _schedule(getattr(nn.optim, name)), False) for name in schedules]
    found += public("nn.utils.", nn.utils, dir(nn.utils))
    return [entry for entry in found if _has_signature(entry[1])]


def public(prefix: str, module: ModuleType, names: list[str]) -> list[Entry]:
    """The functions that a module defines or lists."""
    given = [
        (name, getattr(module, name))
        for name in names
        if not name.startswith("_") and name not in SKIPPED
    ]
    own = [
        (n, f)
        for n, f in given
        if n in getattr(module, "__all__", ()) or getattr(f, "__module__", "") == module.__name__
    ]
    return [
        (prefix + name, f, False)
        for name, f in own
        if callable(f) and not isinstance(f, (type, wf.DType))
    ]


def _is_layer(kind: Any) -> bool:
    return (
        isinstance(kind, type)
        and issubclass(kind, nn.Module)
        and kind is not nn.Module
        and kind.__name__ not in CONTAINERS
    )


def _is_optimizer(kind: Any) -> bool:
    return (
        isinstance(kind, type)
        and issubclass(kind, nn.optim.Optimizer)
        and kind is not nn.optim.Optimizer
    )


def _layer(kind: type) -> Callable[..., Any]:
    """Makes a layer and applies it."""

    inputs = [
        p.name
        for p in list(inspect.signature(kind.forward).parameters.values())[1:]
        if p.default is p.empty
    ]

    def apply(*args: Any, **kwargs: Any) -> Any:
        return kind(*args[len(inputs) :], **kwargs)(*args[: len(inputs)])

    return _with_first(apply, list(inspect.signature(kind).parameters.values()), inputs)


def _optimizer(kind: Any) -> Callable[..., Any]:
    """Makes an optimiser of the parameters and takes two steps."""

    def step(params: Any, /, *args: Any, **kwargs: Any) -> Any:
        if isinstance(params, list) and all(isinstance(p, wf.Tensor) for p in params):
            params = [p.detach().float().requires_grad_() for p in params]
        optimizer = kind(params, *args, **kwargs)
        for _ in range(2):
            wf.concat([p.ravel() for p in params]).sum().backward()
            optimizer.step()
        return optimizer.params

    first, *others = inspect.signature(kind).parameters.values()
    return _with_first(step, others, [first.name])


def _schedule(kind: Any) -> Callable[..., Any]:
    """Makes a schedule of an optimiser of two groups, takes a few steps, and takes them back."""

    def steps(optimizer: Any, /, *args: Any, **kwargs: Any) -> Any:
        if isinstance(optimizer, wf.Tensor):
            groups = [{"params": [wf.nn.Parameter(wf.ones(2))], "lr": lr} for lr in (1.0, 0.5)]
            optimizer = nn.optim.SGD(groups, momentum=0.9)
        schedule = kind(optimizer, *args, **kwargs)
        before = schedule.state_dict()
        for _ in range(3):
            schedule.step(*([1.0] if kind is nn.optim.ReduceLROnPlateau else []))
        schedule.load_state_dict(before)
        return repr(schedule), schedule.get_last_lr()

    first, *others = inspect.signature(kind).parameters.values()
    return _with_first(steps, others, [first.name])


def _with_first(call: Any, own: list[inspect.Parameter], first: list[str]) -> Callable[..., Any]:
    """The signature of the parameters of a constructor behind others, which are positional."""
    taken = {p.name for p in own}
    names = [f"the_{name}" if name in taken else name for name in first]
    lead = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]
    call.__signature__ = inspect.Signature([*lead, *own])
    return call  # type: ignore[no-any-return]


def _has_signature(f: Callable[..., Any]) -> bool:
    try:
        inspect.signature(f)
    except (TypeError, ValueError):
        return False
    return True


def compute(result: Any, rng: random.Random) -> None:
    """Reads what came back, if it is not too large, and sometimes its gradients."""
    if isinstance(result, (tuple, list)):
        for r in result[:5]:
            compute(r, rng)
    elif isinstance(result, wf.Tensor) and result.size <= MOST_ELEMENTS:
        if result.requires_grad and rng.random() < 0.3:
            result.backward(wf.ones(result.shape), retain_graph=True)
        result.numpy()


class TooSlow(BaseException):
    """A call took more than SECONDS of processor time."""


def _too_slow(*_: Any) -> None:
    raise TooSlow


def call(seed: int, table: list[Entry]) -> str | None:
    """Makes the call of this seed. Returns None if all is well, else what escaped."""
    rng = random.Random(seed)
    name, function, is_method = rng.choice(table)
    wf.manual_seed(0)
    wf.set_default_dtype("float32")
    positional, keywords = arguments(rng, function, is_method)
    # parameters of a layer that an earlier call made, 8 GB of them once, are not this call's to
    # compute
    state.take_pending()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        compute(function(*positional, **keywords), rng)
    except wf.errors.WeftError:
        return None
    except (Exception, TooSlow) as error:
        frames = traceback.extract_tb(error.__traceback__)
        where = " < ".join(
            f"{f.filename.rsplit('/', 1)[-1]}:{f.lineno}" for f in reversed(frames[-4:])
        )
        return (
            f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:120]} ({where}) seed"
            f" {seed}"
        )
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None


def batch(first: int, count: int, prefix: str = "") -> Counter[str]:
    """What escaped from the calls of these seeds."""
    warnings.simplefilter("error")  # a warning escapes too
    warnings.filterwarnings("ignore", category=PendingDeprecationWarning)  # numpy.matrix
    signal.signal(signal.SIGPROF, _too_slow)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    table = [entry for entry in functions() if entry[0].startswith(prefix)]
    escaped: Counter[str] = Counter()
    for seed in range(first, first + count):
        print(f"@{seed}", flush=True)
        if (found := call(seed, table)) is not None:
            print(found, flush=True)
            escaped[found.split(":")[0]] += 1
    return escaped


def main(count: int, first: int, prefix: str = "") -> int:
    """Runs the calls in child processes. Returns the number of escapes and crashes."""
    bad = 0
    seed = first
    while seed < first + count:
        size = min(BATCH, first + count - seed)
        command = [sys.executable, __file__, "--batch", str(seed), str(size), prefix]
        with tempfile.TemporaryDirectory() as folder:  # where dump() writes
            child = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        lines = child.stdout.splitlines()
        escaped = [line for line in lines if not line.startswith("@")]
        bad += len(escaped)
        print("\n".join(escaped), flush=True) if escaped else None
        seed += size
        if child.returncode:
            last = int(next(line for line in reversed(lines) if line.startswith("@"))[1:])
            print(
                f"CRASH with status {child.returncode} at seed {last}\n{child.stderr[-2000:]}",
                flush=True,
            )
            bad, seed = bad + 1, last + 1
    print(f"{count} calls, {bad} escaped")
    return bad


if __name__ == "__main__":
    if sys.argv[1] == "--batch":
        batch(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    else:
        count, first, prefix = (sys.argv[i] if i < len(sys.argv) else "" for i in (1, 2, 3))
        sys.exit(bool(main(int(count), int(first or 0), prefix)))
