"""The elementwise functions under one name, by theme; and values as they are.

In: Nodes and Python numbers. Out: a Node. Every function is a composite of the closed op set.
"""

from __future__ import annotations

from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, node
from ...ir.graph.op import Op
from ..operands.broadcast import Scalar, number, to_dtype
from .arithmetic import *
from .bits import *
from .comparison import *
from .rounding import *


def detach(x: Node) -> Node:
    """The same value, without a gradient."""
    return node(Op.DETACH, (x,))


def cast(x: Node, dtype: DType) -> Node:
    """x in another dtype: a float to an integer truncates and saturates (NaN gives 0), integers
    wrap, bool is x != 0."""
    return to_dtype(x, dtype)


def constant(value: Scalar, dtype: DType) -> Node:
    """A 0-d constant. Raises OverflowError where it does not fit."""
    return number("full", value, dtype)
