"""Machine code, one unit a unique kernel. In: Loops, a Target. Out: their Code, compiled only if
nobody has.

Text is made by Python, code by LLVM, which lets other threads run Python meanwhile: where several
kernels are missing, a thread compiles one while the next is lowered and emitted.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, replace
from queue import SimpleQueue

from ... import system
from ...codegen.llvm.build import compile_text
from ...codegen.llvm.emit import emit
from ...codegen.llvm.target import Target
from ...ir.loops.loop import Loops
from ...ir.loops.text import key as loops_key
from ...runtime import cache, flat, native
from ...runtime.code import Code, known, phase_names, symbol

SWITCH_SECONDS = (
    2e-4  # how soon the thread goes on after each call of LLVM: there are a dozen a kernel
)


def kernel_key(loops: Loops, target: Target) -> str:
    """What the machine code of a kernel depends on: its loops (not its name), the target, the
    compiler."""
    return loops_key(loops, repr(target), repr(flat.MAGIC), cache.source_fingerprint())


def kernel(key: str, loops: Loops, target: Target) -> Code:
    """A kernel's code: from this process, from the disk, or freshly compiled."""
    compiler = Compiler(target)
    with compiler:
        compiler.want(key, loops)
    return compiler.codes[key]


class Compiler:
    """Kernels in the making: `want` begins with one, at the end of the context `codes` has all by
    their keys."""

    def __init__(self, target: Target, beside: bool = True) -> None:
        """With `beside`, a thread compiles while the caller goes on; else all is compiled at the
        end."""
        self.target, self._beside = target, beside
        self.codes: dict[str, Code] = {}
        self._wanted: set[str] = set()
        self._held: list[_Text] = []  # at first: a single missing kernel needs no thread
        self._waiting: SimpleQueue[_Text | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._done: list[tuple[_Text, bytes]] = []
        self._failed: list[BaseException] = []
        self._interval = sys.getswitchinterval()

    def want(self, key: str, loops: Loops) -> None:
        """Looks for a kernel and, if nobody has it, makes its text and passes it on to the
        thread."""
        if key in self._wanted:
            return
        self._wanted.add(key)
        code = known.find(key, phase_names(key, len(loops.phases)))
        if code is not None:
            self.codes[key] = code
            return
        if self._held and self._beside and self._thread is None:
            self._start()
        self._held.append(_text(key, loops, self.target))
        if self._thread is not None:
            self._pass_on()

    def _start(self) -> None:
        if not system.has_room_for_thread():
            self._beside = False
            return
        thread = threading.Thread(target=self._work, name="weft-compile", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the system has no more threads: all is compiled at the end
            self._beside = False
            return
        self._thread, self._interval = thread, sys.getswitchinterval()
        sys.setswitchinterval(min(self._interval, SWITCH_SECONDS))

    def _pass_on(self) -> None:
        for text in self._held:
            self._waiting.put(text)
        self._held = []

    def _work(self) -> None:
        try:
            while (text := self._waiting.get()) is not None:
                self._done.append((text, _compiled(text, self.target)))
        except BaseException as failure:
            self._failed.append(failure)

    def __enter__(self) -> None:
        """Begins, or goes on with a program that gets more kernels."""
        self._wanted = {*self.codes}
        self._thread, self._held, self._done = None, [], []

    def __exit__(self, kind: object, value: object, trace: object) -> None:
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
            sys.setswitchinterval(self._interval)
        if kind is not None:
            return
        if self._failed:
            raise self._failed[0]
        for text, data in [*self._done, *((t, _compiled(t, self.target)) for t in self._held)]:
            cache.default().put(text.key, data, "kernel")
            self.codes[text.key] = known.add(text.key, data, text.names)


@dataclass
class _Text:
    """A kernel's module: `names` are those of its phases, `fast` is compile_text's."""

    key: str
    names: list[str]
    text: str
    fast: bool


def _text(key: str, loops: Loops, target: Target) -> _Text:
    text = emit(replace(loops, name=symbol(key)), target)
    return _Text(key, phase_names(key, len(loops.phases)), text, loops.tiny)


def _compiled(t: _Text, target: Target) -> bytes:
    """The code as a block where that is possible, or an object."""
    with native.lock:
        return flat.flattened(compile_text(t.text, target, fast=t.fast), t.names)
