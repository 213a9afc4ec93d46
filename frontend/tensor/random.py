"""Random Tensors. In: shapes; the generator's key and draw number. Out: lazy Tensors, the same for
the same seed and order.

Key and draw number are 0-d inputs of a program, so drawing again or seeding anew compiles nothing.
See philox.py. What Python itself draws (`host_words`) comes from NumPy's Philox 4x64 with the same
key and number, which is its own stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce, wraps
from math import pi, prod
from threading import get_ident
from typing import TYPE_CHECKING, ClassVar, ParamSpec, TypeVar

import numpy as np

from ... import errors, locks
from ...ir.graph import dtype as dt
from ...ir.graph.brief import brief
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, full, node, reshape
from ...ir.graph.op import Op
from ...modes import Blocks, Mode
from ...runtime.memory import storage
from ...runtime.memory.devices import check_device
from ...signals import deferred
from ..elementwise import all as ew
from ..elementwise import transcendental as tr
from ..functions import philox
from ..lazy.trace import tracing
from ..operands.arguments import as_bool, as_double, as_int, as_shape
from ..operands.broadcast import as_dtype, default_float, default_int
from ..operands.likes import DeviceLike, DTypeLike, ShapeLike
from .tensor import Tensor, wrap

if TYPE_CHECKING:
    from numpy.typing import NDArray

MASK64 = (1 << 64) - 1

P = ParamSpec("P")
R = TypeVar("R")
Draw = tuple[int, int]  # a key and the number of a draw


class Generator:
    """A key, and how many draws were made with it; thread-safe."""

    def __init__(self, seed: int) -> None:
        self._lock = locks.new("generator")
        self._start(seed)

    def manual_seed(self, seed: int) -> None:
        """Starts again with this key."""
        tracing().refuse("manual_seed: seeding")
        with self._lock:
            self._start(as_int("manual_seed", "the seed", seed) & MASK64)

    def state(self) -> dict[str, int]:
        """The key, and how many draws were made."""
        tracing().refuse("get_rng_state: reading the generator")
        with self._lock:
            return {"seed": self._seed, "draws": self._draws}

    def restore(self, state: Mapping[str, int]) -> None:
        """Goes on where `state` was read."""
        tracing().refuse("set_rng_state: setting the generator")
        seed, draws = _checked(state)
        with self._lock:
            self._start(seed, draws)

    def _start(self, seed: int, draws: int = 0) -> None:
        """Its last statement does it all."""
        key = storage.scalar_leaf(seed, dt.uint64)
        self._key, self._seed, self._draws, self._thread, self._since = key, seed, draws, 0, draws

    def _next(self) -> list[float]:
        """The number of a draw."""
        return [self.draw()[1]]

    def draw(self) -> Draw:
        """One draw, for numbers that Python makes of it."""
        with self._lock:
            thread, draws = get_ident(), self._draws
            since = self._since if self._thread == thread else draws
            # at once: nothing is called
            self._thread, self._since, self._draws = (
                thread,
                since,
                draws + 1,
            )
            return self._seed, draws

    def mark(self) -> Callable[[], None]:
        """What takes back the draws that this thread makes from now on, whose numbers have not been
        seen."""
        return partial(self._go_back, self._key, self._draws)

    def _go_back(self, key: Node, draws: int) -> None:
        """Not if another thread has drawn since."""
        with self._lock:
            if (
                self._key is key
                and self._thread == get_ident()
                and self._since <= draws < self._draws
            ):
                self._draws = draws

    def words(self, count: int) -> philox.Words:
        """Four fresh random words for each of `count` elements; in a jitted function fresh ones at
        each call."""
        with self._lock:
            key = self._key
        key = tracing().live_source(self, lambda: [self._seed], dt.uint64, key)
        return philox.words(count, key, tracing().draw(self._next, self.mark))


def _checked(state: object) -> tuple[int, int]:
    """(seed, draws) of what Generator.state gave. Raises ArgumentError for anything else."""
    if not isinstance(state, Mapping) or set(state) != {"seed", "draws"}:
        raise errors.ArgumentError(
            f"set_rng_state: the state must come from get_rng_state(), not {brief(state)}"
        )
    seed, draws = (as_int("set_rng_state", name, state[name]) for name in ("seed", "draws"))
    if not (0 <= seed <= MASK64 and 0 <= draws <= MASK64):
        raise errors.ArgumentError(
            f"set_rng_state: seed and draws must be numbers of 64 bits, not {brief(state)}"
        )
    return seed, draws


class _Default:
    """The generator of all random Tensors, made at the first draw: importing touches no memory."""

    lock = locks.new("generator")
    generator: Generator | None = None


class Fork(Mode):
    """In a `with` block, draws of this thread depend only on one draw and the number of a part,
    whatever others draw."""

    blocks: ClassVar[Blocks[Callable[[], Generator] | None]] = Blocks({})

    def __init__(self, draw: Draw, part: int) -> None:
        self._draw, self._part = draw, part
        self._generator: Generator | None = None
        self.value = self.generator

    def generator(self) -> Generator:
        """Made when something is drawn: most parts draw nothing."""
        if self._generator is None:
            self._generator = Generator(int(_host_words(self._draw, 1, 1 + self._part)[0]))
        return self._generator


def _default() -> Generator:
    fork = Fork.blocks.value(None)
    if fork is not None:
        return fork()
    with _Default.lock:
        if _Default.generator is None:
            _Default.generator = Generator(0)
        return _Default.generator


def drawing(function: Callable[P, R]) -> Callable[P, R]:
    """The function: its draws count as it returns. One that is interrupted, or fails, has drawn
    nothing."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        go_back = _default().mark()
        try:
            return function(*args, **kwargs)
        except BaseException:
            with deferred():
                go_back()
                raise

    return call


