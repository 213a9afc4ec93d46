"""Values of pending Tensors. In: Tensors. Out: the same Tensors with their values in memory,
computed by one program.

capture the graph (job.py) -> find the program by its key, or build it (program_table.py) -> let go
of the graph -> run -> give the Tensors their memory (run.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, TypeVar

from ... import errors, locks
from ...compiler.structure import Structure
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node
from ...ir.graph.op import Op
from ...ir.program.program import ValueLayout
from ...runtime.memory import storage
from ...runtime.memory.devices import CPU, device_of, only_cpu
from ...runtime.memory.storage import Storage
from . import host_calls, state, transfers, watchers, whole_of_parts
from .any_tensor import AnyTensor as Tensor
from .any_tensor import bare
from .job import Job, carry, job_of, key_of
from .pieces import LEAST_NODES, pieces
from .program_table import find
from .run import run
from .transaction import keep

R = TypeVar("R")
lock = locks.new("compute")


def realize(*tensors: Any) -> Any:
    """Computes the Tensors, and with them every pending assign and the held scalars that lie
    inside, in one program.

    Takes Tensors, and lists, tuples and dicts of them; returns its argument, several as a tuple.
    Without arguments it computes the pending assigns. Raises IndexError for an index out of range;
    then nothing has changed. In a jitted function nothing is computed before its end.
    """
    if state.traces and state.trace() is not None:
        _flat(tensors)
    else:
        with lock:
            targets = [t for t in _flat(tensors) if t._stored() is None]
            if targets or not tensors:
                _realize(targets)
    return tensors[0] if len(tensors) == 1 else tensors or None


def beside(*tensors: Tensor) -> None:
    """Computes the Tensors and nothing else, for display: no assign that waits, no scalar that is
    held, and what a loop will need is neither kept nor counted. In a jitted function nothing is
    computed."""
    if state.traces and state.trace() is not None:
        return
    with lock:
        before = state.tables()
        try:
            state.exchange(state.no_tables())
            _compute([t for t in tensors if t._stored() is None], is_turn=False)
        finally:
            state.exchange(before)


def together(tensors: Sequence[Tensor | None]) -> None:
    """Computes the Tensors as an optimiser's step computes its updates: with all pending assigns
    and held scalars inside."""
    with lock:
        _realize([t for t in _flat(tensors) if t._stored() is None], with_scalars=True)


def value(tensor: Tensor) -> Storage:
    """The memory of the Tensor's value, which is computed if need be."""
    if state.traces and (trace := state.trace()) is not None:
        return trace.read(tensor, lambda stored: stored)
    stored: Storage | None
    while (stored := tensor._stored()) is None:  # again where another thread gave it a new value
        realize(tensor)
    return stored


def read(tensor: Tensor, how: Callable[[Storage], R]) -> R:
    """What `how` makes of the Tensor's memory while no program writes to it; with a part, the whole
    is computed."""
    if state.traces and (trace := state.trace()) is not None:
        return trace.read(tensor, how)
    with lock:
        if tensor._stored() is None and (wholes := whole_of_parts.wholes(tensor)):
            realize(*wholes)
        return how(value(tensor))


def _flat(tensors: Sequence[object]) -> list[Tensor]:
    out: dict[int, Tensor] = {}
    stack = list(reversed(tensors))
    while stack:
        t = stack.pop()
        if isinstance(t, Tensor):
            out[id(t)] = t
        elif isinstance(t, (list, tuple)):
            stack.extend(reversed(t))
        elif isinstance(t, dict):
            stack.extend(reversed(t.values()))
        elif t is not None:
            raise errors.DTypeError(
                f"expected a Tensor, or lists, tuples and dicts of Tensors, got {brief(t)}"
            )
    return list(out.values())


def _realize(targets: list[Tensor], with_scalars: bool = False) -> None:
    if targets and all(_attach_view(t) for t in targets):
        return
    waiting = state.take_pending()
    if not waiting:
        _compute(targets, with_scalars)
        return
    initial = state.first_versions(waiting)
    try:
        if initial and {*map(id, initial)} != {*map(id, _flat([waiting, targets]))}:
            # in a program of their own, so that the first training step is like all others
            _compute(initial)
            state.forget_first_versions(waiting)
    except BaseException:
        state.wait_again(waiting)
        raise
    wanted = [t for t in _flat([waiting, targets]) if t._stored() is None]
    if wanted:
        _compute(wanted, with_scalars=True, inside=[t.grad for t in waiting if t.grad is not None])


