"""The part of a Graph that is not in memory yet, as a key without addresses. In: the Nodes wanted.
Out: a Capture.

The walk stops at values in memory, of the device that it is for or of the CPU. A SLICE of such a
value (and the PERMUTEs and RESHAPEs between) becomes a strided input, so that a moving window over
data is one program. structure.py says what the key is made of.
"""

from __future__ import annotations

import struct
import weakref
from collections.abc import Hashable, Mapping, Sequence

from ... import errors
from ...compiler.structure import Key, Origin
from ...ir.graph.dtype import DType
from ...ir.graph.graph import Node, node, used
from ...ir.graph.op import Op
from ...ir.graph.region import Branch, Loop
from ...ir.graph.site import Site
from ...ir.regions.floats import WITH_BODIES, apart, captured
from ...runtime.memory.devices import CPU, device_of
from ...runtime.memory.storage import VIEWED, Storage, cached, lookup, viewed
from . import state
from .any_tensor import AnyTensor as Tensor

# an Enum finds its members slowly
_INPUT, _CONST, _IOTA, _EXPAND, _COPY, _DETACH, _CUSTOM_VJP = (
    Op.INPUT,
    Op.CONST,
    Op.IOTA,
    Op.EXPAND,
    Op.COPY,
    Op.DETACH,
    Op.CUSTOM_VJP,
)
NOBODY: Mapping[int, weakref.ref[Tensor]] = {}
Source = int | tuple[Hashable, ...]  # of the key: the number of an entry, or a constant or an IOTA
MAX_SCALAR_NODES = (
    256  # a held scalar that needs more Nodes of its own than this is not computed along
)


