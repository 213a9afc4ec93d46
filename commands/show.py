"""`python -m weft show`. In: an expression, values for its names. Out: its steps, a picture."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from .. import errors
from ..inspection.drawing.expression import Evaluated, ExpressionError, evaluate
from ..inspection.terminal import print_safely
from .status import DONE, MISUSED, Commands, described, fail

ABOUT = """\
Computes an expression step by step, forward and backward, and draws its graph. Each step is a line:
its formula, its value, and what you wrote for it; each gradient is a line, too, with the rule that
gives it. The steps are those of the compiler, so a matrix product is a product and a sum. All
values are computed by compiled machine code.
"""

END = """\
values:
  x=2  x=[1,2,3]            numbers are float32
  x=2:int64  y="[1,2]:float64"    another dtype
  x="randn(3,4)"            an expression: all functions of weft and methods of Tensors work
  x="arange(6).reshape(2,3)"  y="x.T"    and so do values named before

examples:
  python -m weft show "(x*y).log() + (x*y).exp()" x=2 y=3
  python -m weft show "(x @ w + b).relu().mean()" x="randn(4,3)" w="randn(3,2)" b="zeros(2)"
  python -m weft show "softmax(x)" x=[1,2,3] --svg softmax.svg
  python -m weft show "x @ w" x="randn(64,64)" w="randn(64,64)" --html product.html
  python -m weft show --layout "x.permute(1,0)[1:]" x="arange(6).reshape(2,3)"

An expression that begins with - must stand in brackets: "(-x)".
The expression is evaluated by Python, like your own code: it can do whatever Python can.

exit status: 0; 1 if a file cannot be written; 2 for an expression that cannot be computed, which is
shown where.
"""


def add(commands: Commands) -> None:
    """Declares the arguments."""
    parser = described(
        commands,
        "show",
        "an expression with the value and gradient of every step, and its graph",
        ABOUT,
        END,
    )
    parser.add_argument("expression", help='Python, like "(x*y).log()"')
    parser.add_argument("values", nargs="*", metavar="name=value", help="values for its names")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--layout",
        action="store_true",
        help="where elements lie in memory, for each view in the expression",
    )
    what.add_argument(
        "--dot",
        action="store_true",
        help="the graph as text for Graphviz: ... --dot | dot -Tpng -o graph.png",
    )
    what.add_argument("--svg", type=Path, metavar="FILE", help="the picture as an SVG file")
    what.add_argument(
        "--html",
        type=Path,
        metavar="FILE",
        help="a page about the program that computes it and its gradients",
    )


def run(args: argparse.Namespace) -> int:
    """The exit status."""
    try:
        evaluated = evaluate(args.expression, _values(args.values))
        print_safely(
            _page(args, evaluated)
            if args.html
            else _layout(evaluated)
            if args.layout
            else _drawing(args, evaluated)
        )
    except errors.WeftError as error:
        return fail(error, MISUSED)
    return DONE


def _values(texts: list[str]) -> dict[str, str]:
    """By name. Raises ExpressionError for anything but name=value."""
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not value.strip():
            raise ExpressionError(
                f"{text!r} is not a value: write name=value, like x=2 or x='randn(3, 4)'"
            )
        if name.strip() in values:
            raise ExpressionError(f"{name.strip()} is given twice")
        values[name.strip()] = value
    return values


def _layout(evaluated: Evaluated) -> str:
    from ..inspection.layout.layout import layout

    parts = list(dict(evaluated.parts).items())
    return str(layout(*(t for _, t in parts), names=[text for text, _ in parts]))


def _page(args: argparse.Namespace, evaluated: Evaluated) -> str:
    """Computes the result with its gradients by the given values, watched; the page shows that
    and of views of the values."""
    from ..frontend.gradients.gradient import grad
    from ..frontend.lazy.realize import realize
    from ..inspection.documents.collect import Collection
    from ..inspection.documents.document import document
    from ..inspection.layout.layout import CHAIN, layout
    from ..inspection.page.html import page

    views = {text: t for text, t in evaluated.parts if t.node.op in CHAIN or t.is_leaf}
    seen = Collection()
    with seen.collecting():
        inputs = [t for t in views.values() if t.is_leaf and t.requires_grad]
        gradients = (
            grad(evaluated.result.sum(), inputs, allow_unused=True)
            if evaluated.result.requires_grad
            else []
        )
        realize(evaluated.result, gradients)
    command = shlex.join(["python", "-m", "weft", "show", args.expression, *args.values])
    shown = layout(*views.values(), names=[*views])
    content = document(
        seen.entries(len(seen.seen)),
        args.expression,
        command,
        tensors=[shown.to_dict() | {"title": "views"}],
    )
    args.html.write_text(page(content), encoding="utf-8")
    return f"wrote {args.html}"


def _drawing(args: argparse.Namespace, evaluated: Evaluated) -> str:
    from ..inspection.drawing.draw import Drawing
    from ..inspection.drawing.values import steps_of

    drawing = Drawing(args.expression, tuple(steps_of(evaluated.result.node, evaluated.texts)))
    if args.dot:
        return drawing.dot()
    if args.svg:
        args.svg.write_text(drawing.svg(), encoding="utf-8")
        return f"wrote {args.svg}"
    return f"{args.expression}\n\n{drawing}"
