"""Steps that fit a limit of memory. In: a limit, a function that traces. Out: a step whose plan
fits, in which as few repeated Modules as possible are computed again in the backward pass."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from ... import errors
from ...ir.graph.brief import brief
from ...wording import amount, plural
from ..transformations.module_calls import ModuleCalls
from .traced_step import TracedStep

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
UNITS |= {f"{unit}i": 1 << (10 * (i + 1)) for i, unit in enumerate("kmgt")}
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)


def as_bytes(memory: object) -> int | None:
    """A limit as a number of bytes: an int, or a text such as "2 GB" or "512 MiB". Raises
    ArgumentError."""
    if memory is None:
        return None
    if isinstance(memory, int) and not isinstance(memory, bool) and memory > 0:
        return memory
    found = SIZE.fullmatch(memory) if isinstance(memory, str) else None
    if found is None or found[2].lower() not in UNITS:
        raise errors.ArgumentError(
            f'jit: memory is a number of bytes, or a text such as "2 GB", not {brief(memory)}'
        )
    return int(float(found[1]) * UNITS[found[2].lower()])


def within(limit: int | None, name: str, traced: Callable[[], TracedStep]) -> TracedStep:
    """The step that `traced` gives, with what must be computed again for its plan to fit. Raises
    MemoryError where it cannot fit."""
    if limit is None:
        return traced()
    calls = ModuleCalls()
    with calls:
        step = traced()
    plain = planned(step)
    if plain <= limit:
        return step
    blocks = calls.repeated()
    if not blocks:
        raise errors.MemoryError(
            f"jit: {name} is planned to take {amount(plain)}B, {amount(plain - limit)}B more than"
            " memory allows, and calls no Modules that repeat, which could be computed again"
        )
    kind, most, best = calls.kinds[blocks[0]], 0, _again(traced, blocks)
    if (least := planned(best)) > limit:
        raise errors.MemoryError(
            f"jit: {name} is planned to take {amount(plain)}B, and {amount(least)}B with all"
            f" {plural(len(blocks), 'call')} of {kind} computed again:"
            f" {amount(least - limit)}B more than memory allows"
        )
    fewest = len(blocks)
    while fewest - most > 1:
        count = (most + fewest) // 2
        step = _again(traced, blocks[:count])
        if planned(step) <= limit:
            fewest, best = count, step
        else:
            most = count
    note = (
        f"memory: {amount(planned(best))}B planned within {amount(limit)}B, {amount(plain)}B"
        f" otherwise: {fewest} of {plural(len(blocks), 'call')} of {kind} are computed again"
    )
    best.structure = replace(best.structure, note=note)
    return best


def _again(traced: Callable[[], TracedStep], blocks: list[int]) -> TracedStep:
    with ModuleCalls(frozenset(blocks)):
        return traced()


def planned(step: TracedStep) -> int:
    """Bytes of inputs and outputs, and of the arena."""
    outputs, _, values, _ = step.structure.unfolded()
    executable = step.program.executable
    own = sum(n.nbytes for o, n in enumerate(outputs) if o not in executable.donations)
    arena: int = executable.arena_bytes
    return arena + own + sum(v.nbytes for v in values)
