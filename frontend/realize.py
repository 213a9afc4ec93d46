"""In: Tensors. Out: the same Tensors with their values in memory, computed by one program.

capture the graph -> find the program by its key, or build it -> let go of the graph -> run -> give the Tensors their memory.
The graph is let go before the run, because a parameter may be overwritten in place only if nothing else reaches its old
value, and only reference counts know that. If the run fails, the graph is rebuilt from the program.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import errors, options
from ..ir import graph
from ..ir.graph import Node, Op, Site, toposort
from ..ir.program import Value
from ..ir.wrapped import as_written
from . import state, storage
from .capture import Capture, is_constant
from .history import reached, stale_owner
from .storage import Storage
from .structure import Structure

MAX_PROGRAMS = 1024  # the oldest is forgotten beyond; its kernels stay in the disk cache

Tensor = Any  # frontend.tensor.Tensor, which imports this module
statistics: Counter[str] = Counter()  # programs built, found again, generalised over constants; runs


@dataclass
class Program:
    """An executable and the graph that it was found for first."""

    executable: Any
    structure: Structure
    checked: list[int]  # the entries of its key that are checked

    @property
    def outputs(self) -> list[Node]:
        """The roots of the graph, made afresh."""
        return self.structure.graph()[0]


_programs: dict[tuple[Any, ...], Program] = {}
_lock = threading.RLock()


def realize(*tensors: Tensor) -> None:
    """Computes the Tensors, and with them every pending assign and the held scalars that lie inside, in one program.

    Without arguments: the pending assigns. Raises IndexError for an index out of range; then nothing has changed.
    """
    with _lock:
        targets = [t for t in _flat(tensors) if t._stored() is None]
        if targets or not tensors:
            _realize(targets)


def value(tensor: Tensor) -> Storage:
    """The memory of the Tensor's value, which is computed if need be."""
    if tensor._stored() is None:
        realize(tensor)
    return tensor._stored()  # type: ignore[no-any-return]


def _flat(tensors: Sequence[Any]) -> list[Tensor]:
    out: dict[int, Tensor] = {}
    stack = list(reversed(tensors))
    while stack:
        t = stack.pop()
        if isinstance(t, (list, tuple)):
            stack.extend(reversed(t))
        elif t is not None:
            out[id(t)] = t
    return list(out.values())


def _realize(targets: list[Tensor]) -> None:
    if targets and all(_attach_view(t) for t in targets):
        return
    waiting = state.take_pending()
    if not waiting:
        _compute(targets)
        return
    initial = state.first_versions(waiting)
    try:
        if initial and {*map(id, initial)} != {*map(id, _flat([waiting, targets]))}:
            _compute(initial)  # in a program of their own, so that the first training step is like all others
            state.forget_first_versions(waiting)
    except BaseException:
        state.wait_again(waiting)
        raise
    grads = [t.grad for t in waiting if t.grad is not None]
    wanted = [t for t in _flat([waiting, grads, targets]) if t._stored() is None]
    if wanted:
        _compute(wanted, with_scalars=True)


def _attach_view(t: Tensor) -> bool:
    """A Tensor that is a view of memory needs no program."""
    n = t.node
    chain = []
    while (stored := storage.lookup(n)) is None:
        if n.op not in storage.VIEWED:
            return False
        chain.append(n)
        n = n.src[0]
    for view in reversed(chain):
        stored = storage.viewed(view, stored)
        if stored is None:
            return False
    _keep(t, stored)
    return True


# ---------------------------------------------------------------- from Tensors to a program


def _compute(tensors: list[Tensor], with_scalars: bool = False) -> None:
    job = _job(tensors, with_scalars)
    for t, stored in job.views:
        _keep(t, stored)
    if job.tensors:
        try:
            program = _find(job)
        except BaseException:
            state.wait_again(tensors)
            raise
        _run(job, program)


@dataclass
class Job:
    """What one program is asked for. `donations`: (output, input) where an assign replaces that input."""

    tensors: list[Tensor]
    roots: list[Node]
    capture: Capture
    donations: list[tuple[int, int]]
    views: list[tuple[Tensor, Storage]]
    key: tuple[Any, ...]


def _root(t: Tensor) -> Node:
    """The Node that computes a Tensor: behind a Leaf, its definition."""
    n: Node = t.node
    return n.arg.definition if n.op is Op.INPUT else n


def _job(tensors: list[Tensor], with_scalars: bool) -> Job:
    capture = Capture()
    for t in tensors:
        _visit(capture, _root(t))
    if with_scalars:
        _visit_scalars(capture)
    if capture.scalars:
        tensors = _flat([tensors, capture.scalars])
    roots = [_root(t) for t in tensors]
    views = [(t, capture.views[r]) for t, r in zip(tensors, roots, strict=True) if r in capture.views]
    left = [(t, r) for t, r in zip(tensors, roots, strict=True) if r not in capture.views]
    tensors, roots = [t for t, _ in left], [r for _, r in left]
    numbers = capture.numbers(roots)
    donations = _donations(tensors, capture)
    return Job(tensors, roots, capture, donations, views, capture.finish(numbers, donations))


