"""An executable that this process keeps, and the graph it was found for first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...compiler.structure import Structure
from ...ir.graph.graph import Node
from ...runtime.memory.storage import Storage

if TYPE_CHECKING:
    from ...compiler.programs.nan_checked import Watched


@dataclass
class CachedProgram:
    """An executable and the graph that it was found for first."""

    executable: Any
    structure: Structure
    checked: list[int]  # the entries of its key that are checked
    makers: list[Callable[[], Storage]] | None = None  # of memory for its outputs
    # by the value of `debug_nans`: what runs in its place
    watched: dict[str, Watched] = field(default_factory=dict)
    used: int = 0  # when: greater than that of all programs used before

    @property
    def outputs(self) -> list[Node]:
        """The roots of the graph, made afresh."""
        return self.structure.graph()[0]
