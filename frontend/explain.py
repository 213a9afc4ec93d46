"""What users call to look inside. In: Tensors that are not computed yet. Out: a Report, or files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .. import errors
from . import realize
from .arguments import shown
from .tensor import Tensor

if TYPE_CHECKING:
    from .compile import Compiled
    from .report import Report


def explain(x: Tensor | list[Tensor] | tuple[Tensor, ...]) -> Report:
    """The kernels that computing x would run, and why neighbours stayed apart. Nothing is computed.

    `x` is a Tensor or several; what is in memory already needs no kernel. `print(report)` shows for each kernel its
    operations, outer axes, bytes, weighed operations, schedule, source lines and the reasons at its boundaries;
    `report.kernels` is the list of them.
    """
    from .report import Report, report

    compiled = _compiled(x)
    return Report() if compiled is None else report(compiled)


def dump(x: Tensor | list[Tensor] | tuple[Tensor, ...], folder: str | Path) -> Path:
    """Writes every artefact of computing x below `folder` and returns the folder. Nothing is computed.

    graph.txt, simplified.txt, kernels.txt (as `explain` prints), program.txt, and for each kernel in kernels/ its
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


def _compiled(x: Tensor | list[Tensor] | tuple[Tensor, ...]) -> Compiled | None:
    from . import compile

    outputs, leaves, values, donations = realize.graph_of(x)
    return compile.build(outputs, leaves, values, donations) if outputs else None