def words(count: int) -> philox.Words:
    """Four fresh random words of 32 bits for each of `count` elements."""
    return _default().words(count)


def manual_seed(seed: int) -> None:
    """Seeds the generator of all random Tensors (the seed is 0 at start, in every process)."""
    _default().manual_seed(seed)


# ---------------------------------------------------------------- numbers for Python


def next_draw() -> Draw:
    """A fresh draw, made now. Raises JitError in a jitted function."""
    tracing().refuse("drawing numbers for Python")
    return _default().draw()


def _host_words(draw: Draw, count: int, part: int) -> NDArray[np.uint64]:
    return np.random.Philox(
        key=np.array(draw, np.uint64), counter=np.array((0, 0, 0, part), np.uint64)
    ).random_raw(count)


@drawing
def host_words(count: int) -> NDArray[np.uint64]:
    """An array of 64 random bits each, of a fresh draw, at once. Raises JitError in a jitted
    function."""
    return _host_words(next_draw(), count, 0)


@drawing
def permutation(count: int) -> NDArray[np.int64]:
    """The numbers below count in a random order, at once: random words are sorted whose low bits
    are these numbers."""
    low = np.uint64((1 << count.bit_length()) - 1)
    keys = (host_words(count) & ~low) | np.arange(count, dtype=np.uint64)
    keys.sort()
    return (keys & low).astype(np.int64)


def get_rng_state() -> dict[str, int]:
    """The state of the generator of all random Tensors: its seed, and how many draws were made;
    JSON can keep it.

    >>> state = wf.get_rng_state()
    >>> a = wf.rand(3)
    >>> wf.set_rng_state(state)
    >>> bool((a == wf.rand(3)).all())
    True
    """
    return _default().state()


def set_rng_state(state: Mapping[str, int]) -> None:
    """Sets the generator of all random Tensors to a state from get_rng_state(). Raises
    ArgumentError, DTypeError."""
    _default().restore(state)


# ---------------------------------------------------------------- from bits to numbers


def _scaled(bits: Node, via: DType, dtype: DType, scale: float) -> Node:
    """Whole numbers as floats, times a power of 2. The signed type on the way has vector
    conversions everywhere."""
    return ew.mul(ew.cast(ew.cast(bits, via), dtype), scale)


def _bits53(low: Node, high: Node) -> Node:
    return ew.shift_right(ew.bit_or(low, ew.shift_left(high, 32)), 11)


def _uniform(words: philox.Words, dtype: DType) -> Node:
    """Multiples of 2**-digits in [0, 1), digits being those of the dtype."""
    if dtype is dt.float64:
        return _scaled(_bits53(words[0], words[1]), dt.int64, dtype, 2.0**-53)
    via = dt.int16 if dtype.is_half else dt.int32
    return _scaled(ew.shift_right(words[0], 32 - dtype.digits), via, dtype, 2.0**-dtype.digits)


def uniforms(count: int) -> Node:
    """Multiples of 2**-53 in [0, 1), float64."""
    return _uniform(words(count), dt.float64)


def _normal(words: philox.Words, dtype: DType) -> Node:
    """Box and Muller 1958: sqrt(-2 log u) cos(2 pi v) with u in (0, 1], v in [0, 1)."""
    if dtype is dt.float64:
        u = _scaled(ew.add(_bits53(words[0], words[1]), 1), dt.int64, dtype, 2.0**-53)
        v = _scaled(_bits53(words[2], words[3]), dt.int64, dtype, 2.0**-53)
    else:
        u = ew.mul(
            ew.add(_scaled(ew.shift_right(words[0], 1), dt.int32, dtype, 1.0), 1.0), 2.0**-31
        )
        v = _scaled(ew.shift_right(words[1], 8), dt.int32, dtype, 2.0**-24)
    return ew.mul(ew.sqrt_(ew.mul(tr.log(u), -2.0)), tr.cos(ew.mul(v, 2.0 * pi)))


