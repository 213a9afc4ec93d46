"""Steps as a worked exercise. In: Steps. Out: lines like `v3 = v1 * v2 = 6`, both ways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import fill

from ..terminal import marks, width
from .numbers import brief, rows
from .values import Array, DrawnStep

Row = tuple[str, str, str, str, str]  # name, formula, value, shape, remark
# Of each, in so many columns; a remark has the rest.
WIDEST = {100: (4, 30, 26, 12), 70: (4, 26, 19, 9), 0: (4, 20, 15, 0)}


def tables(steps: Sequence[DrawnStep]) -> str:
    """Values from the inputs to the result, gradients from there back to the inputs, and in full
    what was cut short."""
    columns = width()
    most = next(widest for least, widest in WIDEST.items() if columns >= least)
    parts = ["forward", _aligned(list(_forward(steps, most[2])), most, columns)]
    if steps[-1].gradient is not None:
        whole = "the result" if not steps[-1].shape else "the sum of the result's elements"
        head = fill(f"backward: g is the derivative of {whole} by v", columns)
        parts += ["", head, _aligned(list(_backward(steps, most[2])), most, columns)]
    return "\n".join([*parts, *_in_full(steps, most[2], columns)])


def _forward(steps: Sequence[DrawnStep], columns: int) -> Iterator[Row]:
    for step in steps:
        is_input = not step.sources and step.op == "input"
        formula = step.text or "given" if is_input else step.formula
        remark = step.where if not step.text else "" if is_input else step.text
        yield (
            f"v{step.number}",
            f"= {formula}",
            f"= {_brief(step.value, columns)}",
            _shape(step),
            remark,
        )


def _backward(steps: Sequence[DrawnStep], columns: int) -> Iterator[Row]:
    result = steps[-1]
    for step in reversed(steps):
        if step.gradient is None:
            continue
        name = f"g{step.number}"
        if step is result:
            yield name, "= 1", f"= {_brief(step.gradient, columns)}", "", "the result itself"
        for k, share in enumerate(step.shares):
            sign = "+" if k or step is result else "="
            yield (
                name if sign == "=" else "",
                f"{sign} {share.text}",
                f"{sign} {_brief(share.value, columns)}",
                "",
                share.rule,
            )
        if len(step.shares) + (step is result) > 1:
            yield "", "", f"= {_brief(step.gradient, columns)}", "", ""


def _brief(value: Array, columns: int) -> str:
    return brief(value, columns - 2, marks().more)


def _shape(step: DrawnStep) -> str:
    return str(step.shape) if step.shape else ""


def _aligned(rows: list[Row], most: Sequence[int], columns: int) -> str:
    more = marks().more
    wide = [min(max(len(row[k]) for row in rows), most[k]) for k in range(4)]
    rest = columns - sum(wide) - sum(2 for w in wide if w) - 2
    lines = []
    for row in rows:
        cells = [_fitted(row[k], wide[k], more).ljust(wide[k]) for k in range(4) if wide[k]]
        lines.append("  " + "  ".join([*cells, _fitted(row[4], rest, more)]).rstrip())
    return "\n".join(lines)


def _fitted(text: str, columns: int, more: str) -> str:
    return text if len(text) <= columns else text[: max(0, columns - len(more))] + more


def _in_full(steps: Sequence[DrawnStep], columns: int, page: int) -> Iterator[str]:
    """The result and the gradients by inputs, where a line has not shown all of them."""
    result = steps[-1]
    values: list[tuple[str, Array | None]] = [("the result", result.value)]
    inputs = (step for step in steps if step.op == "input")
    values += [
        (f"g{step.number}, the derivative by {step.text or f'v{step.number}'}", step.gradient)
        for step in inputs
    ]
    more = marks().more
    for name, value in values:
        if value is not None and more in _brief(value, columns):
            yield from ("", name, rows(value, page))
