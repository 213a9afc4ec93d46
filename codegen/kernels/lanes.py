"""The Lanes protocol: all that the choice of lanes asks of a target."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ...ir.graph.dtype import DType


class Lanes(Protocol):
    """What the choice of lanes asks of a target."""

    def lanes_of(self, dtypes: Iterable[DType]) -> int:
        """Lanes of a loop that computes these."""
