"""`wf.draw`. In: a Tensor. Out: its graph with the value and the gradient of every step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ... import errors
from ...frontend.tensor.tensor import Tensor
from ...ir.graph.brief import brief

if TYPE_CHECKING:
    from .values import DrawnStep


@dataclass(frozen=True)
class Drawing:
    """The steps of an expression; print it for a table and a picture.

    Attributes: `title`; `steps`, a Step each, from the inputs to the result: `number op text
    formula dtype shape value gradient shares sources line`.
    """

    title: str
    steps: tuple[DrawnStep, ...]

    def __str__(self) -> str:
        from . import picture, text

        return f"{text.tables(self.steps)}\n\n{picture.text(self.steps)}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        from .text import tables

        return f"<div>{self.svg()}</div><pre>{escape(tables(self.steps))}</pre>"

    def svg(self) -> str:
        """The picture as SVG, in the colours of the page around it."""
        from . import picture

        return picture.svg(self.steps)

    def dot(self) -> str:
        """The picture as text for Graphviz."""
        from . import picture

        return picture.dot(self.steps)

    def to_dict(self) -> dict[str, Any]:
        """The steps in lists, texts and numbers."""
        return {"title": self.title, "steps": [step.to_dict() for step in self.steps]}


def draw(x: Tensor) -> Drawing:
    """The graph of a Tensor, as far as it is lazy, with the value of every step and its gradient;
    these are computed.

    `print(wf.draw(x))` shows each step as a formula with its value, then each gradient with the
    rule that gives it, then the graph; in a notebook the graph is a picture. The gradient of a step
    is that of x by it, of all elements of x summed; there are none in a graph with a while_loop
    without max_steps. Steps are the compiler's: a mean is a sum and a division. x keeps its
    history. Raises ArgumentError for graphs of more than 200 steps or 256 MB of values.

    >>> x = wf.tensor([1., 2., 3.])
    >>> [step.formula for step in wf.draw((x * x).mean()).steps]
    ['given', 'v1 * v1', 'v2.sum(axis=0)', 'v3 / 3']
    """
    from .values import steps_of

    if not isinstance(x, Tensor):
        raise errors.DTypeError(f"draw: expected a Tensor, not {brief(x)}")
    return Drawing(x.name or "x", tuple(steps_of(x.node)))
