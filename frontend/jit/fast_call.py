"""The shortest way through a jitted function: a call like the one before. In: a Step. Out: a
function of Tensors and numbers.

`Step.run` looks at everything and notes in `Known` what it found. As long as the memory of what the
function captured has the same tokens, and nothing else sees what is written, a call gives the
program the addresses of its arguments and of new memory: all others are in `words` already. It
takes as long as its Python statements, two microseconds or less for a map and five for a training
step of four parameters, so they are written for each step, as text; of a map:

    try:
        [t0] = tensors
        s0 = t0._storage
        if s0.layout is not layout0:  # and so on: whatever is not as it was
            return DIFFERS
    except (AttributeError, ValueError):
        return DIFFERS
    n0 = make0()
    late = None
    try:
        if call(s0.address, n0.address):
            fail()
    except BaseException as failure:
        late = late_interrupt(interrupted(failure), program, lines, undo)
    v0 = of_storage(n0, note0)
    if late is not None:
        raise late
    return v0
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from sys import getrefcount
from typing import Any

from ...signals import Actions, deferred
from ..lazy import state
from ..lazy.any_tensor import AnyTensor
from ..lazy.program_table import statistics
from ..lazy.run import late_interrupt
from ..tensor.tensor import of_storage
from .signature import mapped

DIFFERS = object()  # this call is not like the one before
Repeat = Callable[..., Any]


class Known:
    """What a Step knows since it ran last: how many changes there had been, and tokens: of the
    memory of captured Tensors."""

    __slots__ = ("changes", "tokens")

    def __init__(self) -> None:
        self.changes = -1
        self.tokens: list[object] = []


def references(tensors: Sequence[AnyTensor]) -> list[int]:
    """How often each Tensor's Leaf and memory are referred to, together."""
    return [getrefcount(t._node) + getrefcount(t._storage) for t in tensors]


def is_repeatable(step: Any) -> bool:
    """Do calls differ in nothing but the addresses of arguments and of new memory."""
    count, written = len(step.layouts), {o for _, o in step.updates}
    plain = all(r.view is None and r.output not in written for r in step.results)
    touched = [
        *(t for t, _ in [*step.updates, *step.gradients]),
        *step.without,
        *(r.tensor for r in step.results),
    ]
    if not plain or step.moves or any(t is not None and t < count for t in touched):
        return False
    return all(step.captured_layouts[t - count] == step.new_layouts[o] for t, o in step.updates)


def repeater(step: Any, least: int) -> Repeat:
    """The function. It gives DIFFERS, and has changed nothing, where `Step.run` must look. The
    caller holds realize.lock.

    `least`: the value of `references` for a Tensor with no other holder.
    """
    w = Writer(step, least)
    w.arguments()
    w.python()
    w.run()
    w.results()
    return _factory(w.text())(**w.values)


def address_of(name: str, offset: int) -> str:
    return f"{name}.address + {offset}" if offset else f"{name}.address"


@lru_cache(1024)
def _factory(text: str) -> Callable[..., Repeat]:
    names: dict[str, Callable[..., Repeat]] = {}
    exec(compile(text, "<a repeated call>", "exec"), names)
    return names["factory"]