class Capture:
    """What a program must compute: `entries` lists the Nodes after their sources, `inputs` the
    memory they read."""

    __slots__ = (
        *(
            "constants",
            "device",
            "entries",
            "index",
            "inputs",
            "owners",
            "scalars",
            "sites",
            "slots",
            "views",
        ),
        *("again", "goes_on"),  # what loops repeat
    )

    def __init__(self, device: str = CPU) -> None:
        self.device = device
        self.index: dict[Node, int] = {}  # the number of a Node or input in the key
        self.views: dict[Node, Storage] = {}  # values in memory, also through views
        self.slots: list[Node] = []  # the Node of each input
        self.inputs: list[Storage] = []
        self.goes_on = False  # does it read what was kept for the next turn of a loop
        self.constants: list[tuple[float, DType]] = []  # one per use
        self.entries: list[tuple[Hashable, ...]] = []  # of the key, described in structure.py
        self.sites: list[Site | None] = []  # of each entry
        self.owners = NOBODY  # by id of a buffer: its Tensor, where memory is a placeholder's
        self.again: list[Node] = []  # what an earlier program has computed without being kept
        self.scalars: list[
            tuple[Tensor, Node]
        ] = []  # 0-d Tensors that a user holds and that lie inside, their Nodes

    # ------------------------------------------------------------ the walk

    def visit(self, root: Node) -> None:
        """Numbers everything that the root needs, sources first; a loop, not recursion."""
        index, views, entries, sites = self.index, self.views, self.entries, self.sites
        held, number_of, again = state.thread.held_scalars, self._number, self.again
        stack: list[Node | None] = [root]
        while stack:
            n = stack.pop()
            if n is None:  # the sources of the next one are numbered
                n = stack.pop()
                assert n is not None
                op, arg, src = n.op, n.arg, n.src
                if op is _INPUT:
                    src, arg = (arg.definition,), None
                elif op is _CUSTOM_VJP:  # its rule is no part of the program
                    op, arg, src = _DETACH, None, (src[n.arg[1]],)
                    if src[0] in views:
                        views[n] = views[src[0]]
                        continue
                elif op in VIEWED and src[0] in views and self._is_view(n):
                    continue
                if op in WITH_BODIES:
                    arg, numbers = self._without_floats(arg[0], arg[1], src)
                else:
                    numbers = [index[s] if s in index else number_of(s) for s in src]
                index[n] = len(entries)
                entries.append((op, arg, *numbers))
                sites.append(n.site)
                if n.computed:
                    again.append(n)
                if not n.shape and id(n) in held:
                    self._hold(n)
                continue
            if n in index or n in views:
                continue
            src = n.src
            if n.op is _INPUT:
                stored = n.arg.storage
                if stored is not None:
                    views[n] = stored
                    continue
                src = (definition_of(n),)
            elif n.op is _CUSTOM_VJP and not (cached and id(n) in cached):
                src = (src[n.arg[1]],)
            elif (
                src and ((cached and id(n) in cached) or n.op is _COPY) and self._is_stored(n)
            ):  # a counter is no read
                continue
            stack.append(n)
            stack.append(None)
            for s in src:
                op = s.op
                if not (
                    s in index
                    or op is _CONST
                    or op is _IOTA
                    or (op is _EXPAND and s.src[0].op is _CONST)
                ):
                    stack.append(s)

    def mark(self) -> None:
        """The Nodes are about to be computed, some of them once more."""
        more = [(n, n.computed + 1) for n in self.again] if self.again else ()
        for n in self.index:
            n.computed = 1
        for n, times in more:
            n.computed = times

    def _is_stored(self, n: Node) -> bool:
        stored = lookup(n)
        if stored is None or stored.device not in (self.device, CPU):
            return False
        self.views[n] = stored
        return True

    def _is_view(self, n: Node) -> bool:
        stored = viewed(n, self.views[n.src[0]])
        if stored is None:
            return False
        self.views[n] = stored
        return True

    def _hold(self, n: Node) -> None:
        ref = state.thread.held_scalars.get(id(n))  # gone, if another thread has just dropped it
        tensor = None if ref is None else ref()
        if tensor is not None and tensor.node is n and tensor._storage is None and self.is_home(n):
            self.scalars.append((tensor, n))

    def is_home(self, n: Node) -> bool:
        """Is this where the value of a Node belongs."""
        return not used or device_of(n) == self.device

    # ------------------------------------------------------------ numbers and constants

    def _number(self, n: Node) -> Source:
        """How the key names a source that is a constant or stands in memory."""
        if n not in self.views:
            return self._constant(n)
        chain = []
        while n not in self.index:
            if n.op not in VIEWED or n.op is Op.SLICE or n.src[0] not in self.views:
                self._add_input(n)
                break
            chain.append(n)
            n = n.src[0]
        for view in reversed(chain):  # PERMUTE and RESHAPE of a whole input stay in the graph
            self.index[view] = len(self.entries)
            self.entries.append((view.op, view.arg, self.index[view.src[0]]))
            self.sites.append(view.site)
        return self.index[chain[0] if chain else n]

    def _add_input(self, n: Node) -> None:
        stored = self.views[n]
        self.index[n] = len(self.entries)
        self.inputs.append(stored)
        self.goes_on |= (stored.base or stored).carried > 0
        self.slots.append(n)
        entry = (stored.dtype, stored.shape, stored.strides)
        self.entries.append(entry if stored.layout[3] == self.device else (*entry, True))
        self.sites.append(None)

    def _constant(self, n: Node) -> tuple[Hashable, ...]:
        if n.op is _IOTA:
            return (_IOTA, n.arg)
        extents = None
        if n.op is Op.EXPAND:
            extents, n = n.arg, n.src[0]
        if n.dtype.is_float:
            self.constants.append((n.arg, n.dtype))
            return (n.dtype, extents)
        return (n.dtype, extents, n.arg)

    def _without_floats(
        self, spec: Loop | Branch, k: int, src: Sequence[Node]
    ) -> tuple[Hashable, list[Source]]:
        """Result k of a loop or branch whose floats stand apart, in entries before it: all results
        have the same sources."""
        new, constants = apart(spec)
        floats = [*map(self._float, constants)]
        numbers = self.numbers(src)
        at = captured(spec).stop
        return (new, k), [*numbers[:at], *floats, *numbers[at:]]

    def _float(self, constant: Node) -> int:
        """The number of an entry that is a constant."""
        n = node(_DETACH, (constant,))
        if n not in self.index:
            source = self._constant(constant)
            self.index[n] = len(self.entries)
            self.entries.append((_INPUT, None, source))
            self.sites.append(None)
        return self.index[n]

    def numbers(self, roots: Sequence[Node]) -> list[Source]:
        """How the key names sources or outputs."""
        return [self.index[r] if r in self.index else self._number(r) for r in roots]

    def finish(self, outputs: Sequence[Source], donations: Sequence[tuple[int, int]]) -> Key:
        """The key of the program."""
        return (tuple(self.entries), tuple(outputs), tuple(donations), self.device)

    def origins(self) -> list[Origin]:
        """Whose value each input is, where that is known, and which line it is from."""
        owners = [self.owners.get(id(s.buffer)) for s in self.inputs]
        return [
            (o or getattr(n.arg, "owner", None), n.site)
            for o, n in zip(owners, self.slots, strict=True)
        ]

    def packed_constants(self) -> bytes:
        """The constants, eight bytes per use, so that NaNs and signed zeros compare by their
        bits."""
        return struct.pack(f"{len(self.constants)}d", *[c for c, _ in self.constants])

    # ------------------------------------------------------------ scalars that share this program

    def lies_inside(self, root: Node) -> bool:
        """Does the root need only a few Nodes and 0-d inputs beyond those captured."""
        seen: set[Node] = set()
        stack = [root]
        while stack:
            n = stack.pop()
            if n in seen or n in self.index or n in self.views or is_constant(n):
                continue
            seen.add(n)
            if n.op is Op.INPUT and n.arg.storage is None:
                stack.append(definition_of(n))
            elif lookup(n) is None:
                if used and n.device not in (self.device, None):
                    return False
                stack += n.src
            elif n.shape:
                return False
            if len(seen) > MAX_SCALAR_NODES:
                return False
        return True


def definition_of(n: Node) -> Node:
    """What a Leaf without memory waits for. Raises JitError for what was left over from a trace."""
    definition: Node | None = n.arg.definition
    if definition is None:
        raise errors.JitError(
            "a Tensor that was made while a jitted function was traced is used after it, where it"
            " has no value: let the function return it, or assign it to a Tensor from outside"
        )
    return definition


def is_constant(n: Node) -> bool:
    """A number, or a number repeated: not computed on its own, but named where it is used."""
    return n.op is Op.CONST or (n.op is Op.EXPAND and n.src[0].op is Op.CONST)
