"""L-BFGS. In: a function that computes a loss with its gradients. Out: parameters where the loss is
lower.

A step goes by values that Python reads. Each loss is one program, with the move to where it is
asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

from ... import errors
from ...frontend import ops
from ...frontend.gradients.gradient import enable_grad, no_grad
from ...frontend.lazy.trace import tracing
from ...frontend.operands.arguments import as_count, as_double, as_function, as_nonnegative
from ...frontend.tensor.tensor import Tensor
from ...ir.graph.brief import brief
from . import curvature, stored
from .groups import Check, Group, put, rate
from .line_search import Point, strong_wolfe
from .optimizer import Optimizer, Rate


def _count(name: str, what: str, value: Any) -> int:
    return as_count(name, what, value, 1)


def _search(name: str, what: str, value: Any) -> str | None:
    if value is not None and (not isinstance(value, str) or value != "strong_wolfe"):
        raise errors.ArgumentError(
            f"{name}: {what} must be None or 'strong_wolfe', not {brief(value)}"
        )
    return value  # type: ignore[no-any-return]


class Line(NamedTuple):
    """Where a step goes: the direction, the slope of the loss along it, its largest element; t, the
    first length to try."""

    direction: Tensor
    slope: float
    reach: float
    t: float


class LBFGS(Optimizer):
    """L-BFGS: steps along an estimate of Newton's direction from the last history_size gradients
    (Liu and Nocedal 1989).

    `step(closure)` makes up to max_iter iterations and asks the closure for a loss and gradients up
    to max_eval times (5/4 of max_iter unless given; a search may ask once more, and twice is the
    least, as in PyTorch), fewer where no gradient is above tolerance_grad, or neither parameters
    nor loss change by tolerance_change. line_search_fn="strong_wolfe" looks for a good length of
    each step, at which the loss is no NaN if it was none before; else the length is lr. All
    parameters are one group. A step reads values, so it cannot be jitted; the closure can, if it
    returns the gradients with the loss.

    >>> p = nn.Parameter([4.0, -3.0])
    >>> optimizer = nn.optim.LBFGS([p], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((p - wf.tensor([1.0, 2.0])) ** 2 * wf.tensor([1.0, 10.0])).sum()
    ...     loss.backward()
    ...     return loss
    >>> loss = optimizer.step(closure); p.numpy().round(4).tolist()
    [1.0, 2.0]
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "lr": rate,
        "max_iter": _count,
        "max_eval": _count,
        "tolerance_grad": as_nonnegative,
        "tolerance_change": as_nonnegative,
        "history_size": _count,
        "line_search_fn": _search,
    }

    def __init__(
        self,
        params: Any,
        lr: Rate = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        most = _count("LBFGS", "max_iter", max_iter)
        limits = {
            "max_iter": most,
            "max_eval": max(1, most * 5 // 4) if max_eval is None else max_eval,
        }
        tolerances = {"tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change}
        history = {"history_size": history_size, "line_search_fn": line_search_fn}
        super().__init__(params, {"lr": lr, **limits, **tolerances, **history})
        self.state[0] |= {"func_evals": 0, "n_iter": 0, **curvature.unknown()}

    def add_param_group(self, group: Group) -> None:
        """The parameters, once. Raises ArgumentError for a second group."""
        if self.param_groups:
            raise errors.ArgumentError("LBFGS: all parameters are one group")
        super().add_param_group(group)

    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Asks the closure for losses and gradients until one of the limits is reached; returns the
        first loss."""
        tracing().refuse("LBFGS.step")
        if closure is None:
            raise errors.ArgumentError(
                "LBFGS.step: pass a function that computes the loss and its gradients, and"
                " returns it"
            )
        as_function("LBFGS.step", "closure", closure)
        self._check(0)
        group, state = self.param_groups[0], self.state[0]
        loss, point = self._evaluated(closure)
        asked = 1
        for rest in reversed(range(group["max_iter"])):
            if point.largest <= group["tolerance_grad"]:
                break
            line = self._line(point)
            if line.slope > -group["tolerance_change"]:
                break
            before = point.value
            point, state["t"], used = self._stepped(
                closure, point, line, group["max_eval"] - asked, is_last=not rest
            )
            asked += used
            is_still = (
                line.reach * state["t"] <= group["tolerance_change"]
                or abs(point.value - before) < group["tolerance_change"]
            )
            if asked >= group["max_eval"] or is_still:
                break
        state["func_evals"] += asked
        ops.realize(*self.params)
        return loss

    def step_unless(self, skip: Tensor) -> None:
        """Raises ArgumentError: a step asks for several losses."""
        raise errors.ArgumentError(
            "LBFGS: a step asks its closure for several losses, so it cannot be skipped for one of"
            " them"
        )

    def _line(self, point: Point) -> Line:
        """The next direction, by what has been learned of the curvature."""
        group, state = self.param_groups[0], self.state[0]
        state["n_iter"] += 1
        t = as_double("LBFGS", "lr", group["lr"])
        if state["n_iter"] == 1:
            state |= curvature.unknown()
            t *= min(1.0, 1.0 / point.gradient.abs().sum().item())
        else:
            curvature.remember(state, point.gradient, group["history_size"])
        d = curvature.direction(state, point.gradient)
        state |= {"d": d, "t": t, "prev_flat_grad": point.gradient, "prev_loss": point.value}
        slope, reach = (point.gradient * d).sum(), d.abs().max()
        ops.realize(slope, reach)
        return Line(d, slope.item(), reach.item(), t)

    def _stepped(
        self, closure: Callable[[], Any], start: Point, line: Line, most: int, is_last: bool
    ) -> tuple[Point, float, int]:
        """The point where a step ends, its length, and how often the closure was asked."""
        origin, group = [p.detach() for p in self.params], self.param_groups[0]

        def at(t: float) -> Point:
            self._move(origin, line.direction, t)
            return self._evaluated(closure, line.direction)[1]._replace(t=t)

        if group["line_search_fn"] is not None:
            start = start._replace(t=0.0, slope=line.slope)
            point, used = strong_wolfe(
                at, start, line.t, line.reach, group["tolerance_change"], most
            )
            self._move(origin, line.direction, point.t)
            return point, point.t, used
        if is_last:  # the loss is not needed there
            self._move(origin, line.direction, line.t)
            return start, line.t, 0
        return at(line.t), line.t, 1

    def _evaluated(
        self, closure: Callable[[], Any], direction: Tensor | None = None
    ) -> tuple[Any, Point]:
        """What the closure returns, and the point where the parameters are, in one program."""
        with enable_grad():
            loss = closure()
        grads = [p.grad for p in self.params if p.grad is not None]
        flat = _flat([ops.zeros_like(p) if p.grad is None else p.grad for p in self.params])
        slope = ops.zeros(()) if direction is None else (flat * direction).sum()
        largest = flat.abs().max()
        ops.realize(*grads, flat, slope, largest, *([loss] if isinstance(loss, Tensor) else []))
        value = as_double("LBFGS.step", "what the closure returns", loss)
        return loss, Point(0.0, value, flat, slope.item(), largest.item())

    def _move(self, origin: list[Tensor], direction: Tensor, t: float) -> None:
        """Puts the parameters t times the direction away from where they were."""
        step, last = direction * ops.tensor(t, direction.dtype), 0
        for p, old in zip(self.params, origin, strict=True):
            first, last = last, last + p.size
            p.assign((old + step[first:last].reshape(p.shape)).to(dtype=p.dtype))

    # ------------------------------------------------------------ its state

    def state_dict(self) -> dict[str, Any]:
        """As of torch: what it knows of all parameters stands with the first one."""
        group, state = (
            stored.snapshot(self.param_groups[0]) | {"params": [*range(len(self.params))]},
            self.state[0],
        )
        return {"state": {0: {**state}} if state["func_evals"] else {}, "param_groups": [group]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """What `state_dict` gave, here or in torch. Nothing changes unless all fits. Errors as for
        all optimisers."""
        name = "LBFGS.load_state_dict"
        (group,), entries = stored.parts(name, self, state)
        learned = (
            curvature.checked(name, entries[0], _flat(self.params))
            if entries[0]
            else {"func_evals": 0, "n_iter": 0}
        )
        for what, value in group.items():
            if what not in ("params", "param_names"):
                put(self.param_groups[0], what, value)
        self.state[0].clear()
        self.state[0] |= curvature.unknown() | learned


def _flat(tensors: list[Tensor]) -> Tensor:
    """All elements in one axis, 16-bit floats as float32."""
    return ops.concat([(t.float() if t.dtype.is_half else t).detach().reshape(-1) for t in tensors])  # type: ignore[no-any-return]