def _visit(capture: Capture, root: Node) -> None:
    if not is_constant(root):
        capture.visit(root)


def _visit_scalars(capture: Capture) -> None:
    """Adds the 0-d Tensors that a user holds and that need little more than what is captured."""
    for ref in list(state.held_scalars.values()):
        t = ref()
        if t is not None and t._storage is None and not is_constant(_root(t)) and capture.lies_inside(t.node):
            capture.visit(t.node)
            capture.scalars.append(t)


def _donations(tensors: list[Tensor], capture: Capture) -> list[tuple[int, int]]:
    """Pairs (output, input) of which the output may take the input's memory if nothing else needs it."""
    replaced = [(k, t, t.node.arg.previous) for k, t in enumerate(tensors) if t.node.op is Op.INPUT and t.node.arg.previous]
    if not replaced:
        return []
    place = {id(n): j for j, n in enumerate(capture.slots)}
    uses = Counter(id(s.buffer) for s in capture.inputs)
    out = []
    for k, t, (version, _) in replaced:
        j = place.get(id(version()))
        if j is not None:
            stored = capture.inputs[j]
            same = stored.dtype is t.dtype and stored.shape == t.shape and stored.is_contiguous
            if same and uses[id(stored.buffer)] == 1:
                out.append((k, j))
    return out


def _find(job: Job) -> Program:
    """The program of the job's key, built where there is none or where other constants differ than those it takes."""
    constants = job.capture.packed_constants()
    found = _programs.get(job.key)
    varying: tuple[int, ...] = ()
    if found is not None:
        changed = _changed(found.structure.constants, constants)
        if changed <= set(found.structure.varying):
            statistics["found"] += 1
            return found
        statistics["generalised"] += 1
        varying = tuple(sorted(changed | set(found.structure.varying)))
    elif len(_programs) >= MAX_PROGRAMS:
        del _programs[next(iter(_programs))]
    program = _programs[job.key] = _build(job, constants, varying)
    return program


