"""One run of a program. In: a Job and its Program. Out: Tensors with memory; if the run fails, with
their graph again.

The graph is let go before the run, because a parameter may be overwritten in place only if nothing
else reaches its old value, and only reference counts know that. If the run fails, the graph is
rebuilt from the program.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import starmap

from ... import errors, options
from ...ir.graph.graph import Node
from ...ir.graph.negative_indices import as_written
from ...ir.graph.site import Lines, Site, located, what_of
from ...runtime.memory import storage
from ...runtime.memory.storage import Storage
from ...signals import deferred
from . import growth
from .any_tensor import AnyTensor as Tensor
from .cached_program import CachedProgram
from .carried import Carry
from .job import Job
from .program_table import constants_of, statistics, watched_of
from .transaction import Detached, commit, reclaim, release, restore


def run(job: Job, program: CachedProgram) -> None:
    """Whatever is raised on the way, Ctrl-C by Python among it: each Tensor has its value, or its
    graph again."""
    statistics["runs"] += 1
    if not statistics["runs"] % growth.PERIOD:
        growth.after_programs()
    tensors, places, inputs, donations = job.tensors, job.places, job.capture.inputs, job.donations
    inputs = inputs + constants_of(program, job.capture)
    slots = [weakref.ref(n) for n in job.capture.slots]
    carry = job.carry
    if program.makers is None:
        program.makers = [
            storage.allocator(r.dtype, r.shape, program.structure.device) for r in job.roots
        ]
    is_watched = options.current().debug_nans
    watched = watched_of(program) if is_watched else None
    lines: Lines = lines_of(program, job.capture.sites) if is_watched or program.checked else {}
    released: list[Detached] = []
    outputs: list[Storage] = []
    has_run = False
    try:
        released += starmap(release, zip(job.tensors, job.nodes, strict=True))
        if carry is not None:
            carry.let_go(tensors, job.nodes, released)
        job.capture = job.nodes = job.roots = job.views = job.carry = None  # type: ignore[assignment]
        if carry is not None:
            carry.take_back()
        outputs = _outputs(program, inputs, slots, () if watched else donations)
        has_run = (watched or program.executable).run(
            [s.address for s in inputs], [s.address for s in outputs]
        ) is None
        _give(tensors, released, places, outputs, carry)
    except BaseException as failure:
        from ...runtime.failures import Interrupted

        with deferred():
            if has_run or isinstance(failure, Interrupted):
                _give(tensors, released, places, outputs, carry)
                raise getattr(failure, "reason", failure) from None
            if job.nodes is not None:
                roots = _reclaim(job)
            else:
                roots = restore(tensors, released, places, inputs, slots, program.structure, lines)
            if carry is not None:
                carry.undo(roots)
            raise explained(failure, program, lines) from None


def _give(
    tensors: list[Tensor],
    released: list[Detached],
    places: list[int],
    outputs: list[Storage],
    carry: Carry | None,
) -> None:
    """The program has run: Tensors get their memory. May be done again where it was interrupted."""
    for t, r, place in zip(tensors, released, places, strict=True):
        commit(t, r, outputs[place])
    kept = 0 if carry is None else carry.settle(released, places, outputs)
    if len(outputs) < len(places) + kept:
        for place, uses in Counter(places).items():
            if uses > 1:
                outputs[place].mark_shared()


def _reclaim(job: Job) -> list[Node]:
    """Nothing has run, and the graph is still there: Tensors that have let go of it get it back.
    Returns its roots."""
    for t, n, place in zip(job.tensors, job.nodes, job.places, strict=True):
        reclaim(t, n, job.roots[place])
    return job.roots


def lines_of(program: CachedProgram, sites: list[Site | None]) -> Lines:
    """Where what the program checks was built this time: indices, or all, of which `sites` are the
    lines."""
    built = program.structure.sites
    if options.current().debug_nans:
        return dict(zip(built, sites, strict=True))
    return {built[i]: sites[i] for i in program.checked} if program.checked else {}


def _outputs(
    program: CachedProgram,
    inputs: list[Storage],
    slots: list[weakref.ref[Node]],
    donations: Sequence[tuple[int, int]],
) -> list[Storage]:
    """Memory for each output: that of a replaced input which nobody else can read, or new
    memory."""
    assert program.makers is not None
    outputs: list[Storage | None] = [None] * len(program.makers)
    for k, j in donations:
        old = inputs[j]
        free = slots[j]() is None and not (old.shared or old.buffer.exported or old.buffer.foreign)
        if free and program.executable.donations.get(k) == j:
            statistics["donated"] += 1
            outputs[k] = Storage(old.buffer, old.dtype, old.shape)
    return [make() if s is None else s for make, s in zip(program.makers, outputs, strict=True)]


def late_interrupt(
    failure: BaseException, program: CachedProgram, lines: Lines, undo: Callable[[], None]
) -> BaseException:
    """What a signal handler raised while the program ran to its end: to be raised as soon as the
    results are kept.

    Any other failure is raised here, in the user's terms, after undo().
    """
    from ...runtime.failures import Interrupted

    if isinstance(failure, Interrupted):
        return failure.reason
    undo()
    raise explained(failure, program, lines) from None


def explained(failure: BaseException, program: CachedProgram, lines: Lines) -> BaseException:
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
    where = f", in {located(line)}" if line else ""
    where = f"{''.join(f', in iteration {i}' for i in failure.iterations)}{where}"
    if site.batch is not None:
        return errors.LinAlgError(f"{failure}{where}")
    what = what_of(line) or site.what
    return errors.IndexError(
        f"{what}: index {index} is out of range for axis {site.axis} of extent {site.extent}{where}"
    )
