"""The order in which a sum adds up its terms. In: a REDUCE. Out: whether lanes do.

    sum of x[i, k] over k    neighbours: term k is added to partial sum k mod (a few vectors)
    sum of x[k, j] over k    terms that lie apart: one after the other, while lanes run along j

It follows from the shape of what is summed, whose axes ir/passes/along_memory.py has put in the
order of memory, not from what shares its kernel. Schedules of a CPU keep to it.
"""

from __future__ import annotations

from math import prod

from ..graph.dtype import DType
from ..graph.graph import Node
from ..graph.op import Op
from ..symbolic.integer import NotSymbolicHere, Symbolic
from ..symbolic.questions import has_several
from .align import Form
from .reason import Reason, Rule

NEIGHBOURS = 4  # elements from term to term up to which vectors of terms cost less than idle lanes


def term_stride(n: Node) -> int:
    """Elements from term to term of a reduction, if what it reduces is row-major."""
    (x,) = n.src
    last = max((a for a in n.arg[1] if has_several(x.shape[a])), default=-1)
    return prod(x.shape[last + 1 :]) if last >= 0 else 1


def lanes_add(stride: int) -> bool:
    """Do lanes add up terms that lie so far apart? Asks."""
    if stride > NEIGHBOURS:
        return False
    if isinstance(stride, Symbolic):
        raise NotSymbolicHere(f"terms of a sum lie {stride} elements apart")
    return True


def has_order(kind: str, dtype: DType) -> bool:
    """Does the value of such a reduction depend on the order of its terms?"""
    return dtype.is_float and kind != "max"


def refuse_orders(form: Form) -> Reason | None:
    """Why the sums of a form, which all run along the rows of one kernel, cannot keep their orders:
    lanes add up all of them or none, and all where it also sums over its rows."""
    inside = [u for u in form.running if u.node.op is Op.REDUCE and u not in form.columns]
    sums = [u for u in inside if has_order(u.node.arg[0], u.node.dtype)]
    strides = {term_stride(u.node): u for u in sums}
    if len(strides) + bool(form.columns) < 2:
        return None
    apart = [u for stride, u in strides.items() if not lanes_add(stride)]
    if not apart or (len(apart) == len(strides) and not form.columns):
        return None
    return Reason(Rule.ORDER, f"terms of {apart[0]} lie apart, so that lanes do not add them up")
