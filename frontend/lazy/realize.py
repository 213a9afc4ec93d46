"""Values of pending Tensors. In: Tensors. Out: the same Tensors with their values in memory,
computed by one program.

capture the graph -> find the program by its key, or build it -> let go of the graph -> run -> give the Tensors their memory.
The graph is let go before the run, because a parameter may be overwritten in place only if nothing else reaches its old
value, and only reference counts know that. If the run fails, the graph is rebuilt from the program.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ... import errors, locks, options
from ...compiler.structure import Key, Structure
from ...ir.graph.brief import shown
from ...ir.graph.graph import Node
from ...ir.graph.negative_indices import as_written
from ...ir.graph.op import Op
from ...ir.graph.site import Lines, Site, located, what_of
from ...ir.program.program import Value
from ...runtime.memory import storage
from ...runtime.memory.devices import CPU, device_of, only_cpu
from ...runtime.memory.storage import Storage
from ...signals import deferred
from . import growth, state, transfers, watchers, whole_of_parts
from .any_tensor import AnyTensor as Tensor
from .any_tensor import bare
from .cached_program import Program
from .capture import Capture, is_constant
from .carried import Carry, carry_of
from .pieces import LEAST_NODES, pieces
from .program_table import constants_of, find, statistics, watched_of
from .transaction import Released, commit, keep, reclaim, release, restore

lock = locks.new("compute")


def realize(*tensors: Any) -> Any:
    """Computes the Tensors, and with them every pending assign and the held scalars that lie inside, in one program.

    Takes Tensors, and lists, tuples and dicts of them; returns its argument, several as a tuple. Without arguments it computes
    the pending assigns. Raises IndexError for an index out of range; then nothing has changed. In a jitted function nothing is
    computed before its end.
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
    """Computes the Tensors and nothing else, for display: no assign that waits, no scalar that is held, and
    what a loop will need is neither kept nor counted. In a jitted function nothing is computed."""
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
    """Computes the Tensors as an optimiser's step computes its updates: with all pending assigns and held scalars inside."""
    with lock:
        _realize([t for t in _flat(tensors) if t._stored() is None], with_scalars=True)


def value(tensor: Tensor) -> Storage:
    """The memory of the Tensor's value, which is computed if need be."""
    if state.traces and (trace := state.trace()) is not None:
        return trace.read(tensor, lambda stored: stored)  # type: ignore[no-any-return]
    stored: Storage | None
    while (stored := tensor._stored()) is None:  # again where another thread gave it a new value
        realize(tensor)
    return stored


def read(tensor: Tensor, how: Callable[[Storage], Any]) -> Any:
    """What `how` makes of the Tensor's memory while no program writes to it; with a part, the whole is computed."""
    if state.traces and (trace := state.trace()) is not None:
        return trace.read(tensor, how)
    with lock:
        if tensor._stored() is None and (wholes := whole_of_parts.wholes(tensor)):
            realize(*wholes)
        return how(value(tensor))


def _flat(tensors: Sequence[Any]) -> list[Tensor]:
    out: dict[int, Tensor] = {}
    stack = list(reversed(tensors))
    while stack:
        t = stack.pop()
        if hasattr(type(t), "_stored"):
            out[id(t)] = t
        elif isinstance(t, (list, tuple)):
            stack.extend(reversed(t))
        elif isinstance(t, dict):
            stack.extend(reversed(t.values()))
        elif t is not None:
            raise errors.DTypeError(f"expected a Tensor, or lists, tuples and dicts of Tensors, got {shown(t)}")
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
            _compute(initial)  # in a program of their own, so that the first training step is like all others
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
    tensors: list[Tensor], with_scalars: bool = False, is_turn: bool = True, inside: Sequence[Tensor] = ()
) -> None:
    """`inside`: Tensors that are computed, too, if that takes nothing more."""
    if only_cpu():
        _compute_on(CPU, tensors, with_scalars, is_turn, inside)
        return
    try:
        for device, group, is_last in transfers.rounds(tensors):  # what is kept for a next turn gives Tensors other Nodes
            _compute_on(device, group, with_scalars, is_turn and is_last, inside)
    except BaseException:
        state.wait_again(tensors)
        raise


