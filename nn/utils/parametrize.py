"""Weights that are functions of others. In: a layer, the name of a weight, a Module. Out: the
layer, its weight made by that.

The names of the state are torch's: `parametrizations.weight.original`, or original0, original1 ..
where there are several, and `parametrizations.weight.0.*` for what the first Module holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ... import errors
from ...frontend.gradients.gradient import no_grad
from ...frontend.operands.arguments import as_bool
from ...frontend.tensor.tensor import Tensor
from ...ir.graph.brief import brief
from ..derived import derive, recipe_of, settle
from ..layers.container import ModuleDict, ModuleList
from ..module import Buffer, Module, Parameter

__all__ = ["is_parametrized", "register_parametrization", "remove_parametrizations"]


class ParametrizationList(ModuleList):
    """The originals of a weight, and Modules that make the weight of them, one after the other."""

    def originals(self) -> list[Tensor]:
        """What the first of the Modules takes."""
        return [value for name, value in vars(self).items() if name.startswith("original")]

    def forward(self) -> Tensor:
        first, *rest = self
        x: Tensor = first(*self.originals())
        for parametrization in rest:
            x = parametrization(x)
        return x


@dataclass(frozen=True)
class Parametrized:
    """The recipe of a weight."""

    name: str

    def __call__(self, module: Module) -> Tensor:
        return module.parametrizations[self.name]()  # type: ignore[attr-defined, no-any-return]


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Lets module.<tensor_name> be parametrization(original) from now on, at each access; returns
    the module.

    original, the Parameter or Buffer that was there, is learned in its place:
    `module.parametrizations[tensor_name].original`. With a method right_inverse(weight), which
    gives a Tensor or several, these become the originals. More parametrizations of a weight apply
    one after the other. Shape and dtype must stay unless unsafe. Raises ArgumentError, DTypeError,
    ShapeError.

    >>> class Symmetric(nn.Module):
    ...     def forward(self, x):
    ...         return wf.triu(x) + wf.triu(x, 1).T
    >>> layer = nn.utils.parametrize.register_parametrization(nn.Linear(3, 3), "weight",
    ...     Symmetric())
    >>> bool((layer.weight == layer.weight.T).all()), [*layer.state_dict()]
    (True, ['bias', 'parametrizations.weight.original'])
    """
    name = "register_parametrization"
    if not isinstance(parametrization, Module):
        raise errors.DTypeError(
            f"{name}: a parametrization must be a Module, not {brief(parametrization)}"
        )
    unsafe = as_bool(name, "unsafe", unsafe)
    if is_parametrized(module, tensor_name):
        known: ParametrizationList = module.parametrizations[tensor_name]  # type: ignore[attr-defined]
        if not unsafe:
            _check(name, known(), parametrization)
        known.append(parametrization)
        return module
    weight = tensor_of(name, module, tensor_name)
    with no_grad():
        inverse = getattr(parametrization, "right_inverse", None)
        originals = weight if inverse is None else inverse(weight)
        if not unsafe:
            _check(name, weight, parametrization, originals)
    known = ParametrizationList([parametrization])
    for what, value in _named(weight, originals).items():
        setattr(known, what, value)
    derive(module, tensor_name, Parametrized(tensor_name))
    if "parametrizations" not in vars(module):
        module.parametrizations = ModuleDict()  # type: ignore[attr-defined]
    module.parametrizations[tensor_name] = known  # type: ignore[attr-defined]
    return module


def _named(weight: Tensor, originals: Any) -> dict[str, Tensor]:
    """The originals as Parameters or Buffers, as the weight is one; the weight itself, with another
    value, if there is one."""
    if isinstance(originals, (tuple, list)):
        return {f"original{i}": _like(weight, x) for i, x in enumerate(originals)}
    if originals.shape != weight.shape:
        return {"original": _like(weight, originals)}
    return {"original": weight if originals is weight else weight.assign(originals)}


def _like(weight: Tensor, value: Tensor) -> Tensor:
    return (
        Parameter(value, weight.requires_grad) if isinstance(weight, Parameter) else Buffer(value)
    )


def _check(name: str, weight: Tensor, parametrization: Module, originals: Any = None) -> None:
    """Raises where the weight would get another shape or dtype."""
    parts = weight if originals is None else originals
    with no_grad():
        new = (
            parametrization(*parts) if isinstance(parts, (tuple, list)) else parametrization(parts)
        )
    if not isinstance(new, Tensor) or new.shape != weight.shape or new.dtype is not weight.dtype:
        kept = f"the shape {weight.shape} and the dtype {weight.dtype.name} of the weight"
        raise errors.ShapeError(
            f"{name}: {type(parametrization).__name__} must keep {kept}, but gives {brief(new)}"
        )


def tensor_of(name: str, module: Any, tensor_name: Any) -> Tensor:
    """The Parameter or Buffer of this name that a Module has itself. Raises DTypeError,
    ArgumentError."""
    if not isinstance(module, Module):
        raise errors.DTypeError(f"{name}: module must be a Module, not {brief(module)}")
    tensor = vars(module).get(tensor_name) if isinstance(tensor_name, str) else None
    if not isinstance(tensor, (Parameter, Buffer)):
        there = [
            what for what, value in vars(module).items() if isinstance(value, (Parameter, Buffer))
        ]
        kind = type(module).__name__
        raise errors.ArgumentError(
            f"{name}: {kind} has no weight {brief(tensor_name)}; it has"
            f" {', '.join(there) or 'none'}"
        )
    return tensor


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """True if the Module has a parametrised weight, or this one is parametrised.

    >>> nn.utils.parametrize.is_parametrized(nn.utils.weight_norm(nn.Linear(2, 3)), "weight")
    True
    """
    if not isinstance(module, Module):
        raise errors.DTypeError(f"is_parametrized: module must be a Module, not {brief(module)}")
    known = vars(module).get("parametrizations")
    if not isinstance(known, ModuleDict):
        return False
    return (
        len(known) > 0
        if tensor_name is None
        else isinstance(recipe_of(module, tensor_name), Parametrized)
    )


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Makes module.<tensor_name> a plain weight again, with the value that it has; returns the
    module.

    With leave_parametrized=False it is the original, of which there must be one. Raises
    ArgumentError.

    >>> layer = nn.utils.weight_norm(nn.Linear(2, 3))
    >>> [*nn.utils.parametrize.remove_parametrizations(layer, "weight").state_dict()]
    ['bias', 'weight']
    """
    name = "remove_parametrizations"
    if not is_parametrized(module, tensor_name):
        raise errors.ArgumentError(
            f"{name}: {type(module).__name__}.{tensor_name} is not parametrised"
        )
    all_of = module.parametrizations  # type: ignore[attr-defined]
    originals, is_training = all_of[tensor_name].originals(), all_of[tensor_name].training
    if not as_bool(name, "leave_parametrized", leave_parametrized):
        if len(originals) > 1:
            raise errors.ArgumentError(
                f"{name}: with leave_parametrized=False there is one original, not {len(originals)}"
            )
        weight = originals[0]
    else:
        with no_grad():
            value = all_of[tensor_name].eval()()  # what is random or iterates does not go on
        all_of[tensor_name].train(is_training)
        fits = len(originals) == 1 and originals[0].shape == value.shape
        weight = originals[0].assign(value) if fits else _like(originals[0], value)
    del all_of[tensor_name]
    if not len(all_of):
        del module.parametrizations  # type: ignore[attr-defined]
    settle(module, tensor_name, weight)
    return module
