"""Module: a tree of layers that computes. In: attributes and a forward() of a subclass. Out: calls,
modes, state, text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Self

from .. import errors
from ..frontend.lazy import state
from ..frontend.lazy.watchers import call_watchers
from ..frontend.operands.arguments import as_bool, as_function
from ..frontend.tensor.tensor import Tensor, destination
from ..frontend.tensor.tracked import Handle
from ..frontend.transformations.module_calls import ModuleCalls
from ..ir.graph import dtype as dt
from .loading import Keys, load
from .parameter import Buffer, Parameter, clear_gradients
from .tree import Tree

__all__ = ["Buffer", "Module", "Parameter"]

Hook = Callable[..., Any]
_noted = ModuleCalls.blocks


@dataclass
class Hooks:
    """What runs before and after forward(). No list or dict, since Modules among them are no part
    of the tree."""

    before: list[Hook] = field(default_factory=list)
    after: list[Hook] = field(default_factory=list)


class Module(Tree):
    """The base of every layer. Parameters, Buffers, Modules, and lists, tuples or dicts of them,
    count when set as attributes.

    >>> class Scale(nn.Module):
    ...     def __init__(self):
    ...         self.factor = nn.Parameter(wf.ones(1))
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> [name for name, p in Scale().named_parameters()]
    ['factor']
    """

    if TYPE_CHECKING:  # inherited, but of this class

        def children(self) -> Iterator[Module]: ...
        def modules(self) -> Iterator[Module]: ...
        def named_children(self) -> Iterator[tuple[str, Module]]: ...
        def named_modules(
            self, prefix: str = "", remove_duplicate: bool = True
        ) -> Iterator[tuple[str, Module]]: ...
        def get_submodule(self, target: str) -> Module: ...

    training: bool = True  # until train(False) or eval()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the result of a call; a subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward()")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if _noted.anywhere and (calls := _noted.value(None)) is not None and calls.takes(self):
            return calls.call(self, args, kwargs)
        hooks = vars(self).get("_forward_hooks")
        if hooks is None and not call_watchers:
            return self.forward(*args, **kwargs)
        hooks = hooks or Hooks()
        for hook in hooks.before.copy():
            changed = hook(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        result = self.forward(*args, **kwargs)
        for hook in hooks.after.copy():
            changed = hook(self, args, result)
            result = result if changed is None else changed
        for watcher in call_watchers.copy():
            watcher(self, result)
        return result

    def register_forward_pre_hook(self, hook: Callable[[Module, tuple[Any, ...]], Any]) -> Handle:
        """hook(module, args) runs before forward; what it returns, unless None, replaces args.

        Returns a handle whose remove() removes the hook. In a jitted function a hook runs only
        while that is traced.
        """
        return Handle(
            self._hooks().before, as_function("register_forward_pre_hook", "a hook", hook)
        )

    def register_forward_hook(self, hook: Callable[[Module, tuple[Any, ...], Any], Any]) -> Handle:
        """hook(module, args, result) runs after forward; what it returns, unless None, replaces the
        result.

        Returns a handle whose remove() removes the hook. In a jitted function a hook runs only
        while that is traced.
        """
        return Handle(self._hooks().after, as_function("register_forward_hook", "a hook", hook))

    def _hooks(self) -> Hooks:
        return vars(self).setdefault("_forward_hooks", Hooks())  # type: ignore[no-any-return]

    # ------------------------------------------------------------ modes

    def train(self, mode: bool = True) -> Self:
        """Training mode for every Module of the tree; with False that of evaluation: nothing
        dropped, statistics not updated.

        A Module below that defines train() itself decides for its part of the tree, so it may stay
        frozen.
        """
        mode = as_bool("train", "mode", mode)
        stack: list[Module] = [self]
        seen = {id(self)}
        while stack:
            module = stack.pop()
            module.training = mode
            for child in module.children():
                if _has_own(child, "train"):
                    child.train(mode)
                elif id(child) not in seen:
                    seen.add(id(child))
                    stack.append(child)
        return self

    def eval(self) -> Self:
        """The mode of evaluation: train(False)."""
        return self.train(False)

    def apply(self, fn: Callable[[Module], object]) -> Self:
        """Calls fn on every Module of the tree once, children first; one below that defines apply()
        itself gets fn instead."""
        as_function("apply", "fn", fn)
        stack: list[tuple[Module, Iterator[Module]]] = [(self, self.children())]
        seen = {id(self)}
        while stack:
            child = next(stack[-1][1], None)
            if child is None:
                fn(stack.pop()[0])
            elif _has_own(child, "apply"):
                child.apply(fn)
            elif id(child) not in seen:
                seen.add(id(child))
                stack.append((child, child.children()))
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Every Parameter learns, or none does."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of every Parameter; with set_to_none=False they become zeros."""
        clear_gradients("zero_grad", self.parameters(), set_to_none)

    # ------------------------------------------------------------ dtypes, devices

    def to(
        self, *args: Any, device: Any = None, dtype: Any = None, non_blocking: bool = False
    ) -> Self:
        """Every Parameter, its gradient and every Buffer on another device, floats in another
        dtype: m.to("cuda", wf.float64).

        All of the tree, whatever a subclass lists in parameters(). Parameters and Buffers stay the
        same objects. Raises DTypeError for a dtype that is no float, DeviceError.
        """
        place, target = destination(args, device, dtype)
        if target is not None and not target.is_float:
            raise errors.DTypeError(
                f"{type(self).__name__}.to: parameters are floats, which {target.name} is not"
            )
        for _, t in [*Tree.named_parameters(self), *Tree.named_buffers(self)]:
            goal = (place, target if t.dtype.is_float else None)
            new = t.to(*goal)
            if new is not t:
                state.become(t, new.detach().node)
                t.grad = None if t.grad is None else t.grad.to(*goal)
        return self

    def cpu(self) -> Self:
        """On the CPU."""
        return self.to("cpu")

    def cuda(self, device: int = 0) -> Self:
        """On a GPU, the first one unless another is named by its number. Raises DeviceError where
        there is none."""
        return self.to(f"cuda:{device}")

    def float(self) -> Self:
        """As float32."""
        return self.to(dt.float32)

    def double(self) -> Self:
        """As float64."""
        return self.to(dt.float64)

    def half(self) -> Self:
        """As float16."""
        return self.to(dt.float16)

    def bfloat16(self) -> Self:
        """As bfloat16."""
        return self.to(dt.bfloat16)

    # ------------------------------------------------------------ state

    def state_dict(self) -> dict[str, Tensor]:
        """The present value of every Parameter and persistent Buffer; later updates do not change
        it.

        A Module below that defines state_dict() itself says what stands there for its part of the
        tree.
        """
        values = {name: t.detach() for name, t in self._state(remove_duplicate=True).items()}
        replaced: tuple[str, ...] = ()
        for name, module in self.named_modules():
            path = f"{name}."
            if (
                module is not self
                and not path.startswith(replaced)
                and _has_own(module, "state_dict")
            ):
                replaced += (path,)
                values = {name: t for name, t in values.items() if not name.startswith(path)}
                values |= {path + name: t for name, t in module.state_dict().items()}
        return values

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> Keys:
        """Assigns Tensors or arrays by name, each cast to the dtype that is there. Returns
        (missing_keys, unexpected_keys).

        Nothing is assigned unless every shape fits and, if strict, every name does; a shared
        Parameter needs one of its names. Raises StateError (a KeyError and RuntimeError),
        ShapeError, DTypeError; each lists all names and shapes that do not fit.
        """
        return load(type(self).__name__, self._state(remove_duplicate=False), state_dict, strict)

    def _state(self, remove_duplicate: bool) -> dict[str, Tensor]:
        named = self._named((Parameter, Buffer), remove_duplicate=remove_duplicate)
        return {name: t for name, t in named if getattr(t, "persistent", True)}

    # ------------------------------------------------------------ text

    def num_parameters(self, trainable_only: bool = False) -> int:
        """How many numbers the Parameters hold, or those that require a gradient; a shared
        Parameter counts once."""
        return sum(
            p.size for _, p in self._named(Parameter) if p.requires_grad or not trainable_only
        )

    def extra_repr(self) -> str:
        """What stands between the brackets of the repr of a layer."""
        return ""

    @recursive_repr("...")
    def __repr__(self) -> str:
        """The tree of layers, with the number of parameters of each."""
        rows = [f"({name}): {text}".replace("\n", "\n  ") for name, text in self._rows()]
        inside = "\n  ".join([self.extra_repr(), *rows]) + "\n" if rows else self.extra_repr()
        return f"{type(self).__name__}({inside}){self._counted()}"

    def _rows(self) -> Iterator[tuple[str, str]]:
        """The name and the text of each layer below."""
        return ((name, repr(child)) for name, child in self.named_children())

    def _counted(self) -> str:
        count, trainable = self.num_parameters(), self.num_parameters(trainable_only=True)
        text = f"  # {count:,} parameter{'s' * (count > 1)}" if count else ""
        return text if trainable == count else f"{text}, {trainable:,} of them trainable"


def _has_own(module: Module, name: str) -> bool:
    """Does a method of Module come from elsewhere: a subclass, or an attribute."""
    return getattr(getattr(module, name), "__func__", None) is not getattr(Module, name)