def _compute_on(device: str, tensors: list[Tensor], with_scalars: bool, is_turn: bool, inside: Sequence[Tensor]) -> None:
    try:
        job = _job(device, tensors, with_scalars, inside)
        if len(job.capture.entries) >= LEAST_NODES:
            job, _held = _cut(job, tensors, with_scalars)  # until the end
        for t, n, stored in job.views:
            keep(t, n, stored)
        if not job.tensors:
            return
        if is_turn and (job.capture.again or job.capture.goes_on):
            _carry(job)
        program = find(_key(job), job.capture)
        if watchers.demands:
            watchers.running(program, program.structure.at(job.capture.sites, job.capture.origins()))
    except BaseException:
        state.wait_again(tensors)
        raise
    if is_turn:
        job.capture.mark()
    _run(job, program)


def _cut(job: Job, tensors: list[Tensor], with_scalars: bool) -> tuple[Job, list[Tensor]]:
    """What is left to compute when the pieces of a long graph are, and the Tensors that hold these."""
    held: list[Tensor] = []
    if not any(_is_updated(t) for t in tensors):  # a training step is one program
        with suppress(errors.IndexError):  # the whole program finds the first index out of range
            while found := pieces(job.capture, job.roots):
                held += _in_pieces(job.capture.device, found)
                job = _job(job.capture.device, tensors, with_scalars)
    return job, held


def _is_updated(t: Tensor) -> bool:
    """Does a parameter wait for its next version."""
    return t._requires_grad and (n := t.node).op is Op.INPUT and n.arg.definition is not None and not n.arg.is_initial


def _in_pieces(device: str, found: list[list[Node]]) -> list[Tensor]:
    """Tensors of these values, each list computed by a program of its own."""
    held = [[bare(n) for n in piece] for piece in found]
    for piece in held:
        _compute_job(_job(device, piece))
    return list(chain.from_iterable(held))


def _compute_job(job: Job) -> None:
    """Computes what it asks for, and keeps nothing else."""
    _run(job, find(_key(job), job.capture))


@dataclass(slots=True)
class Job:
    """What one program is asked for. `donations`: (output, input) where an assign replaces that input.

    `nodes`: what the Tensors stood for when their graph was captured; another thread may move them on. `places`: the output
    of each Tensor. Those of one Node have one, as a parameter and its copy that wait for the same update. `roots`: what computes
    the outputs; `carry`: those kept for the next turn of a loop.
    """

    tensors: list[Tensor]
    nodes: list[Node]
    places: list[int]
    roots: list[Node]
    capture: Capture
    donations: list[tuple[int, int]]
    views: list[tuple[Tensor, Node, Storage]]
    carry: Carry | None = None


def root_of(n: Node) -> Node:
    """The Node that computes a value: for a Leaf that waits, its definition."""
    return n.arg.definition or n if n.op is Op.INPUT else n


def _job(device: str, tensors: list[Tensor], with_scalars: bool = False, inside: Sequence[Tensor] = ()) -> Job:
    capture = Capture(device)
    asked = {id(t): (t, t.node) for t in tensors}
    for _, n in asked.values():
        visit(capture, root_of(n))
    asked |= {id(t): (t, n) for t in inside if t._stored() is None and (n := t.node) in capture.index}
    if with_scalars:
        _visit_scalars(capture)
    for t, n in capture.scalars:
        asked.setdefault(id(t), (t, n))
    job = Job([], [], [], [], capture, [], [])
    places: dict[Node, int] = {}
    for t, n in asked.values():
        root = root_of(n)
        if root in capture.views:
            job.views.append((t, n, capture.views[root]))
            continue
        if n not in places:
            places[n] = len(places)
            job.roots.append(root)
        job.tensors.append(t)
        job.nodes.append(n)
        job.places.append(places[n])
    job.donations = donations_of(list(places), capture)
    return job


