"""The base of layers without parameters. In: settings, set as attributes. Out: their repr."""

from __future__ import annotations

from ..module import Module


class Stateless(Module):
    """A Module that shows every setting it was made with."""

    def extra_repr(self) -> str:
        settings = {name: x for name, x in vars(self).items() if name != "training" and not name.startswith("_")}
        return ", ".join(f"{name}={x!r}" for name, x in settings.items() if x is not None)
