"""Functions that run their Python once and machine code ever after. In: a function of Tensors. Out:
the same function, traced and compiled.

take the arguments apart -> find the step of their signature, or trace the function -> one native
call. `compile` makes such a step of a graph that stands already.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial, update_wrapper
from inspect import Parameter, signature
from types import MethodType
from typing import Any, TypeVar

from ... import errors
from ...compiler.garbage import without_collections
from ...ir.graph.brief import brief
from ...ir.graph.graph import Node, rebuilt_over
from ...ir.graph.shapes import Shape
from ...runtime.memory.storage import Storage
from ..functions import movement
from ..lazy import program_table, realize, state
from ..lazy.capture import is_constant
from ..lazy.trace import Trace, tracing
from ..operands.arguments import as_function, as_int, as_sequence
from ..operands.broadcast import default_float
from ..tensor.tensor import Tensor, wrap
from . import retrace_reason
from .dynamic_axes import Dynamic, Others, as_dynamic, others_of
from .fast_call import DIFFERS, Repeat
from .limited import as_bytes, within
from .signature import Arguments, Key, Layout, layout_of, mapped, marks_of, names_of, owners_of
from .traced_program import TracedProgram, record
from .traced_step import Steps, TracedStep

MAX_STEPS = 256  # specialisations of one function; the oldest is forgotten beyond
ATTEMPTS = 4  # to find the signature of a call unchanged after tracing

Args = tuple[object, ...]
Kwargs = dict[str, object]
Function = Callable[..., object]  # of users
Statics = frozenset[int | str]


class Jitted:
    """A function that is traced at the first call with a signature, and from then on runs as one
    native call."""

    def __init__(
        self,
        function: Function,
        statics: Statics,
        memory: int | None = None,
        dynamic: Dynamic = True,
    ) -> None:
        self._function = function
        self._statics = statics
        self._memory = memory
        self._dynamic = dynamic
        self._steps = self._new_steps()
        self._repeat: Repeat | None = (
            None  # of the step that ran last, if all its arguments are Tensors
        )
        self._methods: dict[int, tuple[weakref.ref[object], Steps]] = {}  # by id of the instance
        update_wrapper(self, function, updated=())

    def __call__(self, *args: object, **kwargs: object) -> Any:
        if self._repeat is not None and not kwargs and not state.traces:
            with (
                realize.lock
            ):  # whose acquire() and `try` would leave room for a signal between them
                result = self._repeat(args)
            if result is not DIFFERS:
                return result
        result, step = _call(self._function, self._statics, self._steps, args, kwargs)
        if step is not None:
            self._repeat = step.repeat if step.takes_tensors else None
        return result

    def __repr__(self) -> str:
        return f"<wf.jit of {getattr(self._function, '__qualname__', self._function)}>"

    @property
    def last(self) -> TracedStep | None:
        """The step that ran last, if there is one."""
        return self._steps.last

    def __get__(self, instance: object, owner: type | None = None) -> Jitted | MethodType:
        """The method of an instance, which is no argument: each has steps of its own, which do not
        keep it alive."""
        return self if instance is None else MethodType(self._call_method, instance)

    def _call_method(self, instance: object, /, *args: object, **kwargs: object) -> object:
        return _call(*self.parts(instance), args, kwargs)[0]

    def parts(self, instance: object = None) -> tuple[Function, Statics, Steps]:
        """The function, or the method of an instance; its static arguments and its steps."""
        if instance is None:
            return self._function, self._statics, self._steps
        known = self._methods.get(id(instance))
        if known is None or known[0]() is not instance:
            known = self._methods[id(instance)] = (
                self._watched(instance),
                self._new_steps(),
            )
        statics = self._statics and frozenset(
            n - 1 if isinstance(n, int) else n for n in self._statics
        )
        return MethodType(self._function, instance), statics, known[1]

    def _new_steps(self) -> Steps:
        steps = Steps()
        steps.memory, steps.dynamic = self._memory, self._dynamic
        return steps

    def _watched(self, instance: object) -> weakref.ref[object]:
        key, methods = id(instance), self._methods
        try:
            return weakref.ref(instance, lambda _: methods.pop(key, None))
        except TypeError:
            kind = type(instance).__name__
            raise errors.DTypeError(
                f"jit: {kind} has a jitted method, so its __slots__ need __weakref__"
            ) from None


def jit(
    function: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    memory: int | str | None = None,
    dynamic: bool | Mapping[str, Mapping[int, str]] = True,
) -> Any:
    """The function, compiled: `f = wf.jit(f)`, `@wf.jit`, or `@wf.jit(static_argnames="n")`;
    methods, too.

    The first call with a signature runs the Python code once on Tensors without values; what it
    computes and assigns becomes one program. Later calls run that program and no Python of the
    function. Arguments and results are Tensors, arrays, numbers, and tuples, lists, dicts and
    dataclasses of them; results are computed. The signature: the structure of the arguments,
    shapes, dtypes, strides, which Tensors require a gradient, attributes of Modules that the
    function reads and does not set, the default dtype, and static arguments: those marked, strings,
    and all other objects, which must be hashable. A Python number that is passed is an input unless
    it is marked static, as is a number of a Module once it has changed. Other Python values stay
    those of the first call.

    Parameters, optimiser state and random numbers advance at every call as they do without jit. A
    Tensor that is not passed is read anew at every call. `.grad` set in the function is None after
    the call, or the Tensor that was returned of it. Raises JitError at the line that reads a value
    (item, numpy, bool, print).

    `memory`: the bytes that a call may take, an int or a text such as "2 GB". Where its plan takes
    more, calls of Modules that repeat, as the layers of a network, are computed again in the
    backward pass (`wf.checkpoint`), as few as it takes; `wf.explain` says how many. To find that,
    the Python code runs several times. Raises MemoryError at the first call where that is not
    enough.

    `dynamic`: a program that is compiled for other sizes than the first serves still others, too
    (docs/sizes.md). With `{"tokens": {0: "batch", 1: "time"}}` the first one does, along these axes
    of the Tensors of an argument: the Python code runs for other extents, too, to see what follows
    from them. Axes of one name have one extent. With False each size has a program of its own.
    Raises ArgumentError for an argument or axis that there is not, ShapeError for a name of two
    extents.
    """
    if function is None:
        return partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            memory=memory,
            dynamic=dynamic,
        )
    return Jitted(
        as_function("jit", "function", function),
        _statics(function, static_argnums, static_argnames),
        as_bytes(memory),
        as_dynamic(dynamic),
    )


def _statics(
    function: Function, argnums: int | Sequence[int], argnames: str | Sequence[str]
) -> Statics:
    """Both the place and the name of each static parameter, so that it may be passed in either
    way."""
    numbers = (
        [argnums] if isinstance(argnums, int) else as_sequence("jit", "static_argnums", argnums)
    )
    numbers = [as_int("jit", "static_argnums", n) for n in numbers]
    names = (
        [argnames] if isinstance(argnames, str) else as_sequence("jit", "static_argnames", argnames)
    )
    if not numbers and not names:
        return frozenset()
    parameters = list(signature(function).parameters.values())
    places = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    kinds = {p.kind for p in parameters}
    for n in numbers:
        if n < 0 or (n >= len(places) and Parameter.VAR_POSITIONAL not in kinds):
            raise errors.ArgumentError(
                f"jit: static_argnums names argument {n}, the function has {len(places)}"
            )
    for name in names:
        if name not in [p.name for p in parameters] and Parameter.VAR_KEYWORD not in kinds:
            raise errors.ArgumentError(
                f"jit: static_argnames names {brief(name)}, the function has {', '.join(places)}"
            )
    statics = {*numbers, *names, *(places[n] for n in numbers if n < len(places))}
    return frozenset(statics | {i for i, name in enumerate(places) if name in names})


def _call(
    function: Function, statics: Statics, steps: Steps, args: Args, kwargs: Kwargs, run: bool = True
) -> tuple[Any, TracedStep | None]:
    """The result, and the step that gave it; with run=False the step alone, which does not run."""
    if state.traces and state.trace() is not None:
        # inside another jitted function it is a function like any other
        return (
            function(*args, **kwargs),
            None,
        )
    arguments = Arguments(args, kwargs, statics)
    tensors = arguments.tensors
    key = (
        arguments.structure,
        _aliases(tensors),
        state.grad_enabled(),
        state.autocast(),
        default_float(),
    )
    for _ in range(ATTEMPTS):
        with realize.lock:
            given: list[Any] = [t._storage for t in tensors]
            if None in given:
                realize.realize(*tensors)
                given = [realize.value(t) for t in tensors]
            layouts = [stored.layout for stored in given]
            for step in steps.get(key, ()):
                if step.layouts != layouts:
                    continue
                repeat = step.repeat if run else None
                if (
                    repeat is not None
                    and (result := repeat(tensors, arguments.numbers)) is not DIFFERS
                ):
                    steps.last = step
                    return result, step
                if step.fits(tensors, given):
                    result = step.run(tensors, given, arguments.numbers) if run else None
                    steps.last = step if run else steps.last
                    return result, step
        retrace_reason.explain(
            _name(function), steps, key, tensors, given, partial(names_of, args, kwargs)
        )
        recorded = partial(_traced, function, statics, args, kwargs)
        if isinstance(steps.dynamic, Mapping):
            owners = owners_of(function, args, kwargs, statics)
            others = others_of(steps.dynamic, owners, tensors)
            if others and key not in steps:
                _expect(recorded, arguments, others)
        made = partial(
            TracedStep, structure=arguments.structure, several_sizes=steps.dynamic is not False
        )
        traced = partial(recorded, arguments, made)
        with retrace_reason.told_if_served(_name(function)):
            step = within(steps.memory, _name(function), traced)
        _add(steps, key, step)
    raise errors.JitError(
        f"jit: {_name(function)} cannot be traced: what it depends on changes while it is"
    )


def step_behind(what: str, x: object, args: Args, kwargs: Kwargs) -> TracedStep | None:
    """The step of a call of x with these arguments, traced if need be, not run; without arguments
    that of the last call.

    None where x is nothing that `jit` or `compile` made. Raises ArgumentError for a function that
    has not been called.
    """
    parts = _parts_behind(x)
    if parts is not None:
        return _explained(what, *parts, args, kwargs)
    if isinstance(x, partial) and x.func is _run:
        if kwargs:
            raise errors.ArgumentError(
                f"{what}: the inputs of what wf.compile made have no names, got {', '.join(kwargs)}"
            )
        step: TracedStep = x.args[0]
        if args:
            _fitting(step, args)
        return step
    return None


def _parts_behind(x: object) -> tuple[Function, Statics, Steps] | None:
    """Those of a function or method that `jit` made."""
    if isinstance(x, Jitted):
        return x.parts()
    jitted = getattr(x.__func__, "__self__", None) if isinstance(x, MethodType) else None
    return (
        jitted.parts(x.__self__)
        if isinstance(x, MethodType) and isinstance(jitted, Jitted)
        else None
    )


def call_behind(
    what: str, x: object, args: Args, kwargs: Kwargs
) -> tuple[TracedStep, list[Storage], Sequence[float]]:
    """The step of a call of what `jit` or `compile` made, the memory of its Tensors, and its
    numbers; nothing runs.

    Raises ArgumentError as `step_behind` does, and where the arguments are missing.
    """
    step = step_behind(what, x, args, kwargs)
    if step is None:
        raise errors.ArgumentError(
            f"{what}: {brief(x)} is not jitted: give wf.jit of it, or the Tensors that it returns"
        )
    parts = _parts_behind(x)
    if parts is None:
        return step, _fitting(step, args)[1], ()
    arguments = Arguments(args, kwargs, parts[1])
    if len(arguments.tensors) != len(step.layouts):
        raise errors.ArgumentError(
            f"{what}: pass the arguments of a call, as wf.{what}({_name(x)}, ...)"
        )
    return step, [*map(realize.value, arguments.tensors)], arguments.numbers


def _explained(
    what: str, function: Function, statics: Statics, steps: Steps, args: Args, kwargs: Kwargs
) -> TracedStep:
    step = steps.last
    if args or kwargs or (step is None and _takes_nothing(function)):
        tracing().refuse(f"wf.{what}")
        _, step = _call(function, statics, steps, args, kwargs, run=False)
    if step is None:
        name = _name(function)
        how = f"pass the arguments of a call as wf.{what}({name}, ...), or call it first"
        raise errors.ArgumentError(
            f"{what}: {name} has not been called, so there is no program yet: {how}"
        )
    return step


def _takes_nothing(function: Function) -> bool:
    try:
        return not signature(function).parameters
    except (TypeError, ValueError):  # it has no signature
        return False


def _name(function: object) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _aliases(tensors: list[Tensor]) -> tuple[int, ...] | None:
    """Which Tensors are passed several times: for each the place where it is first; None where all
    differ."""
    if len(tensors) < 2:
        return None
    places = [*map(id, tensors)]
    return None if len(set(places)) == len(places) else tuple(map(places.index, places))


def _add(steps: Steps, key: Key, step: TracedStep) -> None:
    steps[key] = [step, *steps.get(key, ())]
    while sum(map(len, steps.values())) > MAX_STEPS:
        oldest = next(iter(steps))
        steps[oldest].pop()
        if not steps[oldest]:
            del steps[oldest]


def _expect(
    recorded: Callable[..., object], arguments: Arguments, others: Sequence[Others]
) -> None:
    """Sees to it that the program of a call serves the sizes of other Tensors, too: the first for
    which the function runs. Raises what it raises for the last."""
    for other in others:

        def expected(program: TracedProgram, *_: object, other: Others = other) -> None:
            program_table.expect(program.key, program.capture, other.symbols)

        try:
            recorded(arguments.with_tensors(other.tensors), expected)
            return
        except Exception as error:
            if other is others[-1]:
                error.add_note(f"jit ran it for {other}, since `dynamic` says that these vary")
                raise


T = TypeVar("T")


@without_collections
def _traced(
    function: Function,
    statics: Statics,
    args: Args,
    kwargs: Kwargs,
    arguments: Arguments,
    made: Callable[[TracedProgram, Trace, list[Layout]], T],
) -> T:
    """What is made of the function's trace."""

    def made_of(trace: Trace) -> T:
        trace.marks = partial(marks_of, function, args, kwargs, statics)

        def recorded_layouts() -> tuple[TracedProgram, list[Layout]]:
            arrays = {*arguments.arrays}
            layouts = [
                layout_of(t, trace.outer(t, i in arrays).leaf.arg.storage)
                for i, t in enumerate(arguments.tensors)
            ]
            numbers = [wrap(trace.number(v)) for v in arguments.numbers]
            positional, by_name = arguments.replaced(args, kwargs, statics, numbers)
            result = function(*positional, **by_name)
            return record(trace, arguments.tensors, arguments.arrays, result), layouts

        recorded, layouts = trace.run(recorded_layouts)
        with realize.lock:
            return made(recorded, trace, layouts)

    trace = Trace(_name(function))
    try:
        return made_of(trace)
    except Exception:  # perhaps of what takes nothing but a float
        if not trace.reads.has_given_numbers:
            raise
    return made_of(Trace(_name(function), live_numbers=False))


