"""`wf.one_kernel`. In: what is computed inside a `with`. Out: nothing, or an error."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ... import errors
from ...frontend.lazy import watchers

if TYPE_CHECKING:
    from ...compiler.structure import Structure
    from ...frontend.lazy.cached_program import Program
    from .kernel import KernelReport

Verdict = tuple[int, str]  # how many kernels, what to say of them

# By the executable: whether it takes one kernel at most.
_known: WeakKeyDictionary[object, Verdict] = WeakKeyDictionary()


def _require(program: Program, structure: Structure) -> None:
    verdict = _known.get(program.executable)
    if verdict is None or verdict[0] > 1:
        verdict = _known[program.executable] = _judged(structure)
    if verdict[0] > 1:
        raise errors.FusionError(verdict[1])


class one_kernel(watchers.Demanding):
    """Inside, in this thread, everything that is computed at once must be one kernel: `with
    wf.one_kernel(): y.numpy()`.

    At once is computed what one call of `realize`, `numpy`, `item` and their like needs, what an
    optimiser's step updates, and a call of a function made by `wf.jit` or `wf.compile`. Checks of
    indices and copies between devices are not kernels. Raises FusionError, which names the kernels,
    the user's lines and why they are not one. It is raised before anything is computed or assigned,
    so that all of it can be computed later. It is also a decorator: `@wf.one_kernel()`.
    """

    value = staticmethod(_require)


def _judged(structure: Structure) -> Verdict:
    from ...compiler import compile
    from .build import report

    explained = report(compile.program_of(structure), predict=False)
    kernels = [k for k in explained.kernels if k.kind != "check"]
    return len(kernels), _told(kernels)


def _told(kernels: list[KernelReport]) -> str:
    """The kernels with their lines, and under each why it is not one with those before."""
    names = {k.name for k in kernels}
    out = [f"one_kernel: this takes {len(kernels)} kernels"]
    for i, k in enumerate(kernels):
        out += ["", k.name, *(f"    {s}" for s in k.sources)]
        reasons = [
            f"  is not one with {b.other}: {b.rule}: {b.detail}"
            for b in k.boundaries
            if b.other in names
        ]
        out += reasons or ["  shares no data with the kernels before it"] * (i > 0)
    return "\n".join(out)
