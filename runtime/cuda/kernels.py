"""Kernels of a device. In: CUDA C by symbol. Out: handles of their phases, from this process, from
the disk, or freshly built.

What is missing is built in one go: nvcc starts once, NVRTC compiles several at a time. Images stay
loaded as long as the process lives: they are small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ... import locks
from . import images
from .driver import Built, Driver, Module, Usage

# what makes the CUDA C of a kernel, by the symbol that its functions' names begin with
Texts = Mapping[str, Callable[[], str]]


def phase_symbol(symbol: str, phase: int) -> str:
    """The name of a kernel's function for one phase."""
    return f"{symbol}_p{phase}"


class Kernels:
    """Those that a device has loaded, by symbol."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self._lock = locks.new("kernels")
        self._modules: dict[str, Module] = {}
        self._reports: dict[str, Usage] = {}  # of compilers, by the name of a function

    def has(self, symbol: str) -> bool:
        """Is the kernel here, or on the disk; then it is loaded."""
        with self._lock:
            if symbol not in self._modules:
                built = images.find(symbol, self.driver.arch) if self._on_disk else None
                if built is None:
                    return False
                self._load(symbol, built)
            return True

    def want(self, texts: Texts) -> None:
        """Builds and loads what is not here yet. Raises CompileError."""
        with self._lock:
            missing = {symbol: text() for symbol, text in texts.items() if not self.has(symbol)}
            if missing:
                self._build(missing)

    def _build(self, texts: Mapping[str, str]) -> None:
        for symbol, built in zip(texts, _built(self.driver, list(texts.values())), strict=True):
            if self._on_disk:
                images.keep(symbol, self.driver.arch, built)
            self._load(symbol, built)

    def _load(self, symbol: str, built: Built) -> None:
        self._modules[symbol] = self.driver.load(built.image)
        self._reports |= built.report

    @property
    def _on_disk(self) -> bool:
        return getattr(self.driver, "keeps_images", True)

    def phase(self, symbol: str, phase: int, shared: int) -> Any:
        """A handle of one phase, for Driver.launch."""
        return self._modules[symbol].function(phase_symbol(symbol, phase), shared)

    def usage(self, symbol: str, phase: int) -> Usage | None:
        """Resources of a multiprocessor that one phase takes, where the device reports them; only
        the compiler knows spills."""
        name = phase_symbol(symbol, phase)
        told = self._modules[symbol].usage(name)
        return told and self._reports.get(name, told)


def _built(driver: Driver, texts: list[str]) -> list[Built]:
    """A driver may build several at once."""
    several = getattr(driver, "build_many", None)
    return several(texts) if several is not None else [driver.build(text) for text in texts]