def _changed(old: bytes, new: bytes) -> set[int]:
    if old == new:
        return set()
    return {i // 8 for i in range(0, len(new), 8) if old[i : i + 8] != new[i : i + 8]}


def _build(job: Job, constants: bytes, varying: tuple[int, ...]) -> Program:
    statistics["built"] += 1
    structure = Structure(job.key, constants, varying, job.capture.sites)
    program = Program(maker()(structure), structure, structure.checked)
    _show(structure)
    return program


def _show(structure: Structure) -> None:
    """What WEFT_DUMP and WEFT_DEBUG ask for of a program that is new."""
    o = options.current()
    if o.interpret or not (o.dump or o.debug):
        return
    from . import compile, report

    compiled = compile.build(*structure.unfolded())
    if o.dump:
        report.write(compiled, o.dump / f"program{statistics['built']}")
    if o.debug:
        print(report.report(compiled), file=sys.stderr)


def maker() -> Any:
    """What makes an executable of a Structure: the compiler, or with WEFT_INTERPRET=1 the reference interpreter."""
    if options.current().interpret:
        from . import interpret

        return interpret.executable
    from . import compile

    return compile.executable


def graph_of(*tensors: Tensor) -> tuple[list[Node], list[Node], list[Value], dict[int, int]]:
    """What `realize` would compile: (outputs, leaves, the leaves' layouts, donations). Computes and changes nothing."""
    with _lock:
        job = _job([t for t in _flat(tensors) if t._stored() is None], False)
        return Structure(job.key, job.capture.packed_constants(), (), job.capture.sites).unfolded()


# ---------------------------------------------------------------- the run


def _run(job: Job, program: Program) -> None:
    statistics["runs"] += 1
    tensors, inputs, donations = job.tensors, job.capture.inputs, job.donations
    constants = [job.capture.constants[use] for use in program.structure.varying]
    inputs = inputs + storage.scalars([v for v, _ in constants], [d for _, d in constants])
    slots = [weakref.ref(n) for n in job.capture.slots]
    release = [_release(t) for t in tensors]
    built = program.structure.sites
    lines = {built[i]: job.capture.sites[i] for i in program.checked}
    job.capture = job.roots = job.views = None  # type: ignore[assignment]
    try:
        outputs = _outputs(tensors, inputs, slots, donations, program)
        program.executable.run([s.address for s in inputs], [s.address for s in outputs])
    except BaseException as failure:
        _restore(tensors, release, inputs, slots, program, lines)
        raise _explained(failure, program, lines) from None
    for t, old, stored in zip(tensors, release, outputs, strict=True):
        _commit(t, old, stored)


def _outputs(tensors: list[Tensor], inputs: list[Storage], slots: list[Any], donations: Any, program: Program) -> list[Storage]:
    """Memory for each output: that of a replaced input which nobody else can read, or new memory."""
    outputs: list[Storage | None] = [None] * len(tensors)
    for k, j in donations:
        old = inputs[j]
        free = slots[j]() is None and not (old.shared or old.buffer.exported or old.buffer.foreign)
        if free and program.executable.donations.get(k) == j:
            statistics["donated"] += 1
            outputs[k] = Storage(old.buffer, old.dtype, old.shape)
    return [storage.allocate(t.dtype, t.shape) if s is None else s for t, s in zip(tensors, outputs, strict=True)]


def _release(t: Tensor) -> weakref.ref[Node] | None:
    """Lets go of a Tensor's graph. What it returns finds the Node again if somebody else holds it."""
    n = t.node
    if n.op is Op.INPUT:
        n.arg.definition = None
        return None
    if not t.shape:
        state.release_scalar(t)
    if _keeps_history(t):
        return weakref.ref(n)
    t.node = graph.leaf(storage.Leaf(None), n.dtype, n.shape)
    return weakref.ref(n)


def _keeps_history(t: Tensor) -> bool:
    return t._requires_grad and t._note is None


def _commit(t: Tensor, old: weakref.ref[Node] | None, stored: Storage) -> None:
    """The Tensor gets its memory. Where others still build on its Node it keeps that Node, else it becomes a plain value."""
    t._storage = stored
    n = None if old is None else old()
    if old is None:
        t.node.arg.storage, t.node.arg.previous, t.node.arg.is_initial = stored, None, False
    elif n is None:
        t.node.arg.storage = stored
    else:
        t.node = n
        storage.remember(n, stored)
        if _keeps_history(t):
            _watch_history(t)


def _keep(t: Tensor, stored: Storage) -> None:
    """The Tensor is a view of other memory."""
    stored.mark_shared()
    state.release_scalar(t)
    t._storage = stored
    if t.node.op is Op.INPUT:
        t.node.arg.storage, t.node.arg.definition, t.node.arg.previous = stored, None, None
    else:
        storage.remember(t.node, stored)


def _watch_history(t: Tensor) -> None:
    """History that leads to replaced parameters is dropped, now or when they are replaced."""
    leaves = reached(t.node)[0]
    for leaf in leaves:
        owner = stale_owner(leaf)
        if owner is not None:
            state.cut_history(t, f"{state.described(owner)} was replaced by an update")
            return
    for leaf in leaves:
        leaf.arg.dependents.append(weakref.ref(t))


# ---------------------------------------------------------------- when a run fails


Lines = dict[Site | None, Site | None]  # where the program's graph was built first -> where it was built this time


def _restore(
    tensors: list[Tensor], release: list[Any], inputs: list[Storage], slots: list[Any], program: Program, lines: Lines
) -> None:
    """As before the run; assigned Tensors go back to the version that they had, the assign is forgotten."""
    nodes = [ref() for ref in slots] + [None] * (len(inputs) - len(slots))
    outputs, leaves = program.structure.graph()
    known = {leaf: n or storage.leaf(s) for leaf, n, s in zip(leaves, nodes, inputs, strict=True)}
    for n in toposort(outputs):
        if n not in known:
            with graph.provenance(lines.get(n.site, n.site)):
                known[n] = graph.node(n.op, tuple(known[s] for s in n.src), n.arg) if n.src else n
    for t, old, root in zip(tensors, release, outputs, strict=True):
        if old is not None:
            t.node = old() or known[root]
            if not t.shape:
                state.hold_scalar(t)
        elif t.node.arg.previous is None:
            t.node.arg.definition = known[root]
            state.wait_again([t])
        else:
            _revert(t, *t.node.arg.previous)


def _revert(t: Tensor, version: weakref.ref[Node], stored: Storage) -> None:
    t.node = version() or storage.leaf(stored)
    t._storage = stored
    if t._requires_grad:
        state.own(t)


def _explained(failure: BaseException, program: Program, lines: Lines) -> BaseException:
    """An IndexError in the user's terms, for a failed check."""
    from ..runtime.executable import CheckFailed

    if not isinstance(failure, CheckFailed):
        return failure
    site = failure.site
    index = as_written(failure.value, site.shift)
    line = lines.get(site.site, site.site)
    what = line[2] if line and len(line) == 3 else site.what
    where = f", in {line[0]}:{line[1]}" if line else ""
    return errors.IndexError(f"{what}: index {index} is out of range for axis {site.axis} of extent {site.extent}{where}")
