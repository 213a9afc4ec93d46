"""The base of layers without parameters. In: settings, set as attributes. Out: their repr."""

from __future__ import annotations

from ..module import Module


class Stateless(Module):
    """A Module that shows every setting it was made with."""

    def extra_repr(self) -> str:
        given = {name: value for name, value in vars(self).items() if name != "training" and value is not None}
        return ", ".join(f"{name}={value!r}" for name, value in given.items())
