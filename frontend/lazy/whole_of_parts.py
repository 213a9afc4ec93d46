"""Parts of arrays, taken by an index. In: a Tensor and a part of it, read or assigned to. Out: what
to compute whole before, and a warning where NumPy would change the whole.

A part of a lazy value is a graph of its own: a loop that reads x[i] would build a program for every
i, and compute x every time.
"""

from __future__ import annotations

import warnings
import weakref

from ... import errors
from ...ir.graph.graph import Node, reach
from ...ir.graph.op import Op
from ...ir.graph.site import user_site
from ...runtime.memory import storage, weak_table
from . import state
from .any_tensor import AnyTensor as Tensor
from .capture import is_constant

MOST_ELEMENTS = 1 << 16  # computing more for the sake of one part may cost more than a program


_warned: set[tuple[str, int]] = set()  # lines


def note(whole: Tensor, part: Tensor) -> None:
    """Registers a lazy Tensor that was indexed by an int, so that reading the part computes the
    whole; and a part that NumPy would give as a view."""
    n = whole.node
    if part.ndim and part.node.op in storage.VIEWED:
        part._part_of = weakref.ref(whole)
    if (
        part.ndim >= whole.ndim
        or not 1 < whole.size <= MOST_ELEMENTS
        or n.op is Op.INPUT
        or is_constant(n)
    ):
        return
    weak_table.remember(state.thread.indexed, id(n), whole)


def assigned(part: Tensor) -> None:
    """Warns where an index assigns to elements of a part, and what that is a part of is still
    there: it does not change. Of `part += 1` it cannot be known whether `whole[i] += 1` has called
    it."""
    whole = getattr(part, "_part_of", None)
    if whole is None or whole() is None:
        return
    line = user_site()
    if line is not None and line[:2] not in _warned:
        _warned.add(line[:2])
        warnings.warn_explicit(
            "this assigns to a part of a Tensor, x[i] or the like, which leaves the whole Tensor as"
            " it is: Tensors share no elements, as arrays of NumPy do. Write x[i, j] = value in one"
            " step; for a part of its own take x[i].clone()",
            errors.AliasWarning,
            *line[:2],
        )


def wholes(part: Tensor) -> list[Tensor]:
    """The registered Tensors that the Tensor is a part of, or is computed from parts of."""
    if not state.thread.indexed:
        return []
    met = reach(
        [part.node],
        lambda n: n.src if (n.size == 1 or n.op in storage.VIEWED) and _whole(n) is None else (),
    )
    return [whole for n in met if (whole := _whole(n)) is not None]


def _whole(n: Node) -> Tensor | None:
    """The Tensor that is registered for this Node, unless it has been computed or has moved on."""
    ref = state.thread.indexed.get(id(n))
    whole = None if ref is None else ref()
    if whole is None or whole.node is not n or whole._stored() is not None:
        return None
    return whole