def _carry(job: Job) -> None:
    """Adds what the program keeps for the next turn of a loop."""
    job.carry = carry_of(job.capture, job.roots, job.tensors)
    if job.carry is not None:
        job.roots += job.carry.nodes


def _key(job: Job) -> Key:
    """What the program is found by."""
    return job.capture.finish(job.capture.numbers(job.roots), job.donations)


def visit(capture: Capture, root: Node) -> None:
    if not is_constant(root):
        capture.visit(root)


def _visit_scalars(capture: Capture) -> None:
    """Adds the 0-d Tensors that a user holds and that need little more than what is captured."""
    for ref in list(state.thread.held_scalars.values()):
        t = ref()
        if t is None or t._storage is not None:
            continue
        n = t.node
        if not is_constant(root_of(n)) and capture.is_home(n) and capture.lies_inside(n):
            capture.visit(n)
            capture.scalars.append((t, n))


def donations_of(nodes: list[Node], capture: Capture) -> list[tuple[int, int]]:
    """Pairs (output, input) of which the output may take the input's memory if nothing else needs it."""
    replaced = [(k, n, n.arg.previous) for k, n in enumerate(nodes) if n.op is Op.INPUT and n.arg.previous]
    if not replaced:
        return []
    place = {id(n): j for j, n in enumerate(capture.slots)}
    uses = Counter(id(s.buffer) for s in capture.inputs)
    out = []
    for k, n, (version, _) in replaced:
        j = place.get(id(version()))
        if j is not None:
            stored = capture.inputs[j]
            same = stored.dtype is n.dtype and stored.shape == n.shape and stored.is_contiguous
            if same and stored.device == capture.device and uses[id(stored.buffer)] == 1:
                out.append((k, j))
    return out


def structure_of(*tensors: Tensor) -> Structure:
    """What `realize` would compile. Computes and changes nothing."""
    return asked_of(*tensors)[0]


def asked_of(*tensors: Tensor) -> tuple[Structure, list[Storage]]:
    """The same, and the memory that it would read."""
    with lock:
        wanted = [t for t in _flat(tensors) if t._stored() is None]
        job = _job(device_of(wanted[0].node) if wanted else CPU, wanted)
        key, capture = _key(job), job.capture
        structure = Structure(key, capture.packed_constants(), (), capture.sites, capture.origins())
        return structure, capture.inputs


def graph_of(*tensors: Tensor) -> tuple[list[Node], list[Node], list[Value], dict[int, int]]:
    """The same as (outputs, leaves, the leaves' layouts, donations)."""
    return structure_of(*tensors).unfolded()


# ---------------------------------------------------------------- the run


def _run(job: Job, program: Program) -> None:
    """Whatever is raised on the way, Ctrl-C by Python among it: each Tensor has its value, or its graph again."""
    statistics["runs"] += 1
    if not statistics["runs"] % growth.PERIOD:
        growth.after_programs()
    tensors, places, inputs, donations = job.tensors, job.places, job.capture.inputs, job.donations
    inputs = inputs + constants_of(program, job.capture)
    slots = [weakref.ref(n) for n in job.capture.slots]
    carry = job.carry
    if program.makers is None:
        program.makers = [storage.allocator(r.dtype, r.shape, program.structure.device) for r in job.roots]
    is_watched = options.current().debug_nans
    watched = watched_of(program) if is_watched else None
    lines: Lines = lines_of(program, job.capture.sites) if is_watched or program.checked else {}
    released: list[Released] = []
    outputs: list[Storage] = []
    has_run = False
    try:
        _let_go(job, released)
        if carry is not None:
            carry.let_go(tensors, job.nodes, released)
        job.capture = job.nodes = job.roots = job.views = job.carry = None  # type: ignore[assignment]
        if carry is not None:
            carry.take_back()
        outputs = _outputs(program, inputs, slots, () if watched else donations)
        has_run = (watched or program.executable).run([s.address for s in inputs], [s.address for s in outputs]) is None
        _give(tensors, released, places, outputs, carry)
    except BaseException as failure:
        from ...runtime.failures import Interrupted

        with deferred():
            if has_run or isinstance(failure, Interrupted):
                _give(tensors, released, places, outputs, carry)
                raise getattr(failure, "reason", failure) from None
            if job.nodes is not None:
                _reclaim(job, carry)
            else:
                _undo(carry, tensors, released, places, inputs, slots, program.structure, lines)
            raise explained(failure, program, lines) from None