class Writer:
    """The text of the function, and the values of the names in it."""

    def __init__(self, step: Any, least: int) -> None:
        self.step, self.count = step, len(step.layouts)
        self.lines: list[str] = []
        # outputs that are n0, n1, ..
        self.new = [o for o in range(len(step.makers)) if o not in step.donors]
        assigned = [step.captured[t - self.count] for t, _ in step.updates]
        self.values: dict[str, object] = {
            "DIFFERS": DIFFERS,
            "of_storage": of_storage,
            "captured": step.captured,
            "known": step.known,
            "words": step.words,
            "assigned": assigned,
            "alone": [least] * len(assigned),
            "getrefcount": getrefcount,
        }

    def text(self) -> str:
        body = "\n".join(f"        {line}" for line in self.lines)
        return (
            f"def factory({', '.join(self.values)}):\n    def repeat(tensors,"
            f" numbers=()):\n{body}\n    return repeat\n"
        )

    def add(self, *lines: str, **values: object) -> None:
        self.lines += lines
        self.values |= values

    def differs_if(self, condition: str, indent: str = "", **values: object) -> None:
        self.add(f"{indent}if {condition}:", f"{indent}    return DIFFERS", **values)

    # ------------------------------------------------------------ is the call like the one before

    def arguments(self) -> None:
        """Layouts of the arguments, memory of the captured Tensors."""
        step, tab = self.step, "    "
        self.add("try:", f"    [{', '.join(f't{i}' for i in range(self.count))}] = tensors")
        for i, (layout, tracked) in enumerate(zip(step.layouts, step.tracked, strict=True)):
            self.add(
                f"    s{i} = t{i}._storage",
                f"    if s{i}.layout is not layout{i}:",
                **{f"layout{i}": layout},
            )
            self.differs_if(f"s{i}.layout != layout{i}", tab * 2)
            self.add(f"        s{i}.layout = layout{i}")  # faster the next time
            self.differs_if(f"{'not ' if tracked else ''}t{i}._requires_grad", tab)
        if step.captured:
            self.differs_if("[t._storage.token for t in captured] != known.tokens", tab)
        if step.updates:
            self.differs_if(
                "[getrefcount(t._node) + getrefcount(t._storage) for t in assigned] != alone", tab
            )
        self.add(
            "except (AttributeError, ValueError):  # no Tensor, or one without memory or Leaf, or"
            " another number of them"
        )
        self.add("    return DIFFERS")
        if self.count > 1 and not step.is_aliased:
            same = (
                "t0 is t1"
                if self.count == 2
                else f"len({{{', '.join(f's{i}' for i in range(self.count))}}}) < {self.count}"
            )
            self.differs_if(same)

    def python(self) -> None:
        """What Python may have changed."""
        self.differs_if("changes.count != known.changes", changes=state.changes)
        without_mode = (
            "grad_enabled()" if not self.step.grad_enabled else "grads and not grad_enabled()"
        )
        self.differs_if(without_mode, grad_enabled=state.grad_enabled, grads=state.grads)
        lowers = (
            "autocast() is not low"
            if self.step.autocast
            else "autocasts and autocast() is not None"
        )
        self.differs_if(
            lowers, autocasts=state.autocasts, autocast=state.autocast, low=self.step.autocast
        )
        for k, (what, value) in enumerate(self.step.guards):
            self.differs_if(f"guard{k}() != value{k}", **{f"guard{k}": what, f"value{k}": value})
        if self.step.without:
            without = [self.step.captured[t - self.count] for t in self.step.without]
            self.differs_if("[t for t in without if t._grad is not None]", without=without)

    # ------------------------------------------------------------ the call

    def numbers(self) -> None:
        """0-d inputs that Python makes anew."""
        scalars = self.step.scalars
        sources = [
            *(f"*recipe{k}()" for k in range(len(scalars.recipes))),
            *(f"numbers[{i}]" for i in scalars.places),
        ]
        if sources:
            recipes = {f"recipe{k}": recipe for k, recipe in enumerate(scalars.recipes)}
            self.add(f"values = [{', '.join(sources)}]", **recipes)
            if scalars.packs:
                self.add(
                    "try:",
                    "    pack(block, 0, *values)",
                    "except (PackError, OverflowError):",
                    "    write(values)",
                )
            else:
                self.add("write(values)")
            self.values |= {
                "pack": scalars.pack,
                "block": scalars.block,
                "PackError": struct.error,
                "write": scalars.write,
            }

    def run(self) -> None:
        """The native call on the addresses that differ: those of arguments and of new memory."""
        step, first = self.step, len(self.lines)
        self.numbers()
        differing = [
            (word, address_of(f"s{t}", offset)) for word, t, offset in step.inputs if t < self.count
        ]
        for k, o in enumerate(self.new):
            self.add(f"n{k} = make{k}()", **{f"make{k}": step.makers[o]})
            differing.append((step.first_output + o, f"n{k}.address"))
        call = step.prepared.call([word for word, _ in differing])
        self.add('statistics["runs"] += 1', statistics=statistics)
        if step.donors:
            self.add(f'statistics["donated"] += {len(step.donors)}')
        addresses = ", ".join(address for _, address in differing)
        # from the native call to the end of the exchange nothing is called, so no signal is handled
        self.add(*(f"k{i} = object()" for i, _ in self.exchanged()))
        if step.afterwards:
            self.add("actions = Actions(afterwards)", Actions=Actions, afterwards=step.afterwards)
        if step.scalars.marks:
            self.takes_back(first)
        self.add("late = None", "try:", f"    if call({addresses}):", "        fail()", call=call)
        self.add("except BaseException as failure:")
        self.add(
            "    late = late_interrupt(interrupted(failure), program, lines, undo)",
            late_interrupt=late_interrupt,
        )
        self.values |= {
            "fail": step.prepared.fail,
            "interrupted": step.prepared.interrupted,
            "undo": step.scalars.undo,
        }
        self.values |= {"program": step.program, "lines": step.lines}
        for i, k in self.exchanged():
            self.exchange(i, k)

    def takes_back(self, first: int) -> None:
        """Draws of the lines from this one on, which are all before the run, where they are
        interrupted."""
        drawing = self.lines[first:]
        del self.lines[first:]
        self.add(
            "mark()", "try:", *(f"    {line}" for line in drawing), mark=self.step.scalars.mark
        )
        self.add(
            "except BaseException:",
            "    with deferred():",
            "        undo()",
            "        raise",
            deferred=deferred,
        )

    def exchanged(self) -> list[tuple[int, int]]:
        """(which captured Tensor is not written in place, which new memory it gets)."""
        return [(t - self.count, self.new.index(o)) for t, o in self.step.updates if o in self.new]

    def exchange(self, i: int, k: int) -> None:
        """Captured Tensor i, which is not written in place, gets the memory of n<k>, which gets the
        old one."""
        self.add(f"s = captured[{i}]._storage", f"s.buffer, n{k}.buffer = n{k}.buffer, s.buffer")
        self.add(f"s.address, s.offset = n{k}.address, 0", f"s.token = known.tokens[{i}] = k{i}")
        for word, n, offset in self.step.inputs:
            if n == i + self.count:
                self.add(f"words[{word}] = {address_of('s', offset)}")

    def whole(self, lines: Sequence[str]) -> None:
        """The same once more where they are interrupted: a call counts as a whole."""
        body = [f"    {line}" for line in lines]
        self.add(
            "try:",
            *body,
            "except BaseException as failure:",
            "    late = failure",
            "    with deferred():",
        )
        self.add(*(f"    {line}" for line in body), deferred=deferred)

    def results(self) -> None:
        """Gradients, what Python does after a call, what the function returns."""
        step, count = self.step, self.count
        lines: list[str] = []
        for j, r in enumerate(step.results):
            if r.output is not None:
                lines.append(f"v{j} = of_storage(n{self.new.index(r.output)}, note{j})")
                self.values[f"note{j}"] = r.note
            else:
                lines.append(f"v{j} = fixed{j}")
                self.values[f"fixed{j}"] = (
                    r.value if r.tensor is None else step.captured[r.tensor - count]
                )
        lines += [f"captured[{t - count}]._grad = v{j}" for t, j in step.gradients if j is not None]
        cleared = [step.captured[t - count] for t, j in step.gradients if j is None]
        if cleared:
            lines += ["for t in cleared:", "    t._grad = None"]
            self.values["cleared"] = cleared
        if step.afterwards:
            lines.append("actions.finish()")
        if step.afterwards or step.gradients:
            self.whole(lines)
        else:
            self.add(*lines)
        self.add("if late is not None:", "    raise late")
        values = ", ".join(f"v{j}" for j in range(len(step.results)))
        if step.result == 0:
            self.add("return v0")
        elif type(step.result) is list and step.result == [*range(len(step.results))]:
            self.add(f"return [{values}]")
        else:
            self.add(
                f"return mapped(result, [{values}].__getitem__)", mapped=mapped, result=step.result
            )
