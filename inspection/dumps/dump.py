"""`wf.dump`. In: Tensors that are not computed yet, or jitted functions. Out: a folder of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ... import errors
from ...ir.graph.brief import brief
from ..explain.explain import Subject, named_behind


def dump(x: Subject, /, folder: str | Path, *args: Any, **kwargs: Any) -> Path:
    """Writes every artefact of computing x below `folder` and returns the folder. Nothing is
    computed.

    x and the arguments of a call are those of `explain`. README.txt says what is there and in which
    order to read it: graph.txt, grad.txt, simplified.txt, kernels.txt (as `explain` prints),
    program.txt, memory.txt, passes.txt, and for each kernel in kernels/ its .loops, .ll (LLVM IR),
    .opt.ll (after LLVM's passes) and .s (assembly), on a GPU its .loops, .cu and, where the tools
    are there, .ptx and .sass. The folder is made if need be; an older dump in it is replaced.
    Raises ArgumentError where that would overwrite a file that no dump has made, OSError where the
    folder cannot be written.
    """
    from .files import write, write_nothing

    try:
        folder = Path(folder)
    except TypeError:
        raise errors.DTypeError(f"dump: folder must be a path, not {brief(folder)}") from None
    program = named_behind("dump", x, args, kwargs)
    return write_nothing(folder) if program is None else write(*program, folder)