# ---------------------------------------------------------------- a graph that stands already


Updates = Mapping[Tensor, Any] | Sequence[tuple[Tensor, Any]]


def compile(outputs: Any, inputs: Sequence[Tensor] = (), updates: Updates = ()) -> Any:
    """A function of the inputs that computes the outputs and assigns the updates, in one native
    call.

    outputs: a lazy Tensor, or tuples, lists, dicts and dataclasses of them. inputs: the Tensors in
    their graph in whose place others come, of the same shapes and dtypes. updates: pairs (Tensor,
    its next value); the graph reads such a Tensor anew at every call. Everything else keeps the
    value that it has now. Raises ArgumentError for an input that is a constant.
    """
    given = as_sequence("compile", "inputs", inputs)
    pairs = list(
        updates.items()
        if isinstance(updates, Mapping)
        else as_sequence("compile", "updates", updates)
    )
    for i, pair in enumerate(pairs):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise errors.DTypeError(
                f"compile: updates[{i}] must be a pair of a Tensor and its new value, not"
                f" {brief(pair)}"
            )
    for i, t in enumerate([*given, *(p[0] for p in pairs)]):
        if not isinstance(t, Tensor) or is_constant(t.node):
            what = f"inputs[{i}]" if i < len(given) else f"updates[{i - len(given)}]"
            raise errors.ArgumentError(
                f"compile: {what} must be a Tensor in memory, as wf.tensor makes, not {brief(t)}"
            )
    known = {t.node: t for t in [*given, *(p[0] for p in pairs)]}
    results, values = mapped(outputs, _node_of), [_node_of(v) for _, v in pairs]
    trace = Trace("compile")

    def recorded_layouts() -> tuple[TracedProgram, list[Layout]]:
        places = {n: trace.outer(t).leaf for n, t in known.items()}
        layouts = [layout_of(t, trace.outer(t).leaf.arg.storage) for t in given]
        new = rebuilt_over([*_nodes(results), *values], places)
        for (t, _), value in zip(pairs, values, strict=True):
            state.assign(t, new[value])
        return (
            record(
                trace,
                given,
                (),
                mapped(results, lambda x: wrap(new[x]) if isinstance(x, Node) else x),
            ),
            layouts,
        )

    recorded, layouts = trace.run(recorded_layouts)
    with realize.lock:
        step = TracedStep(recorded, trace, layouts)
    return partial(_run, step)


