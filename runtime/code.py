"""Machine code in memory. In: object code under a key, LLVM IR of the runtime's own. Out: the
addresses of functions.

Code is known by its key as long as something refers to it, or until enough other code has been used
since; then its memory is free for other code. Code lives as long as an address of it is in use.
"""

from __future__ import annotations

import hashlib
import platform
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence

from llvmlite import __version__ as llvmlite_version

from .. import locks
from . import cache, flat, native

KEPT_BYTES = 16 << 20  # of code that may stand by unused: the kernels of hundreds of programs


def symbol(key: str) -> str:
    """The name of a kernel's module by its key."""
    return "weft_" + key[:24]


def phase_names(key: str, count: int) -> list[str]:
    """The names of its functions, one a phase."""
    return [f"{symbol(key)}_p{i}" for i in range(count)]


class Code:
    """Functions in memory, which is free once nothing refers to this object."""

    def __init__(self, addresses: Sequence[int], size: int, free: Callable[[], None]) -> None:
        self.addresses = list(addresses)
        self.size = size
        weakref.finalize(self, free).atexit = False


def load(data: bytes, names: Sequence[str]) -> Code:
    """The functions `names` of an object, or of what `flat.flattened` made of it with these
    names."""
    if flat.is_flat(data):
        block = flat.load(data)
        return Code(block.addresses, block.size, block.free)
    library = native.load_object(data, names)
    return Code([library[name] for name in names], len(data), library.release)


class Known:
    """Code by key. What was used last stays, up to a number of bytes; beyond that, code without
    references is forgotten."""

    def __init__(self, limit: int = KEPT_BYTES) -> None:
        self.limit = limit
        self.lock = locks.new("code")
        self._codes: weakref.WeakValueDictionary[str, Code] = weakref.WeakValueDictionary()
        self._kept: OrderedDict[str, Code] = OrderedDict()
        self._bytes = 0

    def find(self, key: str, names: Sequence[str]) -> Code | None:
        """The code of this key, if this process or the disk has it."""
        with self.lock:
            code = self._codes.get(key)
            if code is None:
                data = cache.default().get(key)
                return None if data is None else self.add(key, data, names)
            return self._keep(key, code)

    def add(self, key: str, data: bytes, names: Sequence[str]) -> Code:
        """Loads code and knows it by this key."""
        with self.lock:
            code = self._codes[key] = load(data, names)
            return self._keep(key, code)

    def _keep(self, key: str, code: Code) -> Code:
        if key in self._kept:
            self._kept.move_to_end(key)
            return code
        self._kept[key] = code
        self._bytes += code.size
        while self._bytes > self.limit and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1].size
        return code

    def __len__(self) -> int:
        return len(self._codes)

    def clear(self) -> None:
        """Forgets all code, which stays in memory as long as something refers to it."""
        with self.lock:
            self._codes.clear()
            self._kept.clear()
            self._bytes = 0


known = Known()


def portable(text: str, names: Sequence[str]) -> dict[str, int]:
    """The functions `names` of LLVM IR, for any processor of this architecture; from the disk if it
    has them. Never freed."""
    key = hashlib.sha256(
        f"{flat.MAGIC!r} {llvmlite_version} {platform.machine()}\n{text}".encode()
    ).hexdigest()
    store = cache.default()
    data = store.get(key)
    if data is None:
        data = flat.flattened(native.compile_portable(text), names)
        store.put(key, data, "runtime")
    code = load(data, names)
    _forever.append(code)
    return dict(zip(names, code.addresses, strict=True))


_forever: list[Code] = []
