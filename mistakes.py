"""Help with mistakes. In: an unknown name, an error. Out: the nearest name; a traceback that ends
at the user's line."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import FrameType

LIKENESS = 0.7  # of two names, by difflib's ratio, from which on one may stand for the other


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The public name that is most like this one, whatever its case; None where none is near."""
    from difflib import get_close_matches

    folded = {n.lower(): n for n in names if not n.startswith("_")}
    near = get_close_matches(name.lower(), folded, n=1, cutoff=LIKENESS)
    return folded[near[0]] if near else None


def hide_frames(caught: BaseException | None = None) -> None:
    """Lets pytest and IPython leave out this package's frames that run now, or that an error has
    left: user code comes last.

    Both honour a local of this name. A frame gets it only here, so a call that succeeds pays
    nothing.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        _hide(frame)
        frame = frame.f_back
    left = None if caught is None else caught.__traceback__
    while left is not None:
        _hide(left.tb_frame)
        left = left.tb_next


def _hide(frame: FrameType) -> None:
    if (frame.f_globals.get("__package__") or "").partition(".")[0] == __package__:
        frame.f_locals["__tracebackhide__"] = True