def drawn_dtype(name: str, dtype: DTypeLike) -> DType:
    """The dtype asked for, or the default. Raises DTypeError unless it is a float."""
    drawn = default_float() if dtype is None else as_dtype(dtype)
    if not drawn.is_float:
        raise errors.DTypeError(f"{name}: draws floats, not {drawn.name}")
    return drawn


@drawing
def rand(
    *shape: ShapeLike,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform in [0, 1): multiples of 2**-24 (float32), 2**-53 (float64), 2**-11 (float16), 2**-8
    (bfloat16)."""
    # first: what is refused draws nothing
    place, tracks = (
        check_device(device),
        as_bool("rand", "requires_grad", requires_grad),
    )
    return uniform(0.0, 1.0, as_shape("rand", shape), dtype).to(place).requires_grad_(tracks)


@drawing
def randn(
    *shape: ShapeLike,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Normal with mean 0 and standard deviation 1; of the default dtype unless given."""
    place, tracks = check_device(device), as_bool("randn", "requires_grad", requires_grad)
    return normal(0.0, 1.0, as_shape("randn", shape), dtype).to(place).requires_grad_(tracks)


@drawing
def uniform(
    low: float = 0.0, high: float = 1.0, shape: ShapeLike = (), dtype: DTypeLike = None
) -> Tensor:
    """Uniform in [low, high)."""
    extents, target = as_shape("uniform", (shape,)), drawn_dtype("uniform", dtype)
    low, high = as_double("uniform", "low", low), as_double("uniform", "high", high)
    return wrap(_affine(_uniform(words(prod(extents)), target), high - low, low, extents))


@drawing
def normal(
    mean: float = 0.0, std: float = 1.0, shape: ShapeLike = (), dtype: DTypeLike = None
) -> Tensor:
    """Normal with this mean and standard deviation."""
    extents, target = as_shape("normal", (shape,)), drawn_dtype("normal", dtype)
    mean, std = as_double("normal", "mean", mean), as_double("normal", "std", std)
    wide = dt.float32 if target.is_half else target
    return wrap(ew.cast(_affine(_normal(words(prod(extents)), wide), std, mean, extents), target))


def _affine(x: Node, scale: float, offset: float, shape: tuple[int, ...]) -> Node:
    x = x if scale == 1.0 else ew.mul(x, scale)
    return reshape(x if offset == 0.0 else ew.add(x, offset), shape)


@drawing
def randint(
    low: int, high: int | None = None, shape: ShapeLike = (), dtype: DTypeLike = None
) -> Tensor:
    """Whole numbers in [low, high), or in [0, low); int64 unless given.

    A range r takes 64 random bits b as floor(b * r / 2**64), from r = 2**32 on 128 bits as floor(b
    * r / 2**128): the error of a probability is below 2**-32 of it, or 2**-64, which no sample
    shows.
    """
    low = as_int("randint", "low", low)
    low, high = (0, low) if high is None else (low, as_int("randint", "high", high))
    if high <= low:
        raise errors.ShapeError(f"randint: there is no integer in [{low}, {high})")
    extents = as_shape("randint", (shape,))
    drawn = _below(words(prod(extents)), high - low)
    out = ew.add(ew.cast(drawn, dt.int64), low)
    return wrap(reshape(ew.cast(out, default_int if dtype is None else as_dtype(dtype)), extents))


def _below(words: philox.Words, count: int) -> Node:
    """uint64 numbers below the count, at most 2**64: the high part of its product with the random
    bits."""
    if count < 1 << 32:
        return _times(words[:2], count)[-1]
    if count == 1 << 64:
        return ew.bit_or(words[0], ew.shift_left(words[1], 32))
    rest = _times(words, count & philox.LOW)
    whole = _times(words, count >> 32, rest[1:])
    return ew.bit_or(whole[3], ew.shift_left(whole[4], 32))


def _times(limbs: Sequence[Node], factor: int, plus: Sequence[Node] = ()) -> list[Node]:
    """limbs * factor + plus in limbs of 32 bits, the lowest first, one more than there were."""
    extent = full(factor, dt.uint64, limbs[0].shape)
    out: list[Node] = []
    carry: Node | None = None
    for i, limb in enumerate(limbs):
        terms = [
            node(Op.MUL, (limb, extent)),
            *plus[i : i + 1],
            *([] if carry is None else [carry]),
        ]
        total = reduce(ew.add, terms)  # (2**32 - 1)**2 + 2 * (2**32 - 1) < 2**64
        out.append(philox.low(total))
        carry = philox.high(total)
    assert carry is not None
    return [*out, carry]
