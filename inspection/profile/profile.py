"""`wf.profile`. In: Tensors, a jitted function or a Module. Out: a Profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..explain.explain import Subject

if TYPE_CHECKING:
    from .data import Profile


def profile(x: Subject, /, *args: Any, repeat: int | None = None, **kwargs: Any) -> Profile:
    """Runs what computing x, or a call of x, would run, and measures it, kernel by kernel. Nothing
    that you hold changes.

    x and the arguments of a call are those of `explain`: Tensors that are not computed yet, a
    jitted function with the arguments of a call, a Module with example inputs. The program runs on
    memory of its own: Tensors stay lazy, parameters, optimisers and the random state stay as they
    are. The first run is cold; then `repeat` runs are measured with instruments, and as many
    without, or as many as half a second allows. `print(profile)` shows a table,
    `profile.chrome(path)` writes a trace for chrome://tracing or ui.perfetto.dev,
    `profile.to_dict()` is all of it.

    Raises ArgumentError for a function that is not jitted, or without its arguments, where nothing
    is to be computed, and for a repeat that is no positive number; JitError inside a jitted
    function; IndexError as the run itself would.
    """
    from .measure import measure

    return measure("profile", x, args, kwargs, repeat)[1]