def _attach_view(t: Tensor) -> bool:
    """A Tensor that is a view of memory needs no program."""
    stored = storage.seen_through(n := t.node)
    if stored is not None:
        keep(t, n, stored)
    return stored is not None


# ---------------------------------------------------------------- from Tensors to a program


def _compute(
    tensors: list[Tensor],
    with_scalars: bool = False,
    is_turn: bool = True,
    inside: Sequence[Tensor] = (),
) -> None:
    """`inside`: Tensors that are computed, too, if that takes nothing more."""
    if host_calls.Made.any:
        try:
            host_calls.settle([*tensors, *inside], _compute)
        except BaseException:
            state.wait_again(tensors)
            raise
    if only_cpu():
        _compute_on(CPU, tensors, with_scalars, is_turn, inside)
        return
    try:
        for device, group, is_last in transfers.rounds(
            tensors
        ):  # what is kept for a next turn gives Tensors other Nodes
            _compute_on(device, group, with_scalars, is_turn and is_last, inside)
    except BaseException:
        state.wait_again(tensors)
        raise


def _compute_on(
    device: str, tensors: list[Tensor], with_scalars: bool, is_turn: bool, inside: Sequence[Tensor]
) -> None:
    try:
        job = job_of(device, tensors, with_scalars, inside)
        if len(job.capture.entries) >= LEAST_NODES:
            job, _held = _cut(job, tensors, with_scalars)  # until the end
        for t, n, stored in job.views:
            keep(t, n, stored)
        if not job.tensors:
            return
        if is_turn and (job.capture.again or job.capture.goes_on):
            carry(job)
        program = find(key_of(job), job.capture)
        if watchers.demands:
            watchers.on_run(program, program.structure.at(job.capture.sites, job.capture.origins()))
    except BaseException:
        state.wait_again(tensors)
        raise
    if is_turn:
        job.capture.mark()
    run(job, program)


def _cut(job: Job, tensors: list[Tensor], with_scalars: bool) -> tuple[Job, list[Tensor]]:
    """What is left to compute when the pieces of a long graph are, and the Tensors that hold
    these."""
    held: list[Tensor] = []
    if not any(_is_updated(t) for t in tensors):  # a training step is one program
        with suppress(errors.IndexError):  # the whole program finds the first index out of range
            while parts := pieces(job.capture, job.roots):
                held += _in_pieces(job.capture.device, parts)
                job = job_of(job.capture.device, tensors, with_scalars)
    return job, held


def _is_updated(t: Tensor) -> bool:
    """Does a parameter wait for its next version."""
    return (
        t._requires_grad
        and (n := t.node).op is Op.INPUT
        and n.arg.definition is not None
        and not n.arg.is_initial
    )


def _in_pieces(device: str, parts: list[list[Node]]) -> list[Tensor]:
    """Tensors of these values, each list computed by a program of its own."""
    held = [[bare(n) for n in piece] for piece in parts]
    for piece in held:
        job = job_of(device, piece)
        run(job, find(key_of(job), job.capture))
    return list(chain.from_iterable(held))


def structure_of(*tensors: Tensor) -> Structure:
    """What `realize` would compile. Computes and changes nothing."""
    return asked_of(*tensors)[0]


def asked_of(*tensors: Tensor) -> tuple[Structure, list[Storage]]:
    """The same, and the memory that it would read."""
    with lock:
        wanted = [t for t in _flat(tensors) if t._stored() is None]
        if host_calls.Made.any:
            host_calls.settle(wanted, _compute)
        job = job_of(device_of(wanted[0].node) if wanted else CPU, wanted)
        key, capture = key_of(job), job.capture
        structure = Structure(key, capture.packed_constants(), (), capture.sites, capture.origins())
        return structure, capture.inputs


def graph_of(*tensors: Tensor) -> tuple[list[Node], list[Node], list[ValueLayout], dict[int, int]]:
    """The same as (outputs, leaves, the leaves' layouts, donations)."""
    return structure_of(*tensors).unfolded()
