"""Loops of a Report. In: a Compiled program. Out: what passes from iteration to iteration, what is
kept of each for the gradient, and what the gradient computes again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ...codegen.kernels.lower_program import LoweredKernel
from ...compiler.compile import Compiled
from ...ir.graph.graph import type_of
from ...ir.graph.region import Loop
from ...ir.graph.site import is_gradient
from ...ir.kernels.kernel import cost
from ...ir.program.region_step import RegionStep
from ...wording import amount
from ..tables import labelled
from .kernel import INDENT, LABEL, WIDTH, counted


@dataclass(frozen=True)
class Kept:
    """A value of each iteration, stacked. Attributes: `type`, `float32[20, 64]`; `bytes`, of all
    iterations; `gradient`, whether only the gradient needs it."""

    type: str
    bytes: int
    gradient: bool

    def __str__(self) -> str:
        return f"{self.type} ({amount(self.bytes)}B in all)"


@dataclass(frozen=True)
class LoopReport:
    """A loop of a program.

    Attributes: `name`, with which those of its kernels begin; `runs`, how often, in words;
    `carries`, text of each value that passes from iteration to iteration, and `in_place`, how many
    of them stay where they are; `stacked`, a Kept for each value that is kept; `again`, the
    operations of the forward pass that a loop of a gradient computes again.
    """

    name: str
    runs: str
    carries: tuple[str, ...]
    in_place: int
    stacked: tuple[Kept, ...]
    again: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        lists = {name: list(getattr(self, name)) for name in ("carries", "again")}
        return vars(self) | lists | {"stacked": [*map(asdict, self.stacked)]}

    def __str__(self) -> str:
        return "\n".join([self.title, *labelled(self.facts.items(), WIDTH, INDENT, LABEL)])

    @property
    def title(self) -> str:
        """Its name, and how often it runs."""
        return f"{self.name}  {self.runs}"

    @property
    def facts(self) -> dict[str, str]:
        """Texts by label, without the labels that have none."""
        gradient = ", ".join(str(s) for s in self.stacked if s.gradient)
        texts = {
            "carries": counted(self.carries),
            "in place": f"{self.in_place} of {len(self.carries)}" if self.carries else "",
            "stacks": ", ".join(str(s) for s in self.stacked if not s.gradient),
            "keeps": f"for the gradient: {gradient}" if gradient else "",
            "again": counted(self.again),
        }
        return {label: text for label, text in texts.items() if text}


def loops(c: Compiled) -> list[LoopReport]:
    """In the order they run, each before those in it."""
    kernels = c.in_order()
    return [
        _loop(step, step.spec, [k for k in kernels if k.name.startswith(f"{step.name}_")])
        for step in _steps(s for s in c.lowered.steps if isinstance(s, RegionStep))
        if isinstance(step.spec, Loop)
    ]


def _steps(steps: Iterable[RegionStep]) -> Iterator[RegionStep]:
    for step in steps:
        yield step
        yield from _steps(step.inner)


def _loop(step: RegionStep, spec: Loop, kernels: Iterable[LoweredKernel]) -> LoopReport:
    """A loop whose carries are cotangents keeps nothing for a gradient: what it stacks is one."""
    outputs = spec.body.outputs
    pulls = all(is_gradient(n.site) for n in outputs[: spec.carries] or step.writes)
    nodes = (u.node for k in kernels if k.kernel for u in k.kernel.units)
    again = (n.op.value for n in nodes if pulls and cost(n) > 1 and not is_gradient(n.site))
    return LoopReport(
        step.name,
        str(spec),
        tuple(type_of(n) for n in outputs[: spec.carries]),
        sum(step.is_held(k) for k in range(spec.carries)),
        tuple(
            Kept(type_of(outputs[k]), n.nbytes, is_gradient(n.site) and not pulls)
            for k, n in sorted(step.results.items())
            if k >= spec.carries
        ),
        tuple(again),
    )
