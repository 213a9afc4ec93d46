"""Help with mistakes. In: a name that there is not. Out: the nearest name."""

from __future__ import annotations

from collections.abc import Iterable

LIKENESS = 0.7  # of two names, by difflib's ratio, from which on one may stand for the other


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The public name that is most like this one, whatever its case; None where none is near."""
    from difflib import get_close_matches

    folded = {n.lower(): n for n in names if not n.startswith("_")}
    found = get_close_matches(name.lower(), folded, n=1, cutoff=LIKENESS)
    return folded[found[0]] if found else None
