"""The shortest way through a jitted function: a call like the one before. In: a Step. Out: a function of Tensors and numbers.

`Step.run` looks at everything and notes in `Known` what it found. As long as the memory of what the function captured has the
same tokens, and nobody else sees what is written, a call compares a few lists and gives the program the addresses of its
arguments: those of all else are in `words` already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import Any

from . import realize, state
from .recorded import Result
from .signature import mapped
from .storage import Storage
from .tensor import Tensor, of_storage

DIFFERS = object()  # this call is not like the one before
Repeat = Callable[..., Any]


class Known:
    """What a Step knows since it ran last: how many changes there had been, and tokens: of the memory of captured Tensors."""

    __slots__ = ("changes", "tokens")

    def __init__(self) -> None:
        self.changes = -1
        self.tokens: list[object] = []


def references(tensors: Sequence[Tensor]) -> list[int]:
    """How often each Tensor's Leaf and memory are referred to, together."""
    return [getrefcount(t._node) + getrefcount(t._storage) for t in tensors]


def is_repeatable(step: Any) -> bool:
    """Do calls differ in nothing but the addresses of arguments and of new memory."""
    count, written = len(step.layouts), {o for _, o in step.updates}
    plain = all(r.view is None and r.output not in written for r in step.results)
    touched = [*(t for t, _ in [*step.updates, *step.gradients]), *step.without, *(r.tensor for r in step.results)]
    if not plain or step.moves or any(t is not None and t < count for t in touched):
        return False
    return all(step.captured_layouts[t - count] == step.new_layouts[o] for t, o in step.updates)


def repeater(step: Any, least: int) -> Repeat:
    """The function. It gives DIFFERS, and has changed nothing, where `Step.run` must look. Whoever calls holds realize.lock.

    `least`: what `references` gives for a Tensor that nobody else sees.
    """
    captured, known, words, execute, first = step.captured, step.known, step.words, step.execute, len(step.layouts)
    layouts, tracked, several = step.layouts, step.tracked, len(step.layouts) > 1 and not step.is_aliased
    changes, mode, grad_enabled, guards, fill = state.changes, state.mode, step.grad_enabled, step.guards, step.scalars.fill
    without = [captured[t - first] for t in step.without]
    assigned, alone = [captured[t - first] for t, _ in step.updates], [least] * len(step.updates)
    varying = [i for i in step.inputs if i[1] < first]
    outputs = [o for o in range(len(step.makers)) if o not in step.donors]
    fresh = [(step.first_output + o, step.makers[o]) for o in outputs]
    exchanges = [
        (t - first, outputs.index(o), [(word, offset) for word, n, offset in step.inputs if n == t])
        for t, o in step.updates
        if o in outputs
    ]
    finish, statistics, donated = _finisher(step, outputs), realize.statistics, len(step.donors)
    explained, program, lines = realize.explained, step.program, step.lines

    def repeat(tensors: Sequence[Any], numbers: Sequence[float] = ()) -> Any:
        try:
            given = [t._storage for t in tensors]
            if [s.layout for s in given] != layouts or [t._requires_grad for t in tensors] != tracked:
                return DIFFERS
            if captured and [t._storage.token for t in captured] != known.tokens:  # type: ignore[union-attr]
                return DIFFERS
            if assigned and references(assigned) != alone:
                return DIFFERS
        except AttributeError:  # no Tensor, or one without memory or Leaf
            return DIFFERS
        if changes.count != known.changes or mode.grad_enabled is not grad_enabled:
            return DIFFERS
        if several and len({*map(id, tensors)}) < first:
            return DIFFERS
        for what, value in guards:
            if what() != value:
                return DIFFERS
        for t in without:
            if t._grad is not None:
                return DIFFERS
        fill(numbers)
        for word, number, offset in varying:
            words[word] = given[number].address + offset
        new: list[Storage] = []
        for word, make in fresh:
            s = make()
            words[word] = s.address
            new.append(s)
        statistics["runs"] += 1
        try:
            execute()
        except BaseException as failure:
            raise explained(failure, program, lines) from None
        if assigned:
            statistics["donated"] += donated
            for i, place, inputs in exchanges:
                address, known.tokens[i] = _exchange(captured[i]._storage, new[place])
                for word, offset in inputs:
                    words[word] = address + offset
        return finish(new)

    return repeat


def _exchange(s: Any, new: Storage) -> tuple[int, object]:
    """Gives a Storage the memory of a new one of its layout, and that the old memory: (its address, its token) from now on."""
    s.buffer, new.buffer = new.buffer, s.buffer
    s.address, new.address = new.address, s.address
    s.token = object()
    return s.address, s.token


def _finisher(step: Any, outputs: list[int]) -> Callable[[list[Storage]], Any]:
    """What a call does after the run, given the memory of these outputs: gradients, what Python does, the result."""
    first, captured, afterwards = len(step.layouts), step.captured, step.afterwards
    places = {o: place for place, o in enumerate(outputs)}
    cleared = [captured[t - first] for t, result in step.gradients if result is None]
    gradients = [(captured[t - first], result) for t, result in step.gradients if result is not None]
    results = [(None if r.output is None else places[r.output], r.note, _constant(r, step)) for r in step.results]
    only, note, _ = results[0] if step.result == 0 else (None, None, None)
    shape = _shape(step.result, len(results))

    def finish(new: list[Storage]) -> Any:
        if only is not None and not gradients:
            result = of_storage(new[only], note)
        else:
            values = [fixed if place is None else of_storage(new[place], why) for place, why, fixed in results]
            for t, number in gradients:
                t._grad = values[number]
            result = shape(values)
        for t in cleared:
            t._grad = None
        for action in afterwards:
            action()
        return result

    return finish


def _constant(r: Result, step: Any) -> Any:
    return r.value if r.tensor is None else step.captured[r.tensor - len(step.layouts)]


def _shape(result: Any, count: int) -> Callable[[list[Any]], Any]:
    """Values -> what the function returns."""
    if result == 0:
        return lambda values: values[0]
    if type(result) in (list, tuple) and [*result] == [*range(count)]:
        return type(result)
    return lambda values: mapped(result, values.__getitem__)
