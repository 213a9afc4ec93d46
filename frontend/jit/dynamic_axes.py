"""Axes of any extent. In: what `jit` was told of them, the Tensors of a call. Out: Tensors without
memory that have other extents there, for which the function is traced, too, so that the program
that is compiled serves both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ... import errors
from ...ir.graph.brief import brief
from ...ir.graph.shapes import Shape
from ...ir.symbolic.scope import LEAST
from ...runtime.memory import storage
from ..tensor.tensor import Tensor, of_storage

Axes = Mapping[str, Mapping[int, str]]  # of arguments: the symbol of an axis
Dynamic = bool | Axes

HOW = 'a bool, or symbols by argument and axis such as {"x": {0: "batch"}}'


@dataclass(frozen=True)
class Others:
    """Tensors of other sizes. `symbols`: the name of each by its extent in them and its own."""

    tensors: list[Tensor]
    symbols: dict[tuple[int, int], str]

    def __str__(self) -> str:
        return ", ".join(f"{name} = {extent}" for (extent, _), name in self.symbols.items())


def as_dynamic(dynamic: object) -> Dynamic:
    """What `jit` takes. Raises ArgumentError."""
    if isinstance(dynamic, bool):
        return dynamic
    if not isinstance(dynamic, Mapping):
        raise errors.ArgumentError(f"jit: dynamic is {HOW}, not {brief(dynamic)}")
    for name, axes in dynamic.items():
        pairs = axes.items() if isinstance(axes, Mapping) else None
        if not isinstance(name, str) or not pairs or not all(_names_an_axis(*p) for p in pairs):
            raise errors.ArgumentError(f"jit: dynamic is {HOW}; {brief(name)} has {brief(axes)}")
    return {name: dict(axes) for name, axes in dynamic.items()}


def _names_an_axis(axis: object, symbol: object) -> bool:
    is_number = isinstance(axis, int) and not isinstance(axis, bool)
    return is_number and isinstance(symbol, str) and symbol.isidentifier()


def others_of(axes: Axes, owners: Sequence[str], tensors: Sequence[Tensor]) -> list[Others]:
    """The Tensors of a call with greater extents along its axes, and with smaller ones, since they
    may be the greatest that there are; `owners` are their arguments. None if none has more than one
    element there. Raises ArgumentError where an axis is missing, and ShapeError where a symbol has
    two extents."""
    if unknown := [name for name in axes if name not in owners]:
        there = ", ".join(dict.fromkeys(owners))
        raise errors.ArgumentError(
            f"jit: dynamic names {brief(unknown[0])}, the Tensors are in {there}"
        )
    symbols = [_symbols(axes.get(o, {}), o, t) for o, t in zip(owners, tensors, strict=True)]
    extents: dict[str, tuple[int, str]] = {}
    for owner, t, named in zip(owners, tensors, symbols, strict=True):
        for axis, symbol in named.items():
            extent, where = extents.setdefault(symbol, (t.shape[axis], owner))
            if extent != t.shape[axis]:
                raise errors.ShapeError(
                    f"jit: {symbol} is {extent} in {where} and {t.shape[axis]} in {owner}"
                )
    known = {symbol: extent for symbol, (extent, _) in extents.items() if extent >= LEAST}
    return [_others(tensors, symbols, known, sign) for sign in (1, -1)] if known else []


def _others(
    tensors: Sequence[Tensor],
    symbols: Sequence[Mapping[int, str]],
    known: Mapping[str, int],
    sign: int,
) -> Others:
    """With extents that differ from the known ones, each by another number, which tells them
    apart."""
    other = {}
    for step, (symbol, extent) in enumerate(known.items(), LEAST):
        other[symbol] = extent + (sign * step if extent + sign * step >= LEAST else step)
    made: dict[tuple[int, Shape], Tensor] = {}  # a Tensor that is passed twice is one here, too
    places = []
    for t, named in zip(tensors, symbols, strict=True):
        shape = tuple([other.get(named.get(a, ""), d) for a, d in enumerate(t.shape)])
        places.append((id(t), shape))
        made.setdefault(places[-1], _of_shape(t, shape))
    pairs = {(other[s], extent): s for s, extent in known.items()}
    return Others([made[place] for place in places], pairs)


def _symbols(axes: Mapping[int, str], owner: str, t: Tensor) -> dict[int, str]:
    for axis in axes:
        if not -t.ndim <= axis < t.ndim:
            raise errors.ArgumentError(
                f"jit: dynamic names axis {axis} of {owner}, whose shape is {tuple(t.shape)}"
            )
    return {axis % t.ndim: symbol for axis, symbol in axes.items()}


def _of_shape(t: Tensor, shape: Shape) -> Tensor:
    if shape == t.shape:
        return t
    made = of_storage(storage.absent(t.dtype, shape, device=t.device))
    made._requires_grad = t._requires_grad
    return made