def _let_go(job: Job, released: list[Released]) -> None:
    for t, n in zip(job.tensors, job.nodes, strict=True):
        released.append(release(t, n))


def _give(
    tensors: list[Tensor], released: list[Released], places: list[int], outputs: list[Storage], carry: Carry | None
) -> None:
    """The program has run: Tensors get their memory. May be done again where it was interrupted."""
    for t, r, place in zip(tensors, released, places, strict=True):
        commit(t, r, outputs[place])
    kept = 0 if carry is None else carry.settle(released, places, outputs)
    if len(outputs) < len(places) + kept:
        for place, uses in Counter(places).items():
            if uses > 1:
                outputs[place].mark_shared()


def _reclaim(job: Job, carry: Carry | None) -> None:
    """Nothing has run, and the graph is still there: Tensors that have let go of it get it back."""
    for t, n, place in zip(job.tensors, job.nodes, job.places, strict=True):
        reclaim(t, n, job.roots[place])
    if carry is not None:
        carry.undo(job.roots)


def _undo(carry: Carry | None, *run: Any) -> None:
    """As before a run that has failed."""
    roots = restore(*run)
    if carry is not None:
        carry.undo(roots)


def lines_of(program: Program, sites: list[Site | None]) -> Lines:
    """Where what the program checks was built this time: indices, or all, of which `sites` are the lines."""
    built = program.structure.sites
    if options.current().debug_nans:
        return dict(zip(built, sites, strict=True))
    return {built[i]: sites[i] for i in program.checked} if program.checked else {}


def _outputs(program: Program, inputs: list[Storage], slots: list[Any], donations: Any) -> list[Storage]:
    """Memory for each output: that of a replaced input which nobody else can read, or new memory."""
    assert program.makers is not None
    outputs: list[Storage | None] = [None] * len(program.makers)
    for k, j in donations:
        old = inputs[j]
        free = slots[j]() is None and not (old.shared or old.buffer.exported or old.buffer.foreign)
        if free and program.executable.donations.get(k) == j:
            statistics["donated"] += 1
            outputs[k] = Storage(old.buffer, old.dtype, old.shape)
    return [make() if s is None else s for make, s in zip(program.makers, outputs, strict=True)]


def late_interrupt(failure: BaseException, program: Program, lines: Lines, undo: Callable[[], None]) -> BaseException:
    """What a signal handler raised while the program ran to its end: to be raised as soon as the results are kept.

    Any other failure is raised here, in the user's terms, after undo().
    """
    from ...runtime.failures import Interrupted

    if isinstance(failure, Interrupted):
        return failure.reason
    undo()
    raise explained(failure, program, lines) from None


def explained(failure: BaseException, program: Program, lines: Lines) -> BaseException:
    """The error in the user's terms, for a failed check."""
    from ...runtime.failures import CheckFailed, WrongValue

    if isinstance(failure, WrongValue):
        from ...compiler.programs.nan_culprit import error_of

        return error_of(failure.found, lines)
    if not isinstance(failure, CheckFailed):
        return failure
    site = failure.site
    index = as_written(failure.value, site.shift)
    line = lines.get(site.site, site.site)
    what = what_of(line) or site.what
    where = f", in {located(line)}" if line else ""
    return errors.IndexError(f"{what}: index {index} is out of range for axis {site.axis} of extent {site.extent}{where}")
