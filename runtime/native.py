"""Object code loaded by LLVM's engine. In: object code. Out: the addresses of its functions. The
one engine of the process lives here and never dies.

LLVM is loaded at first use: a process whose code is all on disk never needs it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from itertools import count
from typing import Any

from .. import locks
from ..codegen.llvm.build import binding, runs_anywhere
from ..errors import CompileError

lock = locks.new("compiler")

_numbers = count()  # the engine wants a new name for each library
_loaded: set[Library] = set()  # keeps code mapped until it is released


class Library(dict[str, int]):
    """Loaded code: the address of each function that was asked for. Stays in memory until `release()`."""

    def __init__(self, addresses: dict[str, int], tracker: Any) -> None:
        super().__init__(addresses)
        self._tracker = tracker
        _loaded.add(self)

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other

    def release(self) -> None:
        """Frees the code. Nothing may call it, or be running in it, from here on."""
        with lock:
            _loaded.discard(self)
            self._tracker.close()


@functools.cache
def _engine() -> Any:
    llvm = binding()
    target = llvm.Target.from_default_triple()
    return llvm.create_lljit_compiler(target.create_target_machine(jit=True, codemodel="jitdefault"))


def load_object(data: bytes, names: Iterable[str]) -> Library:
    """Links object code into the process and looks up the functions `names`."""
    with lock:
        builder = binding().JITLibraryBuilder().add_object_img(data).add_current_process()
        wanted = list(names)
        for name in wanted:
            builder.export_symbol(name)
        try:
            tracker = builder.link(_engine(), f"weft{next(_numbers)}")
        except RuntimeError as error:
            raise CompileError(f"object code cannot be loaded: {error}") from error
        return Library({name: tracker[name] for name in wanted}, tracker)


def compile_portable(text: str) -> bytes:
    """Object code of LLVM IR for any processor of this machine's architecture: for the runtime's own few functions."""
    with lock:
        llvm = binding()
        near = {"reloc": "pic", "codemodel": "small"} if runs_anywhere() else {"codemodel": "jitdefault"}
        machine = llvm.Target.from_default_triple().create_target_machine(opt=2, jit=True, **near)
        module = llvm.parse_assembly(text)
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        module.verify()
        return bytes(machine.emit_object(module))
