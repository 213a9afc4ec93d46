"""Numbers as people read them. In: a count, a quantity, seconds, bytes. Out: `2 kernels`, `1.5 M`,
`3.2 ms`, `48 KiB`."""

from __future__ import annotations


def plural(count: int, word: str) -> str:
    """`1 kernel`, `2 kernels`."""
    return f"{count} {word}{'' if str(count) == '1' else 's'}"


def amount(n: float) -> str:
    """A number with a prefix of its unit, which follows it: `1.5 M` + `B`."""
    for unit in ("", "k", "M", "G"):
        if n < 1000 or unit == "G":
            return f"{n:.3g} {unit}"
        n /= 1000
    raise AssertionError


def duration(seconds: float | None) -> str:
    """Three digits and a unit, "" for None."""
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= 0.9995 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def binary(size: int) -> str:
    """Bytes of memory of a size as it is built: `48 KiB`."""
    for unit in ("bytes", "KiB"):
        if size < 1024:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} MiB"
