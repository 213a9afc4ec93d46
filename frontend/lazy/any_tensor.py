"""A Tensor as the rooms below its class know it. In: Nodes, memory. Out: Tensors that no table
lists.

The class itself stands above what computes values and below what users call: it sets
`Above.kind`, of which new Tensors are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ...ir.graph.graph import Node
from ...runtime.memory.storage import Storage

if TYPE_CHECKING:
    from weakref import ref

    from ...ir.graph.dtype import DType
    from ...ir.graph.shapes import Shape
    from .cached_program import CachedProgram

R = TypeVar("R")
Hook = Callable[[Any], object]  # of users, for a gradient


class AnyTensor:
    """The fields of a Tensor."""

    __slots__ = {
        **dict.fromkeys(
            (
                "__weakref__",
                "_grad",
                "_hooks",
                "_node",
                "_note",
                "_requires_grad",
                "_storage",
                "_part_of",
            ),
            "",
        ),
        "name": 'Its name in errors, if set: `x.name = "labels"`. None at first.',
    }
    _is_assigned_in_place = False  # does `t += x` wait for the next program, as t.assign does
    name: str | None
    _node: Node  # not set in a result of a jitted function until something is built from it
    _storage: Storage | None
    _requires_grad: bool
    _note: str | None
    _hooks: list[Hook] | None
    _part_of: ref[AnyTensor]  # set in what was taken out of another Tensor by an index

    if TYPE_CHECKING:  # the class has them as properties
        _grad: AnyTensor | None
        node: Node
        grad: Any  # a Tensor or None

        @property
        def shape(self) -> Shape: ...
        @property
        def dtype(self) -> DType: ...
        @property
        def ndim(self) -> int: ...
        @property
        def size(self) -> int: ...
        @property
        def device(self) -> str: ...
        @property
        def is_cuda(self) -> bool: ...
        def item(self) -> Any: ...
        def to(self, *args: Any, device: Any = None, dtype: Any = None) -> AnyTensor: ...
        def astype(self, dtype: Any) -> AnyTensor: ...
        def cpu(self) -> AnyTensor: ...
        def detach(self) -> AnyTensor: ...
        def _stored(self) -> Storage | None: ...
        @property
        def requires_grad(self) -> bool: ...
        @property
        def is_leaf(self) -> bool: ...


if TYPE_CHECKING:

    class AnyTrace(Protocol):
        """A trace.Trace as the files below it know it."""

        name: str
        is_over: bool

        @property
        def reads(self) -> AnyReads: ...
        def adopt(self, t: AnyTensor) -> None: ...
        def is_outer(self, t: AnyTensor) -> bool: ...
        def node_of(self, t: AnyTensor) -> Node: ...
        def set_node(self, t: AnyTensor, n: Node) -> None: ...
        def stored(self, t: AnyTensor) -> Storage | None: ...
        def grad_of(self, t: AnyTensor) -> AnyTensor | None: ...
        def set_grad(self, t: AnyTensor, gradient: AnyTensor | None) -> None: ...
        def require_history(self, passed: set[Node]) -> None: ...
        def live_scalars(
            self, recipe: Callable[[], Sequence[float]], dtypes: Sequence[DType]
        ) -> list[Node]: ...
        def read(self, t: AnyTensor, how: Callable[[Storage], R]) -> R: ...
        def refuse(self, what: str) -> None: ...

    class Watcher(Protocol):
        def after_backward(self) -> None: ...

    class AnyReads(Protocol):
        """An attributes.Reads."""

        def seen(self, module: Any, name: str, value: Any) -> object: ...
        def assigned(self, module: Any, name: str) -> None: ...
        def decided(
            self, ask: Callable[[], object], answer: object, sources: frozenset[Any]
        ) -> None: ...


class Above:
    """What stands above and is asked for from below. The package sets it once, when it is imported.

    Modules are given by functions, which load them when they are first needed.
    """

    kind: type[AnyTensor] = AnyTensor  # of new Tensors: wf.Tensor, once that is there
    # of a loss, its cotangent; whether its graph is kept
    backward: Callable[[Any, Any, bool], None]
    array_api: Callable[[], ModuleType]  # the namespace of a Tensor
    numpy_functions: Callable[[], ModuleType]  # what NumPy's functions are in Weft
    show: Callable[[CachedProgram, int], None]  # shows a program that is new as options ask for


def bare(n: Node) -> AnyTensor:
    """A Tensor of a Node for a while, which no table lists."""
    t = object.__new__(Above.kind)
    t._node = n
    t._requires_grad = False
    t._storage = t._grad = t.name = t._note = t._hooks = None
    return t


def of_storage(stored: Storage, note: str | None = None) -> AnyTensor:
    """The Tensor of a value in memory; `note` says why it has no history. Its Node is made when
    something is built from it."""
    t = object.__new__(Above.kind)
    t._storage, t._note = stored, note
    t._requires_grad = False
    t._grad = t.name = t._hooks = None
    return t
