"""Machine code, one unit a unique kernel. In: Loops, a Target. Out: their Code, compiled only if nobody has.

Text is made by Python, code by LLVM, which lets other threads run Python meanwhile: where several kernels are missing, a
thread compiles one while the text of the next is made.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from queue import SimpleQueue

from ..codegen.llvm.build import compile_text
from ..codegen.llvm.emit import emit
from ..codegen.target import Target
from ..ir.loop import Loops
from ..ir.loop_text import show
from ..runtime import cache, flat, native
from ..runtime.code import Code, known, phase_names, symbol

SWITCH_SECONDS = 2e-4  # how soon the thread goes on after each call of LLVM: there are a dozen a kernel


def kernel_key(loops: Loops, target: Target) -> str:
    """What the machine code of a kernel depends on: its loops (not its name), the target, the compiler."""
    text = show(replace(loops, name="kernel"))
    material = "\n".join([text, repr(target), repr(flat.MAGIC), cache.source_fingerprint()])
    return hashlib.sha256(material.encode()).hexdigest()


def kernel(key: str, loops: Loops, target: Target) -> Code:
    """A kernel's code: from this process, from the disk, or freshly compiled."""
    return kernels([(key, loops)], target)[0]


def kernels(wanted: Sequence[tuple[str, Loops]], target: Target) -> list[Code]:
    """The code of each kernel, given with its key."""
    with known.lock:
        codes = {key: known.find(key, phase_names(key, len(loops.phases))) for key, loops in wanted}
        missing = {key: loops for key, loops in wanted if codes[key] is None}
        texts = (_text(key, loops, target) for key, loops in missing.items())
        for text, data in _beside(texts, target) if len(missing) > 1 else ((t, _compiled(t, target)) for t in texts):
            cache.default().put(text.key, data, "kernel")
            codes[text.key] = known.add(text.key, data, text.names)
    return [code for key, _ in wanted if (code := codes[key]) is not None]


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


def _beside(texts: Iterator[_Text], target: Target) -> Iterator[tuple[_Text, bytes]]:
    """The code of each text, compiled by another thread while the next ones are made. Raises what it raised."""
    waiting: SimpleQueue[_Text | None] = SimpleQueue()
    done: list[tuple[_Text, bytes]] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            while (text := waiting.get()) is not None:
                done.append((text, _compiled(text, target)))
        except BaseException as failure:
            failed.append(failure)

    thread = threading.Thread(target=work, name="weft-compile", daemon=True)
    with _switching(SWITCH_SECONDS):
        thread.start()
        try:
            for text in texts:
                waiting.put(text)
        finally:
            waiting.put(None)
            thread.join()
    if failed:
        raise failed[0]
    yield from done


@contextmanager
def _switching(seconds: float) -> Iterator[None]:
    """Threads take turns so often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, seconds))
    try:
        yield
    finally:
        sys.setswitchinterval(before)
