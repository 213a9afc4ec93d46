"""`wf.dump`. In: Tensors that are not computed yet, or jitted functions. Out: a folder of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .. import errors
from ..frontend.arguments import shown
from .explain import Subject, compiled_behind


def dump(x: Subject, /, folder: str | Path, *args: Any, **kwargs: Any) -> Path:
    """Writes every artefact of computing x below `folder` and returns the folder. Nothing is computed.

    x and the arguments of a call are those of `explain`. graph.txt, simplified.txt, kernels.txt (as `explain` prints),
    memory.txt, program.txt, and for each kernel in kernels/ its .loops, .ll (LLVM IR), .opt.ll (after optimisation) and .s
    (assembly). The folder is made if need be.
    """
    from .files import write

    try:
        folder = Path(folder)
    except TypeError:
        raise errors.DTypeError(f"dump: folder is a path, not {shown(folder)}") from None
    compiled = compiled_behind("dump", x, args, kwargs)
    if compiled is not None:
        return write(compiled, folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernels.txt").write_text("0 kernels: everything is in memory already\n")
    return folder
