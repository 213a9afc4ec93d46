"""What every optimiser does. In: parameters with gradients. Out: new values assigned to them; one step is one program.

Hyperparameters enter each step as 0-d inputs, so changing one (`opt.lr = 0.01`) compiles nothing. Of parameters of 16-bit
floats the state is float32, since small changes of an average would be lost, and a new value is rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ... import errors
from ...frontend import ops
from ...frontend.arguments import as_double, as_sequence, shown
from ...frontend.grad import no_grad
from ...frontend.tensor import Tensor, wrap
from ...frontend.trace import afterwards, guard, live_scalars, turn
from ...ir import dtype as dt
from ...ir.dtype import DType
from ...ir.graph import provenance, user_site

Rate = float | Tensor


class Hyperparameters:
    """Those of one step as 0-d Tensors of one dtype: `hyper["lr"]`."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self._tensors = tensors

    def __getitem__(self, name: str) -> Tensor:
        return self._tensors[name]

    def __contains__(self, name: str) -> bool:
        return name in self._tensors


class Optimizer:
    """Holds parameters and, per parameter, state Tensors of its shape and a step count."""

    state_names: tuple[str, ...] = ()

    def __init__(self, params: Iterable[Tensor], lr: Rate) -> None:
        name = type(self).__name__
        self.params = as_sequence(name, "params", params)
        self.lr: Rate = lr if isinstance(lr, Tensor) else as_double(name, "lr", lr)
        if not self.params:
            raise errors.ArgumentError(f"{name}: there are no parameters; an iterator like model.parameters() is used only once")
        for p in self.params:
            if not isinstance(p, Tensor) or not p.requires_grad:
                raise errors.ArgumentError(f"{name}: every parameter must be a Tensor that requires a gradient, got {shown(p)}")
        self.steps = [0] * len(self.params)
        self._latest: tuple[int, Mapping[str, Rate]] | None = None  # a step and what `hyperparameters` gave for it
        self.state = [{name: _zeros_like(p) for name in self.state_names} for p in self.params]

    def zero_grad(self) -> None:
        """Forgets the gradients; the next backward() starts from none."""
        for p in self.params:
            p.grad = None

    def step(self) -> None:
        """Updates every parameter that has a gradient, and computes the gradients and the scalars still held beside it."""
        updated = [(i, p, p.grad) for i, p in enumerate(self.params) if p.grad is not None]
        places = [i for i, _, _ in updated]
        self._latest = None
        if places:
            guard(self._pattern(places))
        known: dict[tuple[int, DType], Hyperparameters] = {}
        with no_grad(), provenance(user_site()):  # one look for the user's line, not one per node
            for i, p, g in updated:
                self._update_one(i, p, _wide(g), known)  # its graph is held by nobody here when the step runs
        versions = [(p, p.node) for _, p, _ in updated[:1]]
        try:
            ops.realize(*(t for i, p, _ in updated for t in (p, *self.state[i].values())))
        except BaseException:
            if any(p.node is version for p, version in versions):  # Ctrl-C: the new value is there, or still to come
                self._count(places)
            raise
        afterwards(partial(self._count, places))  # not where the step failed

    def _update_one(self, i: int, p: Tensor, grad: Tensor, known: dict[tuple[int, DType], Hyperparameters]) -> None:
        ahead = turn(self, i)  # steps that a jitted function has made before this one
        group = (self.steps[i] + ahead, grad.dtype)
        if group not in known:
            known[group] = self._live(i, ahead, grad.dtype)
        self.update(p, grad, self.state[i], known[group])

    def _pattern(self, places: Sequence[int]) -> Callable[[], Any]:
        """Gives what decides the graph of a step: who has made as many as whom, which hyperparameters there are."""
        every = len(places) == len(self.steps)

        def pattern() -> Any:
            counts = self.steps if every else [self.steps[i] for i in places]
            step = counts[0] + 1
            found = self.hyperparameters(step)
            self._latest = step, found  # a jitted function asks this first, then for the values
            names = [name if isinstance(x, float) else (name, id(x)) for name, x in found.items()]
            return counts.count(step - 1) == len(counts) or [*map(counts.index, counts)], names

        return pattern

    def _live(self, place: int, ahead: int, dtype: DType) -> Hyperparameters:
        """The hyperparameters of this parameter's step that many ahead, in a jitted function those of each call."""
        found = self.hyperparameters(1)
        names = [name for name, x in found.items() if not isinstance(x, Tensor)]

        def values() -> list[float]:
            step = self.steps[place] + ahead + 1
            known, now = self._latest or (0, {})
            if known != step:
                now = self.hyperparameters(step)
            return [*now.values()] if len(names) == len(now) else [now[name] for name in names]  # type: ignore[list-item,misc]

        tensors = {name: x.to(dtype=dtype) for name, x in found.items() if isinstance(x, Tensor)}
        nodes = live_scalars(values, [dtype] * len(names))
        return Hyperparameters(tensors | {name: wrap(n) for name, n in zip(names, nodes, strict=True)})

    def _count(self, places: Sequence[int]) -> None:
        steps = self.steps
        if len(places) == len(steps) and steps.count(steps[0]) == len(steps):
            steps[:] = [steps[0] + 1] * len(steps)  # for many parameters a loop takes as long as their program
            return
        for i in places:
            steps[i] += 1

    def hyperparameters(self, step: int) -> dict[str, Rate]:
        """What enters the step of this number (from 1) as 0-d inputs, by name. The names must not depend on the number."""
        raise NotImplementedError(f"{type(self).__name__} defines no hyperparameters()")

    def update(self, p: Tensor, grad: Tensor, state: dict[str, Tensor], hyper: Hyperparameters) -> None:
        """Assigns lazy new values to p and its state; grad has the dtype of the state."""
        raise NotImplementedError(f"{type(self).__name__} defines no update()")


def _wide(x: Tensor) -> Tensor:
    return x.float() if x.dtype.is_half else x


def _zeros_like(p: Tensor) -> Tensor:
    return ops.tensor(np.zeros(p.shape), dt.float32 if p.dtype.is_half else p.dtype)
