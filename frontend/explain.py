"""What users call to look inside. In: Tensors that are not computed yet. Out: a Report, or files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .. import errors
from . import realize
from .arguments import shown
from .jit import Jitted
from .tensor import Tensor

if TYPE_CHECKING:
    from .compile import Compiled
    from .report import Report


Subject = Tensor | list[Tensor] | tuple[Tensor, ...] | Jitted


def explain(x: Subject) -> Report:
    """The kernels that computing x would run, and why neighbours stayed apart. Nothing is computed.

    `x` is a Tensor or several, what is in memory already needs no kernel; or a function made by `wf.jit`: then it is what the
    last call ran. Raises ArgumentError for a function that has not been called. `print(report)` shows for each kernel its
    operations, outer axes, bytes, weighed operations, schedule, source lines and the reasons at its boundaries;
    `report.kernels` is the list of them, `report.memory` tells which buffers are needed when, and how many bytes at most.
    """
    from .report import Report, report

    compiled = _compiled(x)
    return Report() if compiled is None else report(compiled)


def dump(x: Subject, folder: str | Path) -> Path:
    """Writes every artefact of computing x, as in `explain`, below `folder` and returns the folder. Nothing is computed.

    graph.txt, simplified.txt, kernels.txt (as `explain` prints), memory.txt, program.txt, and for each kernel in kernels/ its
    .loops, .ll (LLVM IR), .opt.ll (after optimisation) and .s (assembly). The folder is made if need be.
    """
    from .report import write

    compiled = _compiled(x)
    try:
        folder = Path(folder)
    except TypeError:
        raise errors.DTypeError(f"dump: folder is a path, not {shown(folder)}") from None
    if compiled is not None:
        return write(compiled, folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernels.txt").write_text("0 kernels: everything is in memory already\n")
    return folder


def _compiled(x: Subject) -> Compiled | None:
    from . import compile

    if isinstance(x, Jitted):
        if x.last is None:
            raise errors.ArgumentError(f"explain: {shown(x)} has not been called, so there is no program yet")
        return compile.build(*x.last.program.structure.unfolded())
    outputs, leaves, values, donations = realize.graph_of(x)
    return compile.build(outputs, leaves, values, donations) if outputs else None
