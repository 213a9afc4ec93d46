"""Calls of other libraries' functions on Tensors. In: lines of Python, one call each. Out: what
they give for Tensors beside what they give for NumPy's arrays.

A line is evaluated with names for data, the same numbers as Tensors and as arrays. Both results are
walked together: every array of NumPy's result must be a Tensor in the other, and near it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import weft as wf
import weft.array_api

ARGUMENTS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
DTYPES = ("float32", "float64")
VIEW = "writes to a part of an array, for the whole to change"
PLAIN = (bool, int, float, complex, str, bytes, type(None))


@dataclass(frozen=True)
class Client:
    """A library: its title and package, the modules that its lines name, the lines, and by name why
    some of them fail."""

    title: str
    package: str
    modules: Mapping[str, str]
    text: str
    waits: Mapping[str, str]
    tolerances: Mapping[str, float]
    heavy: frozenset[str] = frozenset()  # modules and calls that a slow run alone takes

    @cached_property
    def calls(self) -> dict[str, str]:
        """The lines by what they call; no two call the same."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        found = {called(line): line for line in lines}
        assert len(found) == len(lines) and self.waits.keys() <= found.keys()
        return found

    @cached_property
    def imported(self) -> dict[str, ModuleType]:
        """What the lines name, beside data."""
        return {name: import_module(path) for name, path in self.modules.items()}

    def cases(self) -> list[Any]:
        """The names as parameters of a test; one that fails must go on failing until its reason is
        taken out."""
        return [
            pytest.param(name, marks=pytest.mark.xfail(reason=why, strict=True)) if why else name
            for name in self.calls
            for why in [self.waits.get(name)]
        ]

    def shown_by(self, name: str, dtype: str) -> list[Hashable]:
        """What the default run shows once: each module and each reason of a module, each dtype."""
        if {name, name.partition(".")[0]} & self.heavy:
            return []
        return [(name.partition(".")[0], self.waits.get(name)), dtype]

    def check(self, name: str, dtype: str) -> None:
        """Tensors give what arrays give, as Tensors. Raises AssertionError, or what the call
        raises."""
        wanted = self.run(name, dtype, tensors=False)
        found = self.run(name, dtype, tensors=True)
        for where, w, f in pairs(name, wanted, found):
            agree(where, w, f, self.tolerances[dtype])

    def run(self, name: str, dtype: str, tensors: bool) -> Any:
        """What the line gives for Tensors or for arrays."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return eval(self.calls[name], {**self.imported, **data(dtype, tensors)})


def called(line: str) -> str:
    """The line without what stands in brackets."""
    while (shorter := ARGUMENTS.sub("", line)) != line:
        line = shorter
    return line


def numbers(dtype: str) -> dict[str, np.ndarray[Any, Any]]:
    """The data that calls name: vectors, matrices, images, labels; floats are of this dtype."""
    rng = np.random.default_rng(7)
    t = np.linspace(0.1, 2.9, 24)
    image = rng.uniform(0.5, 4.0, (9, 8))
    points = np.concatenate([rng.normal(c, 0.4, (8, 3)) for c in (-2.0, 0.0, 2.5)])
    floats = {
        "x": rng.uniform(0.5, 3.0, 24),
        "y": rng.normal(1.2, 0.8, 24),
        "z": np.sin(t) + 0.1 * rng.normal(size=24),
        "t": t,
        "p": np.linspace(0.05, 0.95, 24),
        "m": rng.uniform(0.5, 3.0, (12, 4)),
        "square": rng.normal(size=(4, 4)) + 4 * np.eye(4),
        "image": image,
        "points": points,
        "centres": points[::8].copy(),
        "taps": np.array([0.25, 0.5, 0.25]),
        "kernel": rng.uniform(0.1, 1.0, (3, 3)),
        "zero": np.array(0.0),
        "one": np.array(1.0),
        "two": np.array(2.0),
        "few": np.array([0.5, 1.25, 2.0]),
    }
    counts = rng.integers(1, 9, 24)
    return {name: a.astype(dtype) for name, a in floats.items()} | {
        "counts": counts,
        "blobs": (image > 2.0).astype(np.int32),
        "mask": image > 2.0,
        "classes": np.repeat(np.arange(3), 8),
        "found": np.where(rng.random(24) < 0.8, np.repeat(np.arange(3), 8), 1),
        "sides": (counts > 4).astype(np.int64),
    }


def data(dtype: str, tensors: bool) -> dict[str, Any]:
    """The data as a line sees them: Tensors or arrays, `xp`, and a generator `rng` of one seed."""
    made: dict[str, Any] = {**numbers(dtype)}
    if tensors:
        made = {name: wf.asarray(a) for name, a in made.items()}
    return {
        **made,
        "np": np,
        "xp": weft.array_api if tensors else np,
        "rng": np.random.default_rng(3),
    }


def agree(where: str, wanted: object, found: object, tolerance: float) -> None:
    """A leaf of a result equals NumPy's, relative to the largest element."""
    if isinstance(wanted, np.ndarray) and wanted.dtype.kind in "biufc":
        assert isinstance(found, wf.Tensor), f"{where}: {type(found).__name__}, not a Tensor"
    w, f = np.asarray(wanted), np.asarray(found)
    assert w.shape == f.shape, where
    if w.dtype.kind not in "biufc":
        assert w.tolist() == f.tolist(), where
        return
    finite = np.abs(w[np.isfinite(w)])
    scale = max(1.0, float(finite.max())) if finite.size else 1.0
    np.testing.assert_allclose(f, w, rtol=tolerance, atol=tolerance * scale, err_msg=where)


def pairs(where: str, wanted: Any, found: Any) -> Iterator[tuple[str, Any, Any]]:
    """The leaves of two results that are built alike: arrays, numbers, texts."""
    if isinstance(wanted, (np.ndarray, np.generic, *PLAIN)):
        yield where, wanted, found
    elif isinstance(wanted, Mapping):
        assert wanted.keys() == found.keys(), where
        for key, value in wanted.items():
            yield from pairs(f"{where}[{key!r}]", value, found[key])
    elif isinstance(wanted, (list, tuple)):
        assert len(wanted) == len(found), where
        for i, (w, f) in enumerate(zip(wanted, found, strict=True)):
            yield from pairs(f"{where}[{i}]", w, f)
    elif not isinstance(wanted, (ModuleType, slice)) and not callable(wanted):
        yield from pairs(where, public(wanted), public(found))


def public(x: object) -> dict[str, object]:
    """The attributes of an object that are for users, but for those that say how it was made."""
    own = getattr(x, "__dict__", {})
    return {name: value for name, value in own.items() if name[0] != "_" and not callable(value)}
