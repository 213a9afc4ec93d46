"""Base of all optimisers. In: parameters with gradients. Out: new values assigned to them; one step
is one program.

Hyperparameters live in `param_groups` and enter each step as 0-d inputs, so changing one compiles
nothing. Of parameters of 16-bit floats the state is float32, since small changes of an average
would be lost, and a new value is rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from ... import errors
from ...frontend import ops
from ...frontend.gradients.gradient import enable_grad, no_grad
from ...frontend.lazy.state import become
from ...frontend.lazy.trace import tracing
from ...frontend.lazy.transaction import go_back, retract, versions
from ...frontend.operands.arguments import as_function
from ...frontend.tensor.parameters_elsewhere import Naming
from ...frontend.tensor.tensor import Tensor, wrap
from ...ir.graph import dtype as dt
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node
from ...ir.graph.site import provenance, user_site
from ...runtime.memory.devices import only_cpu
from ...signals import Actions, deferred
from ..parameter import clear_gradients
from . import stored
from .groups import Check, Group, checked, described, extended, listed, rate, with_parameters

Rate = float | Tensor
# of one step: 0-d Tensors of one dtype, and True for each option that is on
Hyperparameters = Mapping[str, Any]
NOTHING: tuple[int, Mapping[str, Any]] = (0, {})


class Optimizer(Naming):
    """The base of all optimisers: groups of parameters, and per parameter state Tensors of its
    shape and a step count.

    A subclass lists its hyperparameters in `checks` and defines `state_names`, `hyperparameters`
    and `update`.

    >>> class Sign(nn.optim.Optimizer):
    ...     def update(self, p, grad, state, hyper):
    ...         p.assign(p - hyper["lr"] * grad.sign())
    >>> p = nn.Parameter([1.0, 2.0])
    >>> optimizer = Sign([p], {"lr": 0.5})
    >>> (p * p).sum().backward(); optimizer.step(); p.tolist()
    [0.5, 1.5]
    """

    checks: ClassVar[Mapping[str, Check]] = {"lr": rate}

    def __init__(self, params: Any, defaults: Mapping[str, Any]) -> None:
        name = type(self).__name__
        self.defaults = checked(name, defaults, self.checks)
        self.param_groups: list[Group] = []
        self.params: list[Tensor] = []  # of all groups
        self.steps: list[int] = []
        self.state = stored.States(self.params)
        self._latest: dict[
            int, tuple[int, Mapping[str, Any]]
        ] = {}  # by group: a step, what `hyperparameters` gave for it
        for group in listed(name, params):
            self.add_param_group(group)

    def add_param_group(self, group: Group) -> None:
        """More parameters, with hyperparameters of their own: {"params": [..], "lr": 0.1}; those
        left out are the defaults.

        Raises ArgumentError, and adds nothing, where one is not allowed or a parameter is in a
        group already.
        """
        name = type(self).__name__
        new = with_parameters(name, group, self.params)
        new = checked(name, {**self.defaults, **new}, self.checks)
        self.check_group(new)
        self.param_groups.append(new)
        self.params += new["params"]
        self.steps += [0] * len(new["params"])
        self.state += [
            {what: self.new_state(what, p, new) for what in self.state_names(new)}
            for p in new["params"]
        ]

    @property
    def lr(self) -> Rate:
        """The rate that all groups share; set it to give it to all. Raises ArgumentError where they
        differ."""
        first, *others = [group["lr"] for group in self.param_groups]
        if any(
            other is not first and (isinstance(other, Tensor) or other != first) for other in others
        ):
            raise errors.ArgumentError(
                f"{type(self).__name__}: the groups have rates of their own, see"
                " param_groups[i]['lr']"
            )
        return first  # type: ignore[no-any-return]

    @lr.setter
    def lr(self, value: Rate) -> None:
        lr = rate(type(self).__name__, "lr", value)
        for group in self.param_groups:
            group["lr"] = lr

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients, so that the next backward() starts from none; with
        set_to_none=False they become zeros."""
        clear_gradients("zero_grad", self.params, set_to_none)

    def state_dict(self) -> dict[str, Any]:
        """{"state": {i: {"step": n, ..}}, "param_groups": [{"lr": .., "params": [i, ..]}, ..]}, as
        torch has it.

        Of each parameter i that has made a step, its state Tensors as they are now; later steps do
        not change them.
        """
        return stored.state_dict(self)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """What `state_dict` gave, here or in torch: state, step counts and hyperparameters. Nothing
        changes unless all fits.

        Raises StateError (a KeyError) for names and numbers of parameters, ShapeError, DTypeError,
        ArgumentError.
        """
        stored.load_state_dict(self, state)

    # ------------------------------------------------------------ a step

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates every parameter that has a gradient, and computes the gradients and the scalars
        still held beside it.

        closure: computes gradients afresh; what it returns, the loss, is returned.
        """
        loss = (
            None
            if closure is None
            else _with_gradients(as_function(f"{type(self).__name__}.step", "closure", closure))
        )
        self._step(None)
        return loss

    def step_unless(self, skip: Tensor) -> None:
        """One `step`, but nothing changes where the 0-d bool `skip` is True: no parameter, no
        state, no count.

        `skip` is computed beside the step, without which Python could not count. In a jitted
        function it is a Tensor from outside that the function assigns to; of several steps in one,
        each takes those before it for made.
        """
        self._step(skip)

    def _step(self, skip: Tensor | None) -> None:
        work = [
            (k, [i for i in places if self.params[i].grad is not None])
            for k, places in self.places()
        ]
        self._latest.clear()
        for k, places in work:
            if places:
                self._check(k)
                self.complete(k, places)
                tracing().guard(self._pattern(k, places))
        places = [i for _, updated in work for i in updated]
        tensors = [t for i in places for t in (self.params[i], *self.state[i].values())]

        def count() -> None:
            self._count(places, skip)

        if tracing().is_traced:  # which assigns to nothing until it is called, and then to all
            self._assign(work, tensors, skip)
            tracing().after_call(count)
            return
        counted, version = Actions([count]), None
        # else an update from before the step would go with it
        had_values = all(t._stored() is not None for t in tensors)
        try:
            version = self._assign(work, tensors, skip)
            ops.realize(*tensors, *([] if skip is None else [skip]))
            counted.finish()
        except BaseException as failure:
            with deferred():
                # waits for a program without that demand
                stays = not had_values or isinstance(failure, errors.FusionError)
                if (
                    version is not None
                    and tensors[0].node is version
                    and (stays or not retract(tensors))
                ):
                    counted.finish()  # the new values are there, or still to come
                raise

    def _assign(
        self, work: Sequence[tuple[int, list[int]]], tensors: Sequence[Tensor], skip: Tensor | None
    ) -> Node | None:
        """Gives the Tensors their next values, all or none. Returns what the first one stands for
        now."""
        before = versions(tensors)
        try:
            with no_grad():
                self._update_groups(work, skip)
            return tensors[0].node if tensors else None
        except BaseException:
            with deferred():
                go_back(before)
                raise

    def places(self) -> list[tuple[int, range]]:
        """Each group's number, and where its parameters are among all."""
        ends = [*accumulate(len(group["params"]) for group in self.param_groups)]
        return [
            (k, range(first, end))
            for k, (first, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True))
        ]

    def _update_groups(self, work: Sequence[tuple[int, list[int]]], skip: Tensor | None) -> None:
        with provenance(user_site()):  # one look for the user's line, not one per node
            for k, places in work:
                # nothing here holds its graph when the step runs
                self._update_group(k, places, skip)

    def _update_group(self, k: int, places: Sequence[int], skip: Tensor | None) -> None:
        known: dict[tuple[int, DType], Hyperparameters] = {}
        for i in places:
            own, grad = self.params[i], self.params[i].grad
            assert grad is not None
            p, grad = in_parts(own), in_parts(grad)
            grad = grad.float() if grad.dtype.is_half else grad
            ahead = tracing().turn(self, i)  # steps that a jitted function has made before this one
            key = (self.steps[i] + ahead, grad.dtype)
            if key not in known:
                known[key] = self._live(k, i, ahead, grad.dtype)
            hyper = known[key]
            grad = -grad if "maximize" in hyper else grad
            grad = grad + hyper["weight_decay"] * p if "weight_decay" in hyper else grad
            before = (
                [] if skip is None else [(t, t.detach()) for t in (own, *self.state[i].values())]
            )
            self.update(p, grad, self.state[i], hyper)
            if p is not own:
                own.assign(ops.complex(p[..., 0], p[..., 1]))
            for t, old in before:
                t.assign(ops.where(skip, old, t))

    def _pattern(self, k: int, places: Sequence[int]) -> Callable[[], Any]:
        """What decides the graph of a group's step: which parameters have made equally many steps,
        which settings it has."""
        every = len(places) == len(self.steps)
        steps, groups, latest, hyperparameters = (
            self.steps,
            self.param_groups,
            self._latest,
            self.hyperparameters,
        )

        def pattern() -> Any:
            counts = steps if every else [steps[i] for i in places]
            step = counts[0] + 1
            try:
                hyper = hyperparameters(groups[k], step)
            except (ArithmeticError, LookupError, TypeError, ValueError):
                return None  # the function is traced again, and `step` says what is wrong
            latest[k] = step, hyper  # a jitted function asks this first, then for the values
            names = [name if type(x) is float else _form(name, x) for name, x in hyper.items()]
            return (
                counts.count(step - 1) == len(counts) or [*map(counts.index, counts)],
                names,
                len(groups),
            )

        return pattern

    def _live(self, k: int, place: int, ahead: int, dtype: DType) -> Hyperparameters:
        """The hyperparameters of this parameter's step that many ahead, in a jitted function those
        of each call."""
        steps, groups, latest, hyperparameters = (
            self.steps,
            self.param_groups,
            self._latest,
            self.hyperparameters,
        )
        hyper = hyperparameters(groups[k], 1)
        names = [name for name, x in hyper.items() if x is not True and not isinstance(x, Tensor)]
        count = len(names)

        def values(further: int) -> list[float]:
            step = steps[place] + ahead + 1 + further
            known, now = latest.get(k, NOTHING)
            if known != step:
                now = hyperparameters(groups[k], step)
            return [*now.values()] if count == len(now) else [now[name] for name in names]

        fixed = {
            name: x if x is True else x.to(dtype=dtype)
            for name, x in hyper.items()
            if name not in names
        }
        nodes = tracing().live_steps(values, [dtype] * len(names), self, place)
        return fixed | {name: wrap(n) for name, n in zip(names, nodes, strict=True)}

    def _check(self, k: int) -> None:
        """Plain numbers for what a user has put into a group. Raises for an unknown or missing
        hyperparameter."""
        self.param_groups[k].update(checked(type(self).__name__, self.param_groups[k], self.checks))

    def _count(self, places: Sequence[int], skip: Tensor | None) -> None:
        """Its last statement does it all."""
        if skip is not None and skip.item():
            return
        steps = self.steps
        if len(places) == len(steps) and steps.count(steps[0]) == len(steps):
            # for many parameters a loop takes as long as their program
            new = [steps[0] + 1] * len(steps)
        else:
            updated = {*places}
            new = [step + (i in updated) for i, step in enumerate(steps)]
        steps[:] = new

    # ------------------------------------------------------------ state

    def complete(self, k: int, places: Sequence[int]) -> None:
        """Makes state that the group's options have not asked for before; state is where its
        parameter is."""
        group = self.param_groups[k]
        names = self.state_names(group)
        for i in places:
            for what in names:
                if what not in self.state[i]:
                    self.state[i][what] = self.new_state(what, self.params[i], group)
                elif not only_cpu():
                    follow(self.state[i][what], self.params[i])

    def new_state(self, what: str, p: Tensor, group: Group) -> Tensor:
        """A state Tensor of a parameter that has made no step."""
        p = in_parts(p)
        dtype = dt.float32 if p.dtype.is_half else p.dtype
        first = np.full(self.state_shape(what, p), self.initial(what, group))
        # a jitted function reads it anew at every call
        return tracing().outside(lambda: ops.tensor(first, dtype, p.device))

    # ------------------------------------------------------------ what a subclass defines

    def check_group(self, group: Group) -> None:
        """Raises ArgumentError for hyperparameters that do not go together."""

    def state_names(self, group: Group) -> tuple[str, ...]:
        """The state Tensors of each parameter of a group."""
        return ()

    def state_shape(self, what: str, p: Tensor) -> tuple[int, ...]:
        """The shape of a state Tensor."""
        return p.shape

    def initial(self, what: str, group: Group) -> float:
        """The first value of a state Tensor."""
        return 0.0

    def hyperparameters(self, group: Group, step: int) -> dict[str, Any]:
        """What the step of this number (from 1) of a group needs, by name: floats and 0-d Tensors,
        which enter as 0-d inputs, and True. Which names there are must not depend on the number.
        `maximize` and `weight_decay` are applied to the gradient before `update`.
        """
        return extended(
            {name: group[name] for name in self.checks if name not in ("weight_decay", "maximize")},
            group,
        )

    def update(
        self, p: Tensor, grad: Tensor, state: dict[str, Tensor], hyper: Hyperparameters
    ) -> None:
        """Assigns lazy new values to p and its state; grad has the dtype of the state."""
        raise NotImplementedError(f"{type(self).__name__} defines no update()")

    def __repr__(self) -> str:
        rows = [described(group) for group in self.param_groups]
        if len(rows) == 1:
            return f"{type(self).__name__}({rows[0]})"
        return (
            "\n  ".join(
                [f"{type(self).__name__}(", *(f"group {k}: {row}" for k, row in enumerate(rows))]
            )
            + "\n)"
        )


def in_parts(p: Tensor) -> Tensor:
    """The real and imaginary parts of complex numbers along a last axis, as PyTorch's optimisers
    see them; real numbers as they are."""
    return ops.stack([p.real, p.imag], -1) if p.dtype.is_complex else p


def follow(state: Tensor, p: Tensor) -> None:
    """Moves state to the device of its parameter."""

    def move() -> None:
        if state.device != p.device:
            become(state, state.detach().to(p.device).node)

    tracing().outside(move)


def _form(name: str, x: Any) -> Any:
    """What decides the graph of a hyperparameter: where a Tensor is to be read; of numbers, and of
    True, that there is one."""
    return name if isinstance(x, Real) else (name, id(x))


def _with_gradients(closure: Callable[[], Any]) -> Any:
    with enable_grad():
        return closure()
