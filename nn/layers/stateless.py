"""The base of layers without parameters. In: settings, set as attributes. Out: their repr."""

from __future__ import annotations

from ..module import Module


class Stateless(Module):
    """A Module that shows every setting it was made with."""

    def extra_repr(self) -> str:
        hidden = {"training", "_forward_hooks"}
        return ", ".join(f"{name}={x!r}" for name, x in vars(self).items() if name not in hidden and x is not None)
