"""Word vectors in GloVe's text format. In: a path and a vocabulary. Out: a table with a row for
each of its tokens."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ... import errors
from ...frontend.operands.arguments import as_path
from ...ir.graph.brief import brief
from .idx import Array, DataError
from .text import Vocabulary, read_lines

__all__ = ["read_glove"]


def read_glove(path: str | Path, vocabulary: Vocabulary) -> tuple[Array, Array]:
    """(vectors float32 (len(vocabulary), D), found bool (len(vocabulary),)) from a file of GloVe,
    gzipped or not.

    A line is a word and D numbers (Pennington et al. 2014, nlp.stanford.edu/projects/glove); one of
    other words is skipped. Tokens that are not in the file have zeros. Raises DataError for a
    damaged line, and where no token is found.

    >>> from pathlib import Path
    >>> _ = Path("vectors.txt").write_text("good 0.5 1.5\\nbad -0.5 -1\\n")
    >>> nn.data.read_glove("vectors.txt", nn.data.Vocabulary(["bad"]))[0].tolist()
    [[0.0, 0.0], [0.0, 0.0], [-0.5, -1.0]]
    """
    path = as_path("read_glove", path)
    if not isinstance(vocabulary, Vocabulary):
        raise errors.DTypeError(
            f"read_glove: the vocabulary must be a Vocabulary, not {brief(vocabulary)}"
        )
    rows: dict[int, Array] = {}
    numbers = {token: number for number, token in enumerate(vocabulary)}
    width = 0
    for line, text in read_lines(path):
        word, _, rest = text.partition(" ")
        if line == 1:
            width = _width(path, rest.split())
        if word in numbers and not _goes_on(values := rest.split(), width):
            rows[numbers[word]] = _vector(f"{path}, line {line}", word, values, width)
    if not rows:
        raise DataError(f"{path}: there is no word of the vocabulary in it")
    table = np.zeros((len(vocabulary), width), np.float32)
    is_there = np.zeros(len(vocabulary), bool)
    for number, row in rows.items():
        table[number], is_there[number] = row, True
    return table, is_there


def _goes_on(values: list[str], width: int) -> bool:
    """Whether these begin with the rest of a word that holds spaces, of which some files have a
    few."""
    try:
        return len(values) > width and not float(values[0])
    except ValueError:
        return True


def _width(path: str | Path, values: list[str]) -> int:
    width = len(values)
    if width < 2:  # one number after a word: the header of word2vec's text format
        raise DataError(
            f"{path}, line 1: expected a word and its vector, found {width}"
            f" number{'s' * (width != 1)} after a word"
        )
    return width


def _vector(where: str, word: str, values: list[str], width: int) -> Array:
    try:
        with np.errstate(over="ignore"):
            row = np.array(values, np.float64).astype(np.float32)
    except ValueError:
        raise DataError(f"{where}: the vector of {word!r} is not made of numbers") from None
    if len(row) != width:
        raise DataError(
            f"{where}: the vector of {word!r} has {len(row)} numbers, not {width} as in line 1"
        )
    if not np.isfinite(row).all():
        raise DataError(f"{where}: the vector of {word!r} has a number that is not finite")
    return row