def _node_of(x: object) -> Any:
    return x.node if isinstance(x, Tensor) else x


def _nodes(tree: object) -> list[Node]:
    nodes: list[Node] = []
    mapped(tree, lambda x: nodes.append(x) if isinstance(x, Node) else None)
    return nodes


def _run(step: TracedStep, *inputs: object) -> Any:
    with realize.lock:
        return step.run(*_fitting(step, inputs), ())


def _fitting(step: TracedStep, inputs: Args) -> tuple[list[Tensor], list[Storage]]:
    """The inputs as the step takes them, and their memory. Raises ArgumentError or ShapeError."""
    arguments = Arguments(inputs, {}, frozenset())
    if arguments.numbers or len(arguments.tensors) != len(step.layouts):
        raise errors.ArgumentError(
            f"compile: the inputs must be {len(step.layouts)} Tensors or arrays, not"
            f" {brief(inputs)}"
        )
    with realize.lock:
        for i in arguments.arrays:
            arguments.tensors[i] = arguments.tensors[i].to(step.layouts[i][3])
        tensors = [
            _laid_out(t, layout[2])
            for t, layout in zip(arguments.tensors, step.layouts, strict=True)
        ]
        given = [realize.value(t) for t in tensors]
        if not step.fits(tensors, given):
            names = [f"inputs[{i}]" for i in range(len(given))]
            raise errors.ShapeError(
                f"compile: {retrace_reason.misfit(step, tensors, given, names)}"
            )
        return tensors, given


def _laid_out(t: Tensor, strides: Shape) -> Tensor:
    """The Tensor itself, or a copy in row-major order where its elements lie otherwise."""
    return t if realize.value(t).strides == strides else wrap(movement.contiguous(t.node)).realize()
