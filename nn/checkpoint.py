"""Checkpoints. In: Modules, optimisers, schedules, Tensors and plain values by name. Out: a
safetensors file, and all of it back.

A file holds each Tensor under a dotted name ("model.conv1.weight"), so that other libraries read
it, too. How the state was nested, all other values, and the random generator's state stand as
JSON in its metadata, under the one key `weft`, after a CRC-32 of names, dtypes, shapes, elements
and text. Memory that several Tensors share is stored once; equal contents give equal files.

`load` reads and checks all of the file before it changes anything, then loads object by object.
Each refuses what does not fit; those loaded before it then get back their former state, which costs
nothing because it shares their memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import errors
from ..frontend import ops
from ..frontend.lazy.trace import tracing
from ..frontend.operands.arguments import as_bool, as_path
from ..frontend.tensor.tensor import Tensor
from ..ir.graph.brief import brief
from .checkpoint_file import CheckpointError, CheckpointFileError, as_tensor, read, realized, write
from .loading import fitting
from .optim import Optimizer
from .state_tree import decoded, encoded
from .tree import some

__all__ = ["CheckpointError", "CheckpointFileError", "load", "save"]

MOST_TEXT = 50_000_000  # characters of JSON; readers of the format refuse a header of 100 MB
VERSION = 1  # of the JSON: {"version", "objects", "generator"}


def save(path: Any, /, *unnamed: Any, **objects: Any) -> None:
    """Writes named objects to a file: anything with state_dict(), Tensors, and numbers, texts,
    lists, tuples, dicts of all these.

    The state of the random generator is always part of it. The file appears, or replaces an old
    one, only when it is complete. Raises DTypeError for what cannot be stored, CallError for an
    object without a name, CheckpointFileError (an OSError) where the file cannot be written,
    MissingPackageError without the package safetensors.

    >>> net = nn.Linear(3, 1)
    >>> nn.save("run.safetensors", model=net, epoch=7)
    >>> nn.load("run.safetensors", model=net)
    {'epoch': 7}
    """
    tracing().refuse("save: writing a checkpoint")
    _require_names("save", unnamed)
    place, tensors = as_path("save", path), dict[str, Tensor]()
    tree = {name: encoded(name, _state(x), tensors) for name, x in objects.items()}
    if "__metadata__" in tensors:
        raise errors.ArgumentError("save: the format keeps the name __metadata__ for itself")
    parts = realized(tensors)
    _share(tree, parts)
    text = json.dumps({"version": VERSION, "objects": tree, "generator": ops.get_rng_state()})
    if len(text) > MOST_TEXT:
        raise errors.ArgumentError(
            f"save: the part that is not Tensors takes {len(text):,} characters, more than"
            f" {MOST_TEXT:,}"
        )
    write(place, parts, text)


def _require_names(who: str, unnamed: tuple[Any, ...]) -> None:
    if unnamed:
        raise errors.CallError(
            f"{who}: objects are passed by name, as in {who}(path, model=model), not"
            f" {brief(unnamed[0])}"
        )


def _state(x: Any) -> Any:
    return x.state_dict() if hasattr(x, "state_dict") and not isinstance(x, type) else x


def _share(tree: Any, parts: dict[str, Any]) -> None:
    """Of Tensors in the same memory leaves one in `parts`, and lets the JSON of the others name
    it."""
    first: dict[Any, str] = {}
    names = {
        name: first.setdefault((s.address, s.layout) if 0 not in s.shape else name, name)
        for name, s in parts.items()
    }
    stack = [tree]
    while stack:
        match stack.pop():
            case {"$tensor": name} as reference:
                reference["$tensor"] = names[name]
            case dict() as inner:
                stack += inner.values()
            case list() as inner:
                stack += inner
    for name, kept in names.items():
        if name != kept:
            del parts[name]


def load(path: Any, /, *unnamed: Any, random_state: bool = True, **objects: Any) -> dict[str, Any]:
    """Loads what a file holds under these names into the objects, by load_state_dict(), or assign()
    of a Tensor.

    Returns the rest: a dict of values and Tensors, and of the states of objects that were not
    named. Of a safetensors file of other origin that is each Tensor by its name;
    "model.conv1.weight" is loaded into `model=`. The random generator goes on as when the file was
    written, unless random_state is False.

    All is loaded or nothing: CheckpointError says what does not fit, or what is wrong with the
    file, and then every object and the generator are as they were. It is a CheckpointFileError,
    which is an OSError, too, where the file cannot be read.

    >>> nn.save("two.safetensors", weight=wf.ones(2), best=0.5)
    >>> weight = wf.zeros(2)
    >>> nn.load("two.safetensors", weight=weight), weight.tolist()
    ({'best': 0.5}, [1.0, 1.0])
    """
    tracing().refuse("load: reading a checkpoint")
    _require_names("load", unnamed)
    place, random_state = as_path("load", path), as_bool("load", "random_state", random_state)
    for name, x in objects.items():
        if not isinstance(x, Tensor) and not (
            hasattr(x, "state_dict") and hasattr(x, "load_state_dict")
        ):
            raise errors.DTypeError(
                f"load: {name} is {brief(x)}, into which nothing can be loaded; load() returns the"
                " rest"
            )
    states, generator = _contents(place, objects)
    for name, x in objects.items():
        if name not in states:
            is_state = all(isinstance(t, Tensor) for t in states.values()) and hasattr(
                x, "state_dict"
            )
            advice = (
                f"; a state_dict alone is loaded by {name}.load_state_dict(nn.load(path))"
                if is_state
                else ""
            )
            raise CheckpointError(
                f"{place}: there is no {name!r} in it; there are {some([*states])}{advice}"
            )
    before = ops.get_rng_state()
    try:
        if random_state and generator is not None:
            ops.set_rng_state(generator)
        _load_all(place, objects, states)
    except BaseException:
        ops.set_rng_state(before)
        raise
    return {name: state for name, state in states.items() if name not in objects}


def _contents(path: Path, objects: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """(states and values by name, the generator's state or None)."""
    elements, text = read(path)
    tensors = {name: as_tensor(*part) for name, part in elements.items()}
    if text is None:
        return _grouped(tensors, objects), None
    content = json.loads(text)
    if content["version"] != VERSION:
        raise CheckpointError(f"{path}: it was written by a later version of Weft")
    return {name: decoded(x, tensors) for name, x in content["objects"].items()}, content[
        "generator"
    ]


def _grouped(tensors: Mapping[str, Tensor], objects: Mapping[str, Any]) -> dict[str, Any]:
    """Tensors of a file of other origin: those whose names begin with that of an object are its
    state."""
    states: dict[str, Any] = {}
    for name, t in tensors.items():
        owner = next((o for o in objects if name.startswith(f"{o}.")), None)
        if owner is None:
            states[name] = t
        else:
            states.setdefault(owner, {})[name.removeprefix(f"{owner}.")] = t
    return states


def _load_all(path: Path, objects: Mapping[str, Any], states: Mapping[str, Any]) -> None:
    """Loads each; if one refuses, all get back what they had. Optimisers come last: to load a
    schedule sets their rates."""
    order = sorted(objects.items(), key=lambda item: isinstance(item[1], Optimizer))
    before = [(x, x.detach() if isinstance(x, Tensor) else x.state_dict()) for _, x in order]
    touched = 0
    try:
        for name, x in order:
            touched += 1
            _load_one(x, states[name])
    except BaseException as error:
        for i, (x, state) in enumerate(before):
            if i < touched or isinstance(x, Optimizer):
                _load_one(x, state)
        if isinstance(error, (errors.WeftError, LookupError, TypeError, ValueError)):
            raise CheckpointError(f"{path}: {name}: {error}") from error
        raise


def _load_one(x: Any, state: Any) -> None:
    if not isinstance(x, Tensor):
        x.load_state_dict(state)
        return
    if not isinstance(state, Tensor):
        raise errors.DTypeError(f"the checkpoint has {brief(state)}, which is not a Tensor")
    x.assign(fitting("it", x, state))
