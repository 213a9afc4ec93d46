"""Parameters of other libraries. In: a call with an argument that a function of Weft does not take.
Out: a note on its error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, Signature, signature
from math import inf
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar
from weakref import WeakKeyDictionary

from ...mistakes import hide_frames, nearest

P = ParamSpec("P")
R = TypeVar("R")

RENAMED = {  # what it may be called here
    **{
        "dim": ("axis", "axes"),
        "dims": ("axes", "axis"),
        "keepdim": ("keepdims",),
        "ddof": ("correction",),
    },
    **{
        "start_dim": ("start_axis",),
        "end_dim": ("end_axis",),
        "dim0": ("axis1",),
        "dim1": ("axis2",),
    },
    **{"input": ("x",), "learning_rate": ("lr",), "interpolation": ("method",)},
}
_ONE_PROGRAM = "a step is compiled into one program in any case"
_REDUCTION = 'reduction="mean", "sum" or "none" says how losses are put together'
_THREAD = "a thread fetches ahead, as many batches as prefetch= says"
WITHOUT = {  # why there is none, or what to write
    **dict.fromkeys(
        ("num_workers", "persistent_workers", "prefetch_factor", "worker_init_fn"), _THREAD
    ),
    **dict.fromkeys(("capturable", "foreach", "fused"), _ONE_PROGRAM),
    **dict.fromkeys(("reduce", "size_average"), _REDUCTION),
    "create_graph": (
        "what wf.grad gives can be differentiated again, what backward() collects cannot"
    ),
    "dims": "axes are given without a name, one after the other",
    "device": "write .to(device) after the call",
    "dtype": "write .to(dtype) after the call",
    "generator": "wf.manual_seed(n) seeds all draws",
    "inplace": "values never change, and the compiler reuses memory where it can",
    "out": "give what is returned a name",
    "pin_memory": "device= puts batches where they are needed while they are fetched",
    "requires_grad": "write .requires_grad_() after the call",
    "retain_graph": "wf.grad keeps the history",
    "unbiased": (
        "unbiased=True is correction=1, and correction=0 is meant where none is given, as in NumPy"
    ),
    "where": "write wf.where(condition, x, 0) in the place of x",
}


def note_names(error: TypeError, called: Callable[..., object], given: Iterable[str]) -> None:
    """Lets the error of a call say how the arguments that it does not take are called here."""
    hide_frames(error)
    _, there = taken(signature(called))
    if there is None:
        return
    for name in given:
        if name not in there and (note := _note(name, there, str(error))):
            error.add_note(note)


def _note(name: str, there: Iterable[str], text: str) -> str:
    here = next((n for n in RENAMED.get(name, ()) if n in there), None)
    if here is not None:
        return f"{name}= is called {here}= here"
    if name in WITHOUT:
        return f"there is no {name}=: {WITHOUT[name]}"
    near = None if "Did you mean" in text else nearest(name, there)  # which Python 3.13 says itself
    return "" if near is None else f"did you mean {near}=?"


def taken(of: Signature) -> tuple[float, frozenset[str] | None]:
    """(how many positional arguments a function takes, the names of others; None where it takes
    any)."""
    parameters = of.parameters.values()
    kinds = {p.kind for p in parameters}
    places = [
        p
        for p in parameters
        if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    ]
    names = frozenset(
        p.name
        for p in parameters
        if p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    )
    return inf if Parameter.VAR_POSITIONAL in kinds else len(places), (
        None if Parameter.VAR_KEYWORD in kinds else names
    )


def naming(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose errors say how the arguments that it does not take are called here."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            note_names(error, function, kwargs)
            raise

    return call


class Naming:
    """A class whose constructor does so. Its subclasses may define what __init__ they like."""

    if not TYPE_CHECKING:  # a checker goes by __init__

        def __new__(cls, *args: object, **kwargs: object) -> Self:
            if args or kwargs:
                _require_taken(cls, args, kwargs)
            return super().__new__(cls)


# by constructor
_taken: WeakKeyDictionary[Callable[..., object], tuple[float, frozenset[str] | None]] = (
    WeakKeyDictionary()
)


def _require_taken(kind: type, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
    """Raises TypeError for arguments that the constructor does not take."""
    init: Callable[..., object] = kind.__init__  # type: ignore[misc]
    known = (1, frozenset[str]()) if init is object.__init__ else _taken.get(init)
    if known is None:
        # a decorator of users may take more
        known = _taken[init] = taken(signature(init, follow_wrapped=False))
    places, names = known
    if len(args) >= places:
        error = TypeError(
            f"{kind.__name__}() takes {places - 1 or 'no'} positional arguments, not {len(args)}"
        )
        note_names(error, init, ["inplace"] if places == 1 else [])  # nn.ReLU(True) of PyTorch
        raise error
    unknown = [] if names is None else [name for name in kwargs if name not in names]
    if unknown:
        error = TypeError(f"{kind.__name__}() got an unexpected keyword argument {unknown[0]!r}")
        note_names(error, init, unknown)
        raise error
