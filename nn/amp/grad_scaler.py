"""Loss scaling for float16. In: a loss, an optimiser. Out: gradients in float16's range; steps that
skip what overflowed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial, reduce
from operator import or_
from typing import Any
from weakref import WeakKeyDictionary

from ... import errors
from ...frontend import ops
from ...frontend.gradients.gradient import no_grad
from ...frontend.lazy import state
from ...frontend.lazy.trace import tracing
from ...frontend.lazy.transaction import go_back, versions
from ...frontend.operands.arguments import as_bool, as_choice, as_int, as_positive
from ...frontend.tensor.tensor import Tensor
from ...ir.graph import dtype as dt
from ...ir.graph.brief import brief
from ...runtime.memory.devices import Kinds, only_cpu
from ...signals import deferred
from ..optim.optimizer import Optimizer, follow

__all__ = ["GradScaler"]

Stages = WeakKeyDictionary[Optimizer, str]
UNSCALED, STEPPED = "unscale_() has been called", "step() has been called"


class GradScaler:
    """Multiplies a loss by a scale, so that small gradients do not vanish in float16, and divides
    the gradients by it again.

    A step whose gradients hold an infinity or a NaN is skipped: weights, momentum and step counts
    stay, and `update` multiplies the scale by backoff_factor. After growth_interval steps in a row
    that were made, it is multiplied by growth_factor. Inside a jitted function, too: what is
    skipped is chosen by the program. With enabled=False nothing is scaled and every step is made.
    Arguments, methods and `state_dict` are torch's. Source: Micikevicius et al. 2018. Raises
    ArgumentError, DTypeError.

    >>> w, scaler = nn.Parameter([1.0, 2.0]), nn.GradScaler(init_scale=8.0)
    >>> optimizer = nn.optim.SGD([w], lr=0.25)
    >>> with nn.autocast(dtype=wf.float16):
    ...     loss = w @ wf.tensor([3.0, 1e6])  # infinite in float16
    >>> scaler.scale(loss).backward()
    >>> scaler.step(optimizer); scaler.update(); w.tolist(), scaler.get_scale()
    ([1.0, 2.0], 4.0)
    """

    def __init__(
        self,
        device: str | None = None,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if device is not None:
            as_choice("GradScaler", "device", device, list(Kinds.by_name))
        self._enabled = as_bool("GradScaler", "enabled", enabled)
        self._settings = _settings(growth_factor, backoff_factor, growth_interval)
        self._scale = ops.tensor(_positive("init_scale", init_scale), dt.float32)
        self._growth_tracker = ops.tensor(0, dt.int32)  # steps made since the scale has changed
        # is there an infinity or a NaN
        self._found: WeakKeyDictionary[Optimizer, Tensor] = WeakKeyDictionary()
        self._stages: Stages = WeakKeyDictionary()
        # by Trace: what its jitted function has called
        self._traced: WeakKeyDictionary[Any, Stages] = WeakKeyDictionary()

    def is_enabled(self) -> bool:
        """Does this scaler scale."""
        return self._enabled

    def scale(self, outputs: Any) -> Any:
        """A Tensor times the scale, in float32 for 16-bit floats, or a tuple or list of such;
        differentiate what this returns.

        Raises DTypeError for anything but a float Tensor.
        """
        if isinstance(outputs, (tuple, list)):
            return type(outputs)(self.scale(x) for x in outputs)
        if not isinstance(outputs, Tensor) or not outputs.dtype.is_float:
            raise errors.DTypeError(
                f"GradScaler.scale: a loss must be a float Tensor, not {brief(outputs)}"
            )
        if not self._enabled:
            return outputs
        self._follow(outputs)
        return outputs * self._scale

    @no_grad()
    def unscale_(self, optimizer: Optimizer) -> None:
        """Divides the gradients of the optimiser's parameters by the scale, and looks for
        infinities and NaNs: before clipping.

        `step` does it itself where it has not been done. Raises ArgumentError where it has.
        """
        if not self._enabled:
            return
        stage = self._stage("unscale_", optimizer)
        if stage is not None:
            raise errors.ArgumentError(
                f"GradScaler.unscale_: {stage} for this optimiser since the last update()"
            )
        held = [(p, p.grad) for p in optimizer.params if p.grad is not None]
        for p, g in held:
            if g.dtype.is_half:
                raise errors.DTypeError(
                    f"GradScaler: the gradient of {state.described(p)} is {g.dtype.name}: weights"
                    " are float32"
                )
        flag = self._flag(optimizer)
        before = versions([flag])
        try:
            self._unscale(held, flag)
            self._enter(optimizer, UNSCALED)
        except BaseException:
            with deferred():
                self._now().pop(optimizer, None)
                go_back(before)
                for p, g in held:
                    p.grad = g
                raise

    def _unscale(self, held: list[tuple[Tensor, Tensor]], flag: Tensor) -> None:
        for _, g in held[:1]:
            self._follow(g, flag)
        inverse = 1.0 / self._scale
        for p, g in held:
            p.grad = g * inverse.to(dtype=g.dtype)
        wrong = [g.isfinite().all().logical_not() for _, g in held]
        flag.assign(reduce(or_, wrong) if wrong else False)

    def step(self, optimizer: Optimizer) -> None:
        """The optimiser's step with unscaled gradients, unless one is not finite. Raises
        ArgumentError for a second step."""
        if not self._enabled:
            optimizer.step()
            return
        stage = self._stage("step", optimizer)
        if stage is STEPPED:
            raise errors.ArgumentError(
                "GradScaler.step: step() has been called for this optimiser since the last update()"
            )
        made = [*optimizer.steps]
        try:
            if stage is None:
                self.unscale_(optimizer)
            optimizer.step_unless(self._flag(optimizer))
            self._enter(optimizer, STEPPED)
        except BaseException:
            with deferred():
                if optimizer.steps != made:
                    self._enter(optimizer, STEPPED)
                elif stage is None and self._now().pop(optimizer, None) is not None:
                    self._scale_again(optimizer)
                raise

    @no_grad()
    def _scale_again(self, optimizer: Optimizer) -> None:
        """Gradients as they were before unscale_(); to hold them until the step is made would keep
        them in memory."""
        for p in optimizer.params:
            if p.grad is not None:
                p.grad = p.grad * self._scale.to(dtype=p.grad.dtype)

    @no_grad()
    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Ends an iteration: the scale grows or shrinks by what the steps have found, or becomes
        new_scale.

        Raises ArgumentError where there was no step.
        """
        if not self._enabled:
            return
        tracing().guard(self._settings.copy)
        tracing().guard(lambda: [*self._stages.items()])
        before, stages = versions([self._scale, self._growth_tracker]), self._now().copy()
        try:
            self._update(new_scale)
            self._leave()
        except BaseException:
            with deferred():
                self._now().update(stages)
                go_back(before)
                raise

    def _update(self, new_scale: float | Tensor | None) -> None:
        flags = [self._found[optimizer].to(self._scale.device) for optimizer in self._now()]
        growth, backoff, interval = self._settings.values()
        if new_scale is not None:
            self._scale.assign(
                new_scale if isinstance(new_scale, Tensor) else _positive("new_scale", new_scale)
            )
        elif not flags:
            raise errors.ArgumentError(
                "GradScaler.update: no optimiser has made a step(), or unscale_(), since the last"
                " update()"
            )
        else:
            overflow, grown = reduce(or_, flags), self._scale * growth
            made = self._growth_tracker + 1
            grows = (made == interval).logical_and(grown.isfinite())
            self._scale.assign(
                ops.where(overflow, self._scale * backoff, ops.where(grows, grown, self._scale))
            )
            self._growth_tracker.assign(ops.where(overflow.logical_or(made == interval), 0, made))

    def get_scale(self) -> float:
        """The scale, computed; 1.0 where nothing is scaled. Raises JitError in a jitted
        function."""
        return self._scale.item() if self._enabled else 1.0

    def state_dict(self) -> dict[str, Any]:
        """The scale, the settings and the number of steps since the scale has changed; empty where
        nothing is scaled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            **self._settings,
            "_growth_tracker": self._growth_tracker.item(),
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """What `state_dict` gave, here or in torch. Raises StateError where something is
        missing."""
        if not self._enabled:
            return
        tracing().refuse("GradScaler.load_state_dict")
        names = ["scale", *self._settings, "_growth_tracker"]
        missing = [name for name in names if name not in state_dict]
        if missing:
            raise errors.StateError(
                f"GradScaler.load_state_dict: the state has no {', '.join(missing)}"
            )
        first, *settings, made = (state_dict[name] for name in names)
        scale, tracker = _positive("scale", first), as_int("GradScaler", "_growth_tracker", made)
        self._settings |= _settings(*settings)
        self._scale.assign(scale)
        self._growth_tracker.assign(tracker)

    def _follow(self, x: Tensor, *others: Tensor) -> None:
        """Moves the scale, and others, to where losses and gradients are."""
        if not only_cpu():
            for t in (self._scale, self._growth_tracker, *others):
                follow(t, x)

    # ------------------------------------------------------------ what has been called since the
    # last update

    def _flag(self, optimizer: Optimizer) -> Tensor:
        """Has a gradient of this optimiser been found that is not finite."""
        if optimizer not in self._found:
            # a jitted function assigns to it at every call
            self._found[optimizer] = tracing().outside(lambda: ops.tensor(False))
        return self._found[optimizer]

    def _now(self) -> Stages:
        """What has been called, as this code sees it: a function that is being traced has called it
        only here."""
        trace = state.trace() if state.traces else None
        return (
            self._stages if trace is None else self._traced.setdefault(trace, self._stages.copy())
        )

    def _stage(self, what: str, optimizer: Optimizer) -> str | None:
        if not isinstance(optimizer, Optimizer):
            raise errors.DTypeError(
                f"GradScaler.{what}: expected an optimiser, not {brief(optimizer)}"
            )
        tracing().guard(partial(self._stages.get, optimizer))
        return self._now().get(optimizer)

    def _enter(self, optimizer: Optimizer, stage: str) -> None:
        self._now()[optimizer] = stage
        tracing().after_call(partial(self._stages.__setitem__, optimizer, stage))

    def _leave(self) -> None:
        self._now().clear()
        tracing().after_call(self._stages.clear)


def _settings(growth_factor: Any, backoff_factor: Any, growth_interval: Any) -> dict[str, Any]:
    growth, backoff = (
        _positive("growth_factor", growth_factor),
        _positive("backoff_factor", backoff_factor),
    )
    interval = as_int("GradScaler", "growth_interval", growth_interval)
    if growth <= 1.0 or backoff >= 1.0 or interval < 1:
        numbers = f"{growth_factor=}, {backoff_factor=}, {growth_interval=}"
        raise errors.ArgumentError(
            "GradScaler: a scale grows by more than 1 and shrinks by less, after 1 step or more,"
            f" not {numbers}"
        )
    return {"growth_factor": growth, "backoff_factor": backoff, "growth_interval": interval}


def _positive(what: str, value: Any) -> float:
    """Finite in float32, too."""
    number = as_positive("GradScaler", what, value)
    if number > dt.largest(dt.float32):
        raise errors.ArgumentError(
            f"GradScaler: {what} must be a finite float32, not {brief(value)}"
        )
    return number
