"""Modules made of modules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ... import errors
from ..module import Module


class Sequential(Module):
    """Calls its layers one after the other; they are named 0, 1, 2 .."""

    def __init__(self, *layers: Module) -> None:
        for i, layer in enumerate(layers):
            if not isinstance(layer, Module):
                raise errors.DTypeError(f"Sequential: layer {i} must be a Module, not {type(layer).__name__}")
            setattr(self, str(i), layer)

    def __iter__(self) -> Iterator[Module]:
        return (layer for _, layer in self.named_children())

    def __len__(self) -> int:
        return len(list(self.named_children()))

    def __getitem__(self, index: int | slice) -> Module:
        layers: Sequence[Module] = list(self)
        return Sequential(*layers[index]) if isinstance(index, slice) else layers[index]

    def forward(self, x: Any) -> Any:
        for layer in self:
            x = layer(x)
        return x
