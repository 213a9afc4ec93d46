"""Loops of one kernel for many sizes. In: how it is lowered for the sizes at hand. Out: a Variant
for each range of sizes, lowered when one of them comes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...ir.loops.loop import Loops
from ...ir.program.step import KernelStep
from ...ir.symbolic.scope import Asked, Scope
from .lowered import Lowered


@dataclass(eq=False)
class Variant:
    """`lowered`: before transcendentals were expanded, `loops`: after. `step`: the first with these
    loops."""

    lowered: Lowered
    loops: Loops
    guards: Asked
    step: KernelStep | None = None


class Variants:
    """Those of equal kernels. Without a scope there is one."""

    def __init__(
        self, lower: Callable[[], tuple[Lowered, Loops]], scope: Scope | None = None
    ) -> None:
        self._lower, self._scope = lower, scope
        self._known: list[Variant] = []

    def here(self) -> Variant:
        """The one for the values that the symbols have. Raises NotSymbolic if the kernel has to
        know them."""
        for variant in self._known:
            if all(guard.holds for guard in variant.guards):
                return variant
        if self._scope is None:
            made, guards = self._lower(), Asked()
        else:
            made, guards = self._scope.apart(self._lower)
        self._known.append(Variant(*made, guards))
        return self._known[-1]
