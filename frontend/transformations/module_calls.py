"""Calls of Modules while a function is traced. In: calls. Out: which of them repeat, and some of
them checkpointed.

A network repeats blocks: calls of one class from within the same call. Of these the first ones keep
what they compute for the longest time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, ClassVar

from ...modes import Blocks, Mode
from .checkpoint import checkpoint


class ModuleCalls(Mode):
    """In a `with` block, notes the calls of Modules in this thread; those whose numbers are in
    `again` are checkpointed.

    Attributes: `kinds`, the class of each, and `parents`, the number of the call from within which
    it came, or None, in the order in which they begin.
    """

    blocks: ClassVar[Blocks[ModuleCalls | None]] = Blocks({})

    def __init__(self, again: Collection[int] = ()) -> None:
        self.value = self
        self.kinds: list[str] = []
        self.parents: list[int | None] = []
        self._again = again
        self._inside: list[int] = []
        self._begun: object = None  # the Module whose call has been noted, and goes on

    def takes(self, module: object) -> bool:
        """Is it a call that has not been noted."""
        is_new = self._begun is not module
        self._begun = None
        return is_new

    def call(self, module: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What the Module returns."""
        number = len(self.kinds)
        self.kinds.append(type(module).__name__)
        self.parents.append(self._inside[-1] if self._inside else None)

        def run(*args: Any, **kwargs: Any) -> Any:
            self._begun = module
            return module(*args, **kwargs)

        self._inside.append(number)
        try:
            return (checkpoint(run) if number in self._again else run)(*args, **kwargs)
        finally:
            self._inside.pop()

    def repeated(self) -> list[int]:
        """The calls of the outermost blocks that repeat, in order: those with calls inside, if
        there are such."""
        found: dict[tuple[int | None, str], list[int]] = {}
        for number, key in enumerate(zip(self.parents, self.kinds, strict=True)):
            found.setdefault(key, []).append(number)
        several = [numbers for numbers in found.values() if len(numbers) > 1]
        parents = {p for p in self.parents if p is not None}
        whole = [numbers for numbers in several if not parents.isdisjoint(numbers)] or several
        return min(whole, key=lambda numbers: (self._depth(numbers[0]), -len(numbers)), default=[])

    def _depth(self, number: int) -> int:
        depth, parent = 0, self.parents[number]
        while parent is not None:
            depth, parent = depth + 1, self.parents[parent]
        return depth
